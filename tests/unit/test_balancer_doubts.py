"""What a server's failure on one request means for its other calls, with scripted servers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.lowlevel import checkpoint

from inkgate.errors import EngineFailed
from inkgate.model_servers.balancer import BalancedUpstream
from inkgate.model_servers.replica import BalancerSettings, ReplicaEvents, ReplicaState
from inkgate.model_servers.upstream import ModelAnswer, ModelCall
from inkgate.serving.quarantine import Quarantine
from support.unmeasured_server import UnmeasuredServer

pytestmark = pytest.mark.anyio

PATIENT = BalancerSettings(stalled_s=3600, recover_s=3600, probe_s=3600, first_pause_s=3600, longest_pause_s=0)
"""Waits for one of these fail the test after `SOON_S`."""
SOON_S = 30


class ScriptedServer(UnmeasuredServer):
    """A Server: each call has `status` once `go` is set; it is there for probes while `works`."""

    def __init__(self, name: str, status: int = 200) -> None:
        self.base_url = name
        self.status = status
        self.works = True
        self.go = anyio.Event()
        self.calls = 0

    @asynccontextmanager
    async def send(self, call: ModelCall) -> AsyncIterator[ModelAnswer]:
        self.calls += 1
        if call.body != b"at once":
            await self.go.wait()
        yield ModelAnswer(self.status, {}, _nothing())

    async def probe(self) -> None:
        if not self.works:
            raise EngineFailed("upstream_unreachable", "It is gone.")


async def _nothing() -> AsyncIterator[bytes]:
    for chunk in (b"",):
        yield chunk


@asynccontextmanager
async def balanced(servers: Sequence[ScriptedServer], quarantine: Quarantine) -> AsyncIterator[BalancedUpstream]:
    found = BalancedUpstream(servers, PATIENT, events=ReplicaEvents(on_out=quarantine.died))
    with anyio.fail_after(SOON_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(found.run)
            yield found
            tasks.cancel_scope.cancel()


async def asked(found: BalancedUpstream, body: bytes, key: bytes) -> int:
    async with found.send(ModelCall(body, key=key)) as answer:
        return answer.status


async def test_a_call_that_fails_in_a_server_that_is_out_already_goes_elsewhere_at_once() -> None:
    bad, good = ScriptedServer("bad", 500), ScriptedServer("good")
    statuses: list[int] = []

    async def ask(found: BalancedUpstream) -> None:
        statuses.append(await asked(found, b"late", b""))

    async with balanced([bad, good], Quarantine()) as found, anyio.create_task_group() as tasks:
        good.go.set()
        tasks.start_soon(ask, found)
        await anyio.wait_all_tasks_blocked()
        assert bad.calls == 1
        bad.works = False
        assert await asked(found, b"at once", b"") in {200, 500}
        found.set.replicas[0].take_out("it failed on another call")
        bad.go.set()
    assert statuses == [200]


async def test_pages_in_a_server_that_answers_are_not_blamed_when_it_is_taken_out() -> None:
    quarantine = Quarantine()
    blind, good = ScriptedServer("blind", 500), ScriptedServer("good")
    good.go.set()

    async def innocent(found: BalancedUpstream) -> None:
        async with quarantine.reading(b"innocent"):
            await asked(found, b"late", b"")

    async with balanced([blind, good], quarantine) as found:
        replica, other = found.set.replicas
        other.outstanding = 100  # so that each call goes to the blind one first
        for _ in range(2):
            blind.go = anyio.Event()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(innocent, found)
                await anyio.wait_all_tasks_blocked()
                for number in range(2):
                    assert await asked(found, b"at once", b"%d" % number) == 200
                assert replica.state is ReplicaState.OUT
                blind.go.set()
            while replica.state is ReplicaState.OUT:
                await checkpoint()
        assert replica.taken_out == 2
    quarantine.check(b"innocent")


@pytest.mark.parametrize("when", ["before", "while probed"])
async def test_a_call_that_fails_in_a_server_that_leaves_goes_elsewhere_at_once(when: str) -> None:
    bad, good = ScriptedServer("bad", 500), ScriptedServer("good")
    good.go.set()
    bad.works = False
    probed, answered = anyio.Event(), anyio.Event()
    probes = 0

    async def probe() -> None:
        nonlocal probes
        probes += 1
        probed.set()
        await answered.wait()
        await checkpoint()
        raise EngineFailed("upstream_unreachable", "It is gone.")

    bad.probe = probe  # type: ignore[method-assign]
    statuses: list[int] = []

    async def ask(found: BalancedUpstream) -> None:
        statuses.append(await asked(found, b"late", b""))

    async with balanced([bad, good], Quarantine()) as found, anyio.create_task_group() as tasks:
        tasks.start_soon(ask, found)
        await anyio.wait_all_tasks_blocked()
        assert bad.calls == 1
        if when == "before":
            found.retire("bad")
            bad.go.set()
        else:
            bad.go.set()
            await probed.wait()
            found.retire("bad")
            answered.set()
    assert statuses == [200]
    assert probes == (0 if when == "before" else 1)
