"""Tenants share the time of worker processes equally, whatever their calls cost; in virtual time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from itertools import count

import anyio
import pytest

from inkgate.caller import Caller, Priority
from inkgate.documents.pdf.wire import Op, PdfCall
from inkgate.serving.limits import FixedLimit
from inkgate.serving.order import Work
from inkgate.serving.queue import Turn, WorkQueue
from inkgate.settings import SchedulingSettings
from support.virtual_time import VIRTUAL_TIME, Backend

pytestmark = pytest.mark.anyio

WORKERS = 2
SPAN_S = 120.0
USUAL_MS = 50


@pytest.fixture
def anyio_backend() -> Backend:
    return VIRTUAL_TIME


def queue_of(workers: int = WORKERS) -> WorkQueue:
    return WorkQueue(FixedLimit(workers), SchedulingSettings(), timed=True)


def jain(shares: Mapping[str, float]) -> float:
    """Jain's index of fairness: 1 if all shares are equal, 1 / n if one has everything (Jain, Chiu, Hawe 1984)."""
    return sum(shares.values()) ** 2 / (len(shares) * sum(share**2 for share in shares.values()))


async def worker_s(tenants: Mapping[str, tuple[int, float]]) -> Mapping[str, float]:
    """Seconds of workers that each tenant got, with this many documents always waiting, whose calls take this long."""
    queue = queue_of()
    used: defaultdict[str, float] = defaultdict(float)
    numbers = count()

    async def documents(tenant: str, seconds: float) -> None:
        while True:
            caller = Caller(tenant, Priority.INTERACTIVE, flow=f"document {next(numbers)}")
            async with queue.turn(Work.for_caller(caller, USUAL_MS)):
                await anyio.sleep(seconds)
            used[tenant] += seconds

    with anyio.move_on_after(SPAN_S):
        async with anyio.create_task_group() as tasks:
            for tenant, (waiting, seconds) in tenants.items():
                for _ in range(waiting):
                    tasks.start_soon(documents, tenant, seconds)
    return used


@pytest.mark.parametrize(
    "tenants",
    [
        {"A": (40, 0.4), "B": (3, 0.4)},
        {"A": (40, 2.0), "B": (4, 0.02)},
        {"A": (100, 0.05), "B": (20, 0.5), "C": (3, 0.01), "D": (3, 5.0)},
    ],
)
async def test_tenants_share_the_workers_time_equally(tenants: Mapping[str, tuple[int, float]]) -> None:
    used = await worker_s(tenants)
    assert sum(used.values()) > 0.9 * WORKERS * SPAN_S
    assert jain(used) > 0.95, used


@pytest.mark.parametrize(("usual_ms", "used_s"), [(5, 0.5), (164, 5.0), (5000, 0.05)])
async def test_a_lower_class_gets_its_share_of_the_time_whatever_its_calls_were_estimated_at(
    usual_ms: int, used_s: float
) -> None:
    queue, used = queue_of(), defaultdict[Priority, float](float)

    async def documents(priority: Priority, usual_ms: int, seconds: float) -> None:
        for number in count():
            caller = Caller(priority.value, priority, flow=f"document {number}")
            async with queue.turn(Work.for_caller(caller, usual_ms)):
                await anyio.sleep(seconds)
            used[priority] += seconds

    with anyio.move_on_after(10 * SPAN_S):
        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(documents, Priority.INTERACTIVE, 65, 0.065)
                tasks.start_soon(documents, Priority.BATCH, usual_ms, used_s)
    assert 1 / 40 < used[Priority.BATCH] / (WORKERS * 10 * SPAN_S) < 1 / 10, "a sixteenth of what interactive calls get"


class CountedCharge:
    """Counts the requests of a request."""

    def __init__(self) -> None:
        self.requests = 0

    def begin_work(self) -> None:
        self.requests += 1

    def end_work(self) -> None:
        self.requests -= 1


