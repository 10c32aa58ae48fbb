"""Servers that a benchmark starts and stops."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[1]
START_S = 300.0
_STOP_S = 60.0
_POLL_S = 0.02


@contextmanager
def server(
    command: Sequence[str],
    url: str,
    variables: Mapping[str, str] | None = None,
    body: Mapping[str, object] | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """A server that is ready: a GET of `url` returns 200, or a POST of `body` as JSON does.

    Its environment is this one's, but has only `variables` as inkgate's settings. Its metrics are on a free port, so
    that several services can run at once.

    Raises:
        SystemExit: it did not become ready. The message has the end of its output.
    """
    environment = {key: value for key, value in os.environ.items() if not key.startswith("INKGATE_")}
    environment |= {"INKGATE_METRICS__PORT": "0", "INKGATE_UI__ENABLED": "false", **(variables or {})}
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=ROOT) as process,
    ):
        try:
            if not _ready(url, process, body):
                log.seek(0)
                raise SystemExit(f"{url} did not come up:\n{log.read()[-3000:].decode(errors='replace')}")
            yield process
        finally:
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _ready(url: str, process: subprocess.Popen[bytes], body: Mapping[str, object] | None) -> bool:
    until = time.monotonic() + START_S
    with httpx.Client(timeout=10, trust_env=False) as client:
        while process.poll() is None and time.monotonic() < until:
            try:
                if client.request("GET" if body is None else "POST", url, json=body).status_code == 200:
                    return True
            except httpx.TransportError:
                pass
            time.sleep(_POLL_S)
    return False


def inkgate_command(port: int, *flags: str) -> list[str]:
    """The command of an `inkgate serve`."""
    return [sys.executable, "-m", "inkgate", "serve", "--port", str(port), *flags]


LITELLM_OPEN = {"LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true"}
"""Environment of a LiteLLM that asks for no key."""


def litellm_config(folder: Path, model: str, upstream: str) -> Path:
    """Writes the configuration of a LiteLLM in front of one model server; its path."""
    file = folder / "litellm.yaml"
    file.write_text(
        f"model_list:\n  - model_name: {model}\n    litellm_params:\n      model: openai/{model}\n"
        f"      api_base: {upstream}\n      api_key: none\n",
        encoding="utf-8",
    )
    return file


def free_port() -> int:
    """A free port on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def resident_mb(pid: int) -> float:
    """Resident memory of a process and its descendants in MB; shared memory counts for each."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        children = [
            child for task in Path(f"/proc/{pid}/task").glob("*/children") for child in task.read_text().split()
        ]
    except OSError:  # the process has just ended
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20 + sum(resident_mb(int(child)) for child in children)
