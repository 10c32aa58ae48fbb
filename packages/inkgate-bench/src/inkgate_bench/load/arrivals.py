"""Decides when the requests of an open loop are due, which page each carries and which caller sends it.

Recorded traffic is read here too; docs/guides/load-testing.md has the format.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from inkgate_bench.load import LoadImpossible
from inkgate_bench.load.pages import LoadPage
from inkgate_bench.load.plan import Arrivals, Load, Plan, RecordedRequest

READ_PATHS = frozenset({"/ocr", "/infer", "/v1/ocr", "/layout-parsing", "/v1/chat/completions"})
"""Paths of the requests that are replayed from inkgate's access log."""


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """A request: when it is due, in seconds from the start; the indexes of its page and of its caller in the mix."""

    due: float
    page: int
    share: int


def due_times(plan: Plan) -> Iterator[float]:
    """Returns when requests are due, in seconds from the start, ascending; endless except for a replay."""
    rng = random.Random(plan.seed)  # noqa: S311 - it draws arrivals, not secrets
    if plan.arrivals == Arrivals.REPLAY:
        return (recorded.at for recorded in plan.replay)
    if plan.arrivals == Arrivals.CONSTANT:
        return (number / plan.level for number in itertools.count())
    if plan.arrivals == Arrivals.RAMP:
        return (_on_ramp(plan, expected) for expected in _poisson(1.0, rng))
    return _poisson(plan.level, rng)


def _poisson(rate: float, rng: random.Random) -> Iterator[float]:
    at = 0.0
    while True:
        at += rng.expovariate(rate)
        yield at


def _on_ramp(plan: Plan, expected: float) -> float:
    """Returns when `expected` requests are due on the mean: the inverse of the integral of the rate.

    It turns a Poisson process of rate 1 into one of the ramp's rate (Cinlar, Introduction to Stochastic Processes,
    1975, chapter 4.7).
    """
    first, last = plan.level, plan.until_level or plan.level
    before = first * plan.warming_s
    if expected <= before:
        return expected / first
    expected -= before
    rise = (last - first) / plan.window_s
    within = (first + last) / 2 * plan.window_s
    if expected >= within:
        return plan.warming_s + plan.window_s + (expected - within) / last
    # first * t + rise * t^2 / 2 = expected, in the form that is exact where the rise is small
    return plan.warming_s + 2 * expected / (first + math.sqrt(first * first + 2 * rise * expected))


def requests_of(load: Load) -> Iterator[LoadRequest]:
    """The requests of an open loop. Raises LoadImpossible: a recording names a page that is missing."""
    drawn = draw_requests(load)
    if load.plan.arrivals != Arrivals.REPLAY:
        return (LoadRequest(due, *next(drawn)) for due in due_times(load.plan))
    pages = [_page_of(recorded, load.pages) for recorded in load.plan.replay]
    return _replayed(load.plan, pages, drawn)


def _replayed(plan: Plan, pages: Sequence[int | None], drawn: Iterator[tuple[int, int]]) -> Iterator[LoadRequest]:
    for recorded, page, share in zip(plan.replay, pages, _recorded_shares(plan), strict=True):
        any_page, _ = next(drawn)
        yield LoadRequest(recorded.at, any_page if page is None else page, share)


def _page_of(recorded: RecordedRequest, pages: Sequence[LoadPage]) -> int | None:
    """The index of the page that stands for a recorded one; None where any does. Raises LoadImpossible."""
    if recorded.page:
        for number, page in enumerate(pages):
            if page.name == recorded.page:
                return number
        raise LoadImpossible(f"The recording names the page {recorded.page!r}, which --pages doesn't have.")
    if recorded.sent_bytes is None:
        return None
    size = recorded.sent_bytes
    return min(range(len(pages)), key=lambda number: abs(len(pages[number].content) - size))


