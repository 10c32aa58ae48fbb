"""Who issued a document: name, address and telephone at the head of the page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from inkgate.fields.rules.candidates import FieldCandidate
from inkgate.fields.rules.head_words import (
    BUSINESS,
    GOES_ON,
    HEAD_ROWS,
    HOUSE_NUMBER,
    LEGAL_FORM,
    POSTCODE,
    TRAILING_NUMBER,
    is_business,
    is_number,
    is_street,
)
from inkgate.fields.rules.rows import PrintedPages, PrintedRow

MAX_ADDRESS_ROWS: Final = 6
_LONGEST_ROW = 300
"""Maximum length in characters. Longer rows are paragraphs, neither name nor address."""
MIN_LETTERS, MAX_WORDS = 4, 6
"""Minimum letters and maximum words of a name without a legal form."""
_WORD = re.compile(r"[^\W\d_]{2,}")
_DIGIT = re.compile(r"\d")
_PHONE_LABEL = re.compile(r"\b(?:tele?phone|tele?|te1|tel|phone|ph|h/?p|mobile|fon|电话|電話)\b\W*", re.IGNORECASE)
_PHONE = re.compile(r"\+?\(?\d[\d\s()./-]{5,16}\d")
_PHONE_FORM = re.compile(r"\(?\d{2,4}\)?[\s-]{1,2}\d{3,4}[\s-]?\d{3,4}")
_BROKEN_PHONE: Final = 0.85
"""Score of a number with one bracket: (905) 889-80)0 has a digit that was read as one."""


def find_name(pages: PrintedPages) -> FieldCandidate | None:
    """The first row of the head with a legal form, and the rows that it continues; else the first that may be a name.

    For documents that have amounts: on others, the first row of the head is no name.
    """
    address = _address_start(pages)
    head = _short(pages.rows[:HEAD_ROWS] if address is None else pages.rows[: max(address, 1)])
    for row in head:
        if is_business(row.text) and not is_number(row.text):
            return _whole_name(pages, row)
    named = [row for row in head if _may_be_name(row)]
    return _candidate(named[:1], 0.5) if named else None


def find_address(pages: PrintedPages) -> FieldCandidate | None:
    """Finds the address: from the first row with a street or house number to the last that belongs to it, before any
    labelled number.
    """
    start = _address_start(pages)
    if start is None:
        return None
    block: list[PrintedRow] = []
    for row in pages.rows[start : start + MAX_ADDRESS_ROWS]:
        if len(row.text) > _LONGEST_ROW or (block and is_number(row.text)):
            break
        block.append(row)
    last = max(at for at, row in enumerate(block) if at == 0 or _continues(block[at - 1], row))
    return _candidate(block[: last + 1], 1.0)


def find_phone(pages: PrintedPages) -> FieldCandidate | None:
    """The first telephone number: one that is labelled so, else one that is written as such in the head of the page."""
    for row in pages.rows:
        labelled = _PHONE_LABEL.search(row.text)
        number = _PHONE.search(row.text, labelled.end() if labelled else 0)
        if number is None:
            continue
        text = number[0].strip()
        if labelled or (row.number < HEAD_ROWS and _PHONE_FORM.fullmatch(text)):
            label, whole = labelled[0] if labelled else "", text.count("(") == text.count(")")
            score = 1.0 if whole else _BROKEN_PHONE
            return FieldCandidate(text, row.page, row.number, row.lines, label, score=score)
    return None


def _address_start(pages: PrintedPages) -> int | None:
    for row in _short(pages.rows[:HEAD_ROWS]):
        text = row.text
        if is_number(text) or (is_business(text) and not POSTCODE.search(text)):
            continue
        if (is_street(text) and _DIGIT.search(text)) or HOUSE_NUMBER.match(text):
            return row.number
    return None


def _short(rows: Sequence[PrintedRow]) -> list[PrintedRow]:
    return [row for row in rows if len(row.text) <= _LONGEST_ROW]


def _continues(before: PrintedRow, row: PrintedRow) -> bool:
    return is_street(row.text) or before.text.rstrip().endswith(",")


def _may_be_name(row: PrintedRow) -> bool:
    if len(row.text) > _LONGEST_ROW:
        return False
    letters = sum(character.isalpha() for character in row.text)
    return letters >= MIN_LETTERS and len(row.text.split()) <= MAX_WORDS and not is_number(row.text)


def _whole_name(pages: PrintedPages, row: PrintedRow) -> FieldCandidate:
    """The row, with the one before it if this is only the end of a name, and the one behind it if that is the end."""
    rows = [row]
    if row.number and (GOES_ON.match(row.text) or _is_end(row)) and _may_be_name(pages.rows[row.number - 1]):
        rows.insert(0, pages.rows[row.number - 1])
    behind = pages.rows[row.number + 1] if row.number + 1 < len(pages.rows) else None
    if (
        behind is not None
        and len(behind.text) <= _LONGEST_ROW
        and GOES_ON.match(behind.text)
        and is_business(behind.text)
        and not _DIGIT.search(behind.text)
    ):
        rows.append(behind)
    return _candidate(rows, 1.0)


def _is_end(row: PrintedRow) -> bool:
    """Whether the row has nothing but a legal form and a kind of business."""
    return row.text.lstrip().startswith("&") or not _WORD.search(LEGAL_FORM.sub("", BUSINESS.sub("", row.text)))


def _candidate(rows: list[PrintedRow], score: float) -> FieldCandidate:
    text = TRAILING_NUMBER.sub("", " ".join(row.text for row in rows))
    return FieldCandidate(
        text, rows[0].page, rows[0].number, tuple(line for row in rows for line in row.lines), score=score
    )
