"""What invoices say in one row: `Facture n° 562044387 du 2 Juillet 2015`, and `Total 24.99 5.00 29.99`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

from inkgate.fields.kinds import KINDS
from inkgate.fields.rules.candidates import LONGEST_LABEL, FieldCandidate
from inkgate.fields.rules.rows import PrintedPages
from inkgate.fields.rules.totals import number_of

_INVOICE: Final = "invoice|bill|facture|rechnung|factura|fatura|fattura|factuur"
_NUMBER = re.compile(
    rf"\b(?:{_INVOICE})\s?(?:n[°ºo]|nr|no|num(?:ber|éro|ero|mer)?|id|#)[\s.:#]{{0,4}}(?P<number>[A-Z0-9][A-Z0-9/_-]{{2,30}})",
    re.IGNORECASE,
)
_MOST_OF_ROW: Final = 6
"""Amounts of a row of which pairs are added up."""


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
    yield from combinations(amounts[:_MOST_OF_ROW], 2)
