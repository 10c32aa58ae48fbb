"""Tries settings until the time is up, and reports which are best. Every trial is in a file before the next begins."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import anyio
from pydantic import TypeAdapter, ValidationError

from inkgate_bench.tune.plan import next_step
from inkgate_bench.tune.report import report
from inkgate_bench.tune.results import SearchTask, Step, Trial, TrialOutcome, TuneReport
from inkgate_bench.tune.score import outcome
from inkgate_client.concurrency import single_error

_TASK = TypeAdapter(SearchTask)
_TRIAL = TypeAdapter(Trial)


class JournalMismatch(ValueError):
    """The file is the journal of another search, or no journal; the message says why."""


class Journal:
    """The task of a search and its trials, also in `file` as JSON lines. Without a file it is kept in memory only."""

    def __init__(self, task: SearchTask, trials: Iterable[Trial] = (), file: Path | None = None) -> None:
        self.task = task
        self.trials = list(trials)
        self._file = file

    @classmethod
    def begin(cls, task: SearchTask, file: Path) -> Journal:
        """A new search in `file`.

        Raises:
            JournalMismatch: the file has something in it.
        """
        if file.exists() and file.stat().st_size:
            raise JournalMismatch(
                f"{file} has the trials of an earlier search. Continue it with --resume, or give another --output."
            )
        journal = cls(task, file=file)
        journal._write(_TASK.dump_json(task))
        return journal

    @classmethod
    def resume(cls, file: Path) -> Journal:
        """The search in `file`. A last line that was cut off is removed.

        Raises:
            FileNotFoundError: there is none.
            JournalMismatch: it is not a journal.
        """
        content = file.read_bytes()
        whole = content.rfind(b"\n") + 1
        first, *others = content[:whole].splitlines() or [b""]
        try:
            journal = cls(_TASK.validate_json(first), map(_TRIAL.validate_json, others), file)
        except ValidationError as error:
            raise JournalMismatch(f"{file} is not the journal of a search for settings.") from error
        os.truncate(file, whole)
        return journal

    def append(self, trial: Trial) -> None:
        """Appends a record, which is on disk when this returns. Blocking, a few ms."""
        self.trials.append(trial)
        self._write(_TRIAL.dump_json(trial))

    def _write(self, line: bytes) -> None:
        if self._file is None:
            return
        with self._file.open("ab") as out:
            out.write(line + b"\n")
            out.flush()
            os.fsync(out.fileno())


class Bench(Protocol):
    """Something that can be started with settings and put under load: a real service, or a simulated one."""

    async def measure(self, step: Step, done: Callable[[Trial], None]) -> None:
        """Run the trials of `step` and pass each to `done` as soon as it has ended.

        With `Purpose.HEAVIEST` the load is the heaviest images that pages and limits allow. Death and failure to start
        are outcomes, not exceptions; the first of them ends the step. The search sets `number` and `demand` of a trial.
        When cancelled, the bench leaves no process behind.
        """
        ...


async def search(
    bench: Bench, journal: Journal, clock: Callable[[], float] = anyio.current_time, stop: anyio.Event | None = None
) -> TuneReport:
    """The best settings that are found within the task's `budget_s`. Trials that the journal has count as made.

    When `stop` is set, or the time is over, the running trial is cancelled. The report of a search that was stopped is
    `partial`.
    """
    task = journal.task
    began = clock() - sum(trial.took_s for trial in journal.trials)
    stop = stop or anyio.Event()
    while not stop.is_set():
        spent_s = clock() - began
        step = next_step(task, journal.trials, spent_s)
        if step is None:
            break
        await _measure(step, bench, journal, clock, stop, task.budget_s - spent_s)
    return report(task, journal.trials, partial=stop.is_set())


async def _measure(
    step: Step, bench: Bench, journal: Journal, clock: Callable[[], float], stop: anyio.Event, within_s: float
) -> None:
    """Runs `step` and writes its trials to the journal; the one that was cancelled, too."""
    began, before = clock(), len(journal.trials)

    def record(trial: Trial) -> None:
        nonlocal began
        number, took_s = len(journal.trials) + 1, clock() - began
        journal.append(replace(trial, number=number, demand=step.demand, outcome=outcome(trial), took_s=took_s))
        began += took_s

    async def cancel_on_stop() -> None:
        await stop.wait()
        group.cancel_scope.cancel()

    finished = False
    with anyio.move_on_after(within_s), single_error():
        async with anyio.create_task_group() as group:
            group.start_soon(cancel_on_stop)
            await bench.measure(step, record)
            finished = True
            group.cancel_scope.cancel()
    left = step.turns[len(journal.trials) - before :]
    if not finished and left:
        why = "interrupted" if stop.is_set() else "out of time"
        record(Trial(0, step.purpose, left[0], TrialOutcome.STOPPED, 0.0, why=why))
