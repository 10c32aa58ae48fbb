"""Whether two runs differ: the ratio of a figure with its interval, by repeats or by seconds drawn again in blocks.

Several repeats on both sides: Welch's t on the logarithms of each repeat's figure. Else seconds: the circular block
bootstrap (blocks.py) gives the standard error of the logarithm of each run's figure, corrected for the circle's lack of
variation, (blocks - 1) / blocks. Blocks show too little of how long a queue remembers when a run is short, so the error
is raised to that of an AR(1) process where that is more. The interval is Welch's; a run has as many degrees of freedom
as seconds that don't hang together, less one. False alarms on equal runs: about 5 %,
tests/unit/test_reports_false_alarms.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from inkgate.bench.load.results import Second, Summary
from inkgate.bench.reports.blocks import Numbers, block_length, drawn, memory
from inkgate.bench.reports.sizes import beyond, counted, quantiles
from inkgate.bench.reports.student import t_quantile

LEAST_REPEATS = 3
LEAST_SECONDS = 30
LEAST_APART = 5.0
"""With fewer seconds that don't hang together, the standard error itself is a guess: nothing is said."""
ALIKE = 0.05
"""An interval within 5 % of no difference is called no difference."""
DRAWS = 2_000
_SEED = 7


class Verdict(StrEnum):
    """What can be said of a difference."""

    REAL = "real"
    NONE = "none"
    """The whole interval is within `ALIKE` of 1."""
    NOT_TELLABLE = "not_tellable"


@dataclass(frozen=True, slots=True)
class Figure:
    """A run's figure as a logarithm, with its standard error and the degrees of freedom that it is known with."""

    log: float
    error: float
    freedom: float


@dataclass(frozen=True, slots=True)
class Ratio:
    """B's figure over A's.

    Attributes:
        a, b: the figures; None where there is none.
        ratio, low, high: with the interval that holds the true ratio with `confidence`; None where it can't be said.
        method: how, in words; why: where nothing can be told, why not.
    """

    a: float | None
    b: float | None
    ratio: float | None
    low: float | None
    high: float | None
    confidence: float
    verdict: Verdict
    method: str
    why: str = ""


class Untellable(Exception):
    """There is too little to judge by; the message says what."""


def goodput_of_repeats(runs: Sequence[Summary]) -> Figure:
    """Answers in time a second. A count of answers is known to one answer at best.

    Raises:
        Untellable: in a repeat no answer was in time.
    """
    if not min(run.in_time for run in runs):
        raise Untellable("in a repeat no answer was in time")
    return _repeated([run.goodput for run in runs], 1 / min(run.in_time for run in runs))


def p95_of_repeats(runs: Sequence[Summary]) -> Figure:
    """The 95th percentile of latency.

    Raises:
        Untellable: in a repeat nothing was answered.
    """
    known = [run.latency.p95_s for run in runs if run.latency is not None and run.latency.p95_s > 0]
    if len(known) < len(runs):
        raise Untellable("in a repeat nothing was answered")
    return _repeated(known)


def _repeated(values: Sequence[float], floor: float = 0.0) -> Figure:
    """The figure of repeats. `floor`: the standard deviation of one repeat's logarithm is at least so much."""
    logs = np.log(np.asarray(values, dtype=np.float64))
    spread = max(float(logs.std(ddof=1)), floor)
    return Figure(float(logs.mean()), spread / math.sqrt(len(values)), len(values) - 1)


def goodput_of_seconds(seconds: Sequence[Second]) -> Figure:
    """Answers in time a second, from a run's seconds.

    Raises:
        Untellable: there are too few seconds for how long they hang together, or no answer was in time.
    """
    in_time = np.array([second.in_time for second in seconds], dtype=np.float64)
    if not in_time.sum():
        raise Untellable("no answer was in time")
    draws = _draws(in_time)
    error = max(_spread(np.log(np.maximum(draws.weights @ in_time, 0.5))), 1 / float(in_time.sum()))
    return Figure(math.log(float(in_time.mean())), error * draws.raised, draws.apart - 1)


