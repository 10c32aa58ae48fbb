"""Tenants share the time of PDF workers equally, whatever their documents cost; in virtual time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import count

import anyio
import pytest

from inkgate.caller import Caller, Priority
from inkgate.documents.worker_queue import FairCalls
from inkgate.runtimes.worker_slot import WorkerCall
from support.virtual_time import VIRTUAL_TIME, Backend

pytestmark = pytest.mark.anyio

WORKERS = 2
SPAN_S = 120.0


@pytest.fixture
def anyio_backend() -> Backend:
    return VIRTUAL_TIME


def jain(shares: Mapping[str, float]) -> float:
    """Jain's index of fairness: 1 if all shares are equal, 1 / n if one has everything (Jain, Chiu, Hawe 1984)."""
    return sum(shares.values()) ** 2 / (len(shares) * sum(share**2 for share in shares.values()))


async def worker_s(tenants: Mapping[str, tuple[int, float]]) -> Mapping[str, float]:
    """Seconds of workers that each tenant got, with this many documents always waiting, whose calls take this long."""
    queue = FairCalls()
    used: defaultdict[str, float] = defaultdict(float)
    numbers = count()

    def ask(tenant: str) -> None:
        caller = Caller(tenant, Priority.INTERACTIVE, flow=f"document {next(numbers)}")
        queue.put(WorkerCall(None, (), caller, lambda: None))

    async def work() -> None:
        while (call := queue.take()) is not None:
            tenant = call.caller.tenant
            seconds = tenants[tenant][1]
            await anyio.sleep(seconds)
            queue.charge(call, seconds)
            used[tenant] += seconds
            ask(tenant)

    for tenant, (documents, _) in tenants.items():
        for _ in range(documents):
            ask(tenant)
    with anyio.move_on_after(SPAN_S):
        async with anyio.create_task_group() as workers:
            for _ in range(WORKERS):
                workers.start_soon(work)
    return used


@pytest.mark.parametrize(
    "tenants",
    [
        {"A": (40, 0.4), "B": (2, 0.4)},
        {"A": (40, 2.0), "B": (4, 0.02)},
        {"A": (100, 0.05), "B": (20, 0.5), "C": (3, 0.01), "D": (3, 5.0)},
    ],
)
async def test_tenants_share_the_workers_time_equally(tenants: Mapping[str, tuple[int, float]]) -> None:
    used = await worker_s(tenants)
    assert sum(used.values()) > 0.9 * WORKERS * SPAN_S
    assert jain(used) > 0.95, used


async def test_the_time_of_a_call_whose_caller_has_left_is_charged() -> None:
    queue = FairCalls()
    calls = {tenant: [WorkerCall(None, (), Caller(tenant), lambda: None) for _ in range(9)] for tenant in "AB"}
    for call in [*calls["A"], *calls["B"]]:
        queue.put(call)
    first = queue.take()
    assert first is calls["A"][0]
    first.abandoned = True
    queue.discard(first)  # a worker has it: it does not wait any more
    queue.charge(first, 0.5)  # as ten others
    assert queue.take() is calls["B"][0]
    assert queue.take() is calls["A"][1]  # its charge is known from here on
    assert [queue.take() for _ in range(8)] == calls["B"][1:]


async def test_a_call_that_was_given_up_while_it_waited_is_not_taken() -> None:
    queue = FairCalls()
    calls = [WorkerCall(None, (), Caller("A"), lambda: None) for _ in range(3)]
    for call in calls:
        queue.put(call)
    queue.discard(calls[1])
    assert len(queue) == 2
    assert [queue.take(), queue.take(), queue.take()] == [calls[0], calls[2], None]


async def test_a_call_that_was_put_back_goes_first() -> None:
    queue = FairCalls()
    calls = [WorkerCall(None, (), Caller(tenant), lambda: None) for tenant in "ABC"]
    for call in calls:
        queue.put(call)
    first = queue.take()
    assert first is not None
    queue.put_back(first)
    assert (len(queue), queue.take()) == (3, first)
