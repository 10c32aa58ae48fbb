"""Results of each policy and load, as a table and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from benchmarks import figures
from benchmarks.figures import quantile
from benchmarks.simulate.scenario import End, Run

_COLUMNS = (
    "policy",
    "load",
    "goodput/s",
    "p50, p99 of the answered",
    "refused",
    "p99 of refusals",
    "accepted and lost",
    "preemptions",
    "deaths",
)


@dataclass(frozen=True, slots=True)
class Row:
    """Means over all runs (one for each seed); times in seconds, NaN if there are none.

    Attributes:
        load: offered, in multiples of the capacity.
        goodput: responses within their deadline, a second.
        p50_s, p99_s: latency of all responses, late ones included.
        refused: share of all requests; refusal_p99_s: time to the refusal.
        lost: share of all requests that were accepted and failed: the server crashed, the deadline passed in the queue,
            or the client left.
        preemptions, deaths: per run.
    """

    policy: str
    load: float
    goodput: float
    p50_s: float
    p99_s: float
    refused: float
    refusal_p99_s: float
    lost: float
    preemptions: float
    deaths: float


def row(policy: str, load: float, runs: Sequence[Run]) -> Row:
    """The row that summarizes all `runs`."""
    answered = sorted(seconds for run in runs for seconds in run.times(End.ANSWERED))
    refused = sorted(seconds for run in runs for seconds in run.times(End.REFUSED))
    lost = sum(len(run.times(how)) for run in runs for how in (End.EXPIRED, End.FAILED, End.LEFT))
    total = max(len(answered) + len(refused) + lost, 1)
    return Row(
        policy,
        load,
        sum(run.goodput() for run in runs) / len(runs),
        quantile(answered, 0.5),
        quantile(answered, 0.99),
        len(refused) / total,
        quantile(refused, 0.99),
        lost / total,
        sum(run.preemptions for run in runs) / len(runs),
        sum(run.deaths for run in runs) / len(runs),
    )


def table(rows: Iterable[Row]) -> str:
    """The rows as a Markdown table."""
    return figures.table(
        _COLUMNS,
        (
            (
                row.policy,
                f"{row.load:g}",
                f"{row.goodput:.1f}",
                f"{_time(row.p50_s)}, {_time(row.p99_s)}",
                f"{row.refused:.0%}",
                _time(row.refusal_p99_s),
                f"{row.lost:.0%}",
                f"{row.preemptions:.0f}",
                f"{row.deaths:.1f}",
            )
            for row in rows
        ),
    )


def as_json(rows: Iterable[Row]) -> list[dict[str, object]]:
    """The rows for JSON, with null for NaN."""
    return [
        {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in asdict(row).items()}
        for row in rows
    ]


def _time(seconds: float) -> str:
    if math.isnan(seconds):
        return "-"
    return f"{seconds * 1e3:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
