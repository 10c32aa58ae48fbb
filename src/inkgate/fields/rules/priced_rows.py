"""Rows of receipts with a price: what is bought, how much of it, and for how much."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from inkgate.fields.kinds.base import ParsedValue
from inkgate.fields.rules.rows import PrintedRow, RowCell

ROUNDING: Final = Decimal("0.02")
"""Maximum difference of quantity times unit price and the amount, besides what the printed price was rounded by."""
_PRICE_DECIMALS: Final = 2
_MAX_DECIMALS: Final = 4
"""Maximum decimals of a unit price."""
_LONGEST: Final = 120
"""Characters of a row's cell that are looked at for quantities."""
_UNIT: Final = (
    r"(?:pcs?|ea|each|nos?|set|pkt|ctn|box|btl|kgs?|g|gm|lbs?|oz|ltr?|l|gal|m|st(?:ü|u)?ck|stk|个|件|份|瓶|斤|公斤)"
)
_COUNT: Final = re.compile(
    rf"^\W{{0,2}}(?P<count>\d{{1,4}}(?:[.,]\d{{1,3}})?)\s?(?P<unit>{_UNIT})?\.?\W{{0,2}}$", re.IGNORECASE
)
"""A cell that is a quantity: 2, 1.00 PCS, 0.535 kg."""
_TIMES: Final = re.compile(
    rf"(?<![\w.,])(?P<count>\d{{1,4}}(?:[.,]\d{{1,3}})?)\s?(?:{_UNIT}\b\.?\s?(?:net\s?)?)?(?P<by>[x×*@]\.?|(?=[$€£]?\d+[.,]\d\d\s?/))\s?"
    rf"(?:RM|[$€£¥])?\s?(?P<price>\d{{1,6}}[.,]\d{{1,4}})?(?:\s?/\s?{_UNIT}\b)?(?!\w)",
    re.IGNORECASE,
)
"""A quantity and its price: 2 x 3.50, 3 @ 1.20, 0.535 kg @ 2.99/kg, and 2 X with the price in the next cell."""
_PER_UNIT: Final = re.compile(rf"\W{{0,2}}(?:RM|[$€£¥])?\s?(\d{{1,6}}[.,]\d{{1,4}})\s?/\s?{_UNIT}\b", re.IGNORECASE)
_TIMES_ONLY: Final = re.compile(r"\s?[x×*]\s?(\d{1,3})\s?", re.IGNORECASE)
_LEADING: Final = re.compile(r"^\W{0,2}(?P<count>\d{1,2})(?:\s?[x×]\s?|\s+)(?=[^\W\d_]|\d*\W*[^\W\d_]|\W?\d)")
"""A quantity before the name."""
_TAIL: Final = re.compile(r"[^\w]{0,3}(?:[A-Za-z]{1,3}\d?|\d?[A-Za-z]{1,2})?\W{0,3}")
"""What may stand behind an amount in its cell: codes of taxes."""
LETTERS: Final = re.compile(r"[^\W\d_]{2,}|[\u4e00-\u9fff]")
_CODE: Final = re.compile(r"[\w./#-]*\d[\w./#-]*")
_NO_NAME: Final = re.compile(rf"SR|ZRL|ZR|SVC|TX|[A-Za-z]\W?|/\s?{_UNIT}\b.*", re.IGNORECASE)
"""Codes of taxes, and the unit of a price."""


@dataclass(frozen=True, slots=True)
class RowPart:
    """A piece of a line: the text from `start` to `end`."""

    cell: RowCell
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.cell.text[self.start : self.end].strip()


@dataclass(slots=True)
class PricedRow:
    """A row, and what it says of an item. `loose`: a number before the name that may be the quantity, or part of it."""

    row: PrintedRow
    amount: RowPart | None = None
    number: Decimal | None = None
    quantity: RowPart | None = None
    unit_price: RowPart | None = None
    name: list[RowPart] = field(default_factory=list)
    loose: RowPart | None = None

    @property
    def described(self) -> str:
        """The name, without codes of goods and taxes."""
        text = " ".join(part.text for part in self.name)
        return text if LETTERS.search(text) else ""

    @property
    def is_code(self) -> bool:
        """Whether the name is only a number of the goods."""
        text = " ".join(part.text for part in self.name)
        return bool(_CODE.fullmatch(text))


Values = Mapping[int, Sequence[ParsedValue]]
"""The amounts in lines, by the line's index, left to right."""


def read_row(row: PrintedRow, values: Values) -> PricedRow:
    """What the row says. A row without an amount has only a name, and perhaps a quantity with its price."""
    found = PricedRow(row)
    prices = [
        (at, value) for at, cell in enumerate(row.cells) for value in values.get(cell.line, ()) if _is_price(value)
    ]
    times = _times(row)
    own = times[1] if times is not None else None
    ends = [each for each in prices if not _is_each(row.cells[each[0]], each[1], own)]
    if ends and _TAIL.fullmatch(row.cells[ends[-1][0]].text, ends[-1][1].end):
        at, value = ends[-1]
        found.amount = RowPart(row.cells[at], value.start, value.end)
        found.number = _number(value)
        fine = [
            (at, value) for at, cell in enumerate(row.cells) for value in values.get(cell.line, ()) if _is_fine(value)
        ]
        prices = [each for each in fine if each[0] < at or (each[0] == at and each[1].end <= value.start)]
    elif ends and times is None:
        found.name = [RowPart(cell, 0, len(cell.text)) for cell in row.cells]
        return found
    left = row.cells[: at + 1] if found.amount is not None else row.cells
    if times is not None:
        found.quantity, found.unit_price = times[0], own
    _count(found, left, prices)
    _name(found, left, [RowPart(row.cells[at], value.start, value.end) for at, value in prices])
    return found


