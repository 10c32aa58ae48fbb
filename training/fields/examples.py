"""Measures of a document's lines, amounts, dates and numbers, with what each is by the truth."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz

from inkgate.fields.folded import fold
from inkgate.fields.kinds import KINDS
from inkgate.fields.rules.rows import PrintedPages
from inkgate.fields.trade import amounts, papers, parties
from inkgate.fields.trade.spots import Spot
from inkgate_client.types import Box, PageResult

MAX_RUN = 4
"""Lines that a name goes on in."""
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
SHIFTS = ("discount", "shipping", "tip", "rounding")
SAME = {
    "company": "merchant_name", "store_name": "merchant_name", "issuer": "merchant_name", "address": "merchant_address",
    "store_addr": "merchant_address", "amount": "total", "amount_untaxed": "subtotal", "date_due": "due_date",
    "vat": "vat_id", "tel": "phone",
}  # fmt: skip
"""Names of fields in other truths."""


@dataclass
class Example:
    """A document: of which source, its true fields, and by role the measures and what is right.

    `known`: roles of which the truth tells. `cents`: of the amounts. `texts`: of the spots of each role.
    """

    name: str
    source: str
    weight: float
    truth: dict[str, Any]
    measures: dict[str, FloatArray]
    right: dict[str, BoolArray]
    cents: list[int]
    days: list[str]
    numbers: list[str]
    known: frozenset[str]


def example(
    name: str, source: str, truth: Mapping[str, Any], pages: Sequence[PageResult], weight: float = 1.0
) -> Example:
    printed = PrintedPages.of(pages)
    fields = {SAME.get(key, key): value for key, value in truth["fields"].items()}
    spans = Spans(truth, pages)
    found, lines = amounts.amounts_on(printed), parties.lines_on(printed)
    dates, numbers = papers.dates_on(printed), papers.numbers_on(printed)
    right: dict[str, BoolArray] = {}
    full = bool(truth.get("spans"))
    for role in ("total", "subtotal", "tax"):
        cents = cents_of(fields.get(role))
        right[role] = np.array([
            spans.role(each.spot, _is_amount(each.cents)) == role if full else each.cents == cents for each in found
        ], dtype=bool)  # fmt: skip
    right["shift"] = np.array([spans.role(each.spot, _is_amount(each.cents)) in SHIFTS for each in found], dtype=bool)
    days = [str(each.spot.value.readings[0]) for each in dates if each.spot.value]
    readings = [{str(day) for day in each.spot.value.readings} for each in dates if each.spot.value]
    for role in ("date", "due_date"):
        day = iso(fields.get(role))
        right[role] = np.array([
            day in own and (not full or spans.role(each.spot) in {role, ""})
            for each, own in zip(dates, readings, strict=True)
        ], dtype=bool)  # fmt: skip
    number = fold(str(fields.get("invoice_number") or ""))
    right["invoice_number"] = np.array([
        bool(number) and fold(each.spot.text) == number
        and (not full or spans.role(each.spot) in {"invoice_number", ""})
        for each in numbers
    ], dtype=bool)  # fmt: skip
    for role in ("merchant_name", "merchant_address", "customer_name", "customer_address"):
        right[role] = _parts(lines, str(fields.get(role) or ""), role, spans, full)
    known = set(right) if full else {role for role in right if role in fields}
    return Example(
        name, source, weight, fields,
        {
            "amount": amounts.measures(printed, found), "date": papers.date_measures(printed, dates),
            "number": papers.number_measures(printed, numbers), "line": parties.measures(printed, lines),
        },
        right, [each.cents for each in found], days, [each.spot.text for each in numbers], frozenset(known),
    )  # fmt: skip


def _is_amount(cents: int) -> Callable[[str], bool]:
    """Whether a text is that amount, or its negative: a discount may be printed with or without its sign."""
    return lambda text: any(abs(number) == abs(cents) for number in _all_cents(text))


def _all_cents(text: str) -> list[int]:
    return [int(r * 100) for v in KINDS["money"].find(text) for r in v.readings[:1] if isinstance(r, Decimal)]


def cents_of(value: object) -> int | None:
    """A true amount in cents; None without one."""
    if value in (None, ""):
        return None
    try:
        return int((Decimal(str(value)) * 100).to_integral_value())
    except InvalidOperation:
        found = _all_cents(re.sub(r"[^\d.,-]", "", str(value)))
        return found[0] if found else None


def iso(value: object) -> str:
    """A true date in ISO 8601, day first."""
    if value in (None, ""):
        return "-"
    text = str(value)
    try:
        return str(dt.date.fromisoformat(text))
    except ValueError:
        found = KINDS["date"].find(text)
        return str(found[0].readings[0]) if found else "-"


def _parts(lines: Sequence[parties.NameLine], wanted: str, role: str, spans: Spans, full: bool) -> BoolArray:
    """Which lines are parts of a true name or address. A real name is the run of lines that is most like it."""
    true = fold(wanted)
    if not true:
        return np.zeros(len(lines), dtype=bool)
    if not full and role.endswith("_name"):
        return _likest_run(lines, true)
    return np.array([_is_part(each, true, role, spans, full) for each in lines], dtype=bool)


def _likest_run(lines: Sequence[parties.NameLine], true: str) -> BoolArray:
    found = np.zeros(len(lines), dtype=bool)
    runs = [
        range(start, end)
        for start in range(len(lines))
        for end in range(start + 1, min(start + MAX_RUN, len(lines)) + 1)
    ]
    texts = ["".join(fold(lines[at].text) for at in run) for run in runs]
    likeness = np.array([fuzz.ratio(text, true) for text in texts])
    # Where the whole is not printed, as a name whose logo is not read, its larger part counts.
    part = np.array(
        [
            len(run) == 1
            and len(text) >= max(5, 0.35 * len(true))
            and fuzz.partial_ratio(text, true) >= 92
            and len(text) <= len(true) + 2
            for run, text in zip(runs, texts, strict=True)
        ],
        dtype=bool,
    )
    best = likeness.max(initial=0)
    chosen = np.flatnonzero(likeness == best) if best >= 85 else np.flatnonzero(part)
    for at in chosen:
        if all(fold(lines[number].text) for number in runs[at]):
            found[list(runs[at])] = True
    return found


def _is_part(line: parties.NameLine, true: str, role: str, spans: Spans, full: bool) -> bool:
    text = fold(line.text)
    if not text:
        return False
    if full:
        at = Spot(
            line.page, line.row, 0, line.cell, line.start, len(line.cell.text), line.cell.box[0], line.cell.box[2]
        )
        return spans.role(at, lambda span: fuzz.ratio(fold(span), text) >= 80) == role
    return len(text) >= 4 and len(text) <= len(true) + 3 and fuzz.partial_ratio(text, true) >= 90


class Spans:
    """The printed values of a truth, in pixels of the pages."""

    def __init__(self, truth: Mapping[str, Any], pages: Sequence[PageResult]) -> None:
        self._by_page: dict[int, list[tuple[str, str, tuple[float, float, float, float]]]] = {}
        for span in truth.get("spans", ()):
            page = next((each for each in pages if each.index == span["page"]), None)
            if page is None or not page.width:
                continue
            x, y = page.width / truth["width"], page.height / (truth.get("page_height") or truth["height"])
            box = span["box"]
            self._by_page.setdefault(page.index, []).append(
                (span["role"], span["text"], (box[0] * x, box[1] * y, box[2] * x, box[3] * y))
            )

    def has(self, page: int, line: Box, roles: Collection[str]) -> bool:
        """Whether a value of one of the roles lies in the line."""
        return any(
            role in roles and line[1] <= (box[1] + box[3]) / 2 <= line[3] and box[0] < line[2] and line[0] < box[2]
            for role, _, box in self._by_page.get(page, ())
        )

    def role(self, spot: Spot, same: Callable[[str], bool] | None = None) -> str:
        """The role of the span that lies where the spot does; empty without one."""
        same = same or (lambda text: fold(spot.text) in fold(text) or fold(text) in fold(spot.text))
        _, top, _, bottom = spot.cell.box
        best, nearest = "", 1e9
        for role, text, box in self._by_page.get(spot.page, ()):
            middle = (box[1] + box[3]) / 2
            if not top - 0.3 * (bottom - top) <= middle <= bottom + 0.3 * (bottom - top):
                continue
            apart = max(0.0, box[0] - spot.right, spot.left - box[2])
            distance = apart + 0.1 * abs((box[0] + box[2] - spot.left - spot.right) / 2)
            if apart <= 2 * (bottom - top) and distance < nearest and same(text):
                best, nearest = role, distance
        return best
