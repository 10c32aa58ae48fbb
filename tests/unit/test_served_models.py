"""Which models the model servers have, while one of them hangs."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

import anyio
import pytest

from inkgate.api.http.served import ServedModels
from inkgate.errors import EngineFailed, InkgateError, Overloaded
from inkgate.model_servers.upstream import ModelAnswer, ModelCall

pytestmark = pytest.mark.anyio


class Upstream:
    """Says its models when it is let. `asked`: how often it was."""

    def __init__(self) -> None:
        self.answers = anyio.Event()
        self.asked = 0
        self.failure: InkgateError | None = None

    async def models(self) -> tuple[str, ...]:
        self.asked += 1
        await self.answers.wait()
        if self.failure is not None:
            raise self.failure
        return ("one",)

    async def close(self) -> None: ...

    def send(self, call: ModelCall) -> AbstractAsyncContextManager[ModelAnswer]:
        raise AssertionError("nothing is to be sent")


async def test_those_who_come_while_a_server_hangs_wait_for_one_answer_together() -> None:
    upstream = Upstream()
    served = ServedModels(upstream, timeout_s=0.05)
    codes: list[str] = []

    async def ask() -> None:
        try:
            await served.names()
        except EngineFailed as error:
            codes.append(error.code)

    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(ask)
    assert (codes, upstream.asked) == (["upstream_stalled"] * 50, 1)
    assert await served.known() == ()
    assert upstream.asked == 1


async def test_a_failure_is_forgotten_after_a_moment() -> None:
    now = [0.0]
    upstream = Upstream()
    upstream.answers.set()
    upstream.failure = EngineFailed("upstream_unreachable", "Nobody is there.")
    served = ServedModels(upstream, now=lambda: now[0])
    for _ in range(3):
        with pytest.raises(EngineFailed, match="upstream_unreachable"):
            await served.names()
    assert upstream.asked == 1
    upstream.failure = None
    now[0] += 2.0
    assert await served.names() == ("one",)
    assert upstream.asked == 2


async def test_the_models_of_an_engine_are_known_as_soon_as_it_has_started() -> None:
    upstream = Upstream()
    upstream.answers.set()
    upstream.failure = Overloaded("starting", "It waits for its model server.", 5.0)
    served = ServedModels(upstream, now=lambda: 0.0)
    with pytest.raises(Overloaded, match="starting"):
        await served.names()
    upstream.failure = None
    assert await served.names() == ("one",)


async def test_who_asks_and_leaves_gives_the_next_one_no_longer_to_wait() -> None:
    now = [0.0]
    upstream = Upstream()
    served = ServedModels(upstream, now=lambda: now[0])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(served.names)
        await anyio.wait_all_tasks_blocked()
        now[0] += 4.99
        tasks.cancel_scope.cancel()
    with anyio.fail_after(4), pytest.raises(EngineFailed, match="upstream_stalled"):
        await served.names()
