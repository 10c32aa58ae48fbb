"""`inkgate serve` as a child process on loopback, and its clients."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace

import aiohttp

from benchmarks.processes import free_port, inkgate_command, resident_mb, server

ANSWER_S = 600.0


@dataclass(frozen=True)
class Child:
    """A ready service. `ready_s`: from its start until /readyz returned 200."""

    url: str
    pid: int
    ready_s: float

    def resident_mb(self) -> float:
        """Resident memory of the service and its workers; shared memory counts for each."""
        return resident_mb(self.pid)


@contextmanager
def serving(**variables: str) -> Iterator[Child]:
    """The service with its defaults, except the cache, which is off, and these environment variables."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    settings = {"INKGATE_CACHE__ENABLED": "false", "INKGATE_LOG__LEVEL": "warning", **variables}
    started = time.perf_counter()
    with server(inkgate_command(port), f"{url}/readyz", settings) as process:
        yield Child(url, process.pid, time.perf_counter() - started)


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
