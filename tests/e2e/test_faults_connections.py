"""Connections that are there to keep others out, more of them than the gateway may have open."""

from __future__ import annotations

import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import httpx
import pytest

from support.load import RIGHT, UNANSWERED
from support.scenario import Footprint, ServiceUnderLoad
from support.server import Server
from support.waiting import AT_MOST_S, until

FILES = 1024
"""The usual limit of open files."""
CONNECTIONS = 768
"""That the gateway may have open (support/scenario.py)."""
APART = 100
"""Connections that are opened between two answers. If more came at once than the gateway may have, others that have not
sent anything yet would give way with them."""
ENDLESS = 5


@pytest.fixture(scope="module", autouse=True)
def many_files() -> Iterator[None]:
    """This process needs as many connections as it opens."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def limited_files(server: Server, files: int) -> Iterator[None]:
    """Limits its open files to this many in the block."""
    pid = server.process.pid
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (files, hard))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))


def connect(server: Server) -> socket.socket:
    url = httpx.URL(server.url)
    assert url.port is not None
    return socket.create_connection((url.host, url.port), timeout=AT_MOST_S)


def is_closed(connection: socket.socket) -> bool:
    connection.settimeout(0)
    try:
        while connection.recv(65536):
            pass
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def test_connections_that_say_little_or_nothing_keep_nobody_out(service: ServiceUnderLoad) -> None:
    with service.fault() as window, limited_files(service.server, FILES), ExitStack() as stack:
        connections = []
        for number in range(2 * CONNECTIONS):
            connections.append(stack.enter_context(connect(service.server)))
            if number % 10 == 0:
                with suppress(OSError):  # it has given way already
                    connections[-1].sendall(b"GET /livez HTTP/1.1\r\nHost: localhost")
            if number % APART == 0:
                window.until_answered(RIGHT)
        until(lambda: all(map(is_closed, connections)), "all are closed: none stays longer than a head may take")
        assert window.logged("connections_full")
    assert set(window.outcomes) == {RIGHT}


def test_endless_header_lines_keep_nobody_out(service: ServiceUnderLoad) -> None:
    refused: list[int] = []

    def send_endlessly() -> None:
        for number in range(ENDLESS):
            with connect(service.server) as connection, suppress(OSError):
                connection.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
                while True:
                    connection.sendall(b"x" * 65536)
            refused.append(number)

    with service.fault() as window:
        threads = [threading.Thread(target=send_endlessly, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        until(lambda: len(refused) == ENDLESS * len(threads), lambda: f"{len(refused)} were refused")
        window.until_answered(RIGHT)


def test_running_out_of_files_ends_nothing(service: ServiceUnderLoad) -> None:
    few = Footprint.of(service.server).files + 100
    # Out of files, libuv accepts what waits for it and closes it at once.
    with service.fault(UNANSWERED, "upstream_unreachable", "service_full") as window:
        with limited_files(service.server, few), ExitStack() as stack:
            idle = [stack.enter_context(connect(service.server)) for _ in range(2 * few)]
            until(lambda: Footprint.of(service.server).files >= few, "no more files")
            until(lambda: all(map(is_closed, idle)), "connections are closed")
        window.until_answered(RIGHT)
