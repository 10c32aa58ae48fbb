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
from inkgate.fields.rules.candidates import FieldCandidate, candidates_of, is_word
from inkgate.fields.rules.rows import PrintedPages
from inkgate.fields.trade.countries import currency_meant
from inkgate.fields.trade.spots import LONGEST_CELL
from inkgate.fields.trade.words import concepts_in

_WITH_CHECK, _WITHOUT_CHECK = 1.0, 0.85
_OF_TWO: Final = 0.3
"""Score of one of several VAT numbers."""
_MOST_PRINTED, _OF_SEVERAL, _BROKEN = 0.96, 0.9, 0.85
"""Scores of a currency's code, of one of several times, and of a telephone number with one bracket."""
_HEAD_ROWS: Final = 16
"""Rows in which a telephone number needs no label."""
_LABEL: Final = 24
"""Characters before a telephone number that are its label."""
_T = re.compile(r"(?<!\w)[Tt]\s?[:.]\s*$")
"""A short label of a telephone number."""
_PHONE = re.compile(r"\+?\(?\d[\d\s()./-]{5,16}\d")
_PHONE_FORM = re.compile(r"\(?\d{2,4}\)?[\s-]{1,2}\d{3,4}[\s-]?\d{3,4}")


def plain_fields(pages: PrintedPages, date: FieldCandidate | None) -> dict[str, list[FieldCandidate]]:
    """The fields that were found, by name. `date`: of the document; of several times, the nearest to it counts."""
    found = {
        "iban": _account(pages),
        "currency": _currency(pages),
        "phone": _phone(pages),
        "time": _time(pages, date),
    }
    fields = {name: [candidate] for name, candidate in found.items() if candidate is not None}
    return fields | ({"vat_id": numbers} if (numbers := _vat_ids(pages)) else {})


def _account(pages: PrintedPages) -> FieldCandidate | None:
    """The first IBAN whose check digits hold."""
    found = _of_kind(pages, "iban")
    good = [each for each in found if iban_holds(_reading(each))]
    return replace(good[0], score=_WITH_CHECK) if good else replace(found[0], score=_WITHOUT_CHECK) if found else None


def _vat_ids(pages: PrintedPages) -> list[FieldCandidate]:
    """The VAT numbers whose check digits hold and that no label calls the customer's. Of several, each may be another
    party's.
    """
    good = [each for each in _of_kind(pages, "vat_id") if vat_id_holds(_reading(each))]
    own = {_reading(each): each for each in reversed(good) if "customer" not in concepts_in(each.label)}
    score = _WITH_CHECK if len(own) == 1 else _OF_TWO
    return [replace(each, score=score) for each in reversed(own.values())]


def _currency(pages: PrintedPages) -> FieldCandidate | None:
    """The currency that is printed most often; a code or a name before a sign that several currencies have. Of these,
    the one of the document's country is meant.
    """
    found = _of_kind(pages, "currency")
    if not found:
        return None
    most = Counter(_reading(each) for each in found).most_common(1)[0][0]
    signs = [each for each in found if _reading(each) == most]
    clear = [each for each in signs if not cast("ParsedValue", each.value).ambiguous]
    if clear:
        return replace(clear[0], score=_MOST_PRINTED)
    meant = currency_meant(pages, cast("Sequence[str]", cast("ParsedValue", signs[0].value).readings))
    return replace(signs[0], score=_MOST_PRINTED if meant else _WITHOUT_CHECK, reading=meant)


def _phone(pages: PrintedPages) -> FieldCandidate | None:
    """The first telephone number: one labelled so or with a country's prefix, else one that is written as such in
    the head of the page. Numbers of fax machines and of customers are none.
    """
    written: FieldCandidate | None = None
    for row in pages.rows:
        for at, cell in enumerate(row.cells):
            for match in _PHONE.finditer(cell.text[:LONGEST_CELL]):
                text = match[0].strip()
                own = cell.text[: match.start()]
                label = (own if is_word(own) or at == 0 else row.cells[at - 1].text)[-_LABEL:]
                named = concepts_in(label)
                if "other_phone" in named or named.keys() & {"customer", "bank", "tax_id"}:
                    continue
                whole = text.count("(") == text.count(")")
                score = 1.0 if whole else _BROKEN
                found = FieldCandidate(text, row.page, row.number, (cell.line,), label, score=score)
                if "phone" in named or text.startswith("+") or _T.search(label):
                    return found
                if written is None and row.number < _HEAD_ROWS and _PHONE_FORM.fullmatch(text):
                    written = found
    return written


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