async def test_a_call_whose_caller_has_left_keeps_its_turn_and_is_charged() -> None:
    queue, request = queue_of(1), CountedCharge()
    order: list[str] = []
    turns: list[Turn] = []

    async def one(tenant: str) -> None:
        async with queue.turn(Work(USUAL_MS, tenant)):
            order.append(tenant)
            await anyio.sleep(USUAL_MS / 1000)

    async def leaves(scope: anyio.CancelScope) -> None:
        with scope:
            async with queue.turn(replace(Work(USUAL_MS, "A"), charge=request)) as turn:
                turns.append(turn)
                turn.begin_work()
                await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        async with queue.turn(Work(USUAL_MS)):
            scope = anyio.CancelScope()
            tasks.start_soon(leaves, scope)
            await anyio.wait_all_tasks_blocked()
            for tenant in 9 * ["A"] + 9 * ["B"]:
                tasks.start_soon(one, tenant)
            await anyio.wait_all_tasks_blocked()
        await anyio.wait_all_tasks_blocked()
        scope.cancel()
        await anyio.wait_all_tasks_blocked()
        assert (queue.in_flight, queue.waiting, request.requests) == (1, 18, 1)
        await anyio.sleep(0.5)  # as long as ten others
        assert not order
        turns[0].end_work()
        assert (queue.in_flight, request.requests) == (1, 0), "the next has begun"
    assert order[:9] == 9 * ["B"]
    assert (queue.in_flight, queue.waiting) == (0, 0)


async def test_a_call_that_is_sent_again_keeps_its_turn() -> None:
    queue = queue_of(1)
    async with queue.turn(Work(USUAL_MS)) as turn:
        for _ in range(2):  # workers that die of it
            turn.begin_work()
            turn.end_work()
        assert queue.in_flight == 1
    assert queue.in_flight == 0


async def test_a_call_waits_as_long_as_its_caller() -> None:
    """Unlike a page at an engine, which is refused as soon as it can't be done by its deadline."""
    queue = queue_of(1)
    begun = []

    async def one(deadline_s: float) -> None:
        async with queue.turn(Work(USUAL_MS, deadline=anyio.current_time() + deadline_s, patience_s=deadline_s)):
            begun.append(deadline_s)

    async with queue.turn(Work(USUAL_MS)), anyio.create_task_group() as tasks:
        tasks.start_soon(one, 5.0)
        tasks.start_soon(one, 0.001)
        await anyio.sleep(60)
        tasks.start_soon(one, -1.0)
        await anyio.wait_all_tasks_blocked()
        assert (queue.waiting, begun) == (3, [])
        queue.limit = FixedLimit(2)
        queue.wake()
    assert begun == [0.001, 5.0, -1.0]


class Documents:
    """Documents of one page after the other, whose calls in workers are of a kind."""

    def __init__(self) -> None:
        self.queue = queue_of()
        self.begun: Counter[str] = Counter()
        self.used_s: defaultdict[str, float] = defaultdict(float)

    async def page(self, tenant: str, document: str, call: PdfCall, seconds: float) -> None:
        caller = Caller(tenant, Priority.INTERACTIVE, flow=document)
        async with self.queue.turn(Work.for_caller(caller, call.usual_ms)):
            self.begun[call.op] += 1
            await anyio.sleep(seconds)
            self.used_s[call.op] += seconds

    async def scan(self, number: int) -> None:
        """A scanned document, whose pages are rendered. Its number makes them slower."""
        while True:
            await self.page("scans", f"scan {number}", RENDER, 0.2 + 0.01 * number)


RENDER = PdfCall(Op.RENDER, 1, width=2480, height=3508)
LOOK = PdfCall(Op.PAGE, 2)


@pytest.mark.parametrize("scans_before_s", [0.0, 100.0])
@pytest.mark.parametrize("tenant", ["scans", "another"])
async def test_pages_of_text_do_not_wait_behind_scans(tenant: str, scans_before_s: float) -> None:
    """Forty scanned documents want pages rendered, and one document of text has 30 pages looked at."""
    documents = Documents()
    waited: list[int] = []
    async with anyio.create_task_group() as tasks:
        for number in range(40):
            tasks.start_soon(documents.scan, number)
        await anyio.sleep(scans_before_s)
        for _ in range(30):
            before = documents.begun[Op.RENDER]
            await documents.page(tenant, "text", LOOK, 0.05)
            waited.append(documents.begun[Op.RENDER] - before)
        tasks.cancel_scope.cancel()
    assert waited[0] <= 3, "the first goes before those that came with it"
    assert sum(waited) <= 180, waited  # 150, if all documents were read at once by workers that share their time


async def test_scans_get_their_share_beside_endless_text() -> None:
    documents = Documents()

    async def texts(number: int) -> None:
        for page in count():
            await documents.page("scans", f"text {number} {page}", LOOK, 0.05)

    with anyio.move_on_after(SPAN_S):
        async with anyio.create_task_group() as tasks:
            for number in range(4):
                tasks.start_soon(documents.scan, number)
            for number in range(8):
                tasks.start_soon(texts, number)
    assert sum(documents.used_s.values()) > 0.9 * WORKERS * SPAN_S
    assert documents.used_s[Op.RENDER] > 0.15 * WORKERS * SPAN_S
