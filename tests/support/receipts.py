"""Made-up receipts, row by row."""

from inkgate_client.types import Line, PageResult

RECEIPT = """
LITTLE HARBOUR TRADING SDN BHD|
(123456-X)|
NO. 7, JALAN PASIR 3/1,|
TAMAN SELATAN, 81100 JOHOR BAHRU|
TEL: 07-123 4567|
TAX INVOICE|
Date: 03/04/2018 18:29|Cashier: AMY
ROPE 10M|2 x 4.25|8.50
ANCHOR|1 x 20.00|20.00
TOTAL QTY|3
SUB TOTAL|28.50
GST 6%|1.71
ROUNDING ADJ|-0.01
GRAND TOTAL|30.20
CASH|50.00
CHANGE|19.80
GST SUMMARY|AMOUNT|TAX
SR 6%|28.50|1.71
TOTAL|28.50|1.71
"""


def page(text: str) -> PageResult:
    """A page of rows; `|` separates their cells."""
    lines = []
    for row, cells in enumerate(text.strip().splitlines()):
        for column, cell in enumerate(filter(None, cells.split("|"))):
            left, top = 20.0 + 300 * column, 30.0 * row
            right = left + 10 * len(cell)
            lines.append(Line(cell, ((left, top), (right, top), (right, top + 20), (left, top + 20)), 0.95))
    return PageResult(0, lines=tuple(lines))
