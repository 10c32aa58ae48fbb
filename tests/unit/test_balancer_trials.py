"""A server that fails on every page and passes its probe is out, and comes back on trial. In virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import anyio
import pytest

from inkgate.errors import EngineFailed, InkgateError, InputRejected
from inkgate.model_servers.balancer import BalancedUpstream
from inkgate.model_servers.replica import BalancerSettings, Replica, ReplicaState
from inkgate.model_servers.upstream import ModelAnswer, ModelCall
from support.unmeasured_server import UnmeasuredServer
from support.virtual_time import VIRTUAL_TIME, Backend

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> Backend:
    return VIRTUAL_TIME


class Pageblind(UnmeasuredServer):
    """A Server whose probe succeeds; its pages have `status`."""

    def __init__(self, name: str, status: int = 500, trouble: InkgateError | None = None) -> None:
        """`trouble`: of the probe. Pages called good are read in 3 seconds, whatever the `status`."""
        self.base_url = name
        self.status = status
        self.trouble = trouble
        self.calls = 0
        self.probes = 0

    @asynccontextmanager
    async def send(self, call: ModelCall) -> AsyncIterator[ModelAnswer]:
        self.calls += 1
        good = call.content.startswith(b"good")
        await anyio.sleep(3 if good else 0)
        yield ModelAnswer(200 if good else self.status, {}, _one_chunk())

    async def probe(self) -> None:
        self.probes += 1
        if self.trouble is not None:
            raise self.trouble


async def _one_chunk() -> AsyncIterator[bytes]:
    yield b"data: {}\n\n"


@asynccontextmanager
async def balanced(servers: Sequence[Pageblind]) -> AsyncIterator[BalancedUpstream]:
    found = BalancedUpstream(servers, BalancerSettings(recover_s=0.01, first_pause_s=1.0, longest_pause_s=15.0))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(found.run)
        yield found
        tasks.cancel_scope.cancel()


async def page(found: BalancedUpstream, content: bytes) -> int | str:
    """The status of the answer, or the code of the error."""
    try:
        async with found.send(ModelCall(b"{}", content=content, key=content)) as answer:
            return answer.status
    except EngineFailed as error:
        return error.code


def state(replica: Replica) -> ReplicaState:
    """Its state; as a function, of which mypy doesn't expect that it stays the same."""
    return replica.state


async def test_a_lone_server_is_out_after_five_pages_whatever_its_probe_says() -> None:
    server = Pageblind("a")
    async with balanced([server]) as found:
        (replica,) = found.set.replicas
        told = [await page(found, b"page %d" % number) for number in range(12)]
        assert replica.state is ReplicaState.OUT
    assert told == ["engine_failed"] * 4 + [500] + ["upstream_unreachable"] * 7
    assert server.calls == 4 * 2 + 1
    assert replica.why == "fails on every page"


async def test_one_page_that_is_sent_again_and_again_is_the_only_bad_one() -> None:
    async with balanced([Pageblind("a")]) as found:
        assert {await page(found, b"the same") for _ in range(50)} == {"engine_failed"}
        assert found.set.replicas[0].state is ReplicaState.UP


async def test_a_clients_own_requests_are_no_pages() -> None:
    async with balanced([Pageblind("a")]) as found:
        for number in range(50):
            with suppress(EngineFailed):
                async with found.send(ModelCall(b"%d" % number)):
                    pass
        assert found.set.replicas[0].state is ReplicaState.UP


REFUSALS = [
    (503, EngineFailed("upstream_busy", "No server is behind the proxy.")),
    (400, InputRejected("upstream_rejected", "It takes no images.")),
]


@pytest.mark.parametrize(("status", "trouble"), REFUSALS)
async def test_a_server_that_refuses_every_page_and_the_probe_is_out(status: int, trouble: InkgateError) -> None:
    server = Pageblind("a", status, trouble)
    async with balanced([server]) as found:
        told = []
        for number in range(8):
            told.append(await page(found, b"page %d" % number))
            await anyio.wait_all_tasks_blocked()
        assert told == [status] * 5 + ["upstream_unreachable"] * 3
        server.status, server.trouble = 200, None
        await anyio.sleep(15)
        assert await page(found, b"a good one") == 200


@pytest.mark.parametrize("status", [503, 400])
async def test_pages_that_are_too_long_or_come_to_a_full_server_put_no_server_out(status: int) -> None:
    server, begun = Pageblind("a", status), anyio.current_time()
    async with balanced([server]) as found:
        for number in range(40):
            assert await page(found, b"page %d" % number) == status
            await anyio.wait_all_tasks_blocked()
        assert found.set.replicas[0].state is ReplicaState.UP
    assert 1 <= server.probes <= 1 + anyio.current_time() - begun


async def test_it_comes_back_on_trial_after_pauses_that_double_until_it_reads_a_page() -> None:
    server, back_at = Pageblind("a"), []
    async with balanced([server]) as found:
        (replica,) = found.set.replicas
        found.events.on_back = lambda: back_at.append(round(anyio.current_time() - out_at))
        for number in range(5):
            await page(found, b"page %d" % number)
        for number in range(4):
            out_at = anyio.current_time()
            while state(replica) is ReplicaState.OUT:
                await replica.changed.wait()
            assert await page(found, b"trial %d" % number) == 500
        assert back_at == [2, 4, 8, 15]
        assert state(replica) is ReplicaState.OUT
        while state(replica) is ReplicaState.OUT:
            await replica.changed.wait()
        server.status = 200
        assert await page(found, b"a good one") == 200
        server.status = 500
        assert [await page(found, b"bad %d" % number) for number in range(4)] == ["engine_failed"] * 4
        assert state(replica) is ReplicaState.UP


async def test_bad_pages_that_fail_while_good_ones_are_read_take_no_server_out() -> None:
    told: list[int | str] = []

    async def read(content: bytes) -> None:
        told.append(await page(found, content))

    async with balanced([Pageblind("a"), Pageblind("b")]) as found, anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(read, b"good %d" % number)
        await anyio.sleep(1)
        for number in range(10):
            assert await page(found, b"bad %d" % number) == "engine_failed"
        assert [replica.state for replica in found.set.replicas] == [ReplicaState.UP] * 2
        await anyio.sleep(3)
        assert told == [200] * 20
        assert [list(replica.unread) for replica in found.set.replicas] == [[], []]


async def test_it_comes_back_after_any_number_of_trials() -> None:
    async with balanced([Pageblind("a")]) as found:
        (replica,) = found.set.replicas
        replica.trials = 5000
        await page(found, b"a page")
        assert state(replica) is ReplicaState.OUT
        await anyio.sleep(16)
        assert state(replica) is ReplicaState.UP


async def test_with_another_server_no_page_is_lost() -> None:
    blind, good = Pageblind("blind"), Pageblind("good", 200)
    async with balanced([blind, good]) as found:
        assert [await page(found, b"page %d" % number) for number in range(40)] == [200] * 40
        assert [replica.state for replica in found.set.replicas] == [ReplicaState.OUT, ReplicaState.UP]
        await anyio.sleep(60)
        assert [await page(found, b"later %d" % number) for number in range(40)] == [200] * 40
    assert blind.calls <= 5  # 2 at first, and 1 for each time that it was tried
