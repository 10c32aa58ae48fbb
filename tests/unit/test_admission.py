"""Admission: bounded by documents, bytes and time, shared between tenants, without leaks."""

from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress

import anyio
import pytest
from anyio.abc import TaskGroup
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.simulate.clock import VirtualLoop
from inkgate.errors import Overloaded
from inkgate.serving.admission import AdmissionLimiter
from inkgate.serving.order import Work
from inkgate.serving.outcomes import WorkOutcome
from inkgate.serving.permits import Arrival, Permit
from inkgate.settings import AdmissionSettings

pytestmark = pytest.mark.anyio


class FakeBacklog:
    def __init__(self) -> None:
        self.waiting = 0
        self.backlog_tokens = 0
        self.wait_s: float | None = None
        self.asked: list[Work] = []

    def check(self, work: Work) -> None:
        self.asked.append(work)
        if self.wait_s is not None and self.wait_s > work.patience_s:
            raise Overloaded("service_full", "It would wait too long.", 7.0)

    def retry_after_s(self) -> float:
        return 7.0

    def call_when_changed(self, changed: Callable[[], None]) -> None:
        self.changed = changed


class AdmissionBench:
    """A limiter, and those it let in."""

    def __init__(self, places: int = 8, megabytes: float = 1.0) -> None:
        self.now = 1000.0
        self.backlog = FakeBacklog()
        chosen = AdmissionSettings(max_bytes_mb=megabytes, reserve=0.25, remember_s=30.0)
        self.limiter = AdmissionLimiter(places, chosen, self.backlog, clock=lambda: self.now)
        self.inside: dict[str, list[Permit]] = {}

    def come(self, tenant: str, count: int = 1, body_bytes: int = 0) -> str:
        """The code of the first refusal; "" where all were let in."""
        for _ in range(count):
            try:
                permit = self.limiter.admit(Arrival(tenant, body_bytes=body_bytes))
            except Overloaded as refused:
                return refused.code
            self.inside.setdefault(tenant, []).append(permit)
        return ""

    async def go(self, tenant: str, count: int = 1) -> None:
        for _ in range(count):
            async with self.inside[tenant].pop():
                pass


def test_who_is_alone_may_fill_the_house() -> None:
    door = AdmissionBench(places=8)
    assert door.come("a", 8) == ""
    assert door.come("a") == "service_full"


async def test_who_came_too_late_gets_in_before_who_filled_the_house_gets_more() -> None:
    door = AdmissionBench(places=8)
    door.come("a", 8)
    assert door.come("b") == "service_full"
    await door.go("a")
    assert door.come("a") == "share_exceeded"
    assert door.come("b") == ""
    assert door.come("a") == "share_exceeded"


async def test_who_does_not_come_back_is_forgotten() -> None:
    door = AdmissionBench(places=8)
    door.come("a", 8)
    door.come("b")
    await door.go("a")
    door.now += 29
    assert door.come("a") == "share_exceeded"
    door.now += 1
    assert door.come("a") == ""


def test_what_is_free_may_be_used_beyond_the_share() -> None:
    door = AdmissionBench(places=8)
    door.come("b")
    assert door.come("a", 5) == ""
    assert door.come("a") == "share_exceeded"
    assert door.come("b", 2) == ""
    assert door.come("c") == "service_full"


def test_a_full_house_is_nobodys_fault_who_holds_less_than_its_share() -> None:
    door = AdmissionBench(places=8)
    for tenant in "abcd":
        assert door.come(tenant, 2) == ""
    assert door.come("e") == "service_full"
    assert door.come("a") == "share_exceeded"


def test_a_refusal_says_what_there_is_no_room_for() -> None:
    full, heavy = AdmissionBench(places=2), AdmissionBench(places=8, megabytes=1.0)
    full.come("a", 2, 10)
    heavy.come("a", 2, 450_000)
    with pytest.raises(Overloaded, match=r"service_full: The service is full: it has 2 documents in flight\."):
        full.limiter.admit(Arrival("a", body_bytes=10))
    with pytest.raises(Overloaded, match=r"service_full: The service is full: documents in flight have 0\.9 of 1 MB\."):
        heavy.limiter.admit(Arrival("a", body_bytes=450_000))


