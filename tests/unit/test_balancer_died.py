"""When a server counts as dead, and how many of its calls are reported."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from inkgate.errors import EngineFailed
from inkgate.model_servers.balancer import BalancedUpstream
from inkgate.model_servers.metrics import ServerReading
from inkgate.model_servers.replica import BalancerSettings, ReplicaEvents, ReplicaState
from inkgate.model_servers.upstream import ModelAnswer, ModelCall

pytestmark = pytest.mark.anyio


class MortalServer:
    """A server that begins to answer every call, until the connections break; then it is as `after` says."""

    base_url = "http://server/v1"

    def __init__(self, after: str = "", *, answers: bool = True) -> None:
        """`after`: what trying it ends with, as a code; nothing: it works."""
        self.answering = 0
        self.tried = 0
        self._after = after
        self._answers = answers
        self._broken = anyio.Event()

    def breaks(self) -> None:
        self._broken.set()

    async def probe(self) -> None:
        self.tried += 1
        if self._after and self.tried == 1:
            raise EngineFailed(self._after, "As told.")

    async def close(self) -> None: ...

    async def models(self) -> tuple[str, ...]:
        return ("model",)

    async def readings(self) -> ServerReading | None:
        return None

    @asynccontextmanager
    async def send(self, call: ModelCall) -> AsyncIterator[ModelAnswer]:
        if not self._answers:
            await self._broken.wait()
            raise EngineFailed("upstream_unreachable", "As told.")
        yield ModelAnswer(200, {}, self._chunks())

    async def _chunks(self) -> AsyncGenerator[bytes, None]:
        self.answering += 1
        yield b"begun"
        await self._broken.wait()
        raise EngineFailed("upstream_cut_off", "As told.")


async def deaths_of(server: MortalServer, calls: int = 5) -> list[int]:
    """The reported deaths when the connections of this many calls break at once."""
    told: list[int] = []
    balanced = BalancedUpstream(
        [server], BalancerSettings(first_pause_s=0.0, recover_s=0.0), events=ReplicaEvents(on_died=told.append)
    )

    async def ask() -> None:
        with pytest.raises(EngineFailed):
            async with balanced.send(ModelCall(b"")) as answer:
                async for _ in answer.chunks:
                    pass

    async with anyio.create_task_group() as background:
        background.start_soon(balanced.run)
        async with anyio.create_task_group() as tasks:
            for _ in range(calls):
                tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            server.breaks()
        await anyio.wait_all_tasks_blocked()
        assert balanced.set.replicas[0].state is ReplicaState.UP
        await balanced.close()
    return told


@pytest.mark.parametrize("gone", ["upstream_unreachable", "upstream_failed", "upstream_cut_off"])
async def test_a_server_that_breaks_off_and_is_gone_has_died_with_all_its_calls(gone: str) -> None:
    assert await deaths_of(MortalServer(gone)) == [5]


@pytest.mark.parametrize("there", ["", "upstream_busy", "upstream_stalled"])
async def test_connections_that_break_are_no_death_of_a_server_that_is_there(there: str) -> None:
    server = MortalServer(there)
    assert await deaths_of(server) == []
    assert server.answering == 5


async def test_what_is_read_in_a_server_that_is_taken_out_is_told_once() -> None:
    dying, other = MortalServer("upstream_unreachable"), MortalServer()
    told: list[list[bytes]] = []
    settings = BalancerSettings(first_pause_s=0.0)
    balanced = BalancedUpstream(
        [dying, other], settings, events=ReplicaEvents(on_out=lambda contents: told.append(sorted(contents)))
    )

    async def ask(key: bytes) -> None:
        with pytest.raises(EngineFailed):
            async with balanced.send(ModelCall(b"", content=key)) as answer:
                async for _ in answer.chunks:
                    pass

    async with anyio.create_task_group() as tasks:
        for number in range(4):
            tasks.start_soon(ask, b"%d" % number)
            await anyio.wait_all_tasks_blocked()
        dying.breaks()
        await anyio.wait_all_tasks_blocked()
        assert told == [[b"0", b"2"]], "those in the other server are no suspects"
        other.breaks()


async def test_calls_to_a_server_that_is_not_there_kill_nobody() -> None:
    server = MortalServer("upstream_unreachable", answers=False)
    assert await deaths_of(server) == []
    assert server.tried >= 2
