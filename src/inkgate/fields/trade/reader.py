"""The fields of an invoice or receipt: the likeliest values, each with its probability and what else it may be."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from inkgate.fields.calibrated import Knots
from inkgate.fields.folded import fold
from inkgate.fields.rules.candidates import FieldCandidate
from inkgate.fields.rules.rows import PrintedPages
from inkgate.fields.trade import amounts, papers
from inkgate.fields.trade.amounts import Amount, BoolArray
from inkgate.fields.trade.hypotheses import Likely, SumSet, has_all_included, parts_of, sets_of, shifts_of
from inkgate.fields.trade.names import MAX_OTHERS, MIN_OTHER, PARTIES, party_fields
from inkgate.fields.trade.papers import Placed
from inkgate.fields.trade.plain_fields import plain_fields
from inkgate.fields.trade.spots import Around, Spot
from inkgate.fields.trade.words import concepts_in
from inkgate.runtimes.trees import BoostedTrees, FloatArray

KeyT = TypeVar("KeyT", bound=Hashable)
TYPES: Final = frozenset({"receipt", "invoice"})
"""Document types whose fields are found by these measures."""
_CURVE, _SUMS = "curve:", "sums:"
MEASURED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("total", "subtotal", "tax", "shift"), "amount"),
    **dict.fromkeys(("date", "due_date"), "date"),
    "invoice_number": "number",
    **dict.fromkeys(("merchant_name", "merchant_address", "customer_name", "customer_address"), "line"),
}
"""What each forest looks at. `shift`: amounts that discounts, charges, tips and rounding add to the total."""
_MIN: Final[Mapping[str, float]] = {
    "total": 0.1,
    "subtotal": 0.3,
    "tax": 0.3,
    "date": 0.05,
    "due_date": 0.2,
    "invoice_number": 0.15,
}
"""Probability below which a field is not found."""
_IS_OTHER: Final = 0.7
"""Share of a label's letters from which a date is another one."""
_PART: Final = 0.5
"""What a number is worth that is a part of one in groups."""
_UNNAMED: Final = 0.3
"""What a due date is worth that no text around it calls so: a period ends, too. And the document's date, if its label
is one of another date.
"""
_IS_SHIFT: Final = 0.3
"""Probability from which an amount may be a discount or charge."""
_LABELLED: Final = 0.45
"""Probability of an amount alone from which the document is said to have it."""
_UNTOLD: Final = 0.2
"""What a tax is worth at most that no label calls one and that has no rate: any charge makes the total, too."""
_COINS: Final = (100, 50, 10, 5, 1)
_CONTRADICTED: Final = 0.5
"""What sums are worth that such amounts contradict."""
_CONFIRMED: Final = 20.0
"""What sets are worth of which the total has every tax in it at its rate."""


@dataclass(frozen=True, slots=True)
class Forests:
    """Trees by field, the weights of the measures of a set of sums by document type, and by field how often values of a
    confidence are right, as knots of a curve.
    """

    trees: Mapping[str, BoostedTrees]
    sums: Mapping[str, FloatArray]
    curves: Mapping[str, Knots] = field(default_factory=dict)

    def probabilities(self, field: str, measures: FloatArray) -> FloatArray:
        """For each row of measures the probability that it is the field's value; 0 for a field without trees."""
        trees = self.trees.get(field)
        return np.zeros(len(measures)) if trees is None or not len(measures) else trees.probabilities(measures)


@cache
def forests() -> Forests:
    """The forests that are shipped."""
    with np.load(Path(__file__).parent / "trees.npz", allow_pickle=False) as kept:
        parts: dict[str, dict[str, NDArray[np.generic]]] = {}
        for name in kept.files:
            of, slash, part = name.partition("/")
            if slash:
                parts.setdefault(of, {})[part] = kept[name]
        trees = {of: BoostedTrees.of(arrays) for of, arrays in parts.items()}
        curves = {name: [(float(x), float(y)) for x, y in kept[f"{_CURVE}{name}"]] for name in _after(_CURVE, kept)}
        return Forests(trees, {name: np.asarray(kept[f"{_SUMS}{name}"]) for name in _after(_SUMS, kept)}, curves)


def _after(prefix: str, names: Iterable[str]) -> list[str]:
    return [name.removeprefix(prefix) for name in names if name.startswith(prefix)]


def curve_of(schema: str, path: str) -> Knots:
    """The curve of a field of an invoice or receipt; empty for others. `path`: JSON Pointer."""
    return forests().curves.get(path.removeprefix("/"), ()) if schema in TYPES else ()


