"""The Live tab: the state of the service as HTML."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape

from inkgate.telemetry.state import Point, State
from inkgate.ui.charts import LiveChart, Series, to_figure
from inkgate.ui.verdict import verdict
from inkgate.ui.words import say


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
