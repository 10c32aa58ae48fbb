"""Every trial of a search in a file, written at once, so that an interrupted search goes on where it was."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from inkgate.tuning.results import Trial
from inkgate.tuning.task import Task


class JournalMismatch(ValueError):
    """The journal is of another search; the message says in what it differs."""


@dataclass(frozen=True, slots=True)
class Row:
    """A trial, when it began (seconds of the search's own time) and how long it took, start and stop included."""

    trial: Trial
    at_s: float
    took_s: float


def read_task(file: Path) -> Task:
    """The task that the journal was begun for: its demand and current settings serve a search that is resumed."""
    raise NotImplementedError


class Journal:
    """`file` in JSON lines: the task, then a line a trial. Without a file it is kept in memory only."""

    def __init__(self, task: Task, file: Path | None = None) -> None:
        """Opens it: new, or with the trials that are there.

        Raises:
            JournalMismatch: it is of another engine, other dials, targets or pages.
        """
        raise NotImplementedError

    @property
    def rows(self) -> tuple[Row, ...]:
        raise NotImplementedError

    def append(self, row: Row) -> None:
        """It is on disk when this returns. Blocking, a few ms."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        raise NotImplementedError
