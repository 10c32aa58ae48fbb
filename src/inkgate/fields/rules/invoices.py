"""The number of an invoice, beside those of orders and customers; and what invoices say in one row.

`Facture n° 562044387 du 2 Juillet 2015`, `Belegnummer/Datum 80101911/26.06.2025`, and `Total 24.99 5.00 29.99`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

from inkgate.fields.kinds import KINDS
from inkgate.fields.rules.candidates import LONGEST_LABEL, FieldCandidate
from inkgate.fields.rules.rows import PrintedPages, PrintedRow, RowCell, head_of
from inkgate.fields.rules.totals import number_of

_INVOICE: Final = "invoice|bill|facture|rechnung|factura|fatura|fattura|factuur"
_NUMBER = re.compile(
    rf"\b(?:{_INVOICE})\s?(?:n[°ºo]|nr|no|num(?:ber|éro|ero|mer)?|id"
    rf"|#)[\s.:#]{{0,4}}(?P<number>[A-Z0-9][A-Z0-9/_-]{{2,30}})",
    re.IGNORECASE,
)
INVOICE_WORD: Final = r"(?:invoice|facture|rechnung|factuur|fattura|factura|fatura|faktura|bill)"
_NO: Final = (
    r"(?:n(?=\s?/)|number|nummer|num[eé]ro|n[uú]mero|num\b|no\b|nr\b"
    r"|n\s?\.?\s?[°ºo]\b|n\s?\.?\s?[°º]|n\.|id\b|ref\w*|code\b|#)"
)
_OF: Final = r"(?:d[eaou] |di |dell[ao]? |della |of |du |la |van |der )"
_ALSO: Final = r"(?:[\s.]{0,2}[/&]\s?[^\W\d_]{3,}(?:\s(?:d['’]|(?:de|da|di|of|van)\s)[^\W\d_]+)?)?"
"""Behind the label, that of another value, as `/Datum`."""
_OF_INVOICE: Final = (
    rf"{INVOICE_WORD}s?[\s-]{{0,2}}{_NO}|(?:{_NO})\.?\s?{_OF}{{0,2}}{INVOICE_WORD}|(?:inv|re|fact?|fra)\.?[\s-]?{_NO}"
)
_OF_DOCUMENT: Final = (
    rf"(?:beleg|dokument(?:en)?)[\s-]?{_NO}|(?:document|documento|pièce|voucher)\s?{_NO}"
    rf"|{_NO}\s?{_OF}?(?:documento|pièce|document)"
)
_LABELS: Final = tuple(
    re.compile(rf"(?<![^\W_])(?:{label}){_ALSO}(?![^\W_])[\s.:#°º]*", re.IGNORECASE)
    for label in (_OF_INVOICE, _OF_DOCUMENT)
)
"""What number stands behind it: that of the invoice, or else that of the document."""
_TITLE_NUMBER: Final = re.compile(
    rf"^\W*(?:tax )?{INVOICE_WORD}\s?[:#]?\s(?P<value>[A-Z0-9][\w/.-]{{2,30}})\W*$", re.IGNORECASE
)
_TOKEN: Final = re.compile(r"(?:[A-Z]{1,4}[\s-]\s?(?=\d))?[A-Z0-9][\w/.-]{0,40}", re.IGNORECASE)
_GROUPS: Final = re.compile(r"[A-Z]{0,4}\s?[\d/.-]+(?:\s[\d/.-]+){1,3}", re.IGNORECASE)
"""A number in groups: RE 2025 1012."""
_DATED: Final = re.compile(r"(.+?)/\d{1,2}/\d{1,2}/(?:19|20)\d\d")
"""A number with slashes, and a date with slashes behind it."""
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_BELOW: Final = 2
"""Rows between a label and the value below it, and one."""
_OF_NUMBER, _OF_TITLE = 0.96, 0.9
"""How sure a number is behind its label, and behind the title."""
_MAX_OF_ROW: Final = 6
"""Amounts of a row of which pairs are added up."""
LONGEST_ROW: Final = 300
"""Maximum length of a row in characters. Longer rows are paragraphs."""


def read_invoice_head(pages: PrintedPages) -> dict[str, FieldCandidate]:
    """`invoice_number` and, behind it in the same row, `date`."""
    for row in pages.rows:
        for cell in row.cells:
            match = _NUMBER.search(cell.text[:LONGEST_LABEL])
            if match is None or not any(map(str.isdigit, match["number"])):
                continue
            label = cell.text[: match.start("number")].strip()
            at = row.page, row.number, (cell.line,)
            found = {"invoice_number": FieldCandidate(match["number"], *at, label, score=1.0)}
            dates = KINDS["date"].find(cell.text[match.end() : match.end() + LONGEST_LABEL])
            if dates:
                start, end = match.end() + dates[0].start, match.end() + dates[0].end
                found["date"] = FieldCandidate(cell.text[start:end], *at, label, dates[0], 1.0)
            return found
    return {}


def find_number(pages: PrintedPages) -> FieldCandidate | None:
    """The number of the invoice: behind its label, right of it, or below; else behind the title."""
    rows = [row for row in pages.rows if len(row.text) <= LONGEST_ROW]
    for pattern in _LABELS:
        for row in rows:
            for at, cell in enumerate(row.cells):
                for match in pattern.finditer(cell.text[:LONGEST_LABEL]):
                    if (found := _behind(pages, row, at, match)) is not None:
                        return found
    for row in rows:
        for cell in row.cells:
            title = _TITLE_NUMBER.match(cell.text[:LONGEST_LABEL])
            if title and number_in(title["value"]) == title["value"] and not _YEAR.fullmatch(title["value"]):
                label = cell.text[: title.start("value")].strip()
                return FieldCandidate(title["value"], row.page, row.number, (cell.line,), label, score=_OF_TITLE)
    return None


def _behind(pages: PrintedPages, row: PrintedRow, at: int, label: re.Match[str]) -> FieldCandidate | None:
    """The number that the label is about."""
    cell = row.cells[at]
    rest = cell.text[label.end() : LONGEST_LABEL]
    places = [(row, cell, rest)]
    if not rest.strip():
        places = [(row, each, each.text) for each in row.cells[at + 1 : at + 2]]
    if not number_in(rest):
        places += [
            (below, each, each.text)
            for below in pages.rows[row.number + 1 : row.number + 1 + _BELOW]
            for each in below.cells
            if below.page == row.page and _is_under(cell, each) and label.re.search(head_of(each, below, cell))
        ]
    for of, place, text in places:
        number = number_in(text) if place is cell or _is_number(text) else ""
        if number:
            return FieldCandidate(number, of.page, of.number, (place.line,), label[0].strip(), score=_OF_NUMBER)
    return None


def _is_under(cell: RowCell, other: RowCell) -> bool:
    return other.box[0] < cell.box[2] and cell.box[0] < other.box[2]


def _is_number(text: str) -> bool:
    """Whether the text is a number, perhaps with a date beside it, and nothing else."""
    text = text.strip()
    return (number := number_in(text)) != "" and (text == number or bool(KINDS["date"].find(text)))


def number_in(text: str) -> str:
    """The number that a text begins with, without a date that a slash parts from it; empty if it is none."""
    text = text[:LONGEST_LABEL].strip(" .:#°º")
    for found in KINDS["date"].find(text)[:1]:
        before, behind = text[: found.start].rstrip(), text[found.end :].lstrip()
        if before.endswith("/"):
            text = before.rstrip("/ ")
        elif found.start == 0 and behind.startswith("/"):
            text = behind.lstrip("/ ")
    if _GROUPS.fullmatch(text) and not KINDS["date"].find(text):
        return text
    token = _TOKEN.match(text)
    number = "" if token is None else token[0].rstrip("./-")
    if (dated := _DATED.fullmatch(number)) is not None and any(map(str.isdigit, dated[1])):
        number = dated[1]
    return number if any(map(str.isdigit, number)) and not KINDS["date"].find(number) else ""


def subtotal_and_tax(
    amounts: Sequence[FieldCandidate], total: FieldCandidate | None
) -> tuple[FieldCandidate, FieldCandidate] | None:
    """Two amounts of a row with the total that add up to it: the larger is without tax."""
    if total is None:
        return None
    whole = number_of(total)
    rows = sorted({each.row for each in amounts if number_of(each) == whole})
    for row in rows:
        for first, second in _pairs([each for each in amounts if each.row == row and 0 < number_of(each) < whole]):
            if number_of(first) + number_of(second) == whole:
                larger, smaller = sorted((first, second), key=number_of, reverse=True)
                return replace(larger, score=1.0), replace(smaller, score=1.0)
    return None


def _pairs(amounts: Sequence[FieldCandidate]) -> Iterator[tuple[FieldCandidate, FieldCandidate]]:
    yield from combinations(amounts[:_MAX_OF_ROW], 2)
