"""What the amounts of an invoice or receipt are: net amount, tax, total.

Each amount is measured: its labels, its place, and how it adds up with others. Trees say how likely it is the total,
the net amount, a tax, or a discount or charge. hypotheses.py compares sets of them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from inkgate.fields.kinds import KINDS
from inkgate.fields.rules.rows import PrintedPages
from inkgate.fields.trade.spots import (
    LONGEST_CELL,
    RELATIONS,
    Around,
    Spot,
    Surroundings,
    before_in_cell,
    label_measures,
    label_names,
    spots_of,
)
from inkgate.fields.trade.words import concepts_in
from inkgate.runtimes.trees import FloatArray

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
_OTHERS: Final = {
    "tax": ("paid", "due", "change", "discount", "charge", "tip", "rounding"),
    "subtotal": ("paid", "due", "change", "discount", "charge", "tip", "rounding"),
    "shift": ("discount", "charge", "tip", "rounding"),
}
"""By role, concepts that say that an amount is none of it; of shifts, those that say that it is one."""
_NAMED, _IMPLAUSIBLE, _NAMED_SHIFT = 0.6, 0.2, 0.4
"""Share of a label's letters that name one of these, what the probability is worth then, and the least of a shift."""
_FIRST, _LAST, _NAMED_BETWEEN = 40, 120, 40
"""Amounts of a document that are measured: the first and last ones, and of those between some that a label names."""
_SIGN: Final = re.compile(r"[€$£¥￥₹元円]|\b(?:rm|eur|usd|gbp|chf|kč|zł|kr|cny|jpy|inr|pln|czk|myr)\b", re.IGNORECASE)
_WHOLE: Final = re.compile(r"[円₩₫\u3040-\u30ff]|消費税|NT\$|\b(?:JPY|KRW|TWD|IDR|VND|Rp)\b")
"""Currencies without decimals, and what is Japanese."""
_RATE: Final = re.compile(r"(?<![\d.,])(\d{1,2}(?:[.,]\d{1,3})?)\s?[%％]")
_CONCEPTS: Final = (
    "total", "subtotal", "tax", "tax_word", "excluding", "due", "paid", "change", "discount", "charge", "tip",
    "rounding", "carried", "quantity", "unit_price", "line_amount", "description", "rate", "invoice_title", "number",
    "other_number", "bank",
)  # fmt: skip
_PLACE: Final = (
    "x", "right", "y", "order", "from_end", "last_page", "height", "in_column", "last_in_column", "same", "of_largest",
    "size", "decimals", "signed", "negative", "zero", "values_in_row", "from_right", "rate_in_row", "gap", "depth",
    "between", "own_words", "amounts", "rows_below", "bracketed",
)  # fmt: skip
_SUMS: Final = (
    "is_gross", "is_gross_usual", "is_net", "is_net_usual", "is_tax", "is_tax_usual", "is_included_tax",
    "has_included_tax", "sum_above", "sum_above_most", "product", "sum_of_row", "less_change", "gross_of_sum_above",
    "before_rounding", "after_rounding",
)  # fmt: skip
NAMES: Final = (*label_names(_CONCEPTS), *_PLACE, *_SUMS)
"""The measures of an amount."""
_CALLED_TAX: Final = tuple(f"{relation}_{concept}" for relation in RELATIONS for concept in ("tax", "tax_word"))
"""Measures of which one is above 0 where a label calls an amount a tax."""
_LISTED: Final = (
    "2.5 2.6 3 3.7 3.8 4 5 5.5 6 6.25 6.5 7 7.25 7.7 8 8.1 8.25 8.5 8.875 9 9.5 9.975 10 12 13 13.5 14 15 16 17 18 19"
    " 20 21 22 23 24 25 25.5 26 27 28"
)
RATES: Final = np.array([float(each) / 100 for each in _LISTED.split()])
"""Usual rates of a tax."""
_ROUNDED_TAX, _ROUNDED = 2, 1.01
"""Cents by which a tax may differ: lines of items are rounded one by one."""
_COIN_DIGITS: Final = 2
"""Decimals of most currencies."""
LARGEST_COIN: Final = 100
"""Cents that a rounding is below."""
_COLUMN: Final = 1.0
"""Heights of a line by which right edges of a column may differ."""
_MAX_SUMMED: Final = 60
"""Amounts above one that are added up."""


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount where it stands. `cents`: a hundred times the number, rounded; below 0 as printed."""

    spot: Spot
    cents: int
    around: Around


def amounts_on(pages: PrintedPages) -> list[Amount]:
    """The amounts: numbers with two decimals or a currency. Where no number has decimals, those with a comma, too, and
    those in a column with amounts; where there is none of these, the last number of each row of a document that names
    a total. In a currency without decimals a few quantities may have two.
    """
    sheet = Surroundings(pages)
    money = [spot for spot in spots_of(pages, KINDS["money"]) if spot.value and spot.value.unit != "%"]
    clear = [spot for spot in money if _is_amount(spot)]
    exact = sum(spot.value is not None and spot.value.decimals == _COIN_DIGITS for spot in clear)
    whole = sum("," in spot.text and spot.value is not None and spot.value.decimals != _COIN_DIGITS for spot in money)
    if not exact or (whole > exact and any(_WHOLE.search(row.text) for row in pages.rows)):
        clear = [spot for spot in money if _is_amount(spot) or "," in spot.text]
        if not clear and any("total" in concepts_in(row.text) for row in pages.rows):
            clear = list({spot.row: spot for spot in money if spot.value and spot.value.readings[0] != 0}.values())
        clear = _with_columns(clear, money, _COLUMN * pages.unit)
    kept = clear
    if len(clear) > _FIRST + _LAST:
        between = [spot for spot in clear[_FIRST:-_LAST] if _is_of_sums(pages.rows[spot.row].text)]
        kept = [*clear[:_FIRST], *between[:_NAMED_BETWEEN], *clear[-_LAST:]]
    found = []
    for spot in kept:
        number = spot.value.readings[0] if spot.value else None
        if isinstance(number, Decimal) and abs(number) < 10**12:
            around = sheet.around(spot, before_in_cell(spot, kept))
            found.append(Amount(spot, int((number * 100).to_integral_value()), around))
    return found


def _is_of_sums(text: str) -> bool:
    """Whether a row names a sum."""
    return bool(concepts_in(text).keys() & {"total", "subtotal", "tax", "due"})


def _with_columns(clear: Sequence[Spot], money: Sequence[Spot], apart: float) -> list[Spot]:
    """The clear amounts, with the numbers that end cells below or above them at the same right edge."""
    edges = sorted((each.page, each.right) for each in clear)
    chosen = {(each.row, each.at, each.start) for each in clear}
    for each in money:
        before, behind = each.cell.text[: each.start], each.cell.text[each.end :]
        near = bisect_left(edges, (each.page, each.right - apart))
        aligned = near < len(edges) and edges[near] <= (each.page, each.right + apart)
        if aligned and not behind.strip() and (not before.strip() or before[-1] in " :："):
            chosen.add((each.row, each.at, each.start))
    return [each for each in money if (each.row, each.at, each.start) in chosen]


def rate_beside(pages: PrintedPages, amount: Amount) -> float:
    """The rate, as a share, that is printed before an amount, else alone in its row; 0 without one."""
    before, row = amount.around.texts["near"], pages.rows[amount.spot.row].text[:LONGEST_CELL]
    rates = _RATE.findall(before) or _RATE.findall(row)
    return float(rates[0].replace(",", ".")) / 100 if len(set(rates)) == 1 else 0.0


def _is_amount(spot: Spot) -> bool:
    value = spot.value
    return value is not None and (
        value.decimals == _COIN_DIGITS or bool(value.unit) or _SIGN.search(spot.text) is not None
    )


def measures(pages: PrintedPages, amounts: Sequence[Amount]) -> FloatArray:
    """Returns the measures of the amounts (N, len(NAMES))."""
    if not amounts:
        return np.zeros((0, len(NAMES)))
    labels = np.array([label_measures(each.around, _CONCEPTS) for each in amounts])
    return np.hstack([labels, _places(pages, amounts), _arithmetic(amounts)])


def plausible(role: str, chance: FloatArray, measured: FloatArray) -> FloatArray:
    """The probability of a role (N,): of net amounts and taxes lowered where the label names another one, of taxes to 0
    if no other label calls it one; of shifts raised where it names a discount, charge or tip. `measured`: of
    `measures`.
    """
    if role not in _OTHERS or not len(chance):
        return chance
    at = {name: number for number, name in enumerate(NAMES)}
    other = np.max([measured[:, at[f"near_{name}"]] for name in _OTHERS[role]], axis=0) >= _NAMED
    if role == "shift":
        raised: FloatArray = np.where(other, np.maximum(chance, _NAMED_SHIFT), chance)
        return raised
    own = measured[:, at[f"near_{role}"]]
    lowered: FloatArray = np.where(other & (own == 0), _IMPLAUSIBLE * chance, chance)
    if role == "tax":
        lowered = np.where(other & ~is_called_tax(measured), 0.0, lowered)
    return lowered


def is_called_tax(measured: FloatArray) -> BoolArray:
    """Which of the amounts (N,) a label calls a tax. `measured`: of `measures`."""
    found: BoolArray = measured[:, [NAMES.index(name) for name in _CALLED_TAX]].max(axis=1) > 0
    return found


def has_rate(measured: FloatArray) -> BoolArray:
    """Which of the amounts (N,) have a rate in their row. `measured`: of `measures`."""
    found: BoolArray = measured[:, NAMES.index("rate_in_row")] > 0
    return found


def named(measured: FloatArray, concept: str) -> BoolArray:
    """Which of the amounts (N,) a label names so. `measured`: of `measures`."""
    found: BoolArray = measured[:, NAMES.index(f"near_{concept}")] >= _NAMED
    return found


def called(measured: FloatArray, *concepts: str) -> BoolArray:
    """Which of the amounts (N,) have one of these concepts in the label before them. `measured`: of `measures`."""
    found: BoolArray = measured[:, [NAMES.index(f"near_{concept}") for concept in concepts]].max(axis=1) > 0
    return found


def _places(pages: PrintedPages, amounts: Sequence[Amount]) -> FloatArray:
    sheet, count = Surroundings(pages), len(amounts)
    same = Counter(each.cents for each in amounts)
    largest = max(1, *(abs(each.cents) for each in amounts))
    in_row = Counter(each.spot.row for each in amounts)
    edges = np.array([each.spot.right for each in amounts])
    on_page = np.array([each.spot.page for each in amounts])
    last_page, last_row = on_page.max(), {row.page: row.number for row in pages.rows}
    found = []
    for at, each in enumerate(amounts):
        spot = each.spot
        x, y = sheet.place(spot.cell.box, spot.page)
        left, _, right, _ = sheet.extents[spot.page]
        column = (np.abs(edges - spot.right) <= _COLUMN * pages.unit) & (on_page == spot.page)
        row = pages.rows[spot.row]
        later = sum(other.spot.row == spot.row and other.spot.left > spot.left for other in amounts[at + 1 : at + 12])
        value = spot.value
        found.append([
            x, (spot.right - left) / max(1.0, right - left), y, at / count, count - at, spot.page == last_page,
            (spot.cell.box[3] - spot.cell.box[1]) / pages.unit, column.sum(), not column[at + 1 :].any(),
            same[each.cents], abs(each.cents) / largest, np.log10(abs(each.cents) + 1), value.decimals if value else 0,
            _SIGN.search(spot.text) is not None, each.cents < 0, each.cents == 0, in_row[spot.row], later,
            any("%" in cell.text for cell in row.cells), min(each.around.gap, 99), each.around.depth,
            each.around.between, bool(each.around.texts["near"] and each.around.gap == 0), count,
            last_row[spot.page] - spot.row, "(" in spot.cell.text,
        ])  # fmt: skip
    return np.array(found, dtype=np.float64)


def is_credit(cents: Iterable[int]) -> bool:
    """Whether the amounts of a document are below zero, as on a credit note: the largest one is."""
    largest = max(cents, key=lambda each: (abs(each), each), default=0)
    return largest < 0


def _arithmetic(amounts: Sequence[Amount]) -> FloatArray:
    """How each amount adds up with others."""
    cents = np.array([each.cents for each in amounts], dtype=np.int64)
    if is_credit(each.cents for each in amounts):
        cents = -cents
    found = np.zeros((len(amounts), len(_SUMS)))
    at = {name: number for number, name in enumerate(_SUMS)}
    known = np.unique(cents[cents > 0])
    if len(known):
        # Of each pair of numbers: the larger as net amount, the smaller as tax, their sum as gross.
        net, tax = (each.ravel() for each in np.meshgrid(known, known))
        fits = (tax < net) & np.isin(net + tax, known)
        net, tax = net[fits], tax[fits]
        usual = is_usual(net, tax)
        for name, values in (("gross", net + tax), ("net", net), ("tax", tax)):
            found[:, at[f"is_{name}"]] = np.isin(cents, values)
            found[:, at[f"is_{name}_usual"]] = np.isin(cents, values[usual])
        whole, part = (each.ravel() for each in np.meshgrid(known, known))
        inside = (part < whole) & is_included(whole, part)
        found[:, at["has_included_tax"]] = np.isin(cents, whole[inside])
        found[:, at["is_included_tax"]] = np.isin(cents, part[inside])
    above = _sums_above(amounts)
    found[:, at["sum_above"]] = above[:, 0]
    found[:, at["sum_above_most"]] = above[:, 1]
    summed = np.unique(cents[above[:, 0] > 1])
    if len(summed):
        found[:, at["gross_of_sum_above"]] = np.isin(cents, (summed[:, None] + known[None, :]).ravel())
    _rows(amounts, found, at)
    small = [int(number) for number in np.flatnonzero((cents != 0) & (np.abs(cents) < LARGEST_COIN))]
    coins = {int(cents[number]) for number in small if "rounding" in concepts_in(amounts[number].around.texts["near"])}
    for coin in coins:
        found[:, at["before_rounding"]] += np.isin(cents + coin, known)
        found[:, at["after_rounding"]] += np.isin(cents - coin, known)
    paid = [each.cents for each in amounts if "paid" in concepts_in(each.around.texts["near"])]
    change = [each.cents for each in amounts if "change" in concepts_in(each.around.texts["near"])]
    less = {first - second for first in paid[:10] for second in change[:10]}
    found[:, at["less_change"]] = [each.cents in less for each in amounts]
    return found


def is_usual(net: IntArray, tax: IntArray) -> BoolArray:
    """Whether each tax is one of the net amount at a usual rate; both in cents."""
    found: BoolArray = (np.abs(net[:, None] * RATES - tax[:, None]) <= _ROUNDED_TAX).any(axis=1)
    return found


def is_included(whole: IntArray, tax: IntArray) -> BoolArray:
    """Whether each whole has the tax in it at a usual rate; both in cents."""
    found: BoolArray = (np.abs(whole[:, None] * (RATES / (1 + RATES)) - tax[:, None]) <= _ROUNDED).any(axis=1)
    return found


def _sums_above(amounts: Sequence[Amount]) -> FloatArray:
    """Of how many amounts directly above it in its column each is the sum (0: of none), and whether of all."""
    found = np.zeros((len(amounts), 2))
    for at, each in enumerate(amounts):
        total, count = 0, 0
        for other in reversed(amounts[:at]):
            if other.spot.page != each.spot.page or abs(other.spot.right - each.spot.right) > 2 * (
                each.spot.cell.box[3] - each.spot.cell.box[1]
            ):
                continue
            total, count = total + other.cents, count + 1
            if count >= 2 and abs(total - each.cents) <= 1 and each.cents:
                found[at] = count, 0.0
            if count >= _MAX_SUMMED:
                break
        found[at, 1] = found[at, 0] == count and count > 1
    return found


def _rows(amounts: Sequence[Amount], found: FloatArray, at: Mapping[str, int]) -> None:
    """Products of quantity and price, and sums of two amounts, in a row."""
    by_row: dict[int, list[int]] = {}
    for number, each in enumerate(amounts):
        by_row.setdefault(each.spot.row, []).append(number)
    for numbers in by_row.values():
        row = [amounts[number].cents for number in numbers[:12]]
        for number in numbers[:12]:
            own = amounts[number]
            counts = {int(token) for token in re.findall(r"(?<![\d.,])\d{1,4}(?![\d.,])", _row_text(own))}
            found[number, at["product"]] = any(
                abs(count * abs(other) - abs(own.cents)) <= 1
                for count in counts
                if count > 1
                for other in row
                if other != own.cents
            )
            found[number, at["sum_of_row"]] = any(a + b == own.cents for a, b in combinations(row, 2))


def _row_text(amount: Amount) -> str:
    around = amount.around
    return f"{around.texts['start']} {around.texts['left']} {amount.spot.cell.text}"
