"""How each request ended, and the figures of a window and of a second that are computed from it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from inkgate_bench.load.results import SIZES_AN_OCTAVE, Latency, LoadSummary, Second

_KINDS = 1000
_OTHER = 1
_ROW = np.dtype(
    [
        ("due", np.float64),
        ("late", np.float32),
        ("took", np.float64),
        ("outcome", np.uint8),
        ("kind", np.uint16),
        ("pages", np.uint16),
        ("degraded", np.bool_),
        ("sent_bytes", np.int64),
    ]
)
"""34 bytes a request, so that millions fit. `kind` is an index of `Samples.kinds`."""

Rows = NDArray[np.void]
"""Requests in the order in which they ended (N,), of _ROW."""


class RequestOutcome(IntEnum):
    """How a request ended. UNSENT: the load generator could not send it."""

    ANSWERED = 0
    REFUSED = 1
    REJECTED = 2
    FAILED = 3
    TIMED_OUT = 4
    UNSENT = 5


@dataclass(frozen=True, slots=True)
class RequestSample:
    """One request that has ended. Times in seconds from the start of the load."""

    due: float
    sent: float
    ended: float
    outcome: RequestOutcome
    kind: str = ""
    pages: int = 0
    degraded: bool = False
    sent_bytes: int = 0


class Samples:
    """All requests of a load that have ended. `kinds`: of errors."""

    def __init__(self) -> None:
        self.kinds = ["", "other"]
        self._numbers = {"": 0, "other": _OTHER}
        self._rows = np.zeros(1024, _ROW)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> Rows:
        return self._rows[: self._count]

    def add(self, sample: RequestSample) -> None:
        """Appends a request. Latency counts from when it was due, or sent where that was a moment earlier."""
        if self._count == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        due = min(sample.due, sample.sent)
        self._rows[self._count] = (
            due,
            max(0.0, sample.sent - sample.due),
            sample.ended - due,
            sample.outcome,
            self._kind_number(sample.kind),
            min(sample.pages, 65_535),
            sample.degraded,
            sample.sent_bytes,
        )
        self._count += 1

    def errors(self, rows: Rows) -> dict[str, int]:
        """How often each kind of error is among `rows`, most frequent first."""
        counts = np.bincount(rows["kind"])
        return dict(Counter({self.kinds[kind]: int(n) for kind, n in enumerate(counts) if kind and n}).most_common())

    def _kind_number(self, kind: str) -> int:
        """Returns a kind's number. Beyond 1,000 kinds, all others are one: a broken service may say something new each
        time.
        """
        number = self._numbers.get(kind)
        if number is None:
            if len(self.kinds) >= _KINDS:
                return _OTHER
            number = self._numbers[kind] = len(self.kinds)
            self.kinds.append(kind)
        return number


def ended(rows: Rows) -> NDArray[np.float64]:
    """Returns when each request ended (N,), in seconds from the start."""
    times: NDArray[np.float64] = rows["due"] + rows["took"]
    return times


def window_rows(rows: Rows, begin_s: float, seconds: float) -> Rows:
    """The requests that were due in a window."""
    return rows[(rows["due"] >= begin_s) & (rows["due"] < begin_s + seconds)]


def summarize(samples: Samples, begin_s: float, seconds: float, deadline_s: float) -> LoadSummary:
    """Figures of the requests that were due from `begin_s` on, for `seconds`."""
    rows = window_rows(samples.rows, begin_s, seconds)
    answered = rows["outcome"] == RequestOutcome.ANSWERED
    in_time = answered & (rows["took"] <= deadline_s)
    on_the_way = np.where(rows["outcome"] == RequestOutcome.UNSENT, 0.0, rows["took"] - rows["late"])
    outcomes = np.bincount(rows["outcome"], minlength=len(RequestOutcome))
    return LoadSummary(
        seconds=seconds,
        offered=len(rows),
        answered=int(answered.sum()),
        in_time=int(in_time.sum()),
        refused=int(outcomes[RequestOutcome.REFUSED]),
        rejected=int(outcomes[RequestOutcome.REJECTED]),
        failed=int(outcomes[RequestOutcome.FAILED]),
        timed_out=int(outcomes[RequestOutcome.TIMED_OUT]),
        pages=int(rows["pages"][in_time].sum()),
        degraded=int((answered & rows["degraded"]).sum()),
        sent_bytes=int(rows["sent_bytes"].sum()),
        in_flight=float(on_the_way.sum()) / seconds,  # Little: mean number = rate * mean time
        latency=latency(rows["took"][answered]),
        refusal=latency(rows["took"][rows["outcome"] == RequestOutcome.REFUSED]),
        errors=samples.errors(rows),
    )


def latency(took: NDArray[np.float64]) -> Latency | None:
    """Exact percentiles of latencies (N,) in seconds; None where N is 0."""
    if not len(took):
        return None
    p50, p90, p95, p99, most = (float(value) for value in np.quantile(took, (0.5, 0.9, 0.95, 0.99, 1.0)))
    return Latency(float(took.mean()), p50, p90, p95, p99, most)


def summarize_second(samples: Samples, rows: Rows, second: Second, deadline_s: float) -> Second:
    """`second` with the figures of `rows`, the requests that ended in it."""
    took = rows["took"][rows["outcome"] == RequestOutcome.ANSWERED]
    p50, p99 = (float(value) for value in np.quantile(took, (0.5, 0.99))) if len(took) else (None, None)
    return Second(
        at=second.at,
        level=second.level,
        offered=second.offered,
        answered=len(took),
        in_time=int((took <= deadline_s).sum()),
        errors=len(rows) - len(took),
        in_flight=second.in_flight,
        p50_s=p50,
        p99_s=p99,
        sizes=sizes(took),
        kinds=samples.errors(rows),
    )


def sizes(took: NDArray[np.float64]) -> tuple[tuple[int, int], ...]:
    """Latencies (N,) in seconds by size, as in `Second.sizes`."""
    classes = np.floor(SIZES_AN_OCTAVE * np.log2(np.maximum(took * 1000, 1e-3))).astype(int)
    return tuple((int(size), int(count)) for size, count in zip(*np.unique(classes, return_counts=True), strict=True))