def read_trade(pages: PrintedPages, document_type: str = "invoice") -> dict[str, list[FieldCandidate]]:
    """The fields, by name, the likeliest value first. A field without a likely value is left out. A document without
    amounts and a number is none of these, and has no issuer.
    """
    sums = _sums(pages, document_type)
    parties_of = PARTIES if document_type == "invoice" else PARTIES[:1]
    found = sums | _dates(pages) | _number(pages)
    if sums or "invoice_number" in found:
        found |= party_fields(pages, parties_of, forests().probabilities)
    return found | plain_fields(pages, found)


def _sums(pages: PrintedPages, document_type: str) -> dict[str, list[FieldCandidate]]:
    found = amounts.amounts_on(pages)
    if not found:
        return {}
    measured, trees = amounts.measures(pages, found), forests()
    chances = {
        role: amounts.plausible(role, trees.probabilities(role, measured), measured)
        for role in ("total", "subtotal", "tax", "shift")
    }
    known = likely([each.cents for each in found], chances)
    sets = list(sets_of(known))
    chance = posterior(np.array([each.measures for each in sets]), trees.sums[document_type])
    if not sets[int(chance.argmax())].adds_up and (alone := _alone(found, chances)):
        return alone
    chance *= _confirmed(pages, found, known, sets)
    chance /= chance.sum()
    best = sets[int(chance.argmax())]
    nets = {found[at].cents for at in np.flatnonzero(amounts.named(measured, "subtotal"))} - {best.total}
    if _contradicts(best, known) or (best.net is None and nets):
        chance *= _CONTRADICTED
    fields: dict[str, list[FieldCandidate]] = {}
    values_of = {
        "total": [each.total for each in sets],
        "subtotal": [each.net for each in sets],
        "tax": [each.tax for each in sets],
    }
    for role, values in values_of.items():
        by_value = summed(values, chance)
        likely_ones = [(cents, p) for cents, p in by_value if cents is not None and p >= MIN_OTHER]
        if likely_ones and likely_ones[0][1] >= _MIN[role]:
            fields[role] = [_amount(found, chances[role], *each) for each in likely_ones[: 1 + MAX_OTHERS]]
    if best.total and "total" in fields and (at := _last_total(found, measured, best.total)) >= 0:
        others = [each for each in fields["total"] if each.value != found[at].spot.value]
        rounded = _candidate(found[at].spot, fields["total"][0].score, found[at].around.texts["near"])
        fields["total"] = [rounded, *others][: 1 + MAX_OTHERS]
    told = amounts.is_called_tax(measured) | amounts.has_rate(measured)
    if "tax" in fields and (parts := _parts(pages, found, known, best, told)):
        fields["tax"][0] = replace(fields["tax"][0], parts=parts)
    elif best.tax and not any(told[at] for at, each in enumerate(found) if each.cents == best.tax):
        fields["tax"] = [replace(each, score=min(each.score, _UNTOLD)) for each in fields.get("tax", [])]
    return {role: values for role, values in fields.items() if values}


def _confirmed(
    pages: PrintedPages, found: Sequence[Amount], known: Likely, sets: Sequence[SumSet]
) -> NDArray[np.float64]:
    """What each set is worth (N,): more if the total has several taxes in it, each at the rate beside it."""
    printed = {cents for cents, _ in known.tax_places}
    rated: dict[int, list[tuple[int, float]]] = {}
    for tax in {each.tax for each in sets if each.tax and each.tax not in printed}:
        taxes = [found[at] for at in parts_of(known.tax_places, tax)]
        rated[tax] = [(each.cents, amounts.rate_beside(pages, each)) for each in taxes]
    return np.array([
        _CONFIRMED if each.total and has_all_included(each.total, rated.get(each.tax or 0, ())) else 1.0
        for each in sets
    ])  # fmt: skip


def _last_total(found: Sequence[Amount], measured: FloatArray, total: int) -> int:
    """The amount that is the total in place of this one: of totals by rate, or after a rounding. -1: none is."""
    of_rates = _sum_of_totals(found, measured, total)
    return of_rates if of_rates >= 0 else _rounded(found, measured, total)


def _rounded(found: Sequence[Amount], measured: FloatArray, total: int) -> int:
    """The total after a rounding that a label names: another amount, behind it, that is a multiple of a larger coin.
    -1: none is printed.
    """
    for at in map(int, np.flatnonzero(amounts.named(measured, "rounding"))):
        step = abs(found[at].cents)
        if not 0 < step < amounts.LARGEST_COIN:
            continue
        for behind in range(at + 1, len(found)):
            cents = found[behind].cents
            if abs(cents - total) == step and cents > 0 and _coin_of(cents) > _coin_of(total):
                return behind
    return -1


