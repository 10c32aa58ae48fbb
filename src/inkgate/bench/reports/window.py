"""The seconds of a run that count: a timeline has the warm-up before them, and the last answers' after."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from inkgate.bench.load.results import Point, Second


def stretches(timeline: Sequence[Second]) -> Iterator[list[Second]]:
    """Seconds one after another in which the same load was asked for."""
    stretch: list[Second] = []
    for second in timeline:
        if stretch and second.level != stretch[-1].level:
            yield stretch
            stretch = []
        stretch.append(second)
    if stretch:
        yield stretch


def counted_seconds(timeline: Sequence[Second], point: Point) -> list[Second]:
    """Those of the windows of a point's runs: of each stretch, the last ones in which requests were due."""
    lived = [each for each in stretches(timeline) if math.isclose(each[0].level, point.level, rel_tol=1e-6)]
    lengths = [math.floor(run.seconds + 0.5) for run in point.runs]
    if len(lived) < len(lengths):  # runs after one another without another load between
        lengths = [sum(lengths)] if lived else []
    return [second for stretch, length in zip(lived, lengths, strict=False) for second in _last(stretch, length)]


def _last(stretch: Sequence[Second], length: int) -> Sequence[Second]:
    end = len(stretch)
    while end and not stretch[end - 1].offered:
        end -= 1
    return stretch[max(0, end - length) : end]
