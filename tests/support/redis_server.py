"""A real redis-server, which can be killed, frozen and restarted on the same port."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from redis import Redis


class RedisServer:
    """A redis-server on its own port that writes nothing to disk."""

    def __init__(self, program: str, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port: int = free.getsockname()[1]
        self._command = [program, "--port", str(self._port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._port}"

    def start(self, *flags: str) -> None:
        """Returns once it accepts connections."""
        self._process = subprocess.Popen([*self._command, *flags], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        for text in self._process.stdout:
            if "Ready to accept connections" in text:
                return
        raise AssertionError("redis-server ended before it accepted connections")

    def seconds_left(self, pattern: str) -> dict[bytes, float]:
        """Remaining lifetime of each key of this pattern; -0.001 if it has no expiry."""
        with Redis.from_url(self.url) as client:
            return {key: client.pttl(key) / 1000 for key in client.scan_iter(pattern)}

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kills it as kill -9 does; returns once it has ended."""
        self._signal(signal.SIGKILL)
        self._gone()

    def restore(self) -> None:
        """Makes it run, whatever was done to it."""
        if self._process is None:
            self.start()
        self.thaw()

    def stop(self) -> None:
        """Ends it, in any state."""
        if self._process is not None:
            self.kill()

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def _gone(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        self._process.wait(60)
        self._process.stdout.close()
        self._process = None


@contextmanager
def redis_server(folder: Path) -> Iterator[RedisServer]:
    """A running redis-server. Skips the test if it is missing, unless INKGATE_REQUIRE_ALL is set."""
    program = shutil.which("redis-server")
    if program is None:
        if os.environ.get("INKGATE_REQUIRE_ALL") == "1":
            pytest.fail("redis-server is not installed")
        pytest.skip("redis-server is not installed")
    server = RedisServer(program, folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()
