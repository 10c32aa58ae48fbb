"""The journal of a shard on this machine: a run that was killed goes on with the next document.

Each line is a JSON object: `{"open": 3}` before document 3 is read, `{"row": {...}, "of": 3}` after it,
`{"died": true}` after a process that was reading died by itself. Documents that were open then are suspects.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from inkgate.batch.rows import BatchRow, row_of
from inkgate.operating_system import lock


class ShardTaken(Exception):
    """Another process of this machine reads the shard."""


@dataclass(slots=True)
class ShardJournal:
    """What is known of a shard. Blocking; used by one thread at a time.

    Attributes:
        rows: finished documents, by their index in the shard.
        deaths: of processes during which a document was open, by its index.
    """

    path: Path
    rows: dict[int, BatchRow] = field(default_factory=dict)
    deaths: Counter[int] = field(default_factory=Counter)

    @classmethod
    @contextmanager
    def opened(cls, path: Path) -> Iterator[ShardJournal]:
        """The journal at `path`, which no other process has. Raises ShardTaken, OSError."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            try:
                lock(file.fileno(), wait=False)
            except BlockingIOError as error:
                raise ShardTaken from error
            if os.fstat(file.fileno()).st_nlink == 0:
                raise ShardTaken  # it was done, and the journal deleted, after it was opened here
            journal = cls(path)
            journal._load()
            yield journal

    def _load(self) -> None:
        data = self.path.read_bytes()
        opened: set[int] = set()
        for line in data.splitlines(keepends=True):
            try:
                found: dict[str, Any] = orjson.loads(line) if line.endswith(b"\n") else {}
                if "open" in found:
                    opened.add(int(found["open"]))
                elif "row" in found:
                    self.rows[int(found["of"])] = row_of(found["row"])
                elif "died" in found:
                    self.deaths.update(opened - self.rows.keys())
                    opened.clear()
            except (ValueError, TypeError, AttributeError):  # a line that was cut off: its document is read again
                continue
        if data and not data.endswith(b"\n"):
            append_line(self.path, b"\n")

    def open(self, index: int) -> None:
        """Notes that a document is going to be read."""
        append_line(self.path, orjson.dumps({"open": index}) + b"\n")

    def add(self, index: int, row: BatchRow) -> None:
        """Notes what became of a document."""
        append_line(self.path, orjson.dumps({"row": asdict(row), "of": index}) + b"\n")
        self.rows[index] = row

    def delete(self) -> None:
        """The shard is done."""
        self.path.unlink(missing_ok=True)


def note_death(path: Path) -> None:
    """Notes that the process that read a shard died by itself. Blocking. Raises OSError."""
    if path.exists():
        append_line(path, b'\n{"died": true}\n')


def append_line(path: Path, line: bytes) -> None:
    """Appends with one call, so that a process that dies leaves whole lines, but for the last."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)
