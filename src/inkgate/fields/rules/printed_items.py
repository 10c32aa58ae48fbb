"""Items of receipts and invoices whose rows are in no table: what stands between the head of the columns, or the first
row with an amount, and the first sum.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from inkgate.fields.calibrated import ORIGIN
from inkgate.fields.document_types import package_rules
from inkgate.fields.folded import FoldedPage, box_around, fold
from inkgate.fields.ground import source_of
from inkgate.fields.items import MAX_ITEMS, Item, ItemValue, arrays_of
from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.base import ParsedValue
from inkgate.fields.rules.priced_rows import LETTERS, PricedRow, RowPart, fits, number_of_part, read_row
from inkgate.fields.rules.rows import PrintedPages, PrintedRow
from inkgate.fields.schema import FieldSchema, Leaf
from inkgate_client.fields.values import Match, Source

_SURE: Final = 0.85
"""Confidence of a value besides that of its text, where nothing checks it."""
_LONGEST: Final = 200
"""Characters of a row that are looked at."""
_MAX_ROWS: Final = 2000
_MAX_LINES: Final = 5
"""Maximum lines of one description."""
_MAX_ABOVE: Final = 2
"""Lines of a name above the first row with an amount, where no head tells where the names begin."""
_GAP: Final = 2.5
"""Heights of a line between two lines of one description, from top to top."""
_END: Final = re.compile(
    r"\b(?:sub|net+|grand|gross)?[\s.-]?t[o0a]ta[l1i]\b|\bsub\s?t(?:ota|t)l"
    r"|\b(?:gst|hst|vat|sales tax|tax|mwst|ust|umsatzsteuer|mehrwertsteuer|btw|tva|iva|sst|imposta|impuesto"
    r"|imponibile)\b"
    r"|^\W*(?:items?|total)\s?(?:count|qty|quantity)"
    r"|^\W*(?:amount|balance|net(?:to)?|nett?|gross|due|sales|rounding|round|jumlah|tunai|baki"
    r"|cash|change|visa|master\s?card|amex|credit|debit|eftpos|eft|card|tender|payment|paid|deposit"
    r"|service charge|svc|\d+\s?%\s?svc|gratuity|tip|food|liquor|beverages?|delivery|shipping"
    r"|totaal\w*|subtota\w*|(?:netto|gesamt|brutto|rechnungs)?(?:betrag|summe)|zwischensumme|gesamt|somme|suma"
    r"|importe|montant"
    r"|importo|bedrag|totale|base (?:imponible|tribut\w+|ht)|sous[ -]total|warenwert|endbetrag|versand\w*|verzend\w*"
    r"|frais de port|gastos de env|portes|spese di|rabatt|remise|descuento|desconto|sconto|korting)\b"
    r"|合\s*计|小\s*计|总\s*计|总\s*额|应\s*付|实\s*付|实\s*收|找\s*零|税\s*额",
    re.IGNORECASE,
)
"""What the row behind the items says."""
_HEAD: Final = re.compile(
    r"\b(?:qty|quantity|qiy|items?|descr\s?ip\s?t\s?ion|description|particulars|product|article|code"
    r"|price|u[./]?p(?:rice)?|unit|rate|amount|amt|total|tax|ext|rm|usd|eur|disc"
    r"|menge|preis|betrag|anzahl|artikel|aantal|prijs|prix|quantité|montant|désignation)\b"
    r"|品\s*名|数\s*量|单\s*价|金\s*额|名\s*称|商\s*品",
    re.IGNORECASE,
)
_MIN_HEADS: Final = 2
_NO_NAME: Final = re.compile(
    r"^\W*\d*\s*items?\W*\d*$|\beftpos|customer copy|(?:tax|cash) (?:invoice|bill)|merchant"
    r"|\b(?:tel|fax|phone|table|guests?|server|cashier|order|invoice|receipt|bill|check|chk|date|time|reg|doc|no"
    r"|ref|page|terminal|member|customer)\s*(?:#|no\b|id\b|[:.])"
    r"|\d{1,2}:\d\d|\b\d{1,2}([/.-])\d{1,2}\1\d{2,4}\b|www\.|@\w+\.|^\W*\d[\d\s-]{7,}$",
    re.IGNORECASE,
)
"""What is no part of a description: times, telephone numbers, numbers of papers."""
_ROLES: Final = {
    "quantity": frozenset({"quantity", "qty", "数量", "count"}),
    "unit_price": frozenset({"unitprice", "unitcost", "rate", "单价", "priceperunit"}),
    "amount": frozenset({"amount", "linetotal", "金额", "total", "lineamount"}),
    "description": frozenset({"description", "item", "product", "name", "article", "品名", "名称", "商品名称"}),
}
_MOSTLY: Final = 0.5
"""Share of rows that begin with a number, if the number is a quantity."""


def printed_items(
    pages: Sequence[FoldedPage], printed: PrintedPages, schema: FieldSchema, filled: Mapping[str, Sequence[Item]]
) -> dict[str, Sequence[Item]]:
    """The items of arrays that no table filled, by the array's path; the rest as they are. Types with rules of their
    own, whose papers are forms, are left alone.
    """
    found = dict(filled)
    requested = {path: _roles(leaves) for path, leaves in arrays_of(schema).items() if not filled.get(path)}
    requested = {path: roles for path, roles in requested.items() if {"description", "amount"} <= roles.keys()}
    if requested and schema.name not in package_rules():
        rows = [item for page in pages for item in _of_page(page, printed)][:MAX_ITEMS]
        found |= {path: [_item(item, roles) for item in rows] for path, roles in requested.items()}
    return found


def _roles(leaves: Sequence[Leaf]) -> dict[str, str]:
    """Paths of the leaves that say what is bought, how much, and for how much."""
    roles: dict[str, str] = {}
    for role, names in _ROLES.items():
        for leaf in leaves:
            own = fold(leaf.path.rsplit("/", 1)[-1])
            is_money = leaf.kind in {"money", "number"}
            if own in names and (is_money or role == "description"):
                roles.setdefault(role, leaf.path)
    if "amount" not in roles and (price := next((leaf for leaf in leaves if leaf.path.endswith("/price")), None)):
        roles["amount"] = price.path
    return roles


@dataclass(slots=True)
class _PrintedItem:
    """An item as parts of lines. `of`: the page. `closed`: its description has ended."""

    of: FoldedPage
    priced: PricedRow
    names: list[RowPart] = field(default_factory=list)
    closed: bool = False


def _item(found: _PrintedItem, roles: Mapping[str, str]) -> dict[str, ItemValue]:
    item: dict[str, ItemValue] = {}
    if found.names:
        item[roles["description"]] = _joined(found.of, found.names)
    parts = {"quantity": found.priced.quantity, "unit_price": found.priced.unit_price, "amount": found.priced.amount}
    for role, part in parts.items():
        if part is not None and role in roles:
            item[roles[role]] = ItemValue(part.text, _place(found.of, part), ORIGIN, _SURE)
    return item


def _place(page: FoldedPage, part: RowPart) -> Source:
    return source_of(page, part.cell.line, part.text, Match.EXACT)


def _joined(page: FoldedPage, parts: Sequence[RowPart]) -> ItemValue:
    places = [_place(page, part) for part in parts]
    text = " ".join(part.text for part in parts)
    lines = tuple(dict.fromkeys(part.cell.line for part in parts))
    confidence = min(place.confidence for place in places)
    source = Source(page.page, lines, box_around([each.box for each in places]), text, Match.EXACT, confidence)
    return ItemValue(text, source, ORIGIN, _SURE)


def _of_page(page: FoldedPage, printed: PrintedPages) -> list[_PrintedItem]:
    """The items of a page."""
    starts: dict[int, dict[int, ParsedValue]] = {}
    for places in page.values(KINDS["money"]).values():
        for index, value in places:
            starts.setdefault(index, {})[value.start] = value
    if not starts:
        return []
    values = {index: [own[at] for at in sorted(own)] for index, own in starts.items()}
    level = printed.levelled(page.page)
    rows = _region(level.rows[:_MAX_ROWS], values)
    items = _assembled(page, rows, _GAP * level.unit) if any(row.amount or row.quantity for row in rows) else []
    _take_leading(items)
    return items


def _region(rows: Sequence[PrintedRow], values: Mapping[int, Sequence[ParsedValue]]) -> list[PricedRow]:
    """The rows from behind the head of the columns, or from the name of the first price, up to the first sum."""
    read: list[PricedRow] = []
    head, first, ended = -1, None, False
    for at, row in enumerate(rows):
        text = row.text[:_LONGEST]
        has_value = any(values.get(cell.line) for cell in row.cells)
        if first is None and not has_value and _is_head(text):
            head = at
            read.append(PricedRow(row))
            continue
        own = read_row(row, values) if has_value or any(sign in text for sign in "xX@×*") else _only_name(row)
        read.append(own)
        is_item = own.quantity is not None and own.unit_price is not None  # 1 x 4.50 Shipping bag 4.50
        ended = _END.search(text) is not None and (first is not None or own.amount is not None) and not is_item
        if ended:
            break
        priced = own.amount is not None or own.unit_price is not None
        if first is None and priced and not _NO_NAME.search(text):
            first = at
    if first is None or not (ended or head >= 0):  # a list of amounts without a sum is anything
        return []
    begin = head + 1 if head >= 0 else first
    if head < 0 and (not read[first].described or read[first].is_code):
        begin = max(0, first - _MAX_ABOVE)
    return read[begin : len(read) - ended]


def _only_name(row: PrintedRow) -> PricedRow:
    return PricedRow(row, name=[RowPart(cell, 0, len(cell.text)) for cell in row.cells])


def _is_head(text: str) -> bool:
    """Whether the row names columns, and says nothing else."""
    names = _HEAD.findall(text)
    letters = sum(map(len, (each for each in re.findall(r"[^\W\d_]+", text))))
    return len(names) >= _MIN_HEADS and sum(map(len, names)) >= _MOSTLY * letters


def _assembled(page: FoldedPage, rows: Sequence[PricedRow], gap: float) -> list[_PrintedItem]:
    """Items of priced rows. Rows without an amount belong to the item above them, or, where names stand above the
    amounts, to the one below.
    """
    priced = [row for row in rows if row.amount is not None]
    named = sum(bool(row.described) and not row.is_code for row in priced)
    names_above = named <= _MOSTLY * len(priced) and rows[0].amount is None
    items: list[_PrintedItem] = []
    above: list[PricedRow] = []
    for row in rows:
        if row.amount is None:
            if _is_count_of_last(row, items):
                items[-1].priced.quantity, items[-1].priced.unit_price = row.quantity, row.unit_price
                items[-1].names = items[-1].names or list(row.name)
            elif row.quantity is not None and row.unit_price is not None and above:
                items.append(_PrintedItem(page, row, _names_of(above, row, gap)))
                above = []
            elif names_above or row.quantity is not None:
                above.append(row)
            elif items:
                _go_on(items[-1], row, gap)
            continue
        own = list(row.name) if row.described or not above else []
        names = [*_names_of(above, row, gap), *(own if not row.is_code or not above else [])] if names_above else own
        if row.quantity is None and above and above[-1].quantity is not None:
            row.quantity, row.unit_price = above[-1].quantity, above[-1].unit_price
        items.append(_PrintedItem(page, row, names))
        above = []
    kept = [item for item in items if item.names or item.priced.quantity is not None]
    return kept if any(item.priced.number or item.priced.unit_price for item in kept) else []


def _names_of(rows: Sequence[PricedRow], below: PricedRow, gap: float) -> list[RowPart]:
    """The names of the rows that stand close above a row."""
    kept: list[PricedRow] = []
    bottom = _top(below)
    for row in reversed(rows):
        if bottom - _top(row) > gap or not _is_name(row) or len(kept) == _MAX_LINES:
            break
        kept.append(row)
        bottom = _top(row)
    return [part for row in reversed(kept) for part in row.name]


def _go_on(item: _PrintedItem, row: PricedRow, gap: float) -> None:
    """Adds a row to the description of the item above it."""
    lines = {part.cell.line for part in item.names}
    last = max((part.cell.box[1] for part in item.names), default=_top(item.priced))
    near = _top(row) - max(last, _top(item.priced)) <= gap
    if item.closed or not near or len(lines) == _MAX_LINES or not _is_name(row):
        item.closed = True
    else:
        item.names += row.name


def _is_name(row: PricedRow) -> bool:
    text = row.row.text[:_LONGEST]
    return bool(LETTERS.search(text)) and not _NO_NAME.search(text)


def _top(row: PricedRow) -> float:
    return min(cell.box[1] for cell in row.row.cells)


def _is_count_of_last(row: PricedRow, items: Sequence[_PrintedItem]) -> bool:
    """Whether 3 @ 1.20 is about the item above it."""
    if not items or row.quantity is None or row.unit_price is None or items[-1].priced.number is None:
        return False
    quantity, price = number_of_part(row.quantity), number_of_part(row.unit_price)
    return quantity is not None and price is not None and fits(quantity, price, items[-1].priced.number)


def _take_leading(items: Sequence[_PrintedItem]) -> None:
    """Takes the numbers before the names for quantities, if most rows begin with one."""
    rows = [item.priced for item in items if (item.priced.number or 0) > 0]
    loose = [row for row in rows if row.loose is not None]
    most = len(loose) >= _MOSTLY * len(rows)
    for item in items:
        row, part = item.priced, item.priced.loose
        if not most and (part is None or part.text != "1"):
            continue
        if row.quantity is None and part is not None:
            row.quantity = part
        if part is None or row.quantity is None or row.quantity.cell is not part.cell:
            continue
        item.names = [
            RowPart(
                each.cell,
                part.end + len(each.cell.text[part.end :]) - len(each.cell.text[part.end :].lstrip(" xX×.)")),
                each.end,
            )
            if each.cell is part.cell and each.start <= part.start < each.end
            else each
            for each in item.names
        ]
        item.names = [each for each in item.names if each.start < each.end]
