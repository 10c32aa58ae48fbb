"""Admission: at once or not at all, and every end is reported."""

import anyio
import pytest

from inkgate.errors import EngineFailed, InputRejected, Overloaded
from inkgate.serving.outcomes import CallerLeft, WorkOutcome
from support.fixed_limiter import FixedLimiter

pytestmark = pytest.mark.anyio


async def test_no_more_are_admitted_than_fit() -> None:
    limiter = FixedLimiter(2, retry_after_s=7.0)
    async with limiter.admit():
        async with limiter.admit():
            with pytest.raises(Overloaded) as refused:
                limiter.admit()
            assert (refused.value.code, refused.value.retry_after_s) == ("service_full", 7.0)
            assert limiter.in_flight == 2
        async with limiter.admit():
            assert limiter.in_flight == 2
    assert limiter.in_flight == 0


@pytest.mark.parametrize(
    ("raised", "outcome"),
    [
        (None, WorkOutcome.OK),
        (InputRejected("pdf_corrupt", "x"), WorkOutcome.REJECTED),
        (CallerLeft(), WorkOutcome.LEFT),
        (EngineFailed("engine_failed", "x"), WorkOutcome.FAILED),
        (RuntimeError("x"), WorkOutcome.FAILED),
    ],
)
async def test_how_it_ended_is_judged_by_what_was_raised(raised: Exception | None, outcome: WorkOutcome) -> None:
    limiter = FixedLimiter(1)

    async def work() -> None:
        async with limiter.admit():
            if raised is not None:
                raise raised

    if raised is None:
        await work()
    else:
        with pytest.raises(type(raised)):
            await work()
    assert limiter.ended == {outcome: 1}
    assert limiter.in_flight == 0


async def test_cancelled_work_counts_as_left() -> None:
    limiter = FixedLimiter(1)
    with anyio.CancelScope() as scope:
        async with limiter.admit():
            scope.cancel()
            await anyio.sleep_forever()
    assert limiter.ended == {WorkOutcome.LEFT: 1}


async def test_an_end_that_was_reported_wins() -> None:
    limiter = FixedLimiter(1)
    async with limiter.admit() as permit:
        permit.report(WorkOutcome.FAILED)
    assert limiter.ended == {WorkOutcome.FAILED: 1}