def fits(quantity: Decimal, price: Decimal, amount: Decimal) -> bool:
    """Whether so many of this price make the amount."""
    return abs(quantity * price - abs(amount)) <= ROUNDING


def number_of_part(part: RowPart | None) -> Decimal | None:
    """A quantity or a price as a number: 1.00 PCS is 1."""
    match = re.search(r"\d+(?:[.,]\d+)?", part.text) if part is not None else None
    return Decimal(match[0].replace(",", ".")) if match is not None else None


def _is_price(value: ParsedValue) -> bool:
    return value.unit != "%" and (value.decimals == _PRICE_DECIMALS or (bool(value.unit) and not value.decimals))


def _is_fine(value: ParsedValue) -> bool:
    """Whether it may be a unit price: some have four decimals."""
    return value.unit != "%" and _PRICE_DECIMALS <= value.decimals <= _MAX_DECIMALS


def _number(value: ParsedValue) -> Decimal:
    reading = value.readings[0]
    return reading if isinstance(reading, Decimal) else Decimal(0)


def _is_each(cell: RowCell, value: ParsedValue, part: RowPart | None) -> bool:
    """Whether the value is the unit price: this part, or behind @."""
    if cell.text[: value.start].rstrip().endswith("@"):
        return True
    return part is not None and part.cell is cell and value.start < part.end and value.end > part.start


def _times(row: PrintedRow) -> tuple[RowPart, RowPart | None] | None:
    """The quantity and price of 2 x 3.50; of 2 X only the quantity."""
    for at, cell in enumerate(row.cells):
        text = cell.text[:_LONGEST]
        following = row.cells[at + 1] if at + 1 < len(row.cells) else None
        alone = _COUNT.match(text)
        if alone is not None and alone["unit"] and following is not None:  # 3 EA, 0.19/EA
            each = _PER_UNIT.match(following.text)
            if each is not None:
                return RowPart(cell, *alone.span("count")), RowPart(following, *each.span(1))
        match = _TIMES.search(text)
        if match is None or not (match["by"] or match["price"]):
            if (times := _TIMES_ONLY.fullmatch(text)) is not None:  # *4
                return RowPart(cell, *times.span(1)), None
            continue
        count = RowPart(cell, *match.span("count"))
        if match["price"]:
            return count, RowPart(cell, *match.span("price"))
        if match.end() == len(text.rstrip()):  # 2 X, 0.20
            price = (
                re.match(r"\W{0,2}(?:RM|[$€£¥])?\s?(\d{1,6}[.,]\d{1,4})(?!\d)", following.text) if following else None
            )
            if following is not None and price is not None:
                return count, RowPart(following, *price.span(1))
    return None


def _count(found: PricedRow, cells: Sequence[RowCell], prices: Sequence[tuple[int, ParsedValue]]) -> None:
    """Finds the quantity and the unit price in cells of their own, which must make the amount."""
    if found.quantity is not None or found.number is None:
        return
    counts = [
        RowPart(cell, *match.span("count"))
        for cell in cells
        if (match := _COUNT.match(cell.text[:_LONGEST])) and (match["unit"] or match["count"].isdigit())
    ]
    lead = _LEADING.match(cells[0].text[:_LONGEST]) if cells else None
    if lead is not None:
        found.loose = RowPart(cells[0], *lead.span("count"))
        counts.append(found.loose)
    elif counts and cells and counts[0].cell is cells[0]:
        found.loose = counts[0]
    for at, value in reversed(prices):
        for count in counts:
            quantity = number_of_part(count)
            if quantity and fits(quantity, _number(value), found.number):
                found.quantity, found.unit_price = count, RowPart(found.row.cells[at], value.start, value.end)
                return
    if not prices and len(counts) == 1 and counts[0] is not found.loose:
        found.quantity = counts[0]
    elif prices and abs(_number(prices[-1][1])) <= abs(found.number):
        found.unit_price = RowPart(found.row.cells[prices[-1][0]], prices[-1][1].start, prices[-1][1].end)


def _name(found: PricedRow, cells: Sequence[RowCell], prices: Sequence[RowPart]) -> None:
    """The text that is left when amounts and quantities are taken out."""
    taken = [part for part in (found.amount, found.quantity, found.unit_price, *prices) if part is not None]
    for cell in cells:
        own = sorted((part for part in taken if part.cell is cell), key=lambda part: part.start)
        start, end = 0, min((part.start for part in own), default=len(cell.text))
        if own and own[0] is not found.amount and not LETTERS.search(cell.text[:end]):  # the quantity stands first
            start = own[0].end
            end = min((part.start for part in own[1:]), default=len(cell.text))
        text = cell.text[start:end]
        begin = start + len(text) - len(text.lstrip(" \t.,:;)*xX×@-"))
        text = text.rstrip(" \t(@:;-*")
        if begin < start + len(text) and any(map(str.isalnum, cell.text[begin : start + len(text)])):
            part = RowPart(cell, begin, start + len(text))
            if not _NO_NAME.fullmatch(part.text) or (not found.name and cell is cells[0]):
                found.name.append(part)
