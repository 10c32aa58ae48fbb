"""The CPU image, built by podman on the base image that INKGATE_BASE_IMAGE names, and run as production runs it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from support.waiting import until

ROOT = Path(__file__).parents[2]
BASE = os.environ.get("INKGATE_BASE_IMAGE", "")
MOST_BYTES = 1_200_000_000
KEY_HASH = "0" * 64

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
        "-f",
        file,
        "-t",
        name,
        str(ROOT),
    )
    yield name
    podman("rmi", "-f", name)


def test_the_image_is_small(image: str) -> None:
    assert int(podman("image", "inspect", "--format", "{{.Size}}", image)) < MOST_BYTES


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


def test_it_serves_is_healthy_and_stops_on_sigterm(image: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    container = podman(
        "run", "-d", "--no-healthcheck",
        "--init", "--read-only", "--tmpfs=/tmp", "--cap-drop=all", "-p", f"127.0.0.1:{port}:7860",
        "-e", f'INKGATE_AUTH__KEY_HASHES=["{KEY_HASH}"]', image,
    )  # fmt: skip
    try:

        def answers() -> bool:
            try:
                return httpx.get(f"http://127.0.0.1:{port}/livez", trust_env=False).status_code == 200
            except httpx.TransportError:
                return False

        until(answers, "the container to serve", 600)
        podman("exec", container, "healthy")
        assert httpx.post(f"http://127.0.0.1:{port}/ocr", trust_env=False).status_code == 401
        podman("stop", "--time=60", container)
        assert podman("inspect", "--format", "{{.State.ExitCode}}", container) == "0"
    finally:
        podman("rm", "-f", container)