def p95_of_seconds(seconds: Sequence[Second]) -> Figure:
    """The 95th percentile of latency, from the sizes that a run's seconds kept.

    Blocks are as long as slow answers hang together: the series is how many answers each second were slower than the
    percentile, beyond the twentieth that is expected (its influence function).

    Raises:
        Untellable: no sizes were kept, or there are too few seconds for how long they hang together.
    """
    counts, first = counted(seconds)
    if not counts.sum():
        raise Untellable("its seconds have no latencies by size")
    p95 = float(quantiles(counts.sum(axis=0, keepdims=True), first, 0.95)[0])
    draws = _draws(beyond(counts, first, p95) - 0.05 * counts.sum(axis=1))
    error = _spread(np.log(quantiles(draws.weights @ counts, first, 0.95)))
    return Figure(math.log(p95), error * draws.raised, draws.apart - 1)


@dataclass(frozen=True, slots=True)
class _Draws:
    """A run's seconds drawn again: how often each (draws, seconds), by what errors found from them are to be raised,
    and how many seconds that don't hang together the run counts as.
    """

    weights: Numbers
    raised: float
    apart: float


def _draws(series: Numbers) -> _Draws:
    """Draws for a figure that is the mean of `series`, in first order."""
    seconds = len(series)
    if seconds < LEAST_SECONDS:
        raise Untellable(f"{seconds} seconds are fewer than {LEAST_SECONDS}")
    # No shorter than the square root, as for batch means: counting noise hides how long a queue remembers.
    length, rho = max(block_length(series), math.ceil(math.sqrt(seconds))), memory(series)
    blocks = seconds / length
    apart = min(blocks, seconds * (1 - rho) / (1 + rho))
    if apart < LEAST_APART:
        raise Untellable(f"its {seconds} seconds hang together and count as {apart:.0f} only")
    weights = drawn(seconds, length, DRAWS, np.random.default_rng(_SEED))
    by_blocks = float((weights @ series / seconds).std(ddof=1)) * math.sqrt(blocks / (blocks - 1))
    by_memory = float(series.std(ddof=1)) * math.sqrt((1 + rho) / (1 - rho) / seconds)
    raised = max(1.0, by_memory / by_blocks) if by_blocks else 1.0
    return _Draws(weights, raised * math.sqrt(blocks / (blocks - 1)), apart)


def _spread(logs: Numbers) -> float:
    known = logs[np.isfinite(logs)]
    return float(known.std(ddof=1)) if len(known) > 1 else math.inf


def ratio(a: Figure, b: Figure, confidence: float, method: str) -> Ratio:
    """B over A with Welch's interval on the logarithm, and the verdict."""
    log = b.log - a.log
    error = math.hypot(a.error, b.error)
    quantile = t_quantile((1 + confidence) / 2, _welch(a, b)) if error else 0.0
    reach = min(quantile * error, 50.0)
    low, high = math.exp(log - reach), math.exp(log + reach)
    if low >= 1 - ALIKE and high <= 1 + ALIKE and low <= 1 <= high:
        verdict = Verdict.NONE
    else:
        verdict = Verdict.NOT_TELLABLE if low <= 1 <= high else Verdict.REAL
    why = "the interval has room for more and for less" if verdict is Verdict.NOT_TELLABLE else ""
    return Ratio(math.exp(a.log), math.exp(b.log), math.exp(log), low, high, confidence, verdict, method, why)


def _welch(a: Figure, b: Figure) -> float:
    """Degrees of freedom by Welch and Satterthwaite."""
    squares = a.error**2, b.error**2
    return max(1.0, sum(squares) ** 2 / (squares[0] ** 2 / a.freedom + squares[1] ** 2 / b.freedom))
