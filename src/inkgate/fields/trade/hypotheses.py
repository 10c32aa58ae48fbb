"""Net amount, tax and total as a set: which amounts fulfil the equations of an invoice, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Final

import numpy as np

from inkgate.fields.trade.amounts import is_included, is_usual

MAX_TOTALS: Final = 6
MAX_NETS: Final = 6
MAX_TAXES: Final = 6
MAX_SHIFTS: Final = 4
MAX_RESTS: Final = 4
"""Likeliest amounts of each role that are combined."""
_MIN_LIKELY: Final = 0.02
"""Probability below which an amount is none of a role."""
_MAX_SUMMED: Final = 5
_MAX_FITTING: Final = 8
"""Taxes that are added up, and those of which sums are looked for that are missing for a total."""
_MIN_SUMMED: Final = 0.2
"""Probability from which a tax is added to others."""
_CENT: Final = 1
_HALF: Final = 0.5
_CACHED: Final = 4096
NAMES: Final = (
    "total", "net", "tax", "no_total", "no_net", "no_tax", "adds_up", "adds_up_usual", "adds_up_shifted", "included",
    "included_net", "untaxed", "wrong", "tax_alone_included", "tax_alone", "net_alone", "net_alone_same", "tax_large",
    "summed_tax", "smaller_total", "larger_likely", "zero_tax",
)  # fmt: skip
"""The measures of a set."""


@dataclass(frozen=True, slots=True)
class Likely:
    """How likely the amounts of a document, in cents, are each role.

    Attributes:
        shift: discounts, charges, tips and rounding.
        tax_places: the taxes with their probability, where each stands: several of them are added up.
    """

    total: Mapping[int, float]
    net: Mapping[int, float]
    tax: Mapping[int, float]
    shift: Mapping[int, float]
    tax_places: Sequence[tuple[int, float]] = ()


@dataclass(frozen=True, slots=True)
class SumSet:
    """A set in cents; None for what is not printed."""

    total: int | None
    net: int | None
    tax: int | None
    measures: tuple[float, ...]

    @property
    def adds_up(self) -> bool:
        """Whether total, net amount and tax are there and fulfil an equation."""
        found = dict(zip(NAMES, self.measures, strict=True))
        return any(found[name] for name in ("adds_up", "adds_up_shifted", "untaxed"))


def sets_of(likely: Likely) -> Iterator[SumSet]:
    """The sets of the likeliest amounts, with their measures. The amounts of a credit note count as if they were above
    zero.
    """
    if max(likely.total, key=lambda cents: likely.total[cents], default=0) >= 0:
        yield from _sets_of(likely)
        return
    for each in _sets_of(_negated(likely)):
        total, net, tax = (None if cents is None else -cents for cents in (each.total, each.net, each.tax))
        yield SumSet(total, net, tax, each.measures)


def _negated(likely: Likely) -> Likely:
    total, net, tax, shift = (
        {-cents: p for cents, p in each.items()} for each in (likely.total, likely.net, likely.tax, likely.shift)
    )
    return Likely(total, net, tax, shift, [(-cents, p) for cents, p in likely.tax_places])


def _sets_of(likely: Likely) -> Iterator[SumSet]:
    totals, nets, taxes = _best(likely.total, MAX_TOTALS), _best(likely.net, MAX_NETS), _best(likely.tax, MAX_TAXES)
    rests = {total - net for total in totals for net in nets if total > net}
    summed = {cents: p for cents, p in _added(likely.tax_places, rests).items() if cents not in taxes}
    # What is missing for a sum may be printed under a name that says little.
    nets |= _rests(likely.net, (total - tax for total in totals for tax in taxes if tax))
    taxes |= _rests(likely.tax, (total - net for total in totals for net in nets if total > net))
    shifts = shifts_of(_best(likely.shift, MAX_SHIFTS))
    largest = max(totals, default=0)
    for total in (*totals, None):
        for net in (*nets, None):
            for tax in (*taxes, *summed, None):
                if total and tax and total * tax < 0:
                    continue
                found = dict.fromkeys(NAMES, 0.0)
                _weigh(found, "total", totals, total)
                _weigh(found, "net", nets, net)
                _weigh(found, "tax", taxes | summed, tax)
                found["summed_tax"] = float(tax in summed)
                found["zero_tax"] = float(tax == 0)
                larger = (p for cents, p in totals.items() if total is not None and cents > total)
                found["larger_likely"] = max(larger, default=0.0)
                found["smaller_total"] = float(total is not None and 0 < total < largest)
                if relation := _relation(total, net, tax, shifts):
                    found[relation] = 1.0
                if net and tax and relation == "adds_up":
                    found["adds_up_usual"] = float(is_on_top(net, tax))
                found["tax_large"] = float(bool(net and tax) and abs(tax or 0) * 2 > abs(net or 0))
                yield SumSet(total, net, tax, tuple(found[name] for name in NAMES))


def _weigh(found: dict[str, float], role: str, likely: Mapping[int, float], cents: int | None) -> None:
    if cents is None:
        found[f"no_{role}"] = 1.0
    else:
        found[role] = math.log((likely[cents] + 1e-6) / (1 - likely[cents] + 1e-6))


def _best(likely: Mapping[int, float], count: int) -> dict[int, float]:
    kept = sorted(((p, cents) for cents, p in likely.items() if p >= _MIN_LIKELY), reverse=True)[:count]
    return {cents: p for p, cents in kept}


def _rests(likely: Mapping[int, float], cents: Iterable[int]) -> dict[int, float]:
    """The likeliest of these numbers that are printed."""
    kept = sorted(((likely[each], each) for each in set(cents) if likely.get(each, 0) > 0), reverse=True)[:MAX_RESTS]
    return {each: p for p, each in kept}


def _added(places: Sequence[tuple[int, float]], rests: Collection[int]) -> dict[int, float]:
    """Sums of several taxes. `rests`: what is missing between net amounts and totals."""
    found: dict[int, float] = {}
    for chosen in _together(places, rests):
        cents = sum(places[at][0] for at in chosen)
        found[cents] = max(found.get(cents, 0.0), min(places[at][1] for at in chosen))
    return found


def parts_of(places: Sequence[tuple[int, float]], cents: int) -> tuple[int, ...]:
    """Which of the taxes make a sum, the likeliest ones; empty if none do."""
    fitting = [chosen for chosen in _together(places, {cents}) if sum(places[at][0] for at in chosen) == cents]
    return max(fitting, key=lambda chosen: min(places[at][1] for at in chosen), default=())


def _together(places: Sequence[tuple[int, float]], rests: Collection[int]) -> Iterator[tuple[int, ...]]:
    """Taxes that may be added up, by their numbers: two or three likely ones that differ, as a summary prints a tax
    again; less likely or equal ones, and a likely one with any other amount, if they make one of the rests.
    """
    ranked = sorted(range(len(places)), key=lambda at: -places[at][1])
    likely = sorted(at for at in ranked[:_MAX_SUMMED] if places[at][1] >= _MIN_SUMMED)
    for count in (2, 3):
        yield from (each for each in combinations(likely, count) if len({places[at][0] for at in each}) == count)
    possible = sorted(at for at in ranked[:_MAX_FITTING] if places[at][1] >= _MIN_LIKELY and places[at][0])
    for count in (2, 3, 4):
        yield from (each for each in combinations(possible, count) if sum(places[at][0] for at in each) in rests)
    for at in likely:
        for other, (cents, _) in enumerate(places):
            if other != at and cents and cents + places[at][0] in rests:
                yield min(at, other), max(at, other)


def shifts_of(likely: Mapping[int, float]) -> frozenset[int]:
    """What discounts, charges and tips may add to or take from the total, one or two of them."""
    single = [sign * cents for cents in likely for sign in (1, -1) if cents]
    pairs = [a + b for a, b in combinations(single, 2) if abs(a) != abs(b)]
    return frozenset({*single, *pairs} - {0})


def _relation(total: int | None, net: int | None, tax: int | None, shifts: frozenset[int]) -> str:
    """The equation that the amounts fulfil, or what is missing for one."""
    if total is None or net is None or tax is None:
        return _part(total, net, tax)
    rest = total - net - tax
    if abs(rest) <= _CENT:
        return "untaxed" if tax == 0 else "adds_up"
    if not shifts.isdisjoint((rest - _CENT, rest, rest + _CENT)):
        return "adds_up_shifted"
    if has_included(total, tax):
        return "included" if net >= total - _CENT else "included_net"
    return "wrong"


def _part(total: int | None, net: int | None, tax: int | None) -> str:
    """What there is besides the total, if net amount or tax is not."""
    if total is not None and tax is not None:
        return "tax_alone_included" if has_included(total, tax) else "tax_alone"
    if total is not None and net is not None:
        return "net_alone_same" if net == total else "net_alone"
    return ""


@lru_cache(maxsize=_CACHED)
def is_on_top(net: int, tax: int) -> bool:
    """Whether a tax is one of a net amount at a usual rate; both in cents."""
    return bool(is_usual(np.array([net]), np.array([tax]))[0])


@lru_cache(maxsize=_CACHED)
def has_included(total: int, tax: int) -> bool:
    """Whether a total has the tax in it at a usual rate; both in cents."""
    return bool(is_included(np.array([total]), np.array([tax]))[0])


def has_all_included(total: int, taxes: Sequence[tuple[int, float]]) -> bool:
    """Whether a total has taxes in it, each at its own rate; in cents and shares. Each tax may be rounded."""
    if not taxes or not all(rate > 0 for _, rate in taxes):
        return False
    gross = sum(cents * (1 + rate) / rate for cents, rate in taxes)
    return abs(gross - total) <= _CENT + sum(_HALF * (1 + rate) / rate for _, rate in taxes)
