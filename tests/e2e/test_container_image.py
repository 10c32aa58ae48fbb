"""The CPU image, built by podman on the base image that INKGATE_BASE_IMAGE names, and run as production runs it.

docs/contributing/testing.md says how to make a base image and run podman where no registry can be reached.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from support.waiting import until

ROOT = Path(__file__).parents[2]
BASE = os.environ.get("INKGATE_BASE_IMAGE", "")
MAX_BYTES = 1_200_000_000

pytestmark = [
    pytest.mark.real,
    # No registry is asked for anything, so this depends on the machine and not on INKGATE_REQUIRE_ALL.
    pytest.mark.skipif(not BASE, reason="INKGATE_BASE_IMAGE names no image with Python and venv"),
    pytest.mark.skipif(shutil.which("podman") is None, reason="no podman here: apt-get install podman"),
]


def podman(*arguments: str) -> str:
    done = subprocess.run(["podman", *arguments], capture_output=True, text=True, check=False, timeout=3600)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    name = f"localhost/inkgate-test:{uuid4().hex[:8]}"
    file = str(ROOT / "deploy" / "docker" / "Dockerfile")
    podman(
        "build",
        "--format",
        "docker",
        "--network=host",
        "--build-arg",
        f"BASE={BASE}",
        "--build-arg",
        "FONTS=",  # needs a network
        "-f",
        file,
        "-t",
        name,
        str(ROOT),
    )
    yield name
    podman("rmi", "-f", name)


def test_the_image_is_small(image: str) -> None:
    assert int(podman("image", "inspect", "--format", "{{.Size}}", image)) < MAX_BYTES


def test_without_a_key_it_refuses_to_start(image: str) -> None:
    done = subprocess.run(
        ["podman", "run", "--rm", "--no-healthcheck", "--network=none", image],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "no API key is set" in done.stderr


def test_it_reads_without_root_without_network_and_without_writing_to_its_files(image: str) -> None:
    page = ROOT / "examples" / "report.png"
    flags = ["--rm", "--no-healthcheck", "--network=none", "--read-only", "--tmpfs=/tmp", "--cap-drop=all"]
    flags += ["--security-opt=no-new-privileges", "-v", f"{page}:/page.png:ro"]
    assert "Gaza" in podman("run", *flags, image, "read", "/page.png")


def container_status(container: str) -> dict[str, str]:
    """/proc/PID/status of the service, which is the child of the container's init."""
    init = podman("inspect", "--format", "{{.State.Pid}}", container)
    [service] = Path(f"/proc/{init}/task/{init}/children").read_text(encoding="ascii").split()[:1]
    lines = Path(f"/proc/{service}/status").read_text(encoding="utf-8").splitlines()
    return {name: value.strip() for name, value in (line.split(":", 1) for line in lines)}


def test_it_serves_without_rights_and_ends_after_its_last_answer(image: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    key = "inkgate-of-the-image-test"
    container = podman(
        "run", "-d", "--no-healthcheck", "--network=host",
        "--init", "--read-only", "--tmpfs=/tmp", "--cap-drop=all", "--security-opt=no-new-privileges", "--memory=3g",
        "-e", "INKGATE_SERVER__HOST=127.0.0.1", "-e", f"INKGATE_SERVER__PORT={port}",
        "-e", "INKGATE_METRICS__HOST=127.0.0.1", "-e", "INKGATE_METRICS__PORT=0",
        "-e", f'INKGATE_AUTH__KEY_HASHES=["{sha256(key.encode()).hexdigest()}"]', image,
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    try:

        def answers() -> bool:
            try:
                return httpx.get(f"{url}/readyz", trust_env=False).status_code == 200
            except httpx.TransportError:
                return False

        until(answers, "the container to serve", 600)
        podman("exec", container, "healthy")
        status = container_status(container)
        assert (status["Uid"].split()[0], int(status["CapEff"], 16), status["NoNewPrivs"]) == ("10001", 0, "1")
        assert httpx.post(f"{url}/ocr", trust_env=False).status_code == 401
        page = (ROOT / "examples" / "report.png").read_bytes()
        with ThreadPoolExecutor() as threads:
            answer = threads.submit(
                httpx.post,
                f"{url}/ocr",
                files={"file": page},
                headers={"Authorization": f"Bearer {key}"},
                timeout=120,
                trust_env=False,
            )
            until(lambda: in_flight(url, key) > 0, "the request to be in flight", 60)
            podman("stop", "--time=60", container)
            assert answer.result().status_code == 200
        assert podman("inspect", "--format", "{{.State.ExitCode}}", container) == "0"
    finally:
        podman("rm", "-f", container)


def in_flight(url: str, key: str) -> int:
    state = httpx.get(f"{url}/state", headers={"Authorization": f"Bearer {key}"}, trust_env=False).json()
    return int(state["admission"]["documents"])
