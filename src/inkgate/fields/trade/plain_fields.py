"""Fields of invoices and receipts that show what they are: accounts, tax numbers, currency, telephone, time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, cast

from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.accounts import iban_holds, vat_id_holds
from inkgate.fields.kinds.base import ParsedValue
from inkgate.fields.rules.candidates import FieldCandidate, candidates_of
from inkgate.fields.rules.rows import PrintedPages
from inkgate.fields.trade.words import concepts_in

_WITH_CHECK, _WITHOUT_CHECK = 1.0, 0.85
_MOST_PRINTED, _OF_SEVERAL, _BROKEN = 0.96, 0.9, 0.85
"""Scores of a currency's code, of one of several times, and of a telephone number with one bracket."""
_HEAD_ROWS: Final = 16
"""Rows in which a telephone number needs no label."""
_PHONE_LABEL = re.compile(r"\b(?:tele?phone|tele?|te1|tel|phone|ph|h/?p|mobile|fon|电话|電話)\b\W*", re.IGNORECASE)
_PHONE = re.compile(r"\+?\(?\d[\d\s()./-]{5,16}\d")
_PHONE_FORM = re.compile(r"\(?\d{2,4}\)?[\s-]{1,2}\d{3,4}[\s-]?\d{3,4}")


def plain_fields(pages: PrintedPages, date: FieldCandidate | None) -> dict[str, list[FieldCandidate]]:
    """The fields that were found, by name. `date`: of the document; of several times, the nearest to it counts."""
    found = {
        "iban": _account(pages),
        "vat_id": _vat_id(pages),
        "currency": _currency(pages),
        "phone": _phone(pages),
        "time": _time(pages, date),
    }
    return {name: [candidate] for name, candidate in found.items() if candidate is not None}


def _account(pages: PrintedPages) -> FieldCandidate | None:
    """The first IBAN whose check digits hold."""
    found = _of_kind(pages, "iban")
    good = [each for each in found if iban_holds(_reading(each))]
    return replace(good[0], score=_WITH_CHECK) if good else replace(found[0], score=_WITHOUT_CHECK) if found else None


def _vat_id(pages: PrintedPages) -> FieldCandidate | None:
    """The first VAT number whose check digits hold and that is not the customer's; else the first that may be one."""
    found = [each for each in _of_kind(pages, "vat_id") if not concepts_in(each.label).get("customer")]
    good = [each for each in found if vat_id_holds(_reading(each))]
    unknown = [each for each in found if vat_id_holds(_reading(each)) is None and _names_tax(each.label)]
    best = next(iter(good or unknown), None)
    return None if best is None else replace(best, score=_WITH_CHECK if good else _WITHOUT_CHECK)


def _names_tax(label: str) -> bool:
    named = concepts_in(label)
    return "tax" in named or "tax_id" in named


def _currency(pages: PrintedPages) -> FieldCandidate | None:
    """The currency that is printed most often; a code or a name before a sign that several currencies have."""
    found = _of_kind(pages, "currency")
    if not found:
        return None
    most = Counter(_reading(each) for each in found).most_common(1)[0][0]
    signs = [each for each in found if _reading(each) == most]
    clear = [each for each in signs if not cast("ParsedValue", each.value).ambiguous]
    return replace(clear[0], score=_MOST_PRINTED) if clear else replace(signs[0], score=_WITHOUT_CHECK)


def _phone(pages: PrintedPages) -> FieldCandidate | None:
    """The first telephone number: one that is labelled so, else one that is written as such in the head of the page."""
    for row in pages.rows:
        labelled = _PHONE_LABEL.search(row.text)
        number = _PHONE.search(row.text, labelled.end() if labelled else 0)
        if number is None:
            continue
        text = number[0].strip()
        if labelled or (row.number < _HEAD_ROWS and _PHONE_FORM.fullmatch(text)):
            whole = text.count("(") == text.count(")")
            label = labelled[0] if labelled else ""
            return FieldCandidate(text, row.page, row.number, row.lines, label, score=1.0 if whole else _BROKEN)
    return None


def _time(pages: PrintedPages, date: FieldCandidate | None) -> FieldCandidate | None:
    """The time nearest to the date; without a date the first."""
    times: Sequence[FieldCandidate] = candidates_of(pages, KINDS["time"])
    if not times:
        return None
    best = times[0] if date is None else min(times, key=lambda each: (abs(each.row - date.row), each.row))
    different = {each.value.readings[0] for each in times if each.value is not None}
    return replace(best, score=_OF_SEVERAL) if len(different) > 1 else replace(best, score=1.0)


def _of_kind(pages: PrintedPages, kind: str) -> list[FieldCandidate]:
    return [each for each in candidates_of(pages, KINDS[kind]) if each.value is not None]


def _reading(candidate: FieldCandidate) -> str:
    return cast("str", cast("ParsedValue", candidate.value).readings[0])
