"""When calls are stopped, and how they begin again."""

from __future__ import annotations

from contextlib import AsyncExitStack, suppress

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.errors import EngineFailed, InputRejected, Overloaded
from inkgate.serving.breaker import Breaker, BreakerSettings, BreakerState

pytestmark = pytest.mark.anyio

SETTINGS = BreakerSettings(
    window_s=10.0, min_calls=4, failed_rate=0.5, target_s=2.0, slow_rate=0.5, open_s=5.0, max_open_s=30.0, good=2
)
FAILURE = EngineFailed("upstream_failed", "It failed.")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker("the engine", SETTINGS, clock)


def state(breaker: Breaker) -> BreakerState:
    """Its state; as a function, of which mypy doesn't expect that it stays the same."""
    return breaker.state


async def call(breaker: Breaker, error: Exception | None = None) -> None:
    """One call; what it raises is expected."""
    with suppress(type(error or FAILURE)):
        async with breaker.guard():
            if error is not None:
                raise error


async def opened(breaker: Breaker) -> None:
    for _ in range(SETTINGS.min_calls):
        await call(breaker, FAILURE)


async def refusal(breaker: Breaker) -> Overloaded:
    with pytest.raises(Overloaded) as refused:
        async with breaker.guard():
            pytest.fail("the call was let through")
    assert refused.value.code == "engine_breaker_open"
    return refused.value


async def test_it_opens_on_the_share_of_failures_and_not_before_there_are_enough(breaker: Breaker) -> None:
    for error in (FAILURE, FAILURE, None):
        await call(breaker, error)
        assert state(breaker) is BreakerState.CLOSED
    await call(breaker, None)
    assert state(breaker) is BreakerState.OPEN
    assert breaker.why == "2 of 4 calls failed"
    assert breaker.opened == 1


async def test_a_refusal_says_when_the_next_probe_is(breaker: Breaker, clock: Clock) -> None:
    await opened(breaker)
    clock.now += 1.5
    error = await refusal(breaker)
    assert error.retry_after_s == 3.5
    assert "4 of 4 calls failed" in error.detail


async def test_failures_leave_the_window_with_time(breaker: Breaker, clock: Clock) -> None:
    for _ in range(3):
        await call(breaker, FAILURE)
    clock.now += 12.0
    for error in (FAILURE, None, None, None):
        await call(breaker, error)
    assert state(breaker) is BreakerState.CLOSED


@pytest.mark.parametrize(
    "error",
    [
        InputRejected("image_corrupt", "."),
        EngineFailed("output_repeats", "."),
        EngineFailed("upstream_busy", "."),
        Overloaded("service_full", ".", 1.0),
    ],
)
async def test_what_says_nothing_of_the_engine_does_not_open_it(breaker: Breaker, error: Exception) -> None:
    for _ in range(20):
        await call(breaker, error)
    assert state(breaker) is BreakerState.CLOSED


async def test_an_error_that_is_not_ours_is_a_failure(breaker: Breaker) -> None:
    for _ in range(4):
        await call(breaker, ZeroDivisionError())
    assert state(breaker) is BreakerState.OPEN


async def test_slow_calls_open_it(breaker: Breaker, clock: Clock) -> None:
    for seconds in (1.0, 2.5, 1.0, 2.5):
        async with breaker.guard():
            clock.now += seconds
    assert state(breaker) is BreakerState.OPEN
    assert breaker.why == "2 of 4 calls took more than 2 s"


async def _cancelled(breaker: Breaker, clock: Clock, after_s: float) -> None:
    with anyio.CancelScope() as scope:
        async with breaker.guard():
            clock.now += after_s
            scope.cancel()
            await anyio.lowlevel.checkpoint()


async def test_a_call_given_up_late_is_slow_and_one_given_up_early_no_sample(breaker: Breaker, clock: Clock) -> None:
    for _ in range(10):
        await _cancelled(breaker, clock, 0.1)
    assert state(breaker) is BreakerState.CLOSED
    for _ in range(4):
        await _cancelled(breaker, clock, 2.1)
    assert state(breaker) is BreakerState.OPEN


