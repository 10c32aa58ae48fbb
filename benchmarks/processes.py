"""Servers that a benchmark starts and stops."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

_STOP_S = 60.0


@contextmanager
def running(
    command: Sequence[str], log: Path, variables: Mapping[str, str], folder: Path | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process in `folder`, with this environment, but only `variables` as inkgate's settings. Its metrics are on a
    free port, so that several services can run at once.
    """
    environment = {key: value for key, value in os.environ.items() if not key.startswith("INKGATE_")}
    environment |= {"INKGATE_METRICS__PORT": "0", "INKGATE_UI__ENABLED": "false", **variables}
    with (
        log.open("wb") as out,
        subprocess.Popen(command, stdout=out, stderr=out, env=environment, cwd=folder) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()


def free_port() -> int:
    """A free port on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
