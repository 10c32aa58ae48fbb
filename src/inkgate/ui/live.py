"""The Live tab: the state of the service as HTML."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import takewhile

from inkgate.telemetry.state import Point, State
from inkgate.ui.words import say

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


_Sentence = tuple[str, dict[str, object], str]
"""A key of ui/words.py, its values, and a CSS class."""
RECENT_S = 30.0
"""The window for current problems: a page of the embedded engine may take some seconds."""


def verdict(state: State, language: str) -> tuple[str, str]:
    """The sentence and its CSS class."""
    word, values, style = _down(state) or _busy(state) or _reading(state)
    return say(language, word, **values), style


def _down(state: State) -> _Sentence | None:
    """The service reads nothing."""
    broken = [breaker.name for breaker in state.breakers if breaker.state == "open"]
    if not state.ready:
        return "verdict_down", {"why": "; ".join(state.reasons) or "?"}, "ink-bad"
    if broken:
        return "verdict_breaker", {"name": ", ".join(broken)}, "ink-bad"
    if _refuses_all(_recent(state)):
        return "verdict_refusing", {"seconds": round(_refusing_s(state))}, "ink-bad"
    return None


def _busy(state: State) -> _Sentence | None:
    """Some requests wait or are refused."""
    waiting = max((sum(queue.waiting.values()) for queue in state.queues), default=0)
    refused = any(point.refused for point in _recent(state))
    if not waiting:
        return ("verdict_some_refused", {}, "ink-warn") if refused else None
    seconds = max(max(queue.backlog_s or 0.0, queue.longest_wait_s) for queue in state.queues)
    word = "verdict_busy_refusing" if refused else "verdict_busy"
    return word, {"count": waiting, "seconds": max(1, round(seconds))}, "ink-warn"


def _reading(state: State) -> _Sentence:
    took = next((point.p50_s for point in reversed(_recent(state)) if point.p50_s is not None), None)
    if took is not None:
        return "verdict_reading", {"seconds": f"{took:.2g}" if took < 10 else f"{took:.0f}"}, "ink-good"
    if state.admission.documents:
        return "verdict_working", {"count": state.admission.documents}, "ink-good"
    return "verdict_idle", {}, "ink-good"


def _recent(state: State) -> tuple[Point, ...]:
    return tuple(point for point in state.history if point.at > state.at - RECENT_S)


def _refuses_all(recent: Sequence[Point]) -> bool:
    refused = sum(point.refused * point.span_s for point in recent)
    return refused > 0 and not any(point.pages for point in recent)


def _refusing_s(state: State) -> float:
    """Time since which requests were refused and no page was read."""
    silent = list(takewhile(lambda point: not point.pages, reversed(state.history)))
    refusing = [point for point in silent if point.refused]
    return state.at - (refusing[-1].at - refusing[-1].span_s) if refusing else 0.0


@dataclass(frozen=True, slots=True)
class _ChartTexts:
    """Texts and charts in one language for the last `minutes` of a state's history."""

    language: str
    points: tuple[Point, ...]
    minutes: int

    def word(self, name: str, /, **values: object) -> str:
        return say(self.language, name, **values)

    def line(
        self, name: str, take: Callable[[Point], float | None], style: str = "ink-one", *, filled: bool = False
    ) -> Series:
        return Series(self.word(name), [take(point) for point in self.points], style, filled)

    def chart(self, title: str, unit: str, *series: Series, least_top: float = 1.0, percent: bool = False) -> LiveChart:
        unit = self.word(unit) if unit else ""
        at = [point.at for point in self.points]
        return LiveChart(self.word(title), unit, at, series, least_top, percent, 60.0 * self.minutes)


def live_panel(state: State, language: str) -> str:
    """The panel's HTML in `language`."""
    texts = _ChartTexts(language, state.history, _minutes(state))
    words = {
        "now": texts.word("now"),
        "ago": texts.word("minutes_ago", count=texts.minutes),
        "no_data": texts.word("no_data"),
    }
    charts = "".join(to_figure(chart, words) for chart in _charts(texts, state))
    chips = "".join(_chips(texts, state))
    title = escape(texts.word("live_title", count=texts.minutes))
    sentence, style = verdict(state, language)
    return (
        f'<p class="ink-verdict {style}">{escape(sentence)}</p><div class="ink-chips">{chips}</div>'
        f'<h2 class="ink-h2">{title}</h2><div class="ink-charts">{charts}</div>'
    )


