"""`inkgate serve` as a child process on loopback, and its clients."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from pathlib import Path

import aiohttp

from benchmarks.processes import free_port, running

START_S = 120.0
POLL_S = 0.01
ANSWER_S = 600.0


@dataclass(frozen=True)
class Child:
    """A ready service. `ready_s`: from its start until /readyz returned 200."""

    url: str
    pid: int
    ready_s: float

    def resident_mb(self) -> float:
        """Resident memory of the service and its workers; shared memory counts for each."""
        return sum(map(_resident_bytes, self.processes())) / 2**20

    def processes(self) -> list[int]:
        """The process and its descendants."""
        found = [self.pid]
        for pid in found:
            for task in Path(f"/proc/{pid}/task").glob("*/children"):
                try:
                    found.extend(map(int, task.read_text().split()))
                except OSError:
                    continue
        return found


def _resident_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:  # the process has just ended
        return 0


@contextmanager
def serving(**variables: str) -> Iterator[Child]:
    """The service with its defaults, except the cache, which is off, and these environment variables."""
    port = free_port()
    settings = {"INKGATE_CACHE__ENABLED": "false", "INKGATE_LOG__LEVEL": "warning", **variables}
    command = [sys.executable, "-m", "inkgate", "serve", "--port", str(port)]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "server.log"
        started = time.perf_counter()
        with running(command, log, settings) as process:
            if not _ready(port, process, started + START_S):
                raise SystemExit(f"the service did not start:\n{log.read_text(errors='replace')[-3000:]}")
            yield Child(f"http://127.0.0.1:{port}", process.pid, time.perf_counter() - started)


def _ready(port: int, process: subprocess.Popen[bytes], until: float) -> bool:
    while process.poll() is None and time.perf_counter() < until:
        try:
            connection = HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return True
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(POLL_S)
    return False


@dataclass(frozen=True)
class Answer:
    """`status` 200: the page was read as `text`; otherwise it was refused."""

    status: int
    text: str
    seconds: float


@dataclass(frozen=True)
class Client:
    """Posts files to /ocr. `priority`: sent as the request's priority; "": none is sent."""

    session: aiohttp.ClientSession
    priority: str = ""

    def at(self, priority: str) -> Client:
        return replace(self, priority=priority)

    async def ask(self, name: str, data: bytes) -> Answer:
        headers = {"X-Inkgate-Timeout": f"{ANSWER_S:g}"}
        if self.priority:
            headers["X-Inkgate-Priority"] = self.priority
        form = aiohttp.FormData()
        form.add_field("file", data, filename=name)
        started = time.perf_counter()
        async with self.session.post("/ocr", data=form, headers=headers) as response:
            body = await response.read()
        seconds = time.perf_counter() - started
        if response.status != 200:
            return Answer(response.status, "", seconds)
        pages = json.loads(body)["pages"]
        return Answer(200, "\n\n".join(page["text"] for page in pages), seconds)

    async def read(self, name: str, data: bytes) -> str:
        """The text of a page; raises if it is refused."""
        answer = await self.ask(name, data)
        if answer.status != 200:
            raise SystemExit(f"{name} was refused with {answer.status} under a load that the service should bear")
        return answer.text


@asynccontextmanager
async def client_of(child: Child) -> AsyncIterator[Client]:
    timeout = aiohttp.ClientTimeout(total=None)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(child.url, timeout=timeout, connector=connector) as session:
        yield Client(session)