async def test_probes_that_go_well_close_it(breaker: Breaker, clock: Clock) -> None:
    await opened(breaker)
    clock.now += 5.0
    assert state(breaker) is BreakerState.HALF_OPEN
    await call(breaker)
    assert state(breaker) is BreakerState.HALF_OPEN
    await call(breaker)
    assert state(breaker) is BreakerState.CLOSED


async def test_only_so_many_probes_run_at_once(breaker: Breaker, clock: Clock) -> None:
    await opened(breaker)
    clock.now += 5.0
    async with breaker.guard():
        assert (await refusal(breaker)).retry_after_s == SETTINGS.open_s
    await call(breaker)
    assert state(breaker) is BreakerState.CLOSED


async def test_a_probe_that_is_cancelled_gives_its_place_back(breaker: Breaker, clock: Clock) -> None:
    await opened(breaker)
    clock.now += 5.0
    await _cancelled(breaker, clock, 0.1)
    assert state(breaker) is BreakerState.HALF_OPEN
    await call(breaker)
    await call(breaker)
    assert state(breaker) is BreakerState.CLOSED


async def test_each_probe_that_fails_doubles_the_time_up_to_a_cap(breaker: Breaker, clock: Clock) -> None:
    await opened(breaker)
    waits = []
    for _ in range(5):
        waits.append((await refusal(breaker)).retry_after_s)
        clock.now += waits[-1]
        await call(breaker, FAILURE)
    assert waits == [5.0, 10.0, 20.0, 30.0, 30.0]
    assert breaker.opened == 6


async def test_a_probe_that_fails_does_not_hide_why_it_opened_first(breaker: Breaker, clock: Clock) -> None:
    await opened(breaker)
    for _ in range(3):
        clock.now += SETTINGS.max_open_s
        await call(breaker, FAILURE)
        assert breaker.why == "4 of 4 calls failed; then a probe failed"
        assert breaker.why in (await refusal(breaker)).detail
    clock.now += SETTINGS.max_open_s
    async with breaker.guard():
        clock.now += 2.5
    assert breaker.why == "4 of 4 calls failed; then a probe was slow"


async def test_the_time_begins_anew_after_it_was_closed_long_enough(breaker: Breaker, clock: Clock) -> None:
    await opened(breaker)
    for good_s, expected_s in ((1.0, 10.0), (SETTINGS.window_s, 5.0)):
        clock.now += 40.0
        await call(breaker)
        await call(breaker)
        clock.now += good_s
        await opened(breaker)
        assert (await refusal(breaker)).retry_after_s == expected_s


async def test_it_can_be_tripped_from_outside_and_is_held_open(breaker: Breaker, clock: Clock) -> None:
    for _ in range(5):
        breaker.trip("the GPU is at 96 °C")
        clock.now += 4.0
        assert state(breaker) is BreakerState.OPEN
    assert breaker.opened == 1
    assert "96 °C" in (await refusal(breaker)).detail
    clock.now += 1.0
    assert state(breaker) is BreakerState.HALF_OPEN


async def test_calls_from_before_it_opened_neither_close_nor_open_it(breaker: Breaker, clock: Clock) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(6):
            await stack.enter_async_context(breaker.guard())
        breaker.trip("tokens stand still")
        clock.now += 5.0
        assert state(breaker) is BreakerState.HALF_OPEN
    assert state(breaker) is BreakerState.HALF_OPEN
    assert breaker.opened == 1


@given(st.lists(st.tuples(st.sampled_from(["good", "bad", "left", "trip"]), st.floats(0, 20)), max_size=60))
async def test_it_always_recovers_once_calls_go_well(events: list[tuple[str, float]]) -> None:
    clock = Clock()
    breaker = Breaker("the engine", SETTINGS, clock)
    retry_after_s = []
    for event, seconds in events:
        clock.now += seconds
        try:
            if event == "trip":
                breaker.trip("because")
            elif event == "left":
                await _cancelled(breaker, clock, seconds)
            else:
                await call(breaker, FAILURE if event == "bad" else None)
        except Overloaded as error:
            retry_after_s.append(error.retry_after_s)
    assert all(0 < seconds <= SETTINGS.max_open_s for seconds in retry_after_s)
    clock.now += SETTINGS.max_open_s
    for _ in range(SETTINGS.good):
        await call(breaker)
    assert state(breaker) is BreakerState.CLOSED
