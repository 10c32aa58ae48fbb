"""Every trial of a search in a file, written at once, so that an interrupted search goes on where it was."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from pydantic import TypeAdapter, ValidationError

from inkgate.bench.tune.results import Trial
from inkgate.bench.tune.task import Task


class JournalMismatch(ValueError):
    """The file is the journal of another search, or no journal; the message says what differs."""


@dataclass(frozen=True, slots=True)
class JournalRow:
    """A trial, when it began (seconds since the search began) and how long it took, start and stop included."""

    trial: Trial
    at_s: float
    took_s: float


_TASK = TypeAdapter(Task)
_ROW = TypeAdapter(JournalRow)


def read_task(file: Path) -> Task:
    """The task that the journal was begun for: its demand and current settings serve a search that is resumed.

    Raises:
        FileNotFoundError: there is none.
        JournalMismatch: it is not a journal.
    """
    return _read(file)[0]


class Journal:
    """`file` in JSON lines: the task, then a line a trial. Without a file it is kept in memory only."""

    def __init__(self, task: Task, file: Path | None = None) -> None:
        """Opens it: new, or with the trials that are there.

        Raises:
            JournalMismatch: it is of another engine, other parameters, targets or pages.
        """
        self._rows: list[JournalRow] = []
        self._out: IO[bytes] | None = None
        if file is None:
            return
        whole = 0
        if file.exists() and file.stat().st_size:
            begun, self._rows, whole = _read(file)
            _check(file, begun, task)
        self._out = file.open("ab")
        if whole:
            self._out.truncate(whole)
        else:
            self._write(_TASK.dump_json(task))

    @property
    def rows(self) -> tuple[JournalRow, ...]:
        return tuple(self._rows)

    def append(self, row: JournalRow) -> None:
        """It is on disk when this returns. Blocking, a few ms."""
        self._rows.append(row)
        self._write(_ROW.dump_json(row))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._out is not None:
            self._out.close()

    def _write(self, line: bytes) -> None:
        if self._out is None:
            return
        self._out.write(line + b"\n")
        self._out.flush()
        os.fsync(self._out.fileno())


def _read(file: Path) -> tuple[Task, list[JournalRow], int]:
    """The task, the trials, and the length of what is whole: a line that was being written may be cut off."""
    content = file.read_bytes()
    whole = content.rfind(b"\n") + 1
    first, *others = content[:whole].splitlines() or [b""]
    try:
        return _TASK.validate_json(first), [_ROW.validate_json(line) for line in others], whole
    except ValidationError as error:
        raise JournalMismatch(f"{file} is not the journal of a search for settings.") from error


def _check(file: Path, begun: Task, task: Task) -> None:
    names = {
        "engine": (begun.engine, task.engine),
        "targets": (begun.targets, task.targets),
        "pages": (begun.pages, task.pages),
        "current settings": (begun.current, task.current),
        "demand": (begun.demand, task.demand),
    }
    differs = [f"{name} ({was} then, {now} now)" for name, (was, now) in names.items() if was != now]
    was_values, now_values = ({each.path: each.values for each in of.parameters} for of in (begun, task))
    differs += [
        f"parameter {path} ({_values(was_values.get(path))} then, {_values(now_values.get(path))} now)"
        for path in sorted(was_values.keys() | now_values.keys())
        if was_values.get(path) != now_values.get(path)
    ]
    if differs:
        raise JournalMismatch(
            f"{file} is of another search; it differs in {'; '.join(differs)}. Give the same options again, or start "
            "over with another file."
        )


def _values(values: tuple[object, ...] | None) -> str:
    return "not searched" if values is None else ", ".join(map(str, values))