def test_bytes_are_bounded_and_shared_as_documents_are() -> None:
    door = AdmissionBench(places=100, megabytes=1.0)
    assert door.come("b", 1, 100_000) == ""
    assert door.come("a", 6, 100_000) == ""
    assert door.come("a", 1, 100_000) == "share_exceeded"
    assert door.come("c", 1, 400_000) == "service_full"
    assert door.come("c", 1, 300_000) == ""


def test_a_body_larger_than_the_house_comes_in_alone() -> None:
    door = AdmissionBench(megabytes=1.0)
    assert door.come("a", 1, 2_000_000) == ""
    assert door.come("b") == "service_full"


async def test_what_a_body_did_not_need_is_given_back() -> None:
    door = AdmissionBench(megabytes=1.0)
    door.come("a", 1, 900_000)
    assert door.come("b", 1, 200_000) == "service_full"
    door.inside["a"][0].set_held_bytes(10_000)
    assert door.come("b", 1, 200_000) == ""
    await door.go("a")
    assert (door.limiter.documents, door.limiter.body_bytes) == (1, 200_000)


def test_who_would_wait_past_the_deadline_is_refused() -> None:
    door = AdmissionBench()
    door.backlog.wait_s = 20.0
    assert door.limiter.admit(Arrival("a", deadline=1010.0)) is not None
    door.backlog.waiting, door.backlog.backlog_tokens = 4, 1000
    with pytest.raises(Overloaded) as refused:
        door.limiter.admit(Arrival("a", deadline=1010.0))
    assert (refused.value.code, refused.value.retry_after_s) == ("service_full", 7.0)
    assert [(work.tokens, work.tenant) for work in door.backlog.asked] == [(250, "a")]
    assert door.limiter.admit(Arrival("a", deadline=1030.0)) is not None
    door.backlog.wait_s = None
    assert door.limiter.admit(Arrival("a", deadline=1010.0)) is not None
    assert door.limiter.documents == 3


async def test_how_documents_ended_is_counted() -> None:
    limiter = AdmissionBench().limiter
    async with limiter.admit():
        pass
    with anyio.CancelScope() as scope:
        async with limiter.admit():
            scope.cancel()
            await anyio.sleep_forever()
    assert limiter.ended == {WorkOutcome.OK: 1, WorkOutcome.LEFT: 1}
    assert limiter.documents == 0


def test_refused_tenants_are_bounded() -> None:
    door = AdmissionBench(places=1)
    door.come("a")
    for number in range(10_050):
        door.come(f"{number}")
    assert len(door.limiter._refused) == 10_000


arrivals = st.tuples(st.sampled_from("abcd"), st.integers(0, 400_000), st.integers(0, 50))


