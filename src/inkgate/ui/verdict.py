"""The state of the service in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from inkgate.telemetry.state import Point, State
from inkgate.ui.words import say

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
