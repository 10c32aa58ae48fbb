"""What became of each request, in columns: 34 bytes a request, so that millions fit."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

_KINDS = 1000
_OTHER = 1


class Outcome(IntEnum):
    """What became of a request. UNSENT: the load generator could not send it."""

    ANSWERED = 0
    REFUSED = 1
    REJECTED = 2
    FAILED = 3
    TIMED_OUT = 4
    UNSENT = 5


@dataclass(frozen=True, slots=True)
class Sample:
    """One request that has ended. Moments in seconds from the beginning of the load."""

    due: float
    sent: float
    ended: float
    outcome: Outcome
    kind: str = ""
    pages: int = 0
    degraded: bool = False
    sent_bytes: int = 0

    @property
    def latency_s(self) -> float:
        """From the moment at which it was due."""
        return self.ended - min(self.due, self.sent)


@dataclass(slots=True)
class Samples:
    """Requests in the order in which they ended, a column for each property. `kinds`: what `kind` is an index of."""

    due: array[float] = field(default_factory=lambda: array("d"))
    late: array[float] = field(default_factory=lambda: array("f"))
    took: array[float] = field(default_factory=lambda: array("d"))
    outcome: array[int] = field(default_factory=lambda: array("B"))
    kind: array[int] = field(default_factory=lambda: array("H"))
    pages: array[int] = field(default_factory=lambda: array("H"))
    degraded: array[int] = field(default_factory=lambda: array("B"))
    sent_bytes: array[int] = field(default_factory=lambda: array("L"))
    kinds: list[str] = field(default_factory=lambda: ["", "other"])
    _numbers: dict[str, int] = field(default_factory=lambda: {"": 0, "other": _OTHER})

    def __len__(self) -> int:
        return len(self.due)

    def add(self, sample: Sample) -> None:
        """Appends a request; takes 3 µs."""
        self.due.append(min(sample.due, sample.sent))
        self.late.append(max(0.0, sample.sent - sample.due))
        self.took.append(sample.latency_s)
        self.outcome.append(sample.outcome)
        self.kind.append(self._number(sample.kind))
        self.pages.append(min(sample.pages, 65_535))
        self.degraded.append(sample.degraded)
        self.sent_bytes.append(sample.sent_bytes)

    def extend(self, columns: Columns) -> None:
        """Appends requests that were noted elsewhere."""
        numbers = np.array([self._number(kind) for kind in columns.kinds], dtype=np.uint16)
        for ours, theirs in (
            (self.due, columns.due),
            (self.late, columns.late),
            (self.took, columns.took),
            (self.outcome, columns.outcome),
            (self.kind, numbers[columns.kind]),
            (self.pages, columns.pages),
            (self.degraded, columns.degraded),
            (self.sent_bytes, columns.sent_bytes),
        ):
            ours.frombytes(theirs.tobytes())

    def _number(self, kind: str) -> int:
        """Of a kind; those beyond so many different ones are one: what a broken service says has no bound."""
        number = self._numbers.get(kind)
        if number is None:
            if len(self.kinds) >= _KINDS:
                return _OTHER
            number = self._numbers[kind] = len(self.kinds)
            self.kinds.append(kind)
        return number

    def columns(self, begin: int = 0, end: int | None = None) -> Columns:
        """A copy of the requests from `begin` to `end`, for arithmetic."""
        part = slice(begin, end)
        return Columns(
            np.array(self.due[part], dtype=np.float64),
            np.array(self.late[part], dtype=np.float32),
            np.array(self.took[part], dtype=np.float64),
            np.array(self.outcome[part], dtype=np.uint8),
            np.array(self.kind[part], dtype=np.uint16),
            np.array(self.pages[part], dtype=np.uint16),
            np.array(self.degraded[part], dtype=np.bool_),
            np.array(self.sent_bytes[part], dtype=np.int64),
            tuple(self.kinds),
        )


@dataclass(frozen=True, slots=True)
class Columns:
    """Requests as arrays (N,), see Sample. `due`: when it was due, or sent where that was a little before."""

    due: NDArray[np.float64]
    late: NDArray[np.float32]
    took: NDArray[np.float64]
    outcome: NDArray[np.uint8]
    kind: NDArray[np.uint16]
    pages: NDArray[np.uint16]
    degraded: NDArray[np.bool_]
    sent_bytes: NDArray[np.int64]
    kinds: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.due)

    def where(self, wanted: NDArray[np.bool_]) -> Columns:
        """Those for which `wanted` (N,) is true."""
        return Columns(
            self.due[wanted],
            self.late[wanted],
            self.took[wanted],
            self.outcome[wanted],
            self.kind[wanted],
            self.pages[wanted],
            self.degraded[wanted],
            self.sent_bytes[wanted],
            self.kinds,
        )

    @property
    def ended(self) -> NDArray[np.float64]:
        """When each ended, in seconds from the beginning."""
        return self.due + self.took
