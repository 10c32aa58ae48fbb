"""Several model servers behind one address: stubs that die, stall, fail and come back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from urllib.parse import urlsplit

import anyio
import pytest

from inkgate.errors import EngineFailed
from inkgate.model_servers.balancer import BalancedUpstream
from inkgate.model_servers.replica import BalancerSettings, ReplicaEvents, ReplicaState
from inkgate.model_servers.server import ModelServer
from inkgate.model_servers.upstream import ModelCall
from support.stub_upstream import Reply, Request, StubUpstream, error_reply, running_stub

pytestmark = pytest.mark.anyio

PATIENT = BalancerSettings(recover_s=60, first_pause_s=0.05, longest_pause_s=0.2)
"""Stalls don't matter to most tests: a slow machine must not count as one."""
QUICK = replace(PATIENT, stalled_s=0.4, probe_s=0.4)
CALL = ModelCall(b'{"model": "stub-model", "messages": [], "stream": true}', prompt_tokens=50)
GOOD = Reply(["fine"])


@asynccontextmanager
async def balanced(urls: Sequence[str], settings: BalancerSettings = PATIENT) -> AsyncIterator[BalancedUpstream]:
    found = BalancedUpstream([ModelServer(url, 2) for url in urls], settings)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(found.run)
        try:
            yield found
        finally:
            await found.close()
            tasks.cancel_scope.cancel()


async def asked(found: BalancedUpstream, call: ModelCall = CALL) -> tuple[int, bytes]:
    async with found.send(call) as answer:
        return answer.status, b"".join([chunk async for chunk in answer.chunks])


async def until(found: BalancedUpstream, *states: ReplicaState) -> None:
    with anyio.fail_after(60):
        while tuple(replica.state for replica in found.set.replicas) != states:  # noqa: ASYNC110 - a test
            await anyio.sleep(0.01)


def pair(stack: ExitStack, first: Reply, second: Reply = GOOD) -> tuple[StubUpstream, StubUpstream]:
    return stack.enter_context(running_stub(first)), stack.enter_context(running_stub(second))


async def test_calls_at_once_are_shared_out() -> None:
    with ExitStack() as stack:
        stubs = pair(stack, GOOD)
        async with balanced([stub.url for stub in stubs]) as found, anyio.create_task_group() as tasks:
            for _ in range(12):
                tasks.start_soon(asked, found)
    assert [len(stub.seen) for stub in stubs] == [6, 6]


@pytest.mark.parametrize("fault", ["gone", "500", "close"])
async def test_a_call_without_an_answer_is_sent_once_more_elsewhere(fault: str) -> None:
    replies = {"500": error_reply(500, "EngineCore died"), "close": Reply(broken="close")}
    with ExitStack() as stack:
        bad, good = pair(stack, replies.get(fault, GOOD))
        urls = ["http://127.0.0.1:9/v1" if fault == "gone" else bad.url, good.url]
        # The role alone is the first event of a stream that breaks: it says nothing, but it was given on.
        async with balanced(urls) as found:
            if fault == "close":
                with pytest.raises(EngineFailed, match="upstream_cut_off"):
                    await asked(found)
            else:
                status, body = await asked(found)
                assert (status, b"fine" in body) == (200, True)
            assert found.set.replicas[0].state is ReplicaState.OUT
            assert b"fine" in (await asked(found))[1]


async def test_a_failure_everywhere_is_passed_on() -> None:
    with ExitStack() as stack:
        stubs = pair(stack, error_reply(500, "first"), error_reply(500, "second"))
        async with balanced([stub.url for stub in stubs]) as found:
            status, body = await asked(found)
    assert status == 500
    assert b"second" in body


async def test_a_refusal_is_no_failure() -> None:
    with running_stub(error_reply(400, "too long")) as stub:
        async with balanced([stub.url]) as found:
            assert (await asked(found))[0] == 400
            assert found.set.replicas[0].state is ReplicaState.UP


async def test_a_server_that_comes_back_is_waited_for() -> None:
    with ExitStack() as stack:
        with running_stub(GOOD) as stub:
            port = urlsplit(stub.url).port or 0
        async with balanced([stub.url]) as found, anyio.create_task_group() as tasks:
            answers: list[tuple[int, bytes]] = []

            async def ask() -> None:
                answers.append(await asked(found))

            for _ in range(8):
                tasks.start_soon(ask)
            await until(found, ReplicaState.OUT)
            stack.enter_context(running_stub(GOOD, port=port))
            await until(found, ReplicaState.UP)
    assert [status for status, _ in answers] == [200] * 8


