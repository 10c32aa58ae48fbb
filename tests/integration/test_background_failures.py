"""Background tasks that fail, once and for good: the service goes on, and pages are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import anyio
import httpx
import pytest
from PIL import Image
from structlog.testing import capture_logs

from inkgate.api.app import create_app
from inkgate.bootstrap import running
from inkgate.settings import load_settings
from inkgate.supervision import BackgroundTask, Pauses, Supervisor
from support.images import encoded
from support.ppocr import drawn
from support.stub_upstream import Reply, running_stub

pytestmark = pytest.mark.anyio

WHILE_TASKS_ARE_STARTED_AGAIN = {"engine_unavailable", "draining", "upstream_cut_off"}
"""Codes that requests may get then; a client may retry after each of them."""


async def until(happened: Callable[[], bool]) -> None:
    with anyio.fail_after(60):
        while not happened():  # noqa: ASYNC110 - it happens in the service
            await anyio.sleep(0.01)


class BrokenTaskError(Exception):
    pass


class Saboteur(Supervisor):
    """A Supervisor whose tasks fail when it says so.

    Attributes:
        for_good: names of tasks that fail at each start from then on.
    """

    def __init__(self) -> None:
        super().__init__(pauses=lambda: Pauses(0.02, 0.02, 60.0))
        self.for_good: set[str] = set()
        self._strikes: dict[str, anyio.Event] = {}

    async def keep(self, task: BackgroundTask) -> None:
        await super().keep(replace(task, run=partial(self._run, task)))

    async def _run(self, task: BackgroundTask) -> None:
        if task.name in self.for_good:
            raise BrokenTaskError(task.name)
        strike = self._strikes[task.name] = anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(task.run)
            await strike.wait()
            raise BrokenTaskError(task.name)

    def strike(self, name: str) -> None:
        """Has a task fail now."""
        self._strikes[name].set()

    async def strike_for_good(self, name: str) -> None:
        """Makes a task fail now and at each restart; returns once it has been started several times."""
        self.for_good.add(name)
        self.strike(name)
        await until(lambda: self.failed()[name] > 3)

    def names(self, *, needed: bool) -> list[str]:
        """Of the tasks there are."""
        return [task.name for task in self.tasks if task.needed == needed]

    def failed(self) -> dict[str, int]:
        """How often each failed."""
        return {task.name: task.failures for task in self.tasks}


class Pages:
    """Reads one page after the other, each of its own, and counts what is answered."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.answers: Counter[str] = Counter()
        self._client = client
        self._number = 0

    async def read(self) -> str:
        """`ok`, or the code of the error."""
        self._number += 1
        page = encoded(Image.fromarray(drawn([f"Page number {self._number}"])), "PNG")
        answer = await self._client.post("/ocr", files={"file": page})
        outcome = "ok" if answer.status_code == 200 else str(answer.json()["code"])
        self.answers[outcome] += 1
        return outcome

    async def run(self) -> None:
        while True:
            await self.read()

    async def until_read(self) -> None:
        """Returns once a page sent from now on was read."""
        with anyio.fail_after(60):
            while await self.read() != "ok":  # noqa: ASYNC110 - it depends on the service
                await anyio.sleep(0.01)


@asynccontextmanager
async def served(flags: Mapping[str, dict[str, object]], supervisor: Supervisor) -> AsyncIterator[httpx.AsyncClient]:
    settings = load_settings(None, **flags)
    async with running(settings, supervisor) as service:
        transport = httpx.ASGITransport(create_app(service, settings))
        async with httpx.AsyncClient(transport=transport, base_url="http://inkgate.localhost", timeout=60) as client:
            yield client


async def play(flags: Mapping[str, dict[str, object]]) -> Saboteur:
    """Has each task fail once and those that can be done without for good, while three read pages."""
    saboteur = Saboteur()
    with capture_logs():  # a terminal's tracebacks take longer than all the rest
        await _play(saboteur, flags)
    return saboteur


async def _play(saboteur: Saboteur, flags: Mapping[str, dict[str, object]]) -> None:
    async with served(flags, saboteur) as client, anyio.create_task_group() as readers:
        pages = Pages(client)
        await pages.until_read()
        for _ in range(3):
            readers.start_soon(pages.run)
        for name in saboteur.names(needed=False):
            if name not in ("shared_reads", "engine_worker_1"):  # one of two workers may be gone for good
                await saboteur.strike_for_good(name)
        assert pages.answers.keys() == {"ok"}
        await saboteur.strike_for_good("shared_reads")  # reads that were shared just then are cut off
        assert pages.answers.keys() - {"ok"} <= WHILE_TASKS_ARE_STARTED_AGAIN
        pages.answers.clear()
        await until(lambda: pages.answers.total() > 5)
        assert pages.answers.keys() == {"ok"}
        state = (await client.get("/state?history=0")).json()
        assert {task["name"] for task in state["background"] if task["keeps_failing"]} == saboteur.for_good
        for name in saboteur.failed().keys() - saboteur.for_good:
            saboteur.strike(name)
            await until(lambda name=name: saboteur.failed()[name] == 1)  # type: ignore[misc]
            await pages.until_read()
        assert pages.answers.keys() - {"ok"} <= WHILE_TASKS_ARE_STARTED_AGAIN
        readers.cancel_scope.cancel()


async def test_each_task_of_the_embedded_engine_fails_and_pages_are_read() -> None:
    saboteur = await play({"engine": {"ppocr": {"workers": 2}}, "pdf": {"workers": 1}})
    assert {"memory_return", "history", "engine_workers", "engine_worker_2"} <= (saboteur.failed().keys())


async def test_each_task_in_front_of_a_model_server_fails_and_pages_are_read() -> None:
    with running_stub(Reply(["fine"])) as stub:
        vllm = {"urls": [stub.url], "model": "stub-model", "fallback": False, "reading": "page"}
        saboteur = await play({"engine": {"name": "paddleocr-vl", "vllm": vllm}})
    assert {"memory_return", "history", "balancer", "server_metrics"} <= saboteur.failed().keys()
