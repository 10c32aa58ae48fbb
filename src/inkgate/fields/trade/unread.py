"""What a person should look at: labels with a value of which no field was made, tax numbers beside another name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Final

from inkgate.fields.folded import fold
from inkgate.fields.rules.rows import PrintedPages
from inkgate.fields.trade.amounts import Amount, amounts_on
from inkgate.fields.trade.names import is_same
from inkgate.fields.trade.papers import Placed, dates_on, numbers_on
from inkgate.fields.trade.parties import is_company, names_in
from inkgate.fields.trade.reader import shifts_on
from inkgate.fields.trade.words import concepts_in
from inkgate_client.fields.values import Check, FieldValue

UNREAD: Final = "label_without_value"
ISSUER: Final = "issuer_consistent"
_AMOUNTS: Final = {"/subtotal": "subtotal", "/tax": "tax"}
_DATES: Final = {"/date": "issue_date", "/due_date": "due_date"}
_NUMBERS: Final = {"/vat_id": "tax_id", "/invoice_number": "invoice_number", "/phone": "phone"}
_CONCEPTS: Final[Mapping[str, str]] = {**_AMOUNTS, **_DATES, **_NUMBERS}
"""What labels of a field name, by its path. A total that is missing is told by other checks."""
_IBAN: Final = "/iban"
_ACCOUNT: Final = re.compile(r"\bIBAN\b\W{0,4}[A-Z0-9]{4}[A-Z0-9 ]{8,30}")
"""An account, even if it is misread."""
_NAMED: Final = 0.65
"""Share of a label's letters from which it is one of the field."""
_MIN_WORD: Final = 4
"""Letters of a word that tells a company."""
_OTHER_DAYS: Final = frozenset({"other_date", "issue_date", "description", "paid"})
"""What labels name whose dates are none on which something is due."""
_LONGEST_TERM: Final = 150
"""Days from the document's date to the one on which it is due."""
_BETWEEN: Final = re.compile(r"[·•|;]|\s[–—-]\s")
_LETTERS: Final = re.compile(r"[A-Za-z]{2,5}(?=\s)")
_MIN_DIGITS: Final = 6
"""Digits of a tax number or a telephone number; fewer are a rate or an extension."""


def unread_labels(pages: PrintedPages, fields: Mapping[str, FieldValue]) -> Check | None:
    """The check that no field without a value has a label with one. None if every field has a value."""
    missing = [path for path in (*_CONCEPTS, _IBAN) if path in fields and fields[path].value is None]
    if not missing:
        return None
    found: dict[str, str] = {}
    if _IBAN in missing and (account := next(filter(None, (_ACCOUNT.search(row.text) for row in pages.rows)), None)):
        found[_IBAN] = account[0]
    if "/tax" in missing and (rest := _rest(fields)) and rest not in shifts_on(pages):
        found["/tax"] = f"{rest} between subtotal and total"
    for path, placed in _placed(pages, missing):
        if path not in found and _is_left_out(path, placed, fields):
            found[path] = f"{placed.around.texts['near'].strip()} {placed.spot.text}".strip()
    return Check(UNREAD, not found, tuple(found or missing), "; ".join(found.values()))


def other_issuer(pages: PrintedPages, fields: Mapping[str, FieldValue]) -> Check | None:
    """The check that no other company is named in the line of the issuer's tax number. None if none is."""
    name, number = fields.get("/merchant_name"), fields.get("/vat_id")
    if name is None or number is None or name.value is None or number.value is None:
        return None
    beside = {(source.page, line) for source in number.sources for line in source.lines}
    cells = [cell.text for row in pages.rows for cell in row.cells if (row.page, cell.line) in beside]
    named = (each for text in cells for each in names_in(text) if is_company(each))
    companies = [each for each in named if "bank" not in concepts_in(each)]
    others = [each for each in companies if not _is_short_for(each, str(name.value))]
    return Check(ISSUER, not others, ("/merchant_name",), "; ".join(others)) if companies else None


def _is_short_for(name: str, other: str) -> bool:
    """Whether one name is the other or a part of it, or both begin with the same word."""
    first, second = fold(name.split(maxsplit=1)[0]), fold(other.split(maxsplit=1)[0])
    return is_same(fold(name), fold(other)) or (first == second and len(first) >= _MIN_WORD)


def _rest(fields: Mapping[str, FieldValue]) -> Decimal:
    """What is missing between subtotal and total; 0 without one of them."""
    known = _sums_of(fields)
    return known["/total"] - known["/subtotal"] if {"/total", "/subtotal"} <= known.keys() else Decimal(0)


def _placed(pages: PrintedPages, paths: Collection[str]) -> Iterator[tuple[str, Amount | Placed]]:
    """The values that may be the fields', as they stand on the page."""
    for names, values_on in ((_AMOUNTS, amounts_on), (_DATES, dates_on), (_NUMBERS, numbers_on)):
        wanted = [path for path in names if path in paths]
        for placed in values_on(pages) if wanted else ():
            for path in wanted:
                yield path, placed


def _is_left_out(path: str, placed: Amount | Placed, fields: Mapping[str, FieldValue]) -> bool:
    """Whether the value's label names the field, and the value is none of another field."""
    named = concepts_in(_label(placed))
    if path == "/due_date" and not named.keys() & _OTHER_DAYS and _is_later(placed, fields):
        return True
    if named.get(_CONCEPTS[path], 0.0) < _NAMED or "other_phone" in named:
        return False
    if isinstance(placed, Amount):
        # A subtotal that is the total again says nothing else.
        return placed.cents not in {0, *(int(each * 100) for each in _sums_of(fields).values())}
    digits = sum(map(str.isdigit, placed.spot.text))
    return path not in {"/vat_id", "/phone"} or digits >= _MIN_DIGITS


def _is_later(placed: Amount | Placed, fields: Mapping[str, FieldValue]) -> bool:
    """Whether a date is one on which the document may be due, whatever its label is."""
    value, issued = placed.spot.value, fields.get("/date")
    if value is None or value.ambiguous or issued is None or issued.kind != "date" or issued.value is None:
        return False
    day = value.readings[0]
    return isinstance(day, date) and 0 < (day - date.fromisoformat(str(issued.value))).days <= _LONGEST_TERM


def _label(placed: Amount | Placed) -> str:
    """What stands before a value, behind the last mark between parts of a row; a short label may be read with it."""
    own = _LETTERS.match(placed.spot.text)
    return _BETWEEN.split(f"{placed.around.texts['near'].strip()} {own[0] if own else ''}".strip())[-1]


def _sums_of(fields: Mapping[str, FieldValue]) -> dict[str, Decimal]:
    """The amounts that were found, by path."""
    known = ((path, fields[path]) for path in ("/subtotal", "/tax", "/total") if path in fields)
    return {path: Decimal(str(each.value)) for path, each in known if each.kind == "money" and each.value is not None}
