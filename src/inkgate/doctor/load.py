"""What the rules ask of a State: its last minute, whether work waits, what was set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from inkgate.telemetry.state import Point, Queue, State

LOOK_BACK_S = 60.0
"""What is now: points of the last minute. A load that ended before it holds nobody back."""
WORTH_A_WORD = 0.2
"""Part of the cores that others use from which on it is said."""
SUSTAINED_S = 15.0
"""Waiting that is over sooner is no shortage: a document of many pages waits for itself."""


def recent(state: State) -> tuple[Point, ...]:
    """The points of the last minute."""
    return tuple(point for point in state.history if point.at > state.at - LOOK_BACK_S)


def lasting(points: Iterable[Point]) -> tuple[Point, ...]:
    """The points, where they are 15 s together; else none."""
    chosen = tuple(points)
    return chosen if sum(point.span_s for point in chosen) >= SUSTAINED_S else ()


def pressed(state: State) -> tuple[Point, ...]:
    """The points of the last minute at which pages or calls waited for the engine; none where that was under 15 s."""
    return lasting(p for p in recent(state) if p.waiting > 0 or p.pages_waiting > 0)


def mean(points: Iterable[Point], value: Callable[[Point], float | None]) -> float | None:
    """The mean of what is known, by time; None where nothing is."""
    known = [(point.span_s, found) for point in points if (found := value(point)) is not None]
    whole = sum(span_s for span_s, _ in known)
    return sum(span_s * found for span_s, found in known) / whole if whole else None


def queue(state: State, name: str) -> Queue | None:
    """The queue of this name: `pages` or `calls`."""
    return next((each for each in state.queues if each.name == name), None)


def waiting(each: Queue | None) -> int:
    """What waits in it, of all priorities."""
    return 0 if each is None else sum(each.waiting.values())


def uptime_s(state: State) -> float:
    """Since the start."""
    return max(0.0, state.at - state.started_at)


def more_often_than_hourly(times: int, state: State) -> bool:
    """Whether what happened `times` times since the start did so at least three times, and more than once an hour."""
    return times >= 3 and times > uptime_s(state) / 3600


def embedded(state: State) -> bool:
    """Whether the embedded engine reads."""
    return state.build.engine == "ppocr"


def on_cores(state: State) -> bool:
    """Whether its models are computed on the cores that the service has, and not on a GPU."""
    computed_by = state.build.inference_engine.lower()
    return embedded(state) and not any(name in computed_by for name in ("cuda", "tensorrt"))


def cpu_share(state: State, points: Iterable[Point]) -> float | None:
    """The part of the cores that the service used; None where that isn't known."""
    used = mean(points, lambda point: point.cpu)
    return None if used is None or not state.build.cores else used / state.build.cores


def busy_share(state: State, points: Iterable[Point]) -> float | None:
    """The part of the cores that was used, whoever used it; None where that isn't known."""
    points = tuple(points)
    known = [cpu_share(state, points), mean(points, lambda point: point.cpu_all)]
    return max((share for share in known if share is not None), default=None)


def stalled_share(points: Iterable[Point]) -> float:
    """The part of the time in which something waited for a core; 0 where that isn't known."""
    return mean(points, lambda point: point.cpu_stalled) or 0.0


def pressure(state: State) -> float | None:
    """Of the model server that is pressed hardest; 1 and more is too much. None where it isn't known."""
    known = [replica.pressure for replica in state.replicas if replica.pressure is not None]
    return max(known) if known else None


def value_of(settings: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401 - a setting may be of any type
    """A setting by its name, such as `limits.time_s`; None where the service has none of this name."""
    node: Any = settings
    for step in path.split("."):
        if not isinstance(node, Mapping) or step not in node:
            return None
        node = node[step]
    return node
