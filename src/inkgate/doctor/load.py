"""What the rules compute from a State: its last minute, whether work waits, which cores are used."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from inkgate.doctor.conditions import LIMITS
from inkgate_client.telemetry.history import Point
from inkgate_client.telemetry.state import Queue, State


def recent(state: State) -> tuple[Point, ...]:
    """The points of the last minute."""
    return tuple(point for point in state.history if point.at > state.at - LIMITS.recent_s)


def lasting(points: Iterable[Point]) -> tuple[Point, ...]:
    """The points, if they cover 15 s in total; else none. A long document that waits for itself is no shortage."""
    chosen = tuple(points)
    return chosen if sum(point.span_s for point in chosen) >= LIMITS.sustained_s else ()


def loaded(state: State) -> tuple[Point, ...]:
    """The points of the last minute at which pages or calls waited for the engine; none if under 15 s."""
    return lasting(point for point in recent(state) if point.waiting > 0 or point.pages_waiting > 0)


def mean(points: Iterable[Point], value: Callable[[Point], float | None]) -> float | None:
    """The mean of the known values, weighted by time; None if none is known."""
    known = [(point.span_s, number) for point in points if (number := value(point)) is not None]
    total_s = sum(span_s for span_s, _ in known)
    return sum(span_s * number for span_s, number in known) / total_s if total_s else None


def mean_waiting(points: Iterable[Point]) -> float:
    """How many pages or calls waited on average; 0 without points."""
    return mean(points, lambda point: point.waiting) or 0.0


def queue(state: State, name: str) -> Queue | None:
    """The queue of this name: `pages` or `calls`."""
    return next((each for each in state.queues if each.name == name), None)


def waiting(each: Queue | None) -> int:
    """How many wait in a queue, of all priorities."""
    return 0 if each is None else sum(each.waiting.values())


def uptime_s(state: State) -> float:
    """Time since the start of the service."""
    return max(0.0, state.at - state.started_at)


def since_start(state: State) -> str:
    """The time since the start in words."""
    return f"in {max(1, round(uptime_s(state) / 60))} min since the start"


def flaps(times: int, state: State) -> bool:
    """Whether something happened at least three times since the start, and more than once an hour."""
    return times >= LIMITS.flaps and times > uptime_s(state) / 3600


def embedded(state: State) -> bool:
    """Whether the embedded engine reads pages."""
    return state.build.engine == "ppocr"


def on_cores(state: State) -> bool:
    """Whether the embedded engine computes on the CPU."""
    runtime = state.build.inference_engine.lower()
    return embedded(state) and not any(name in runtime for name in ("cuda", "tensorrt"))


def cpu_share(state: State, points: Iterable[Point]) -> float | None:
    """The share of the cores that the service used; None if unknown."""
    used = mean(points, lambda point: point.cpu)
    return None if used is None or not state.build.cores else used / state.build.cores


def busy_share(state: State, points: Iterable[Point]) -> float | None:
    """The share of the cores that all programs used; None if unknown."""
    points = tuple(points)
    known = [cpu_share(state, points), mean(points, lambda point: point.cpu_all)]
    return max((share for share in known if share is not None), default=None)


def stalled_share(points: Iterable[Point]) -> float:
    """The share of the time in which something waited for a core; 0 if unknown."""
    return mean(points, lambda point: point.cpu_stalled) or 0.0


def pressure(state: State) -> float | None:
    """The highest pressure of a model server; 1 and more is too high. None if unknown."""
    return max((replica.pressure for replica in state.replicas if replica.pressure is not None), default=None)


def setting(state: State, path: str) -> Any:  # noqa: ANN401 - a setting may be of any type
    """A setting by its name, such as `limits.time_s`; None if the service has none of this name."""
    node: Any = state.settings
    for step in path.split("."):
        if not isinstance(node, dict) or step not in node:
            return None
        node = node[step]
    return node