def _sum_of_totals(found: Sequence[Amount], measured: FloatArray, total: int) -> int:
    """The total of totals by rate, as 16.20 of `Total 6%: 10.60, Total 0%: 5.60, Total: 16.20`: an amount that is
    called a total and nothing else, behind two totals with rates, of which it is the sum and one is this one. -1:
    none is.
    """
    called = amounts.called(measured, "total")
    parts = list(map(int, np.flatnonzero(called & amounts.has_rate(measured))))
    pairs = {
        found[a].cents + found[b].cents: b
        for a, b in combinations(parts, 2)
        if total in {found[a].cents, found[b].cents}
    }
    other = amounts.called(measured, "due", "tax", "excluding", "paid", "carried") | amounts.has_rate(measured)
    only = map(int, np.flatnonzero(called & ~other))
    return next((at for at in only if found[at].cents > total and pairs.get(found[at].cents, at) < at), -1)


def _coin_of(cents: int) -> int:
    """The largest usual coin that an amount is a multiple of, in cents."""
    return next(coin for coin in _COINS if cents % coin == 0)


def _parts(
    pages: PrintedPages, found: Sequence[Amount], known: Likely, best: SumSet, told: BoolArray
) -> tuple[FieldCandidate, ...]:
    """The taxes whose sum is the tax, where it isn't printed itself and arithmetic confirms it: with the net amount it
    makes the total, or the total has each tax in it at its rate. `told`: the amounts that are called a tax or stand
    beside a rate.
    """
    chosen = parts_of(known.tax_places, best.tax) if best.tax and best.total else ()
    taxes = [found[at] for at in chosen]
    printed = [p for cents, p in known.tax_places if cents == best.tax]
    if not taxes or printed or not all(told[at] for at in chosen):
        return ()
    rated = [(each.cents, amounts.rate_beside(pages, each)) for each in taxes]
    if not best.adds_up and not has_all_included(best.total or 0, rated):
        return ()
    return tuple(_candidate(each.spot, 1.0, each.around.texts["near"]) for each in taxes)


def _alone(found: Sequence[Amount], chances: Mapping[str, FloatArray]) -> dict[str, list[FieldCandidate]]:
    """Total, net amount and tax by their labels, for the check to say that they don't add up; nothing if not
    all of them are labelled.
    """
    best = {role: int(chances[role].argmax()) for role in ("total", "subtotal", "tax")}
    if min(float(chances[role][at]) for role, at in best.items()) < _LABELLED or len(set(best.values())) < len(best):
        return {}
    return {
        role: [_candidate(found[at].spot, _CONTRADICTED * float(chances[role][at]), found[at].around.texts["near"])]
        for role, at in best.items()
    }


def _contradicts(found: SumSet, known: Likely) -> bool:
    """Whether the document has, by their labels, a net amount and a tax that don't make the total, or another total; or
    two net amounts.
    """
    labelled = min(max(known.net.values()), max(known.tax.values())) >= _LABELLED and not found.adds_up
    others = {cents for cents, p in known.total.items() if p >= _LABELLED} - {found.total, found.net}
    # Where the net amount is the total with the tax in it, the amount without the tax may be printed, too.
    rest = found.total - found.tax if found.total and found.tax and found.total == found.net else None
    return labelled or bool(others) or rest in known.net


def shifts_on(pages: PrintedPages) -> frozenset[Decimal]:
    """What the discounts, charges and tips that are printed may add to the total, each or two of them."""
    found = amounts.amounts_on(pages)
    measured = amounts.measures(pages, found)
    chance = amounts.plausible("shift", forests().probabilities("shift", measured), measured)
    by_number = {each.cents: float(p) for each, p in zip(found, chance, strict=True) if p >= _IS_SHIFT}
    return frozenset(Decimal(cents) / 100 for cents in shifts_of(by_number))


def posterior(measures: FloatArray, weights: FloatArray) -> FloatArray:
    """The probability of each set (N,) by its measures (N, M) and their weights (M,)."""
    score = measures @ weights
    odds = np.exp(score - score.max())
    chance: FloatArray = odds / odds.sum()
    return chance


def likely(cents: Sequence[int], chances: Mapping[str, FloatArray]) -> Likely:
    """How likely each number is each role: the best place of those where it stands counts. `cents`: of the amounts, in
    the order of `chances`.
    """

    def best(role: str) -> dict[int, float]:
        by_number: dict[int, float] = {}
        for each, p in zip(cents, chances[role], strict=True):
            by_number[each] = max(by_number.get(each, 0.0), float(p))
        return by_number

    places = [(each, float(p)) for each, p in zip(cents, chances["tax"], strict=True)]
    return Likely(best("total"), best("subtotal"), best("tax"), best("shift"), places)


def summed(values: Sequence[KeyT], chance: FloatArray) -> list[tuple[KeyT, float]]:
    """The probability of each value, the likeliest first."""
    by_value: dict[KeyT, float] = {}
    for value, p in zip(values, chance, strict=True):
        by_value[value] = by_value.get(value, 0.0) + float(p)
    return sorted(by_value.items(), key=lambda each: -each[1])


