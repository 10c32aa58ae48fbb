"""Dates and numbers of an invoice or receipt: measures of each that may be the document's own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

import numpy as np

from inkgate.fields.folded import fold
from inkgate.fields.kinds import KINDS
from inkgate.fields.rules.rows import PrintedPages
from inkgate.fields.trade.countries import AMERICAN, LONGEST_TEXT
from inkgate.fields.trade.spots import (
    LONGEST_CELL,
    Around,
    Spot,
    Surroundings,
    before_in_cell,
    label_measures,
    label_names,
    spot_at,
    spots_of,
)
from inkgate.fields.trade.words import concepts_in
from inkgate.runtimes.trees import FloatArray

MAX_SPOTS: Final = 120
"""Dates, and numbers, of a document that are measured: the first ones; of dates the last ones, too."""
_DATE_CONCEPTS: Final = (
    "date", "issue_date", "due_date", "other_date", "invoice_title", "invoice_number", "other_number", "description",
    "number", "paid", "due",
)  # fmt: skip
_DATE_OWN: Final = (
    "x", "y", "order", "count", "earliest", "latest", "same", "days_after_first", "ambiguous", "time_beside", "gap",
    "depth", "own_words", "alone", "in_range", "page", "height", "rows", "other_dates_in_row",
)  # fmt: skip
DATE_NAMES: Final = (*label_names(_DATE_CONCEPTS), *_DATE_OWN)
"""The measures of a date."""
_NUMBER_CONCEPTS: Final = (
    "invoice_number", "other_number", "invoice_title", "number", "date", "issue_date", "phone", "bank", "tax_id",
    "customer", "issuer", "address", "quantity", "description", "total", "page", "other_phone", "paid", "due_date",
)  # fmt: skip
_NUMBER_OWN: Final = (
    "x", "y", "order", "characters", "digits", "letters", "marks", "year", "same", "gap", "depth", "own_words", "alone",
    "is_date", "is_amount", "page", "height", "spaced", "hash_before", "first_of_title", "text_behind", "rows",
    "cells_in_row", "lower",
)  # fmt: skip
NUMBER_NAMES: Final = (*label_names(_NUMBER_CONCEPTS), *_NUMBER_OWN)
"""The measures of a number."""
_PARTS: Final = re.compile(r"(\d{1,2})\s?[-/.]\s?(\d{1,2})\s?[-/.]\s?(?:19|20)?\d\d$")
_MONTHS: Final = 12
_DAY_FIRST: Final = re.compile(
    r"\b(?:VAT|ABN|IBAN|TVA|I\.?V\.?A|MwSt|USt|BTW|DPH|GmbH|SARL|S\.?r\.?l|S\.?p\.?A|B\.V|Lda|[Ss]p\.\s?z\s?o\.?o|s\.r\.o)\b"
)
"""Taxes and legal forms of companies of countries in which the day comes first."""
_BRITISH: Final = re.compile(r"\b[A-Z]{1,2}\d[\dA-Z]?\s\d[ABD-HJLNP-UW-Z]{2}\b")
"""A British postcode."""
_NUMBER: Final = re.compile(
    r"(?<![^\W\u3040-\u30ff\u3400-\u9fff])(?<!\.)(?:(?!(?:no|nr|num|n|id|ref|doc|inv|bill)\b)[A-Z]{1,5}\s(?=\d))?"
    r"[A-Z0-9][A-Z0-9/._-]{0,38}[A-Z0-9]"
    r"(?![^\W\u3040-\u30ff\u3400-\u9fff]|@)|(?<![\w.,])\d(?![\w.,@])",
    re.IGNORECASE,
)
_SPACED: Final = re.compile(
    r"(?<![\w.])(?:(?!(?:no|nr|num|n|id|ref|doc|inv|bill)\b)[A-Z]{1,4}\s?)?\d[\d/.-]*(?:\s[\d/.-]+){1,3}(?!\w)",
    re.IGNORECASE,
)
_TITLE: Final = 0.5
"""Share of a line's letters that name a document from which it is a title."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A date or a number with what stands around it."""

    spot: Spot
    around: Around


