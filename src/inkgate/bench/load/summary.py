"""Figures of a window and of a second, from what became of each request."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from inkgate.bench.load.results import SIZES_AN_OCTAVE, Latency, Second, Summary
from inkgate.bench.load.samples import Columns, Outcome


def latency(took: NDArray[np.float64]) -> Latency | None:
    """Of latencies (N,) in seconds; None of none."""
    if not len(took):
        return None
    p50, p90, p95, p99, most = (float(value) for value in np.quantile(took, (0.5, 0.9, 0.95, 0.99, 1.0)))
    return Latency(float(took.mean()), p50, p90, p95, p99, most)


def summarize(columns: Columns, begin_s: float, seconds: float, deadline_s: float) -> Summary:
    """Of the requests that were due from `begin_s` on, for `seconds`."""
    part = columns.where((columns.due >= begin_s) & (columns.due < begin_s + seconds))
    answered = part.outcome == Outcome.ANSWERED
    in_time = answered & (part.took <= deadline_s)
    on_its_way = np.where(part.outcome == Outcome.UNSENT, 0.0, part.took - part.late)

    def count(outcome: Outcome) -> int:
        return int((part.outcome == outcome).sum())

    return Summary(
        seconds=seconds,
        offered=len(part),
        answered=int(answered.sum()),
        in_time=int(in_time.sum()),
        refused=count(Outcome.REFUSED),
        rejected=count(Outcome.REJECTED),
        failed=count(Outcome.FAILED),
        timed_out=count(Outcome.TIMED_OUT),
        pages=int(part.pages[in_time].sum()),
        degraded=int((answered & part.degraded).sum()),
        sent_bytes=int(part.sent_bytes.sum()),
        in_flight=float(on_its_way.sum()) / seconds,  # Little: mean number = rate * mean time
        latency=latency(part.took[answered]),
        refusal=latency(part.took[part.outcome == Outcome.REFUSED]),
        errors=_errors(part),
    )


def _errors(part: Columns) -> dict[str, int]:
    counted = Counter(
        {part.kinds[kind]: int(many) for kind, many in enumerate(np.bincount(part.kind)) if kind and many}
    )
    return dict(counted.most_common())


def second(ended: Columns, at: float, level: float, deadline_s: float, offered: int, in_flight: int) -> Second:
    """The second before `at`, in which `ended` ended and `offered` were due."""
    answered = ended.took[ended.outcome == Outcome.ANSWERED]
    middle, high = (float(value) for value in np.quantile(answered, (0.5, 0.99))) if len(answered) else (None, None)
    return Second(
        at=at,
        level=level,
        offered=offered,
        answered=len(answered),
        in_time=int((answered <= deadline_s).sum()),
        errors=len(ended) - len(answered),
        in_flight=in_flight,
        p50_s=middle,
        p99_s=high,
        sizes=sizes(answered),
        kinds=_errors(ended),
    )


def sizes(took: NDArray[np.float64]) -> tuple[tuple[int, int], ...]:
    """Latencies (N,) in seconds by size, as `Second.sizes` has them."""
    classes = np.floor(SIZES_AN_OCTAVE * np.log2(np.maximum(took * 1000, 1e-3))).astype(int)
    return tuple((int(size), int(many)) for size, many in zip(*np.unique(classes, return_counts=True), strict=True))