def _recorded_shares(plan: Plan) -> Iterator[int]:
    """Returns for each recorded request the index of a caller with its priority and with its tenant's key. Tenants get
    keys in the order in which they first appear, and share them where there are more tenants than keys.
    """
    rng = random.Random(f"{plan.seed} who")  # noqa: S311 - as above
    keys = list(dict.fromkeys(share.key for share in plan.mix))
    tenants: dict[str, str | None] = {}
    for recorded in plan.replay:
        if recorded.tenant:
            tenants.setdefault(recorded.tenant, keys[len(tenants) % len(keys)])
        matching = [
            number
            for number, share in enumerate(plan.mix)
            if (share.priority == recorded.priority if recorded.priority else share.weight)
            and (not recorded.tenant or share.key == tenants[recorded.tenant])
        ] or list(range(len(plan.mix)))
        weights = [plan.mix[number].weight for number in matching]
        yield rng.choices(matching, weights if any(weights) else None)[0]


def draw_requests(load: Load) -> Iterator[tuple[int, int]]:
    """Pages and callers, without end: each page once a round, in a new order every round."""
    rng = random.Random(f"{load.plan.seed} pages")  # noqa: S311 - as above
    weights = [share.weight for share in load.plan.mix]
    order = list(range(len(load.pages)))
    while True:
        rng.shuffle(order)
        for page in order:
            yield page, rng.choices(range(len(weights)), weights)[0] if len(weights) > 1 else 0


def read_recording(file: Path, speed: float = 1.0) -> tuple[RecordedRequest, ...]:
    """The requests that `file` has recorded, in order of time, the first at 0. `speed`: 2 replays twice as fast.

    inkgate's own JSON log is a recording too; its lines that aren't requests are left out.

    Raises:
        LoadImpossible: the file can't be read, a line can't be parsed, there is no request, or `speed` is not above 0.
    """
    if not 0 < speed < math.inf:
        raise LoadImpossible(f"The speed of a replay must be above 0, not {speed:g}.")
    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        raise LoadImpossible(f"{file} can't be read: {error.strerror}.") from error
    requests = [
        recorded
        for number, line in enumerate(lines, 1)
        if line.strip() and (recorded := _parse_line(line, f"{file}, line {number}")) is not None
    ]
    if not requests:
        raise LoadImpossible(f"{file} holds no request.")
    requests.sort(key=lambda recorded: recorded.at)
    first = requests[0].at
    return tuple(replace(recorded, at=(recorded.at - first) / speed) for recorded in requests)


def _parse_line(line: bytes, where: str) -> RecordedRequest | None:
    try:
        fields = orjson.loads(line)
        if not isinstance(fields, dict):
            raise TypeError("not a JSON object")
        return _from_log(fields) if "event" in fields else _from_recording(fields)
    except (ValueError, TypeError, KeyError) as error:
        raise LoadImpossible(
            f"{where}: can't be parsed ({error}). docs/guides/load-testing.md has the format."
        ) from error


def _from_recording(fields: dict[str, Any]) -> RecordedRequest:
    size = fields.get("bytes")
    return RecordedRequest(
        _seconds(fields["at"]),
        str(fields.get("page", "")),
        None if size is None else int(size),
        str(fields.get("priority", "")),
        str(fields.get("tenant", "")),
    )


def _from_log(fields: dict[str, Any]) -> RecordedRequest | None:
    """The log line was written `duration_ms` after the request arrived."""
    if fields["event"] != "request" or fields.get("path") not in READ_PATHS:
        return None
    size = fields.get("received_bytes")
    at = _seconds(fields["timestamp"]) - float(fields["duration_ms"]) / 1000
    return RecordedRequest(at, sent_bytes=None if size is None else int(size), tenant=str(fields.get("caller", "")))


def _seconds(value: object) -> float:
    """A number of seconds, or a time in ISO 8601 (UTC unless it says otherwise) as seconds since 1970."""
    if isinstance(value, str):
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, int | float):
        return float(value)
    raise TypeError(f"a time is a number of seconds or ISO 8601, not {value!r}")
