"""Tries settings until the time is up, and reports which are best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import anyio

from inkgate.bench.tune.journal import Journal, JournalRow
from inkgate.bench.tune.plan import next_step
from inkgate.bench.tune.report import report
from inkgate.bench.tune.results import Trial, TrialOutcome, TuneReport
from inkgate.bench.tune.score import outcome
from inkgate.bench.tune.task import Bench, Step, Task
from inkgate.concurrency import single_error


async def search(
    task: Task,
    bench: Bench,
    journal: Journal,
    clock: Callable[[], float] = anyio.current_time,
    stop: anyio.Event | None = None,
) -> TuneReport:
    """The best settings that were found within `task.budget_s`.

    Every trial is in the journal before the next begins; if the journal has trials already, the search continues them.
    When `stop` is set, or the time is over, the running trial is cancelled. The report of a search that was stopped is
    `partial`.
    """
    spent_before_s = max((row.at_s + row.took_s for row in journal.rows), default=0.0)
    began = clock() - spent_before_s
    stop = stop or anyio.Event()
    while not stop.is_set():
        step = next_step(task, journal.rows, clock() - began)
        if step is None:
            break
        await _measure(step, bench, journal, lambda: clock() - began, stop, task.budget_s)
    return report(task, journal.rows, partial=stop.is_set())


async def _measure(
    step: Step, bench: Bench, journal: Journal, now_s: Callable[[], float], stop: anyio.Event, until_s: float
) -> None:
    """Runs `step` and writes its trials to the journal; the one that was cancelled, too."""
    began_s, before = now_s(), len(journal.rows)

    def record(trial: Trial) -> None:
        nonlocal began_s
        numbered = replace(trial, number=len(journal.rows) + 1, demand=step.demand, outcome=outcome(trial))
        journal.append(JournalRow(numbered, began_s, now_s() - began_s))
        began_s = now_s()

    async def cancel_on_stop() -> None:
        await stop.wait()
        group.cancel_scope.cancel()

    finished = False
    with anyio.move_on_after(until_s - began_s), single_error():
        async with anyio.create_task_group() as group:
            group.start_soon(cancel_on_stop)
            await bench.measure(step, record)
            finished = True
            group.cancel_scope.cancel()
    if not finished:
        settings = step.turns[min(len(journal.rows) - before, len(step.turns) - 1)]
        why = "interrupted" if stop.is_set() else "out of time"
        record(Trial(0, step.purpose, settings, TrialOutcome.STOPPED, 0.0, why=why))