async def test_nobody_waits_for_ever() -> None:
    settings = BalancerSettings(recover_s=0.2, first_pause_s=0.05)
    async with balanced(["http://127.0.0.1:9/v1"], settings) as found:
        with pytest.raises(EngineFailed, match="upstream_unreachable: No model server"):
            await asked(found)


@pytest.mark.parametrize("silent", ["at all", "after"])
async def test_a_server_that_stands_still_is_taken_out_and_its_calls_end(silent: str) -> None:
    with ExitStack() as stack:
        frozen, good = pair(stack, Reply(["begun"], silent=silent))
        async with balanced([frozen.url, good.url], QUICK) as found:
            if silent == "after":
                with pytest.raises(EngineFailed, match="upstream_stalled"):
                    await asked(found)
            else:
                assert b"fine" in (await asked(found))[1]
            await until(found, ReplicaState.OUT, ReplicaState.UP)
            assert found.set.replicas[0].why == "upstream_stalled"


async def test_whoever_can_start_a_stalled_server_anew_is_told() -> None:
    told = anyio.Event()

    async def tell(_: str) -> None:
        told.set()

    with running_stub(Reply(["begun"], silent="after")) as stub:
        found = BalancedUpstream([ModelServer(stub.url, 2)], QUICK, events=ReplicaEvents(on_stalled=tell))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(found.run)
            with pytest.raises(EngineFailed, match="upstream_stalled"):
                await asked(found)
            with anyio.fail_after(60):
                await told.wait()
            await found.close()


async def test_a_server_whose_calls_hear_nothing_but_that_works_stays() -> None:
    """An answer that is not streamed comes at its end: another call shows that the server works."""

    def script(request: dict[str, object]) -> Reply:
        return GOOD if "max_tokens" in request else Reply(silent="at all")

    with running_stub(script) as stub:
        async with balanced([stub.url], QUICK) as found, anyio.create_task_group() as tasks:
            tasks.start_soon(asked, found)
            with anyio.fail_after(60):
                while sum("max_tokens" in request for request in stub.seen) < 2:  # noqa: ASYNC110 - a test
                    await anyio.sleep(0.01)
            assert found.set.replicas[0].state is ReplicaState.UP
            tasks.cancel_scope.cancel()


async def test_leaving_reaches_the_server() -> None:
    with running_stub(Reply(["on "], endless=True)) as stub:
        async with balanced([stub.url]) as found:
            async with found.send(CALL) as answer:
                async for _ in answer.chunks:
                    break
            await stub.wait_until_left()
            assert found.set.replicas[0].outstanding == 0


async def test_models_are_those_of_a_server_that_answers() -> None:
    with running_stub(GOOD, models=("m",)) as stub:
        async with balanced(["http://127.0.0.1:9/v1", stub.url]) as found:
            assert await found.models() == ("m",)


POISON = ModelCall(b'{"model": "stub-model", "messages": ["poison"], "stream": true}', key=b"poison")


def poisonable(request: Request) -> Reply:
    return error_reply(500, "CUDA error") if "poison" in request["messages"] else GOOD


@pytest.mark.parametrize("servers", [1, 2])
async def test_a_request_that_servers_fail_on_takes_none_from_others(servers: int) -> None:
    with ExitStack() as stack:
        stubs = [stack.enter_context(running_stub(poisonable)) for _ in range(servers)]
        async with balanced([stub.url for stub in stubs]) as found:
            for _ in range(5):
                with pytest.raises(EngineFailed, match="engine_failed"):
                    await asked(found, POISON)
                assert (await asked(found))[0] == 200
            assert [replica.taken_out for replica in found.set.replicas] == [0] * servers
    assert sum("poison" in request["messages"] for stub in stubs for request in stub.seen) == 10


async def test_a_server_that_fails_on_what_another_reads_is_taken_out() -> None:
    def blind(request: Request) -> Reply:
        """Fails on everything except the probe."""
        return GOOD if request.get("max_tokens") == 1 else error_reply(500, "no eyes")

    with ExitStack() as stack:
        stubs = [stack.enter_context(running_stub(script)) for script in (blind, GOOD)]
        async with balanced([stub.url for stub in stubs]) as found:
            for number in range(20):
                status, _ = await asked(found, replace(CALL, key=b"%d" % number))
                assert status == 200
            assert found.set.replicas[0].taken_out > 0
            assert found.set.replicas[1].taken_out == 0
