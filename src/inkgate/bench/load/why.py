"""What limits a service at its knee, in words: from what changes there, and from what the server said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from inkgate.bench.load.results import Axis, Point, ServerSide
from inkgate.bench.load.spread import mean_goodput

FULL = 0.95
"""A KV cache or GPU that is this busy has nothing left to give."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a level has to keep to, and what a level is."""

    axis: Axis
    deadline_s: float
    max_error: float

    def at(self, level: float) -> str:
        """Such as `at 16 at once` or `at 2.5 requests/s`."""
        return f"at {level:g} at once" if self.axis is Axis.CONCURRENCY else f"at {level:g} requests/s"


def why_here(allowed: Sequence[Point], at: int, broken: Point | None, bounds: Bounds) -> str:
    """Why more load than that of the level `at` buys nothing. `broken`: the lowest level that broke the error bound."""
    sentences: list[str] = []
    beyond = allowed[-1]
    if at + 1 < len(allowed):
        sentences.append(_compared(allowed[at], beyond, bounds))
    if broken is not None:
        sentences.append(_breaks(broken, bounds))
    told = [point for point in (allowed[at], *allowed[at + 1 :], *([broken] if broken else [])) if point.server]
    sentences += _server_says(told, bounds)
    sentences += _rare(allowed[at], bounds)
    return " ".join(sentences)


def why_not_reached(measured: Sequence[Point], allowed: Sequence[Point], bounds: Bounds) -> str:
    """Why there is no knee to be told."""
    if not measured:
        return "Nothing was measured."
    if not allowed:
        return "No step kept to the error bound. " + _breaks(measured[0], bounds)
    if max(map(mean_goodput, allowed)) <= 0:
        return f"No answer came within the deadline of {bounds.deadline_s:g} s."
    if len(allowed) < 2:
        return "One step makes no curve: it takes several to tell from where on goodput stops rising."
    top = allowed[-1]
    return (
        f"Goodput still rose {bounds.at(top.level)}, the highest step, to {mean_goodput(top):.3g}/s, or no step is far "
        f"enough above it to tell: it takes higher ones."
    )


def _compared(here: Point, beyond: Point, bounds: Bounds) -> str:
    """What the highest allowed level brought, against the knee."""
    change = mean_goodput(beyond) / mean_goodput(here) - 1
    load = beyond.level / here.level
    text = f"{bounds.at(beyond.level).capitalize()}, {load:.3g} times the load, goodput is {abs(change):.0%} "
    text += "higher" if change >= 0 else "lower"
    before, after = _median_s(here), _median_s(beyond)
    if before and after:
        text += f" and half of the answers take {after / before:.1f} times as long"
    late = 1 - sum(run.in_time for run in beyond.runs) / max(sum(run.answered for run in beyond.runs), 1)
    if late >= 0.01:
        text += f"; {late:.0%} of them come after the deadline of {bounds.deadline_s:g} s"
    return text + "."


def _breaks(broken: Point, bounds: Bounds) -> str:
    """That a level breaks the error bound, and by what."""
    offered = sum(run.offered for run in broken.runs)
    missing = offered - sum(run.answered for run in broken.runs)
    kinds: Counter[str] = Counter()
    for run in broken.runs:
        kinds.update(run.errors)
    mostly = f", mostly {kinds.most_common(1)[0][0]}" if kinds else ""
    where = bounds.at(broken.level).capitalize()
    return f"{where} {missing / offered:.2%} of requests were not answered{mostly}; {bounds.max_error:.2%} are allowed."


def _server_says(points: Sequence[Point], bounds: Bounds) -> list[str]:
    """Of the first level that shows it: what is full, and what was lost."""
    found: dict[str, str] = {}
    for point in points:
        for kind, text in _signs(point.server or ServerSide()):
            found.setdefault(kind, f"{bounds.at(point.level).capitalize()} {text}.")
    return list(found.values())


def _signs(server: ServerSide) -> list[tuple[str, str]]:
    signs: list[tuple[str, str]] = []
    if server.gpu_share is not None and server.gpu_share >= FULL:
        signs.append(("gpu", f"the GPU was {server.gpu_share:.0%} busy"))
    if server.kv_share is not None and server.kv_share >= FULL:
        signs.append(("kv", f"the KV cache was {server.kv_share:.0%} full"))
    if server.preemptions:
        signs.append(("preemptions", f"the model server preempted {server.preemptions} requests"))
    if server.restarts:
        signs.append(("restarts", f"the model server was restarted {server.restarts} times"))
    return signs


def _rare(here: Point, bounds: Bounds) -> list[str]:
    """That too few requests were made to rule out more failures than allowed (rule of three, at 95 %)."""
    offered = sum(run.offered for run in here.runs)
    if not offered or 3 / offered <= bounds.max_error or offered != sum(run.answered for run in here.runs):
        return []
    return [f"All of {offered} requests were answered there, which can't rule out that up to {3 / offered:.2%} fail."]


def _median_s(point: Point) -> float | None:
    halves = [run.latency.p50_s for run in point.runs if run.latency is not None]
    return sum(halves) / len(halves) if halves else None
