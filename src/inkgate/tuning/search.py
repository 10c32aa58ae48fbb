"""Tries settings until the time is up, and says which are best."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from inkgate.tuning.journal import Journal
from inkgate.tuning.results import TuneReport
from inkgate.tuning.task import Bench, Task


async def search(
    task: Task,
    bench: Bench,
    journal: Journal,
    clock: Callable[[], float] = anyio.current_time,
    stop: anyio.Event | None = None,
) -> TuneReport:
    """What was found within `task.budget_s`.

    Every trial is in the journal before the next begins; with a journal that has trials already it goes on from them.
    When `stop` is set the trial that runs is cancelled, and the report is of what there is, `partial`.
    """
    raise NotImplementedError
