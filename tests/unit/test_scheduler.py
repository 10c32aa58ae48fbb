"""Turns at the engine: bounded, in order, given back whatever happens; and refused where waiting is in vain."""

import math
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from random import Random

import anyio
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import given, settings
from hypothesis import strategies as st

from inkgate.errors import EngineFailed, InkgateError, InputRejected, Overloaded
from inkgate.serving.ledger import Ledger
from inkgate.serving.limiter import Outcome
from inkgate.serving.rate import Rate
from inkgate.serving.scheduler import Scheduler
from inkgate.serving.work import Priority, Work
from inkgate.settings import SchedulingSettings

pytestmark = pytest.mark.anyio


class FakeLimit:
    def __init__(self, value: int) -> None:
        self.value = value
        self.outcomes: list[Outcome] = []

    def ended(self, outcome: Outcome, at: float) -> None:
        self.outcomes.append(outcome)


class House:
    """A scheduler, and all that it stands on."""

    def __init__(self, places: int = 1, capacity: int | None = None, **changes: object) -> None:
        self.now = 1000.0
        self.limit = FakeLimit(places)
        self.ledger = Ledger(capacity, share=1.0)
        self.rate = Rate(lambda: self.now)
        chosen = SchedulingSettings.model_validate(changes)
        self.scheduler = Scheduler(self.limit, self.ledger, self.rate, chosen, lambda: self.now, Random(1))
        self.order: list[str] = []

    @asynccontextmanager
    async def busy(self, works: int = 1, tokens: int = 100) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for _ in range(works):
                await stack.enter_async_context(self.scheduler.turn(Work(tokens, "busy")))
            yield

    async def one(self, work: Work) -> None:
        async with self.scheduler.turn(work):
            self.order.append(work.flow)

    async def done(self, tokens: int, seconds: float, works: int = 1) -> None:
        async with self.busy(works, tokens):
            self.now += seconds

    def is_empty(self) -> bool:
        left = (self.scheduler.in_flight, self.scheduler.waiting, self.scheduler.backlog_tokens, self.ledger.promised)
        return left == (0, 0, 0, 0)


async def test_no_more_are_at_the_engine_than_the_limit() -> None:
    house = House(places=2)
    async with anyio.create_task_group() as tasks, house.busy(2):
        for flow in "abc":
            tasks.start_soon(house.one, Work(1, flow=flow))
        await anyio.wait_all_tasks_blocked()
        assert (house.scheduler.in_flight, house.scheduler.waiting, house.order) == (2, 3, [])
    assert house.order == ["a", "b", "c"]
    assert house.is_empty()


async def test_the_ledger_bounds_too() -> None:
    house = House(places=10, capacity=250)
    async with anyio.create_task_group() as tasks, house.busy(2):
        tasks.start_soon(house.one, Work(100, flow="a"))
        await anyio.wait_all_tasks_blocked()
        assert (house.scheduler.in_flight, house.ledger.promised, house.order) == (2, 200, [])
    assert house.order == ["a"]


async def test_work_larger_than_the_engine_goes_alone() -> None:
    house = House(places=10, capacity=50)
    async with house.scheduler.turn(Work(1000)):
        assert house.ledger.promised == 1000
    assert house.is_empty()


async def test_a_flow_holds_several_turns_at_once() -> None:
    house = House(places=3)
    async with AsyncExitStack() as stack:
        for _ in range(3):
            await stack.enter_async_context(house.scheduler.turn(Work(10, "t", "document")))
        assert house.scheduler.in_flight == 3


async def test_who_leaves_while_waiting_is_taken_out_and_unblocks_others() -> None:
    house = House(places=10, capacity=250, overtake_s=0)
    async with anyio.create_task_group() as tasks, house.busy(2):
        with anyio.CancelScope() as scope:
            tasks.start_soon(house.one, Work(10, flow="small", priority=Priority.BATCH))
            scope.cancel()
            await house.one(Work(200, flow="large"))
        await anyio.wait_all_tasks_blocked()
        assert (house.order, house.scheduler.waiting) == (["small"], 0)
    assert house.is_empty()


async def test_a_turn_that_comes_as_its_caller_leaves_is_passed_on() -> None:
    house = House()
    scope = anyio.CancelScope()

    async def leaves() -> None:
        with scope:
            async with house.scheduler.turn(Work(10)):
                await checkpoint()
                house.order.append("left")

    async with anyio.create_task_group() as tasks:
        async with house.busy():
            tasks.start_soon(leaves)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(house.one, Work(10, flow="next"))
            await anyio.wait_all_tasks_blocked()
        assert house.scheduler.in_flight == 1
        scope.cancel()
    assert house.order == ["next"]
    assert house.limit.outcomes == [Outcome.OK, Outcome.LEFT, Outcome.OK]
    assert house.is_empty()


