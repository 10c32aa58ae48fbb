"""Scheduling of calls to model servers: how many at once, their charges, and what is learned from them."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import anyio
import pytest

from inkgate.caller import Caller, Priority
from inkgate.errors import InputRejected, Overloaded
from inkgate.model_servers.server import ModelServer
from inkgate.model_servers.servers import ScheduledCalls
from inkgate.model_servers.upstream import ModelCall
from inkgate.serving.estimates import OutputEstimates
from inkgate.serving.limits import FixedLimit
from inkgate.serving.queue import WorkQueue
from inkgate.settings import SchedulingSettings
from support.stub_upstream import Reply, Request, Script, StubUpstream, error_reply, running_stub

pytestmark = pytest.mark.anyio

CALL = ModelCall(
    b'{"model": "stub-model", "messages": [], "stream": true, "stream_options": {"include_usage": true}}',
    prompt_tokens=100,
    answer_tokens=400,
    kind="text 7",
)
SHORT = Reply(["a "] * 30)


class Bench:
    """The parts around one stub server."""

    def __init__(self, stub: StubUpstream, at_once: int, settings: SchedulingSettings) -> None:
        self.busy = 0
        self.estimates = OutputEstimates()
        self.work_queue = WorkQueue(FixedLimit(at_once), settings)
        self.calls = ScheduledCalls(ModelServer(stub.url, 5.0, ""), self.work_queue, self.estimates, self.was_busy)

    def was_busy(self) -> None:
        self.busy += 1

    async def call(self, call: ModelCall = CALL) -> int:
        """The status of one call, read to its end."""
        async with self.calls.send(call) as answer:
            async for _ in answer.chunks:
                pass
            return answer.status


@asynccontextmanager
async def bench_on(
    script: Script | Reply,
    at_once: int = 4,
    settings: SchedulingSettings | None = None,
) -> AsyncIterator[tuple[Bench, StubUpstream]]:
    with running_stub(script) as stub:
        bench = Bench(stub, at_once, settings or SchedulingSettings())
        try:
            yield bench, stub
        finally:
            await bench.calls.close()
    assert (bench.work_queue.in_flight, bench.work_queue.waiting) == (0, 0)


async def test_a_cold_server_that_is_asked_for_too_much_finds_to_its_speed() -> None:
    """It says nothing for a while, then takes 0.15 s a call, two at once. Far more is asked for, within 1 s."""
    warm_at = time.monotonic() + 1.5
    answered: list[float] = []

    def script(_: Request) -> Reply:
        return Reply(["a "] * 30, pause_s=0.005) if time.monotonic() > warm_at else Reply(silent="at once")

    async def client(bench: Bench) -> None:
        caller = Caller(deadline=anyio.current_time() + 1, patience_s=1)
        with anyio.move_on_after(1), suppress(Overloaded, InputRejected):
            await bench.call(replace(CALL, caller=caller))
            answered.append(time.monotonic())

    async with bench_on(script, at_once=2) as (bench, _), anyio.create_task_group() as tasks:
        with anyio.fail_after(60):
            while len([at for at in answered if at > warm_at + 1]) < 8:
                tasks.start_soon(client, bench)
                await anyio.sleep(0.02)


async def test_no_more_calls_are_at_the_server_than_the_limit() -> None:
    async with bench_on(SHORT, at_once=2) as (bench, stub), anyio.create_task_group() as tasks:
        for _ in range(12):
            tasks.start_soon(bench.call)
    assert len(stub.seen) == 12
    assert stub.most_at_once <= 2


async def test_answers_teach_how_long_answers_of_their_kind_are() -> None:
    async with bench_on(SHORT) as (bench, _):
        assert bench.estimates.estimates(CALL.kind, 400)[1] == 400
        for _ in range(30):
            await bench.call()
        assert 30 <= bench.estimates.estimates(CALL.kind, 400)[1] <= 34
        assert bench.estimates.estimates("another kind", 400)[1] == 400


async def test_answers_whose_clients_ask_for_no_usage_teach_it_too() -> None:
    silent = replace(CALL, body=b'{"model": "stub-model", "messages": [], "stream": true}')
    async with bench_on(SHORT) as (bench, _):
        for _ in range(30):
            await bench.call(silent)
        assert 30 <= bench.estimates.estimates(CALL.kind, 400)[1] <= 38


async def test_servers_teach_how_large_prompts_of_a_kind_are() -> None:
    async with bench_on(SHORT, at_once=1) as (bench, _):
        for _ in range(30):
            await bench.call()
        async with anyio.create_task_group() as tasks, bench.calls.send(CALL):
            tasks.start_soon(bench.call)
            await anyio.wait_all_tasks_blocked()
            # the stub says 7 tokens where 100 were guessed, and 30 of an answer
            known = bench.work_queue.backlog_tokens
            tasks.start_soon(bench.call, replace(CALL, kind="another kind"))
            await anyio.wait_all_tasks_blocked()
            assert (37 <= known <= 45, bench.work_queue.backlog_tokens - known) == (True, 500)


async def test_who_gets_longer_answers_than_estimated_gets_fewer_of_them() -> None:
    def script(request: Request) -> Reply:
        return Reply(["a "] * (63 if request["model"] == "dense" else 3))

    async with bench_on(script, at_once=1) as (bench, _):
        order: list[str] = []

        async def one(tenant: str, number: int) -> None:
            body = CALL.body.replace(b"stub-model", b"dense") if tenant == "dense" else CALL.body
            caller = Caller(tenant=tenant)
            call = replace(CALL, body=body, prompt_tokens=7, answer_tokens=3, kind=f"{number}", caller=caller)
            async with bench.calls.send(call) as answer:
                order.append(tenant)
                async for _ in answer.chunks:
                    pass

        async with anyio.create_task_group() as tasks, bench.calls.send(CALL):
            for number in range(20):
                tasks.start_soon(one, "dense", number)
                tasks.start_soon(one, "sparse", number)
            await anyio.wait_all_tasks_blocked()
    assert 2 <= order[:20].count("dense") <= 4


async def test_a_call_that_the_server_refuses_is_charged_its_prompt_alone() -> None:
    def script(request: Request) -> Reply:
        return error_reply(400, "too long") if request["model"] == "long" else Reply(["a "] * 3)

    async with bench_on(script, at_once=2) as (bench, _), bench.calls.send(CALL):  # so that the order is not forgotten
        order: list[str] = []
        call = replace(CALL, prompt_tokens=7, answer_tokens=3, caller=Caller(tenant="refused"))
        refused = replace(call, body=CALL.body.replace(b"stub-model", b"long"), answer_tokens=1000)
        assert await bench.call(refused) == 400

        async def one(tenant: str, number: int) -> None:
            async with bench.calls.send(replace(call, kind=f"{number}", caller=Caller(tenant=tenant))) as answer:
                order.append(tenant)
                async for _ in answer.chunks:
                    pass

        async with anyio.create_task_group() as tasks:
            for number in range(10):
                tasks.start_soon(one, "another", number)
                tasks.start_soon(one, "refused", number)
    assert 4 <= order[:10].count("refused") <= 6


async def test_a_server_that_says_it_is_full_is_heard() -> None:
    async with bench_on(error_reply(503, "full")) as (bench, _):
        assert await bench.call() == 503
    assert bench.busy == 1


async def test_what_can_not_wait_is_refused_and_urgent_calls_go_first() -> None:
    async with bench_on(Reply(["a "], endless=True), at_once=1, settings=SchedulingSettings(max_waiting=2)) as (
        bench,
        stub,
    ):
        order: list[Priority] = []

        async def ask(priority: Priority) -> None:
            async with bench.calls.send(replace(CALL, caller=Caller(priority=priority))):
                order.append(priority)

        async with bench.calls.send(CALL), anyio.create_task_group() as tasks:
            tasks.start_soon(ask, Priority.BATCH)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(ask, Priority.INTERACTIVE)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(Overloaded, match="service_full"):
                await bench.call()
            tasks.start_soon(_leave_soon, tasks)
        assert order == []
        async with anyio.create_task_group() as tasks, bench.calls.send(CALL):
            tasks.start_soon(ask, Priority.BATCH)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(ask, Priority.INTERACTIVE)
            await anyio.wait_all_tasks_blocked()
        assert order == [Priority.INTERACTIVE, Priority.BATCH]
        await stub.wait_until_left(2)


async def _leave_soon(tasks: anyio.abc.TaskGroup) -> None:
    tasks.cancel_scope.cancel()
