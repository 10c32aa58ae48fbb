"""Connections that are there to keep others out: the service answers throughout, and is as it was afterwards."""

from __future__ import annotations

import json
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from support.server import Server, running_server
from support.stub_upstream import Reply, running_stub

FILES = 1024
"""The usual limit of open files; here the hard one, too, so that the service can't raise it."""
TESTS = str(Path(__file__).parents[1])
LIVE_S = 1.0
HEAD_S = 3
PLACES = 64
"""The default of `limits.max_in_flight`."""
SILENT = [{"role": "user", "content": "Speak to somebody who doesn't listen."}]
SAMPLE = Path(__file__).parents[2] / "examples" / "report.png"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    variables = {"PYTHONPATH": TESTS, "INKGATE_SERVER__HEAD_TIMEOUT_S": str(HEAD_S)}
    program = ("-m", "support.limited_server", str(FILES), "serve", "--port", "0")
    with running_server(program=program, environment=variables) as started:
        read_a_page(started)  # what pages need is in memory from then on
        yield started
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@dataclass
class Watcher:
    """Asks /livez on new connections; each may be late once, as a busy machine has it."""

    url: str
    asked: int = 0
    faults: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while not self.ended.wait(0.1):
            faults = self._ask()
            if faults and (faults := self._ask()):
                self.faults.append(faults)
            self.asked += 1

    def _ask(self) -> str:
        try:
            answer = httpx.get(f"{self.url}/livez", timeout=LIVE_S, trust_env=False)
        except httpx.HTTPError as error:
            return repr(error)
        return "" if answer.status_code == 200 else answer.text


@contextmanager
def watched(server: Server) -> Iterator[Watcher]:
    """/livez is answered all the time; then a page is read, and memory and files are back."""
    memory, files = memory_mb(server), open_files(server)
    watcher = Watcher(server.url)
    thread = threading.Thread(target=watcher.run)
    thread.start()
    try:
        yield watcher
    finally:
        watcher.ended.set()
        thread.join()
    assert not watcher.faults
    assert watcher.asked > 5
    read_a_page(server)
    until(lambda: open_files(server) <= files + 30, "files are closed")
    until(lambda: memory_mb(server) <= memory + 60, "memory is back")


def read_a_page(server: Server) -> None:
    answer = httpx.post(f"{server.url}/ocr", files={"file": SAMPLE.read_bytes()}, timeout=60, trust_env=False)
    assert answer.status_code == 200


def until(holds: Callable[[], bool], what: str) -> None:
    give_up = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < give_up, what
        time.sleep(0.1)


def memory_mb(server: Server) -> float:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def open_files(server: Server) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


def connect(server: Server) -> socket.socket:
    url = httpx.URL(server.url)
    assert url.port is not None
    return socket.create_connection((url.host, url.port), timeout=10)


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


def test_connections_that_say_little_or_nothing_keep_nobody_out(server: Server) -> None:
    with watched(server), ExitStack() as stack:
        idle = [stack.enter_context(connect(server)) for _ in range(FILES + 76)]
        silent = [stack.enter_context(connect(server)) for _ in range(300)]
        halves = [stack.enter_context(connect(server)) for _ in range(100)]
        for half in halves:
            with suppress(OSError):  # it has given way already
                half.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost")
        # Nobody of them stays longer than a head may take.
        until(lambda: all(map(is_closed, [*idle, *silent, *halves])), "connections are closed")


def test_endless_header_lines_keep_nobody_out(server: Server) -> None:
    give_up = time.monotonic() + 4
    refused = []

    def send_endlessly() -> None:
        while time.monotonic() < give_up:
            with connect(server) as connection:
                try:
                    connection.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
                    while time.monotonic() < give_up:
                        connection.sendall(b"x" * 65536)
                except OSError:
                    refused.append(connection)

    with watched(server):
        threads = [threading.Thread(target=send_endlessly) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(refused) >= len(threads)


def test_the_service_outlives_running_out_of_files() -> None:
    few = {"INKGATE_SERVER__MAX_CONNECTIONS": "1000", "INKGATE_SERVER__HEAD_TIMEOUT_S": "2", "PYTHONPATH": TESTS}
    program = ("-m", "support.limited_server", "200", "serve", "--port", "0")
    with running_server(program=program, environment=few) as server, ExitStack() as stack:
        idle = [stack.enter_context(connect(server)) for _ in range(300)]
        until(lambda: open_files(server) >= 200, "files are used up")
        until(lambda: all(map(is_closed, idle)), "connections are closed")
        read_a_page(server)
        assert server.process.poll() is None


def test_clients_that_read_nothing_do_not_fill_the_service_for_good() -> None:
    """64 of them, as many as `limits.max_in_flight` lets in, each with an answer larger than its buffers."""
    long = Reply(body=json.dumps({"choices": [{"message": {"content": "word " * 1_200_000}}]}).encode())
    with running_stub(lambda request: long if request["messages"] == SILENT else Reply(["Invoice"])) as stub:
        flags = ("--engine", "paddleocr-vl", "--vllm-url", stub.url)
        with (
            running_server(*flags, environment={"INKGATE_SERVER__SEND_TIMEOUT_S": "8"}) as server,
            ExitStack() as stack,
        ):
            read_a_page(server)
            memory = memory_mb(server)
            body = json.dumps({"messages": SILENT}).encode()
            head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            for _ in range(PLACES):
                client = stack.enter_context(connect(server))
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            until(lambda: house(server)["documents"] == PLACES, "all places are taken")
            refused = httpx.post(f"{server.url}/ocr", files={"file": SAMPLE.read_bytes()}, timeout=60, trust_env=False)
            assert (refused.status_code, refused.json()["code"]) == (503, "service_full")
            assert int(refused.headers["Retry-After"]) > 0
            assert httpx.get(f"{server.url}/livez", timeout=10, trust_env=False).status_code == 200
            until(lambda: server.log_text().count("client_reads_too_little") == PLACES, "all are cut off")
            until(lambda: (house(server)["documents"], house(server)["body_bytes"]) == (0, 0), "all places are free")
            read_a_page(server)
            until(lambda: memory_mb(server) <= memory + 100, "memory is back")
            assert server.stop() == 0  # nothing is left to wait for


def house(server: Server) -> dict[str, int]:
    state = httpx.get(f"{server.url}/state?history=false", timeout=60, trust_env=False)
    return dict(state.json()["house"])
