"""Line charts as SVG, without scripts or fonts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 320.0, 88.0


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart. `style`: a CSS class; `filled`: also fill the area under it."""

    name: str
    values: Sequence[float | None]
    style: str
    filled: bool = False


@dataclass(frozen=True, slots=True)
class LiveChart:
    """A chart. `at`: seconds since the epoch of each value. `least_top`: minimum top of the scale. `percent`: values
    are shares, shown as percentages. `span_s`: from the left edge to the latest value.
    """

    title: str
    unit: str
    at: Sequence[float]
    series: Sequence[Series]
    least_top: float = 1.0
    percent: bool = False
    span_s: float = 900.0


def to_figure(chart: LiveChart, words: dict[str, str]) -> str:
    """The chart as an HTML figure. `words`: `now`, `ago` (start of the axis) and `no_data`."""
    top = nice_top(max((value for line in chart.series for value in line.values if value is not None), default=0.0))
    top = max(top, chart.least_top)
    ends = [(line, _last(line.values)) for line in chart.series]
    summary = "; ".join(f"{line.name} {_latest(value, chart, words)}" for line, value in ends)
    label = escape(f"{chart.title}, {chart.unit}: {summary}", quote=True)
    lines = "".join(_line(chart, line, top) for line in chart.series)
    grid = "".join(f'<line class="ink-grid" x1="0" x2="{WIDTH:g}" y1="{y:g}" y2="{y:g}"/>' for y in (1, 44, 87))
    keys = "".join(_key(line, _latest(value, chart, words), alone=len(ends) == 1) for line, value in ends)
    return (
        f'<figure class="ink-chart"><figcaption><span>{escape(chart.title)}</span>'
        f"<small>{escape(chart.unit)}</small></figcaption>"
        f'<ul class="ink-keys">{keys}</ul>'
        f'<div class="ink-plot"><span class="ink-top" aria-hidden="true">{escape(_number(top, chart))}</span>'
        f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" preserveAspectRatio="none" role="img" aria-label="{label}">'
        f"{grid}{lines}</svg></div>"
        f'<div class="ink-axis" aria-hidden="true"><span>{escape(words["ago"])}</span>'
        f"<span>{escape(words['now'])}</span></div></figure>"
    )


def _key(line: Series, latest: str, *, alone: bool) -> str:
    """The latest value of a line; with its mark and name if there are several lines."""
    named = f'<span class="ink-key {line.style}" aria-hidden="true"></span>{escape(line.name)} '
    return f"<li>{'' if alone else named}<b>{escape(latest)}</b></li>"


def nice_top(most: float) -> float:
    """The smallest of 1, 2, 2.5 and 5 times a power of ten that is at least `most`; 0 for 0."""
    if most <= 0 or not math.isfinite(most):
        return 0.0
    power = 10.0 ** math.floor(math.log10(most))
    return next(step * power for step in (1.0, 2.0, 2.5, 5.0, 10.0) if step * power >= most * 0.999_999)


def _line(chart: LiveChart, line: Series, top: float) -> str:
    """The parts of a line, which breaks at missing values."""
    at = chart.at
    if not at:
        return ""
    parts: list[list[tuple[float, float]]] = [[]]
    for moment, value in zip(at, line.values, strict=True):
        x = WIDTH * (1 - (at[-1] - moment) / chart.span_s)
        if value is None or x < 0:
            parts.append([])
        else:
            parts[-1].append((x, HEIGHT - 1 - (HEIGHT - 2) * min(value / top, 1.0)))
    return "".join(_part(part, line) for part in parts if part)


def _part(points: list[tuple[float, float]], line: Series) -> str:
    if len(points) == 1:
        x, y = points[0]
        points = [(max(x - 1.5, 0.0), y), (x, y)]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    area = ""
    if line.filled:
        shape = f"M{points[0][0]:.1f} {HEIGHT:g}L{path}L{points[-1][0]:.1f} {HEIGHT:g}Z"
        area = f'<path class="ink-area {line.style}" d="{shape}"/>'
    return f'{area}<path class="ink-line {line.style}" d="M{path}"/>'


def _last(values: Sequence[float | None]) -> float | None:
    """The latest value of the last points; None if all are missing."""
    return next((value for value in reversed(values[-6:]) if value is not None), None)


def _latest(value: float | None, chart: LiveChart, words: dict[str, str]) -> str:
    return words["no_data"] if value is None else _number(value, chart)


def _number(value: float, chart: LiveChart) -> str:
    if chart.percent:
        return f"{100 * value:.0f}%"
    if value >= 100 or value == round(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2g}"