def _minutes(state: State) -> int:
    """15 minutes, or fewer shortly after the start, so that the lines are visible."""
    known_s = state.history[-1].at - state.history[0].at if state.history else 0.0
    return next((minutes for minutes in (2, 5) if known_s <= 60 * minutes), 15)


def _charts(texts: _ChartTexts, state: State) -> list[LiveChart]:
    points = texts.points
    line, chart = texts.line, texts.chart
    charts = [
        chart("live_qps", "per_second", line("live_qps", lambda p: p.requests, filled=True)),
        chart(
            "live_latency",
            "seconds",
            line("p50", lambda p: p.p50_s),
            line("p95", lambda p: p.p95_s, "ink-two"),
        ),
        chart(
            "live_in_flight",
            "",
            line("in_flight", lambda p: float(p.in_flight), filled=True),
            line("limit", lambda p: float(p.limit), "ink-two"),
        ),
        chart("live_waiting", "", *_waiting(texts, state)),
        chart("live_pages", "per_second", line("live_pages", lambda p: p.pages, filled=True)),
        chart("live_batch", "items", line("live_batch", lambda p: p.mean_batch)),
        chart("live_cache", "percent_of_pages", line("live_cache", lambda p: p.cache_share, filled=True), percent=True),
        chart(
            "live_refusals",
            "per_second",
            line("refused", lambda p: p.refused, "ink-two"),
            line("failed", lambda p: p.errors, "ink-three"),
        ),
    ]
    if any(point.gpu is not None for point in points):
        gpu = line("live_gpu", lambda p: p.gpu, filled=True)
        charts.append(
            chart("live_gpu", "", gpu, line("live_gpu_memory", lambda p: p.gpu_memory, "ink-two"), percent=True)
        )
    if any(point.kv_usage is not None for point in points):
        charts.append(chart("live_kv", "", line("live_kv", lambda p: p.kv_usage, filled=True), percent=True))
    cores = float(max(state.build.cores, 1))
    charts.append(chart("live_cpu", "cores", line("live_cpu", lambda p: p.cpu, filled=True), least_top=cores))
    return charts


def _waiting(texts: _ChartTexts, state: State) -> list[Series]:
    """Waiting pages; with model servers, also waiting calls: a page makes several."""
    if len(state.queues) < 2:
        return [texts.line("live_waiting", lambda p: float(p.waiting), filled=True)]
    return [
        texts.line("pages_waiting", lambda p: float(p.pages_waiting), filled=True),
        texts.line("calls_waiting", lambda p: float(p.waiting), "ink-two"),
    ]


def _chips(texts: _ChartTexts, state: State) -> list[str]:
    """The current state: readiness and engine first, then problems."""
    chips = [
        _chip(texts.word("live_ready"), "ink-good")
        if state.ready
        else _chip(f"{texts.word('live_not_ready')}: {'; '.join(state.reasons)}", "ink-bad"),
        _chip(f"{state.build.model or state.build.engine} · {state.build.inference_engine}"),
        _chip(texts.word("live_up", time=_duration(state.at - state.started_at))),
        _chip(texts.word("live_memory", size=_size(sum(process.rss_bytes for process in state.processes)))),
    ]
    if state.degradation_level:
        taken = ", ".join(state.degradation_levels[: state.degradation_level]) or str(state.degradation_level)
        chips.append(_chip(texts.word("live_degraded", name=taken), "ink-warn"))
    chips += [
        _chip(texts.word("live_breaker", name=breaker.name), "ink-bad")
        for breaker in state.breakers
        if breaker.state != "closed"
    ]
    if state.replicas:
        up = sum(replica.state == "up" for replica in state.replicas)
        style = "ink-good" if up == len(state.replicas) else "ink-bad"
        chips.append(_chip(texts.word("live_replicas", up=up, count=len(state.replicas)), style))
    return chips


def _chip(text: str, style: str = "") -> str:
    return f'<span class="ink-chip {style}">{escape(text)}</span>'


def _duration(seconds: float) -> str:
    minutes = int(seconds // 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes < 24 * 60 else f"{minutes // 1440} d"


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
