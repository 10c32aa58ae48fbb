"""Figures of the repeated runs of one level, or of one engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from statistics import fmean

from inkgate.bench.load.results import Latency, LoadSummary
from inkgate.bench.statistics import CONFIDENCE, RatioEstimate, compare_repeats


def mean_goodput(runs: Sequence[LoadSummary]) -> float:
    """Successful responses within the deadline per second; 0 without a run."""
    return fmean(run.goodput for run in runs) if runs else 0.0


def error_share(runs: Sequence[LoadSummary]) -> float:
    """Of the requests of all runs, those without a successful response; 0 without a request."""
    offered = sum(run.offered for run in runs)
    return sum(run.offered - run.answered for run in runs) / offered if offered else 0.0


def count_errors(runs: Sequence[LoadSummary]) -> Counter[str]:
    """How often each kind of error came, in all runs."""
    kinds: Counter[str] = Counter()
    for run in runs:
        kinds.update(run.errors)
    return kinds


def mean_latency(runs: Sequence[LoadSummary]) -> Latency | None:
    """The mean of each figure over the runs, but the maximum of all; None where no request succeeded."""
    known = [run.latency for run in runs if run.latency is not None]
    if not known:
        return None
    means = {field.name: fmean(getattr(latency, field.name) for latency in known) for field in fields(Latency)}
    return Latency(**means | {"most_s": max(latency.most_s for latency in known)})


def compare_goodput(
    a: Sequence[LoadSummary], b: Sequence[LoadSummary], confidence: float = CONFIDENCE
) -> RatioEstimate:
    """B's goodput over A's. Raises StatisticsError, as compare_repeats does."""
    fewest = min((run.in_time for run in (*a, *b)), default=0)
    resolution = 1 / fewest if fewest else 0.0  # a count of n is known to 1 / n at best
    sides = ([run.goodput for run in side] for side in (a, b))
    return compare_repeats(*sides, confidence=confidence, resolution=resolution)
