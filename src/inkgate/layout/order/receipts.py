"""Receipts, tickets and tills' bills, whose rows mean something by themselves.

One is read row by row over its whole width, label and amount together, and no row is joined to the next one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from inkgate.layout.evidence import Region
from inkgate.layout.order.frame import Frame, Row, rows_of
from inkgate.layout.text.paragraphs import FULL, Paragraph, has_cells
from inkgate_client.types import BlockType

WIDEST = 30.0
"""A receipt is at most this wide, in line heights. Tills print 32 to 48 characters a row on paper 58 or 80 mm wide,
which is 12 to 25 line heights; a page of a book has 27 and more, a letter 40.
"""
MIN_ROWS = 8
"""A receipt has a head, items and a total: fewer rows don't tell."""
AMOUNTS = (2, 0.12)
"""Least number and share of rows that end in an amount at the right edge. Receipts have 0.14 and more, books 0."""
MAX_PROSE = 0.5
"""Share of rows that fill the width with one text, from which the page is running text."""
AT_EDGE = 0.6
"""An amount ends beyond this share of the width."""
EDGE = 0.1
"""Share of the rows that may begin or end beyond the receipt's edges: a neighbour's text, a scribble."""
_AMOUNT = re.compile(
    r"(?:^|[\s:=*xX@])[-–(]?(?:[A-Z]{0,3}\s?[$€£¥₹฿])?\s?"
    r"(?:\d{1,3}(?:[.,'\s]?\d{3})*\s?[.,]\s?\d{2}|\d{1,3}(?:[.,]\d{3})+)"  # 1,234.50 and 12.000
    r"\)?(?:\s?[A-Z]{1,3}|\s?[€*%\-])?\s*$"
)


def is_receipt(frame: Frame) -> bool:
    """Whether the page is a receipt: narrow, not running text, with amounts at the right edge."""
    if frame.vertical:
        return False
    rows = rows_of([piece for piece in frame.pieces if not piece.turned])
    if len(rows) < MIN_ROWS:
        return False
    left = float(np.quantile([row[0].left for row in rows], EDGE))
    right = float(np.quantile([row[-1].right for row in rows], 1 - EDGE))
    width = right - left
    if not 0 < width <= WIDEST * frame.unit:
        return False
    amounts = sum(row[-1].right > left + AT_EDGE * width and ends_in_amount(row) for row in rows)
    return amounts >= max(AMOUNTS[0], AMOUNTS[1] * len(rows)) and _prose(rows, width) < MAX_PROSE


def receipt_regions(regions: Sequence[Region]) -> list[Region]:
    """The regions that a receipt may have: titles.

    Layout models call a whole receipt a table, a figure, or a header and a footer; its rows tell more.
    """
    return [region for region in regions if region.type is BlockType.TITLE]


def as_printed(paragraph: Paragraph) -> Paragraph:
    """The paragraph with each row as a line of its own; a receipt's numbered items are rows, not a list."""
    return replace(paragraph, items=[], broken=True)


def ends_in_amount(row: Row) -> bool:
    """Whether the row's last text is or ends in an amount of money, such as `8.20`, `RM 1,200.00` or `12.000 A`."""
    return _AMOUNT.search(row[-1].text) is not None


def _prose(rows: Sequence[Row], width: float) -> float:
    """Share of the rows that fill the width with one text."""
    full = sum(row[-1].right - row[0].left > FULL * width and not has_cells(row) for row in rows)
    return full / len(rows)