async def stay(visits: list[tuple[str, int, int]]) -> None:
    door = AdmissionBench(places=6)
    held: Counter[str] = Counter()
    async with AsyncExitStack() as stack:
        for tenant, body_bytes, leaver in visits:
            code = door.come(tenant, 1, body_bytes)
            if not code:
                held[tenant] += 1
                if body_bytes % 2:
                    door.inside[tenant][-1].set_held_bytes(body_bytes // 2)
            elif code == "share_exceeded":
                assert held[tenant] >= 1
            assert door.limiter.documents == held.total() <= 6
            assert door.limiter.body_bytes <= 1e6
            leaving = sorted(held.elements())
            if leaving and leaver % 3 == 0:
                gone = leaving[leaver % len(leaving)]
                await door.go(gone)
                held[gone] -= 1
        for tenant, count in held.items():
            stack.push_async_callback(door.go, tenant, count)
    assert (door.limiter.documents, door.limiter.body_bytes, door.limiter._uses) == (0, 0, {})


@given(st.lists(arrivals, max_size=60))
@settings(deadline=None, max_examples=50)
def test_nothing_leaks_whoever_comes_and_goes(visits: list[tuple[str, int, int]]) -> None:
    anyio.run(stay, visits)


async def test_a_body_that_hardly_arrives_gives_its_place_to_who_holds_less() -> None:
    door = AdmissionBench(places=4)
    refused: list[str] = []

    async def loris() -> None:
        try:
            async with door.limiter.admit(Arrival("a")) as permit:
                with permit.receiving():
                    await anyio.sleep_forever()
        except Overloaded as error:
            refused.append(error.code)

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(loris)
        await anyio.wait_all_tasks_blocked()
        door.now += 4.9
        assert door.come("b") == "service_full"
        door.now += 0.1
        assert [door.come("b"), door.come("b")] == ["", ""]
        assert door.come("b") == "share_exceeded"
        await anyio.wait_all_tasks_blocked()
        assert refused == ["share_exceeded"] * 2
        assert (door.limiter.documents, len(door.limiter.arriving)) == (4, 2)
        assert door.limiter.ended == {WorkOutcome.REJECTED: 2}
        assert door.limiter.refused == {"service_full": 1, "share_exceeded": 3}
        assert door.limiter.tenants == 2
        tasks.cancel_scope.cancel()
    assert (door.limiter.documents, len(door.limiter.arriving)) == (2, 0)


async def test_a_body_that_has_arrived_is_never_turned_out() -> None:
    door = AdmissionBench(places=4)
    async with AsyncExitStack() as stack:
        for _ in range(4):
            permit = await stack.enter_async_context(door.limiter.admit(Arrival("a")))
            with permit.receiving():
                door.now += 10
        assert door.come("b") == "service_full"
    assert door.limiter.ended == {WorkOutcome.OK: 4}


async def receive_forever(permit: Permit) -> None:
    async with permit:
        with permit.receiving():
            await anyio.sleep_forever()


async def test_uploads_are_evicted_only_if_that_makes_room() -> None:
    door = AdmissionBench(places=100, megabytes=100.0)
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(receive_forever, door.limiter.admit(Arrival("a", body_bytes=1_000_000)))
        door.come("a", 1, 60_000_000)
        await anyio.wait_all_tasks_blocked()
        door.now += 10
        assert door.come("b", 1, 45_000_000) == "service_full"
        assert (door.limiter.documents, door.limiter.refused) == (21, {"service_full": 1})
        tasks.cancel_scope.cancel()


async def test_no_more_uploads_are_evicted_than_needed() -> None:
    door = AdmissionBench(places=100, megabytes=100.0)
    evicted: list[int] = []

    async def upload(megabytes: int) -> None:
        try:
            async with door.limiter.admit(Arrival("a", body_bytes=megabytes * 1_000_000)) as permit:
                with permit.receiving():
                    await anyio.sleep_forever()
        except Overloaded:
            evicted.append(megabytes)

    async with anyio.create_task_group() as tasks:
        for megabytes in (1, 1, 1, 60, 30):
            tasks.start_soon(upload, megabytes)
        await anyio.wait_all_tasks_blocked()
        door.now += 10
        assert door.come("b", 1, 45_000_000) == ""
        await anyio.wait_all_tasks_blocked()
        assert evicted == [60]
        assert (door.limiter.documents, door.limiter.body_bytes) == (5, 78_000_000)
        tasks.cancel_scope.cancel()


async def test_nothing_is_evicted_for_a_request_that_would_miss_its_deadline() -> None:
    door = AdmissionBench(places=2)
    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(receive_forever, door.limiter.admit(Arrival("a")))
        await anyio.wait_all_tasks_blocked()
        door.now += 10
        door.backlog.waiting, door.backlog.backlog_tokens, door.backlog.wait_s = 1, 1000, 20.0
        with pytest.raises(Overloaded):
            door.limiter.admit(Arrival("b", deadline=door.now + 10))
        assert (door.limiter.documents, door.limiter.tenants) == (2, 1)
        tasks.cancel_scope.cancel()


async def test_a_body_of_unknown_length_is_charged_as_it_grows_and_refused_when_the_service_is_full() -> None:
    door = AdmissionBench(megabytes=1.0)
    door.come("b", 1, 200_000)
    with pytest.raises(Overloaded, match=r"service_full: .* 1\.0 of 1 MB"):
        async with door.limiter.admit(Arrival("a")) as permit:
            with permit.receiving():
                for size in range(100_000, 1_100_000, 100_000):
                    permit.grow(size)
                    assert door.limiter.body_bytes == 200_000 + size <= 1_000_000
    assert (door.limiter.documents, door.limiter.body_bytes) == (1, 200_000)
    assert (door.limiter.refused, door.limiter.ended) == ({"service_full": 1}, {WorkOutcome.REJECTED: 1})


async def test_a_body_may_not_grow_beyond_the_share_of_its_tenant_while_others_are_there() -> None:
    door = AdmissionBench(megabytes=1.0)
    door.come("b", 1, 100_000)
    door.come("a", 1, 400_000)
    with pytest.raises(Overloaded, match="share_exceeded"):
        async with door.limiter.admit(Arrival("a")) as permit:
            permit.grow(250_000)
            permit.grow(350_000)
    assert door.limiter.body_bytes == 500_000


async def test_a_body_alone_may_grow_beyond_all_room() -> None:
    door = AdmissionBench(megabytes=1.0)
    async with door.limiter.admit(Arrival("a")) as permit:
        permit.grow(3_000_000)
        permit.grow(2_000_000)
        assert door.limiter.body_bytes == 3_000_000
        assert door.come("b") == "service_full"
    assert door.limiter.body_bytes == 0


async def test_a_body_that_grows_evicts_slow_uploads_of_tenants_over_their_share() -> None:
    door = AdmissionBench(megabytes=1.0)
    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(receive_until_evicted, door.limiter.admit(Arrival("a", body_bytes=400_000)))
        await anyio.wait_all_tasks_blocked()
        door.now += 10
        async with door.limiter.admit(Arrival("b")) as permit:
            permit.grow(200_000)
            assert door.limiter.documents == 3
            permit.grow(300_000)
            assert (door.limiter.documents, door.limiter.body_bytes) == (2, 700_000)
        tasks.cancel_scope.cancel()


async def receive_until_evicted(permit: Permit) -> None:
    with suppress(Overloaded):
        await receive_forever(permit)


class WaitingBench:
    """A limiter, requests that hold slots or wait for them, and what must be true of it at any time."""

    def __init__(self, tasks: TaskGroup) -> None:
        settings = AdmissionSettings(max_bytes_mb=1.0, reserve=0.25)
        self.limiter = AdmissionLimiter(6, settings, FakeBacklog())
        self.leaving: list[anyio.Event] = []
        self.scopes: list[anyio.CancelScope] = []
        self._tasks = tasks

    async def visit(self, tenant: str, body_bytes: int) -> None:
        leaves = anyio.Event()
        with anyio.CancelScope() as scope:
            self.scopes.append(scope)
            async with await self.limiter.wait(Arrival(tenant, body_bytes=body_bytes), 1e6) as permit:
                self.leaving.append(leaves)
                permit.set_held_bytes(body_bytes // 2)
                await leaves.wait()

    async def come(self, tenant: str, body_bytes: int) -> None:
        self._tasks.start_soon(self.visit, tenant, body_bytes)
        await anyio.wait_all_tasks_blocked()

    def check(self) -> None:
        """Nobody waits who has room outside the reserve of two."""
        limiter = self.limiter
        assert limiter.documents <= 6
        assert limiter.line.requests.keys() <= limiter._uses.keys()
        for waiting in limiter.line.in_turn() if limiter.documents < 4 else ():
            with pytest.raises(Overloaded):
                limiter._in_the_way(waiting.arrival.tenant, 1, waiting.arrival.body_bytes, 0.0)


async def come_wait_and_leave(steps: list[tuple[str, str, int, int]]) -> None:
    async with anyio.create_task_group() as tasks:
        bench = WaitingBench(tasks)
        for what, tenant, body_bytes, number in steps:
            if what == "come":
                await bench.come(tenant, body_bytes)
            elif what == "leave" and bench.leaving:
                bench.leaving.pop(number % len(bench.leaving)).set()
            elif what == "disconnect" and bench.scopes:
                bench.scopes.pop(number % len(bench.scopes)).cancel()
            await anyio.wait_all_tasks_blocked()
            bench.check()
        while bench.leaving:
            bench.leaving.pop().set()
            await anyio.wait_all_tasks_blocked()
            bench.check()
        assert (bench.limiter.waiting, bench.limiter.line.held_bytes) == (0, 0)
    assert (bench.limiter.documents, bench.limiter.body_bytes, bench.limiter._uses) == (0, 0, {})


steps = st.tuples(
    st.sampled_from(["come", "come", "leave", "disconnect"]),
    st.sampled_from("abcd"),
    st.integers(0, 600_000),
    st.integers(0, 50),
)


@given(st.lists(steps, min_size=20, max_size=60))
@settings(deadline=None, max_examples=100)
def test_nobody_waits_who_has_room_and_nothing_leaks(steps: list[tuple[str, str, int, int]]) -> None:
    anyio.run(come_wait_and_leave, steps, backend_options={"loop_factory": VirtualLoop})