async def test_what_expires_while_it_waits_is_told() -> None:
    house = House()
    refused: list[str] = []

    async def expires() -> None:
        with pytest.raises(InputRejected) as raised:
            await house.one(Work(10, deadline=house.now + 5))
        refused.append(raised.value.code)

    async with anyio.create_task_group() as tasks, house.busy():
        tasks.start_soon(expires)
        await anyio.wait_all_tasks_blocked()
        house.now += 5
        house.scheduler.wake()
        await anyio.wait_all_tasks_blocked()
        assert (refused, house.scheduler.waiting) == (["deadline_exceeded"], 0)
    with pytest.raises(InputRejected):
        await house.one(Work(10, deadline=house.now))
    assert house.is_empty()


async def test_what_expires_is_told_though_nothing_else_happens() -> None:
    house = House()

    async def expires(after_s: float) -> None:
        with pytest.raises(InputRejected, match="deadline_exceeded"):
            await house.one(Work(10, deadline=house.now + after_s))

    async with house.busy(), anyio.create_task_group() as tasks:
        for after_s in (0.003, 0.001, 0.002):
            tasks.start_soon(expires, after_s)
        await anyio.wait_all_tasks_blocked()
        house.now += 0.003
    assert house.order == []
    assert house.is_empty()


@pytest.mark.parametrize(("bound", "value"), [("max_waiting", 2), ("max_waiting_tokens", 25)])
async def test_a_full_queue_refuses_at_once(bound: str, value: int) -> None:
    house = House(1, None, **{bound: value})
    async with anyio.create_task_group() as tasks, house.busy():
        for flow in "ab":
            tasks.start_soon(house.one, Work(10, flow=flow))
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(Overloaded) as refused:
            await house.one(Work(10, flow="c"))
        assert (refused.value.code, house.scheduler.waiting) == ("service_full", 2)
    assert sorted(house.order) == ["a", "b"]


async def test_who_would_wait_in_vain_is_refused_at_once() -> None:
    house = House()
    await house.done(100, seconds=1.0)
    async with anyio.create_task_group() as tasks, house.busy():
        tasks.start_soon(house.one, Work(1000, priority=Priority.INTERACTIVE))
        await anyio.wait_all_tasks_blocked()
        late = Work(100, deadline=house.now + 10)
        assert house.scheduler.expected_wait_s(late) == pytest.approx(11.0, rel=0.03)
        with pytest.raises(Overloaded) as refused:
            await house.one(late)
        assert refused.value.retry_after_s == pytest.approx(10.0 * 1.15, rel=0.14)
        assert house.scheduler.expected_wait_s(Work(100, "other", priority=Priority.INTERACTIVE)) == pytest.approx(
            2.0, rel=0.03
        )
    assert house.is_empty()


async def test_without_a_rate_nobody_is_refused_for_time() -> None:
    house = House()
    async with anyio.create_task_group() as tasks, house.busy():
        tasks.start_soon(house.one, Work(10**9, deadline=house.now + 0.5, flow="a"))
        await anyio.wait_all_tasks_blocked()
        assert house.scheduler.waiting == 1
        assert house.scheduler.retry_after_s() == pytest.approx(2.3, rel=0.14)
    assert house.order == ["a"]


async def test_a_rate_of_quiet_times_does_not_refuse_the_first_burst() -> None:
    house = House(places=16)
    for _ in range(30):
        await house.done(100, seconds=1.0)
    async with house.busy(16):
        assert house.rate.per_s == pytest.approx(100, rel=0.03)
        assert house.scheduler.expected_wait_s(Work(1500)) == pytest.approx(1.0, rel=0.07)


async def test_an_engine_that_hangs_is_expected_to_take_long() -> None:
    house = House()
    await house.done(100, seconds=1.0)
    async with house.busy():
        before = house.scheduler.expected_wait_s(Work(100))
        house.now += 300
        after = house.scheduler.expected_wait_s(Work(100))
    assert before == pytest.approx(1.0, rel=0.03)
    assert after is not None
    assert after > 100


async def test_estimates_too_high_by_as_much_for_all_change_no_expected_wait() -> None:
    waits = []
    for factor in (1, 8):
        house = House(places=4)
        for _ in range(5):
            await house.done(100 * factor, seconds=2.0, works=4)
        async with house.busy(4, 100 * factor):
            waits.append(house.scheduler.expected_wait_s(Work(700 * factor)))
    assert waits[0] == pytest.approx(waits[1])


