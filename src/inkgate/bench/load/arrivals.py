"""When the requests of an open loop are due, which page each has, and who asks."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inkgate.bench.load.pages import LoadPage
from inkgate.bench.load.plan import Arrivals, Load, Plan
from inkgate.bench.load.replay import pages_of


@dataclass(frozen=True, slots=True)
class Ask:
    """A request: when it is due, in seconds from the beginning; the numbers of its page and of who asks."""

    due: float
    page: int
    share: int


def moments(plan: Plan) -> Iterator[float]:
    """When requests are due, in seconds from the beginning, ascending; without end, but for a replay."""
    rng = random.Random(plan.seed)  # noqa: S311 - it draws arrivals, not secrets
    if plan.arrivals == Arrivals.REPLAY:
        return (recorded.at for recorded in plan.replay)
    if plan.arrivals == Arrivals.CONSTANT:
        return ((number + plan.phase) / plan.level for number in itertools.count())
    if plan.arrivals == Arrivals.RAMP:
        return (_ramped(plan, expected) for expected in _poisson(1.0, rng))
    return _poisson(plan.level, rng)


def _poisson(rate: float, rng: random.Random) -> Iterator[float]:
    at = 0.0
    while True:
        at += rng.expovariate(rate)
        yield at


def _ramped(plan: Plan, expected: float) -> float:
    """When so many requests are expected to have come: the inverse of the integral of the rate.

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


def asks(load: Load) -> Iterator[Ask]:
    """The requests of an open loop. Raises LoadImpossible: a recording names a page that is not there."""
    plan = load.plan
    if plan.arrivals == Arrivals.REPLAY:
        return _replayed(load, pages_of(plan.replay, load.pages))
    drawn = drawing(load)
    return (Ask(due, *next(drawn)) for due in moments(plan))


def _replayed(load: Load, chosen: Sequence[int | None]) -> Iterator[Ask]:
    drawn = drawing(load)
    who = _who_asked(load.plan)
    for recorded, page, share in zip(load.plan.replay, chosen, who, strict=True):
        any_page, _ = next(drawn)
        yield Ask(recorded.at, any_page if page is None else page, share)


def _who_asked(plan: Plan) -> Iterator[int]:
    """The share that stands for who sent each recorded request: of its priority, and with its tenant's key. Tenants get
    the keys in the order in which they first appear, and share them where they are more.
    """
    rng = random.Random(f"{plan.seed} who")  # noqa: S311 - as above
    keys = list(dict.fromkeys(share.key for share in plan.mix))
    tenants: dict[str, str | None] = {}
    for recorded in plan.replay:
        if recorded.tenant:
            tenants.setdefault(recorded.tenant, keys[len(tenants) % len(keys)])
        fits = [
            number
            for number, share in enumerate(plan.mix)
            if (share.priority == recorded.priority if recorded.priority else share.weight)
            and (not recorded.tenant or share.key == tenants[recorded.tenant])
        ] or list(range(len(plan.mix)))
        weights = [plan.mix[number].weight for number in fits]
        yield rng.choices(fits, weights if any(weights) else None)[0]


def drawing(load: Load) -> Iterator[tuple[int, int]]:
    """Pages and those who ask, without end: every page once in each round, in an order that changes."""
    rng = random.Random(f"{load.plan.seed} pages")  # noqa: S311 - as above
    weights = [share.weight for share in load.plan.mix]
    shares = range(len(weights))
    for page in _rounds(load.pages, rng):
        yield page, rng.choices(shares, weights)[0] if len(weights) > 1 else 0


def _rounds(pages: Sequence[LoadPage], rng: random.Random) -> Iterator[int]:
    order = list(range(len(pages)))
    while True:
        rng.shuffle(order)
        yield from order
