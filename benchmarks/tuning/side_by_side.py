"""Runs the services of all points at once and loads each for some seconds, repeatedly, while the others idle. All
points see the same changes of the machine's speed, and no time is spent on starts and warm-ups. For engines that fit
into memory that many times.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from itertools import count

from inkgate_bench.load.plan import Load
from inkgate_bench.load.run import run
from inkgate_bench.load.service import ServiceProcess, serving
from inkgate_bench.tune.measures import OtherLoad
from inkgate_bench.tune.results import Purpose, Settings, Step, Trial, TrialOutcome
from inkgate_bench.tune.service_bench import BenchSetup, ServiceBench, target_of

_WARM_DEADLINES = 2
"""Until the waits of a warm service are as long as they get. While they grow, more of what comes is answered in time
than the service reads meanwhile: the more, the more it may have waiting.
"""
_FIRST_WARM_S = 10.0


async def rounds(
    points: Sequence[Settings],
    numbers: Sequence[int],
    setup: BenchSetup,
    rate: float,
    seconds: float,
) -> AsyncIterator[list[Trial]]:
    """A trial of every point for each round in `numbers`; odd rounds go through the points in reverse.

    The requests of a round have the same times and pages for all points.
    """
    bench, trials = ServiceBench(setup), count(1)
    warm_s = _WARM_DEADLINES * setup.deadline_s

    async def loaded(settings: Settings, service: ServiceProcess, number: int, warm_s: float) -> Trial:
        plan = replace(bench.plan(Step((settings,), Purpose.SEARCH, seconds, rate)), warm_s=warm_s, seed=number + 1)
        others = OtherLoad()
        measured = await run(Load(target_of(service), setup.pages, plan))
        outcome = TrialOutcome.DIED if service.ended.is_set() else TrialOutcome.MEASURED
        summary, taken = measured.summary, others.cores()
        return Trial(next(trials), Purpose.SEARCH, settings, outcome, seconds, summary, other_load_cores=taken)

    async with AsyncExitStack() as stack:
        up = [(point, await stack.enter_async_context(serving(bench.serve(point)))) for point in points]
        for settings, service in up:
            await loaded(settings, service, 0, _FIRST_WARM_S)
        for number in numbers:
            yield [await loaded(*each, number, warm_s) for each in (up if number % 2 == 0 else reversed(up))]