async def test_an_idle_engine_is_not_waited_for() -> None:
    house = House()
    await house.done(1, seconds=1000.0)
    assert house.scheduler.expected_wait_s(Work(1000)) == 0
    await house.one(Work(1000, flow="a", deadline=house.now + 1))
    assert house.order == ["a"]


async def test_how_it_ended_is_reported_and_only_success_is_progress() -> None:
    house = House()
    for error in (EngineFailed("engine_failed", "x"), InputRejected("pdf_corrupt", "x")):
        with pytest.raises(InkgateError):
            async with house.scheduler.turn(Work(10)):
                raise error
    house.now += 1
    async with house.scheduler.turn(Work(10)) as turn:
        turn.report(Outcome.FAILED)
    assert house.rate.per_s is None
    await house.one(Work(10))
    assert house.limit.outcomes == [Outcome.FAILED, Outcome.REJECTED, Outcome.FAILED, Outcome.OK]


async def test_using_more_than_charged_raises_the_charge() -> None:
    house = House()
    async with house.scheduler.turn(Work(10)) as turn:
        turn.used(5)
        assert house.ledger.promised == 10
        turn.used(25)
        assert house.ledger.promised == 25
    assert house.is_empty()


async def test_a_limit_that_grew_lets_more_start() -> None:
    house = House()
    async with anyio.create_task_group() as tasks, house.busy():
        tasks.start_soon(house.one, Work(10, flow="a"))
        await anyio.wait_all_tasks_blocked()
        house.limit.value = 2
        house.scheduler.wake()
        await anyio.wait_all_tasks_blocked()
        assert house.order == ["a"]


async def test_those_refused_together_are_told_different_times() -> None:
    house = House(retry_after_most_s=100.0)
    await house.done(1, seconds=1.0)
    async with anyio.create_task_group() as tasks, house.busy():
        tasks.start_soon(house.one, Work(10_000))
        await anyio.wait_all_tasks_blocked()
        told = [house.scheduler.retry_after_s() for _ in range(100)]
    assert len(set(told)) == 100
    assert 100 <= min(told) < 105
    assert 125 < max(told) <= 130


@dataclass
class Client:
    work: Work
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    finish: anyio.Event = field(default_factory=anyio.Event)
    raises: InkgateError | None = None

    async def run(self, house: House) -> None:
        with self.scope:
            try:
                async with house.scheduler.turn(self.work) as turn:
                    assert house.ledger.promised >= self.work.tokens
                    await self.finish.wait()
                    turn.used(2 * self.work.tokens)
                    if self.raises:
                        raise self.raises
            except InkgateError:
                return


steps = st.lists(
    st.one_of(
        st.builds(
            Work,
            tokens=st.integers(0, 300),
            tenant=st.sampled_from("ab"),
            priority=st.sampled_from(Priority),
            deadline=st.sampled_from([math.inf, 1005.0, 1040.0]),
        ),
        st.tuples(st.sampled_from(["finish", "fail", "cancel", "both"]), st.integers(0, 50)),
        st.tuples(st.sampled_from(["limit", "capacity", "tick", "breathe"]), st.integers(1, 20)),
    ),
    max_size=40,
)


async def play(todo: list[Work | tuple[str, int]]) -> House:
    house = House(places=2, capacity=300, max_waiting=8)
    clients: list[Client] = []
    async with anyio.create_task_group() as tasks:
        for step in todo:
            if isinstance(step, Work):
                clients.append(Client(step))
                tasks.start_soon(clients[-1].run, house)
                continue
            match step:
                case ("limit", value):
                    house.limit.value = value
                case ("capacity", value):
                    house.ledger.capacity = 50 * value
                case ("tick", value):
                    house.now += value
                case ("breathe", value):
                    for _ in range(value):
                        await checkpoint()
                case (how, value) if clients:
                    client = clients[value % len(clients)]
                    client.raises = EngineFailed("engine_failed", "x") if how == "fail" else None
                    if how != "cancel":
                        client.finish.set()
                    if how in {"cancel", "both"}:
                        client.scope.cancel()
        await anyio.wait_all_tasks_blocked()
        assert house.scheduler.waiting == 0 or house.scheduler.in_flight > 0
        for client in clients:
            client.finish.set()
    return house


@given(steps)
@settings(deadline=None, max_examples=50)
def test_nothing_leaks_and_all_get_an_end_whatever_happens(todo: list[Work | tuple[str, int]]) -> None:
    house = anyio.run(play, todo)
    assert house.is_empty()