def _amount(found: Sequence[Amount], chance: FloatArray, cents: int, p: float) -> FieldCandidate:
    """The amount where it is likeliest the role; a sum of taxes that is not printed has no place."""
    at = max(
        (number for number, each in enumerate(found) if each.cents == cents), key=lambda at: chance[at], default=None
    )
    if at is None:
        first = max(range(len(found)), key=lambda at: chance[at])
        return replace(_candidate(found[first].spot, p), text=f"{cents / 100:.2f}", value=None)
    return _candidate(found[at].spot, p, found[at].around.texts["near"] or found[at].around.texts["head"])


def _candidate(spot: Spot, p: float, label: str = "") -> FieldCandidate:
    return FieldCandidate(spot.text, spot.page, spot.row, (spot.cell.line,), label.strip()[:80], spot.value, p)


def _dates(pages: PrintedPages) -> dict[str, list[FieldCandidate]]:
    found = papers.dates_on(pages)
    measured = papers.date_measures(pages, found)
    month = papers.month_first(pages, found)
    fields: dict[str, list[FieldCandidate]] = {}
    for role in ("date", "due_date"):
        chance = forests().probabilities(role, measured)
        if role == "due_date":
            chance = chance * [1.0 if _names_due(each.around) else _UNNAMED for each in found]
        else:
            chance = chance * [_UNNAMED if _names_other(each.around) else 1.0 for each in found]
        days = [each.spot.value.readings if each.spot.value else () for each in found]
        if best := _best(found, days, chance, _MIN[role]):
            issued = _day(fields["date"][0]) if "date" in fields else None
            first = issued or date.min if role == "due_date" else date.min
            last = date.max if role == "due_date" else _tomorrow()
            fields[role] = [_settled(each, month, first, last) for each in best]
    return fields


def _names_due(around: Around) -> bool:
    """Whether a text around a date says that something is due then."""
    return any("due_date" in concepts_in(text) for text in around.texts.values() if text)


def _names_other(around: Around) -> bool:
    """Whether the label of a date says that something else than the document is of that day."""
    named = concepts_in(around.texts["near"])
    other = max(named.get("due_date", 0.0), named.get("other_date", 0.0))
    return other >= _IS_OTHER and "issue_date" not in named


def _tomorrow() -> date:
    """Where the document is from it may be the next day."""
    return (datetime.now(UTC) + timedelta(days=1)).date()


def _day(found: FieldCandidate) -> date | None:
    """The day that a candidate means; None if it may be another one."""
    if found.reading:
        return date.fromisoformat(found.reading)
    readings = found.value.readings if found.value is not None else ()
    return readings[0] if len(readings) == 1 and isinstance(readings[0], date) else None


def _settled(found: FieldCandidate, month: bool | None, first: date, last: date) -> FieldCandidate:
    """A date that may be read in two ways, with the reading that is usual in this document. `month`: whether the month
    comes first; None if nothing tells. Then it is the reading from the first to the last day, if only one is.
    """
    value = found.value
    if value is None or not value.ambiguous:
        return found
    readings = [each for each in value.readings if isinstance(each, date)]
    if month is not None:
        return replace(found, reading=readings[1 if month else 0].isoformat())
    inside = [each for each in readings if first <= each <= last]
    return replace(found, reading=inside[0].isoformat()) if len(inside) == 1 else found


def _number(pages: PrintedPages) -> dict[str, list[FieldCandidate]]:
    found = papers.numbers_on(pages)
    chance = forests().probabilities("invoice_number", papers.number_measures(pages, found))
    for at, each in enumerate(found):
        if any(_contains(other.spot, each.spot) and chance[i] >= MIN_OTHER for i, other in enumerate(found)):
            chance[at] *= _PART  # 2016 of 2016 10023
    best = _best(found, [fold(each.spot.text) for each in found], chance, _MIN["invoice_number"])
    return {"invoice_number": best} if best else {}


def _contains(spot: Spot, other: Spot) -> bool:
    """Whether another spot is a part of this one."""
    inside = spot.start <= other.start and other.end <= spot.end and spot.end - spot.start > other.end - other.start
    return inside and (spot.row, spot.at) == (other.row, other.at)


def _best(found: Sequence[Placed], keys: Sequence[Hashable], chance: FloatArray, least: float) -> list[FieldCandidate]:
    """The likeliest values, each where it is likeliest."""
    places: dict[Hashable, int] = {}
    for at in np.argsort(-chance):
        places.setdefault(keys[at], int(at))
    ranked = list(places.values())[: 1 + MAX_OTHERS]
    if not ranked or chance[ranked[0]] < least:
        return []
    return [
        _candidate(found[at].spot, float(chance[at]), found[at].around.texts["near"] or found[at].around.texts["head"])
        for at in ranked
        if chance[at] >= MIN_OTHER
    ]
