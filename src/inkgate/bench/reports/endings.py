"""How requests ended, in the order from best to worst, and how each is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from inkgate.bench.load.results import Summary
from inkgate.bench.reports.charts import BAD, FIVE, FOUR, ONE, TWO


@dataclass(frozen=True, slots=True)
class Ending:
    """`many`: how many requests of a run ended so. Hatches tell them apart on paper without colours."""

    name: str
    many: Callable[[Summary], int]
    colour: str
    hatch: str


ENDINGS = (
    Ending("in time", lambda run: run.in_time, ONE, ""),
    Ending("late", lambda run: run.answered - run.in_time, TWO, "////"),
    Ending("refused", lambda run: run.refused, FIVE, "...."),
    Ending("rejected", lambda run: run.rejected, FOUR, "xxxx"),
    Ending("failed", lambda run: run.failed + run.timed_out, BAD, "\\\\\\\\"),
)


def ending_shares(runs: Sequence[Summary]) -> tuple[float, ...]:
    """Shares of the requests offered in all runs together, one for each of `ENDINGS`; zeros where none were offered."""
    offered = sum(run.offered for run in runs)
    return tuple(sum(ending.many(run) for run in runs) / offered if offered else 0.0 for ending in ENDINGS)
