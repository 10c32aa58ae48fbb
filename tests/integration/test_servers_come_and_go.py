"""Model servers that join and leave while calls are made."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager

import anyio
import orjson
import pytest

from inkgate.errors import EngineFailed
from inkgate.model_servers.balancer import BalancedUpstream
from inkgate.model_servers.replica import BalancerSettings, ReplicaState
from inkgate.model_servers.server import ModelServer
from inkgate.model_servers.servers import ModelServers, model_servers
from inkgate.model_servers.upstream import ModelCall
from inkgate.settings import Settings
from support.stub_upstream import Reply, StubUpstream, running_stub

pytestmark = pytest.mark.anyio

CALL = ModelCall(orjson.dumps({"model": "stub-model", "messages": [], "stream": True}), prompt_tokens=50)
GOOD = Reply(["fine"])
SILENT = Reply(["begun"], silent="after")


async def until(happened: Callable[[], bool]) -> None:
    with anyio.fail_after(60):
        while not happened():  # noqa: ASYNC110 - it happens in a server's thread
            await anyio.sleep(0.01)


def states(found: BalancedUpstream) -> dict[str, ReplicaState]:
    return {replica.name: replica.state for replica in found.set.replicas}


@asynccontextmanager
async def balanced(*urls: str, recover_s: float = 60.0, gives_up: bool = False) -> AsyncIterator[BalancedUpstream]:
    settings = BalancerSettings(recover_s=recover_s, first_pause_s=0.02, longest_pause_s=0.1, gives_up=gives_up)
    found = BalancedUpstream([ModelServer(url, 2) for url in urls], settings)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(found.run)
        await anyio.wait_all_tasks_blocked()
        try:
            yield found
        finally:
            await found.close()
            tasks.cancel_scope.cancel()


async def asked(found: BalancedUpstream) -> bytes:
    async with found.send(CALL) as answer:
        return b"".join([chunk async for chunk in answer.chunks])


async def test_a_server_that_joins_takes_calls_once_it_answers() -> None:
    with ExitStack() as stack:
        async with balanced() as found:
            with pytest.raises(EngineFailed, match="upstream_unreachable"):
                await found.models()
            late = stack.enter_context(running_stub(GOOD))
            found.add(ModelServer(late.url, 2))
            assert b"fine" in await asked(found)
            assert states(found) == {late.url: ReplicaState.UP}


async def test_a_server_with_another_model_does_not_come_up() -> None:
    with running_stub(GOOD, models=("other",)) as other, running_stub(GOOD) as right:
        async with balanced() as found:
            found.expect(("stub-model",))
            found.add(ModelServer(other.url, 2))
            found.add(ModelServer(right.url, 2))
            await until(lambda: states(found)[right.url] is ReplicaState.UP and bool(other.seen))
            for _ in range(4):
                await asked(found)
            assert states(found)[other.url] is ReplicaState.OUT
            (replica,) = (each for each in found.set.replicas if each.name == other.url)
            await until(lambda: replica.why == "serves another model")
            other.models = ("stub-model",)
            await until(lambda: states(found)[other.url] is ReplicaState.UP)


async def test_calls_at_a_server_that_leaves_end_in_peace_and_new_ones_go_elsewhere() -> None:
    with ExitStack() as stack:
        first = stack.enter_context(running_stub(Reply(["a"] * 400, pause_s=0.005)))
        async with balanced(first.url) as found, anyio.create_task_group() as tasks:
            answers: list[bytes] = []

            async def ask() -> None:
                answers.append(await asked(found))

            tasks.start_soon(ask)
            await until(lambda: bool(found.set.replicas[0].leases) and first.at_once == 1)
            second = stack.enter_context(running_stub(GOOD))
            found.add(ModelServer(second.url, 2))
            found.retire(first.url)
            assert states(found)[first.url] is ReplicaState.LEAVING
            assert b"fine" in await asked(found)
            assert not answers
            await until(lambda: bool(answers))
            await until(lambda: states(found) == {second.url: ReplicaState.UP})
    assert b"[DONE]" in answers[0]
    assert len(first.seen) == 1


async def test_a_stalled_server_that_leaves_loses_its_calls_to_others() -> None:
    with ExitStack() as stack:
        stuck = stack.enter_context(running_stub(Reply(silent="at all")))
        settings = BalancerSettings(stalled_s=0.4, probe_s=0.4, recover_s=60, first_pause_s=0.02, longest_pause_s=0.1)
        found = BalancedUpstream([ModelServer(stuck.url, 2)], settings)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(found.run)
            answers: list[bytes] = []

            async def ask() -> None:
                answers.append(await asked(found))

            tasks.start_soon(ask)
            await until(lambda: stuck.at_once == 1)
            found.retire(stuck.url)
            good = stack.enter_context(running_stub(GOOD))
            found.add(ModelServer(good.url, 2))
            await until(lambda: bool(answers))
            await until(lambda: states(found) == {good.url: ReplicaState.UP})
            await found.close()
            tasks.cancel_scope.cancel()
    assert b"fine" in answers[0]


async def test_models_are_asked_at_once_and_the_first_answer_counts() -> None:
    # 192.0.2.0/24 is for documentation (RFC 5737): nothing answers there, or it is unreachable at once.
    with running_stub(GOOD) as stub:
        async with balanced("http://127.0.0.1:9/v1", "http://192.0.2.1:9/v1", stub.url) as found:
            assert await found.models() == ("stub-model",)


async def test_once_servers_are_lost_for_long_calls_that_another_engine_can_serve_do_not_wait() -> None:
    async with balanced("http://127.0.0.1:9/v1", recover_s=0.1, gives_up=True) as found:
        with pytest.raises(EngineFailed):
            await asked(found)
        await until(lambda: found.set.none_up_s > 0.1)
        with anyio.fail_after(60), pytest.raises(EngineFailed, match="upstream_unreachable"):
            await asked(found)


@asynccontextmanager
async def scheduled(stubs: list[StubUpstream], each: int) -> AsyncIterator[ModelServers]:
    settings = Settings.model_validate(
        {"engine": {"vllm": {"urls": [stub.url for stub in stubs], "concurrent_requests": each}}}
    )
    servers = model_servers(settings, (), ("stub-model",), lambda _: None)
    async with anyio.create_task_group() as tasks:
        for task in servers.background:
            tasks.start_soon(task.run)
        await anyio.wait_all_tasks_blocked()
        try:
            yield servers
        finally:
            await servers.upstream.close()
            tasks.cancel_scope.cancel()


async def test_limits_grow_and_shrink_with_the_servers_and_leaving_calls_take_no_slots() -> None:
    with running_stub(SILENT) as first, running_stub(GOOD) as second:
        async with scheduled([first], 2) as servers, anyio.create_task_group() as tasks:
            pages = servers.limit_of(16)
            assert (servers.limit.value, pages.value) == (2, 16)

            async def ask() -> None:
                async with servers.upstream.send(CALL) as answer:
                    async for _ in answer.chunks:
                        pass

            for _ in range(2):
                tasks.start_soon(ask)
            await until(lambda: first.at_once == 2)
            servers.balanced.add(ModelServer(second.url, 2))
            await until(lambda: servers.monitor.up == 2)
            assert (servers.limit.value, pages.value) == (4, 32)
            servers.balanced.retire(first.url)
            assert (servers.monitor.up, servers.limit.value, pages.value) == (1, 4, 18)
            for _ in range(6):  # both slots of the other server are free for them
                await ask()
            assert len(second.seen) >= 6
            tasks.cancel_scope.cancel()