def dates_on(pages: PrintedPages) -> list[Placed]:
    """The dates, in the order of the page."""
    found = spots_of(pages, KINDS["date"])
    return _placed(pages, found if len(found) <= MAX_SPOTS else [*found[: MAX_SPOTS // 2], *found[-MAX_SPOTS // 2 :]])


def month_first(pages: PrintedPages, dates: Sequence[Placed]) -> bool | None:
    """Whether numbers as 03/04/2018 begin with the month: as the document's other dates do, else as is usual where its
    currency, addresses and telephone numbers are from; None if neither tells.
    """
    parts = [(int(match[1]), int(match[2])) for each in dates if (match := _PARTS.match(each.spot.text.strip()))]
    months, days = sum(second > _MONTHS for _, second in parts), sum(first > _MONTHS for first, _ in parts)
    if months != days:
        return months > days
    text = " ".join(row.text for row in pages.rows)[:LONGEST_TEXT]
    printed = Counter(value.readings[0] for value in KINDS["currency"].find(text))
    most = printed.most_common(1)[0][0] if printed else "USD"
    elsewhere = most not in {"USD", "CAD", "CNY", "JPY"} or any(each.search(text) for each in (_DAY_FIRST, _BRITISH))
    american = AMERICAN.search(text) is not None
    return american if elsewhere != american else None


def numbers_on(pages: PrintedPages) -> list[Placed]:
    """What may be the number of a document: letters and digits without a space, or digits in groups."""
    found: list[Spot] = []
    for row in pages.rows:
        for at, cell in enumerate(row.cells):
            text = cell.text[:LONGEST_CELL]
            parts = cell.parts() if any(map(str.isdigit, text)) else []
            taken = [(value.start, value.end) for value in KINDS["date"].find(text)]
            for pattern in (_SPACED, _NUMBER):
                for match in pattern.finditer(text):
                    start, end = _without_dates(match.start(), match.end(), taken)
                    token = text[start:end].strip("./-_ ")
                    if end - start > 0 and any(map(str.isdigit, token)) and token:
                        begin = text.index(token, start)
                        found.append(spot_at(row, at, begin, begin + len(token), parts))
        if len(found) >= 2 * MAX_SPOTS:
            break
    unique = {(each.row, each.at, each.start, each.end): each for each in found}
    return _placed(pages, list(unique.values())[: 2 * MAX_SPOTS])


def _without_dates(start: int, end: int, dates: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The part of a number that is none of a date that a slash joins to it."""
    for first, last in dates:
        if first <= start < last:
            return 0, 0
        if start < first < end:
            end = first
    return start, end


def _placed(pages: PrintedPages, spots: Sequence[Spot]) -> list[Placed]:
    sheet = Surroundings(pages)
    return [Placed(spot, sheet.around(spot, before_in_cell(spot, spots))) for spot in spots]


def date_measures(pages: PrintedPages, dates: Sequence[Placed]) -> FloatArray:
    """Returns the measures of the dates (N, len(DATE_NAMES))."""
    if not dates:
        return np.zeros((0, len(DATE_NAMES)))
    sheet = Surroundings(pages)
    days = [_day(each) for each in dates]
    same, first, last = Counter(days), min(days), max(days)
    found = []
    for number, each in enumerate(dates):
        spot = each.spot
        x, y = sheet.place(spot.cell.box, spot.page)
        row = pages.rows[spot.row]
        day = days[number]
        beside = sum(other.spot.row == spot.row for other in dates)
        found.append([
                *label_measures(each.around, _DATE_CONCEPTS),
                x, y, number / len(dates), len(dates), day == first, day == last, same[day],
                min(400, (day - first).days), spot.value is not None and spot.value.ambiguous,
                bool(KINDS["time"].find(row.text[:LONGEST_CELL])), min(99.0, each.around.gap), each.around.depth,
                each.around.gap == 0, spot.text.strip() == spot.cell.text.strip(), 1995 <= day.year <= 2035, spot.page,
                (spot.cell.box[3] - spot.cell.box[1]) / pages.unit, spot.row, beside,
        ])  # fmt: skip
    return np.array(found, dtype=np.float64)


def _day(placed: Placed) -> date:
    value = placed.spot.value
    reading = value.readings[0] if value else None
    return reading if isinstance(reading, date) else date.min


def number_measures(pages: PrintedPages, numbers: Sequence[Placed]) -> FloatArray:
    """Returns the measures of the numbers (N, len(NUMBER_NAMES))."""
    if not numbers:
        return np.zeros((0, len(NUMBER_NAMES)))
    sheet = Surroundings(pages)
    same = Counter(fold(each.spot.text) for each in numbers)
    found = []
    for number, each in enumerate(numbers):
        spot = each.spot
        x, y = sheet.place(spot.cell.box, spot.page)
        text = spot.text
        row = pages.rows[spot.row]
        near = each.around.texts["near"]
        titled = concepts_in(near).get("invoice_title", 0.0) >= _TITLE and each.around.gap == 0
        found.append([
                *label_measures(each.around, _NUMBER_CONCEPTS),
                x, y, number / len(numbers), len(text), sum(map(str.isdigit, text)), sum(map(str.isalpha, text)),
                sum(mark in text for mark in "-/._"), re.fullmatch(r"(?:19|20)\d\d", text) is not None,
                same[fold(text)], min(99.0, each.around.gap), each.around.depth, each.around.gap == 0,
                text == spot.cell.text.strip(), bool(KINDS["date"].find(text)),
                re.fullmatch(r"[\d.,]+[.,]\d\d", text) is not None, spot.page,
                (spot.cell.box[3] - spot.cell.box[1]) / pages.unit, " " in text,
                spot.cell.text[: spot.start].rstrip().endswith("#"), titled,
                len(spot.cell.text) - spot.end, spot.row, len(row.cells), any(map(str.islower, text)),
        ])  # fmt: skip
    return np.array(found, dtype=np.float64)
