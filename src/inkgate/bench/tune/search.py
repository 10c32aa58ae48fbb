"""Tries settings until the time is up, and says which are best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import anyio

from inkgate.bench.tune.journal import Journal, Row
from inkgate.bench.tune.plan import Step, next_step
from inkgate.bench.tune.recommend import report
from inkgate.bench.tune.results import Outcome, Trial, TuneReport
from inkgate.bench.tune.score import outcome
from inkgate.bench.tune.task import Bench, Task
from inkgate.concurrency import single_error


async def search(
    task: Task,
    bench: Bench,
    journal: Journal,
    clock: Callable[[], float] = anyio.current_time,
    stop: anyio.Event | None = None,
) -> TuneReport:
    """What was found within `task.budget_s`.

    Every trial is in the journal before the next begins; with a journal that has trials already it goes on from them.
    When `stop` is set, or the time is over, the trial that runs is cancelled; `partial` is the report of a search that
    was stopped.
    """
    before_s = max((row.at_s + row.took_s for row in journal.rows), default=0.0)
    began = clock()
    stopped = stop is not None and stop.is_set()
    while not stopped:
        at_s = before_s + clock() - began
        step = next_step(task, journal.rows, at_s)
        if step is None:
            break
        trial = await _tried(bench, step, stop, task.budget_s - at_s)
        stopped = stop is not None and stop.is_set()
        trial = replace(trial, number=len(journal.rows) + 1, demand=step.demand)
        journal.append(Row(replace(trial, outcome=outcome(trial)), at_s, before_s + clock() - began - at_s))
    return report(task, journal.rows, partial=stopped)


async def _tried(bench: Bench, step: Step, stop: anyio.Event | None, left_s: float) -> Trial:
    """The trial, or that it was stopped."""
    found: list[Trial] = []

    async def stopping() -> None:
        if stop is not None:
            await stop.wait()
            group.cancel_scope.cancel()

    with anyio.move_on_after(left_s), single_error():
        async with anyio.create_task_group() as group:
            group.start_soon(stopping)
            found.append(await bench.try_(step.settings, step.purpose, step.seconds, step.demand))
            group.cancel_scope.cancel()
    why = "interrupted" if stop is not None and stop.is_set() else "out of time"
    return found[0] if found else Trial(0, step.purpose, step.settings, Outcome.STOPPED, 0.0, why=why)
