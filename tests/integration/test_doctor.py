"""The doctor on real services in this process, each with a fault in its settings, its load or its model server."""

from __future__ import annotations

import io
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import accumulate, count, pairwise
from pathlib import Path

import anyio
import httpx
import pytest
from PIL import Image
from pydantic import TypeAdapter

from inkgate.api.app import create_app
from inkgate.bootstrap import running
from inkgate.doctor.judge import judge
from inkgate.settings import load_settings
from inkgate_client.telemetry.history import point
from inkgate_client.telemetry.state import State
from support.api_client import pdf
from support.ppocr import drawn
from support.stub_upstream import Reply, running_stub

pytestmark = pytest.mark.anyio

RECORDED = (Path(__file__).parents[1] / "data" / "vllm-0.32-metrics.txt").read_bytes()
_STATE = TypeAdapter(State)
_numbers = count()


class ServiceUnderTest:
    """A service under test: pages go in, states come out."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def read(self, *, lines: int = 2) -> int:
        """Has a page read that is none of those before; the status."""
        return (await self._client.post("/ocr", files={"file": new_page(lines)})).status_code

    async def read_pdf(self) -> None:
        (await self._client.post("/ocr", files={"file": pdf(2)})).raise_for_status()

    async def state(self) -> State:
        answer = (await self._client.get("/state")).raise_for_status()
        return _STATE.validate_json(answer.content)

    async def ready(self) -> None:
        """Returns once the service is ready."""
        with anyio.fail_after(60):
            while (await self._client.get("/readyz")).status_code != 200:  # noqa: ASYNC110 - it happens in the service
                await anyio.sleep(0.02)

    async def until(self, happened: Callable[[State], bool]) -> State:
        with anyio.fail_after(60):
            while not happened(state := await self.state()):  # noqa: ASYNC110 - it happens in the service
                await anyio.sleep(0.02)
        return state

    async def under_load(self, pages: int, happened: Callable[[State], bool], *, lines: int = 2) -> State:
        """A state while this many pages are requested at once, as if that had lasted for a minute."""

        async def ask() -> None:
            while True:
                await self.read(lines=lines)

        async with anyio.create_task_group() as tasks:
            for _ in range(pages):
                tasks.start_soon(ask)
            states = [await self.until(happened)]
            for _ in range(3):
                await anyio.sleep(0.1)
                states.append(await self.until(happened))
            tasks.cancel_scope.cancel()
        return lasting_a_minute(states)


@asynccontextmanager
async def service(**flags: dict[str, object]) -> AsyncIterator[ServiceUnderTest]:
    settings = load_settings(None, **flags, pdf={"warm_workers": 0})
    async with running(settings) as parts:
        transport = httpx.ASGITransport(create_app(parts, settings))
        async with httpx.AsyncClient(transport=transport, base_url="http://inkgate.localhost", timeout=60) as client:
            yield ServiceUnderTest(client)


def new_page(lines: int) -> bytes:
    file = io.BytesIO()
    number = next(_numbers)
    Image.fromarray(drawn([f"Page {number}, line {line}" for line in range(lines)])).save(file, "PNG")
    return file.getvalue()


def lasting_a_minute(states: Sequence[State]) -> State:
    """The last of them, with the time between them stretched to the minute before it; without processor time."""
    last = states[-1]
    stretch = 60.0 / (last.at - states[0].at)
    points = [point(before, after, after.at - before.at, (), 0.0) for before, after in pairwise(states)]
    ends = accumulate(each.span_s * stretch for each in points)
    history = tuple(
        replace(each, at=last.at - 60 + end, span_s=each.span_s * stretch, cpu=None)
        for each, end in zip(points, ends, strict=True)
    )
    return replace(last, history=history)


def model_server(*urls: str, **vllm: object) -> dict[str, object]:
    return {"name": "paddleocr-vl", "vllm": {"urls": urls, "model": "stub-model", "reading": "page", **vllm}}


def found(state: State) -> list[str]:
    return [finding.code for finding in judge(state)]


def metrics(**values: float) -> bytes:
    """What a vLLM said, but for these gauges."""
    lines = RECORDED.decode().splitlines()
    for name, value in values.items():
        lines = [f"{line.rpartition(' ')[0]} {value}" if line.startswith(f"vllm:{name}{{") else line for line in lines]
    return "\n".join([*lines, ""]).encode()


def is_waiting(state: State) -> bool:
    return sum(state.queues[-1].waiting.values()) > 0


def calls_while_waiting() -> Callable[[State], bool]:
    """Whether pages wait, and the recogniser was called since that was last so: however slow the machine is."""
    called = 0

    def happened(state: State) -> bool:
        nonlocal called
        calls = sum(each.calls for each in state.batches if each.model == "recognizer")
        if not is_waiting(state) or calls <= called:
            return False
        called = calls
        return True

    return happened


async def test_a_service_that_just_started_or_has_read_some_pages_is_healthy() -> None:
    async with service() as patient:
        await patient.ready()
        fresh = await patient.state()
        for _ in range(3):
            assert await patient.read() == 200
        await patient.read_pdf()
        used = await patient.state()
    assert (found(fresh), found(used), used.work.pages) == ([], [], {"ok": 5})


async def test_batches_that_a_setting_keeps_small() -> None:
    async with service(engine={"ppocr": {"batching": {"max_batch": 1}}}) as patient:
        state = await patient.under_load(8, calls_while_waiting(), lines=9)
    assert found(state) == ["batches-small"]


async def test_the_cache_is_off_and_documents_get_little_time() -> None:
    async with service(cache={"enabled": False}, limits={"time_s": 30}) as patient:
        state = await patient.under_load(8, is_waiting, lines=9)
    assert set(found(state)) >= {"timeouts-short", "cache-small"}
    assert {finding.severity for finding in judge(state) if finding.code == "cache-small"} == {"warning"}


async def test_a_house_with_little_room_refuses() -> None:
    async with service(limits={"max_in_flight": 1}) as patient:
        before = await patient.state()
        async with anyio.create_task_group() as tasks:
            for _ in range(12):
                tasks.start_soon(patient.read)
        state = lasting_a_minute([before, await patient.state()])
    assert state.admission.refused["service_full"] > 5
    assert "refusals" in found(state)
    assert "limit-low" in found(state)


async def test_a_limit_that_may_not_rise() -> None:
    with running_stub(Reply(silent="after")) as stub:
        stub.metrics = metrics(num_requests_running=1)
        async with service(engine=model_server(stub.url, concurrent_requests=1)) as patient:
            state = await patient.under_load(
                4, lambda state: is_waiting(state) and state.replicas[0].pressure is not None
            )
    assert found(state) == ["limit-low"]


async def test_a_kv_cache_that_is_full() -> None:
    with running_stub(Reply(silent="after")) as stub:
        stub.metrics = metrics(num_requests_running=1, kv_cache_usage_perc=0.97)
        async with service(engine=model_server(stub.url, concurrent_requests=1)) as patient:
            state = await patient.under_load(
                4, lambda state: is_waiting(state) and state.replicas[0].kv_usage is not None
            )
    assert found(state) == ["kv-bound"]


async def test_one_of_two_model_servers_is_out() -> None:
    with running_stub(Reply(["fine"])) as stub, socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # and nobody listens
        away = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        async with service(engine=model_server(away, stub.url)) as patient:
            assert await patient.read() == 200
            state = await patient.until(lambda state: any(replica.state == "out" for replica in state.replicas))
    assert found(state) == ["replica-out"]


async def test_a_model_server_that_only_fails() -> None:
    with running_stub(Reply(["fine"])) as stub:
        async with service(engine=model_server(stub.url, recover_s=0.05, fallback=False)) as patient:
            assert await patient.read() == 200
            assert found(await patient.state()) == []
            stub.script = lambda _: Reply(status=500, body=b"{}")
            with anyio.fail_after(60):
                while "breaker-open" not in found(state := await patient.state()):
                    await patient.read()
    worst = [finding.code for finding in judge(state) if finding.severity == "critical"]
    assert worst == ["not-ready", "replica-out", "breaker-open"]
