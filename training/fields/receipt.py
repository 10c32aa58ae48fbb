"""Layouts of receipts: narrow paper, as high as its content."""

import html
import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from training.fields.bill import Bill, Item
from training.fields.identifiers import fill
from training.fields.parties import person
from training.fields.regions import write_number
from training.fields.sheet import Sheet
from training.fields.sums import rate_table, tax_label
from training.fields.words import Half

_STYLE = Path(__file__).with_name("style.css")
_WIDTHS = (219, 250, 272, 302)
"""58 to 80 mm in CSS pixels."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The parts of a receipt, by their names in HEADS, WHENS, LINES and SUMS."""

    head: str
    when: str
    items: str
    sums: str
    when_last: bool = False
    half: Half = "tuning"


LAYOUTS: dict[str, Layout] = {
    "till1": Layout("centred", "pairs", "one_line", "plain"),
    "till2": Layout("centred", "one_line", "two_lines", "plain", when_last=True),
    "till3": Layout("left", "rows", "counted", "dotted"),
    "till4": Layout("centred", "rows", "table", "plain"),
    "till5": Layout("boxed", "pairs", "lettered", "by_rate", when_last=True),
    "till6": Layout("left", "one_line", "one_line", "large"),
    "till7": Layout("centred", "pairs", "lettered", "large"),
    "till8": Layout("boxed", "rows", "two_lines", "by_rate"),
    "till9": Layout("centred", "bare", "counted", "dotted", when_last=True),
    "judged1": Layout("reversed", "stacked", "coded", "plain", half="judging"),
    "judged2": Layout("name_last", "bare", "two_lines", "framed", half="judging"),
    "judged3": Layout("reversed", "table", "one_line", "framed", when_last=True, half="judging"),
    "judged4": Layout("left", "stacked", "coded", "total_first", half="judging"),
    "judged5": Layout("name_last", "table", "counted", "by_rate", when_last=True, half="judging"),
}


def _name(sheet: Sheet, scale: float) -> str:
    merchant = sheet.bill.merchant.name
    text = merchant.upper() if sheet.bill.region.spaced and sheet.chance(0.4) else merchant
    css = f"font-size:{sheet.size * scale:.1f}px;font-weight:{sheet.rng.choice(('bold', 'normal'))};line-height:1.2"
    return f"<div>{sheet.mark('merchant_name', text, css)}</div>"


def _address(sheet: Sheet) -> str:
    """Address, phone and tax number; some receipts leave some out."""
    merchant, pieces = sheet.bill.merchant, []
    if sheet.chance(0.9):
        pieces.append(sheet.lines("merchant_address", merchant.address))
    if sheet.chance(0.75):
        pieces.append(f"<div>{sheet.named('phone')} {sheet.mark('phone', merchant.phone)}</div>")
    if sheet.bill.mode != "none" and sheet.bill.region.country != "US" and sheet.chance(0.75):
        pieces.append(f"<div>{sheet.named('vat_id')} {sheet.mark('vat_id', merchant.vat_id)}</div>")
    if sheet.chance(0.2):
        pieces.append(
            f"<div>{sheet.named('tax_number')} {sheet.mark('other_number', fill(sheet.rng, '######-#'))}</div>"
        )
    if sheet.chance(0.15):
        pieces.append(f"<div>{html.escape(merchant.web)}</div>")
    return "".join(pieces)


def _title(sheet: Sheet) -> str:
    return (
        f'<div class="centre" style="margin:5px 0;font-weight:bold">{sheet.label("receipt")}</div>'
        if sheet.chance(0.45)
        else ""
    )


def _centred(sheet: Sheet) -> str:
    return f'<div class="centre">{_name(sheet, sheet.rng.uniform(1, 1.8))}{_address(sheet)}</div>{_title(sheet)}'


def _left(sheet: Sheet) -> str:
    return f"<div>{_name(sheet, sheet.rng.uniform(1, 1.5))}{_address(sheet)}</div>{_title(sheet)}"


def _boxed(sheet: Sheet) -> str:
    return f'<div class="centre" style="border:2px solid #000;padding:5px;margin-bottom:5px">{_name(sheet, 1.5)}</div><div class="centre">{_address(sheet)}</div>{_title(sheet)}'


def _reversed(sheet: Sheet) -> str:
    return f'<div class="centre" style="background:#000;color:#fff;padding:6px">{_name(sheet, 1.4)}</div><div class="centre">{_address(sheet)}</div>{_title(sheet)}'


def _name_last(sheet: Sheet) -> str:
    """The title comes first; the name stands under the address."""
    return f'{_title(sheet)}<div class="centre">{_address(sheet)}{_name(sheet, 1.2)}</div>'


HEADS: dict[str, Callable[[Sheet], str]] = {
    "centred": _centred,
    "left": _left,
    "boxed": _boxed,
    "reversed": _reversed,
    "name_last": _name_last,
}


def _identity(sheet: Sheet, most: int = 9) -> list[tuple[str, str]]:
    """Date, time, number, cashier, table and till, as labels and values; `most` of them at most."""
    bill, rng = sheet.bill, sheet.rng
    pairs = [(sheet.named("date"), sheet.date_of("date"))]
    if sheet.chance(0.85):
        text = bill.time + (f":{rng.randint(0, 59):02}" if sheet.chance(0.3) else "")
        pairs.append((sheet.named("time"), sheet.mark("time", text)))
    if sheet.chance(0.8):
        pairs.append((sheet.named("receipt_number"), sheet.mark("invoice_number", bill.numbers["invoice_number"])))
    if sheet.chance(0.4):
        pairs.append((sheet.named("till"), sheet.mark("other_number", fill(rng, rng.choice(("#", "##", "####"))))))
    if sheet.chance(0.4):
        pairs.append((sheet.named("cashier"), html.escape(person(rng, bill.region, bill.half).split()[0])))
    if bill.trade == "dishes" and sheet.chance(0.7):
        pairs.append((sheet.named("table"), str(rng.randint(1, 40))))
    if bill.trade == "fuel":
        pairs.append((sheet.named("pump"), str(rng.randint(1, 12))))
    del pairs[most:]
    if sheet.chance(0.3):
        rng.shuffle(pairs)
    return pairs


def _pairs(sheet: Sheet) -> str:
    """Two pairs a line, at both ends."""
    cells = [f"<span>{key} {value}</span>" for key, value in _identity(sheet)]
    return "".join(f'<div class="pairs">{"".join(cells[i : i + 2])}</div>' for i in range(0, len(cells), 2))


def _one_line(sheet: Sheet) -> str:
    """Date and time without labels at the ends of a line, the rest below."""
    bill = sheet.bill
    first = f'<div class="pairs"><span>{sheet.date_of("date")}</span><span>{sheet.mark("time", bill.time)}</span></div>'
    number = (
        f"<div>{sheet.named('receipt_number')} {sheet.mark('invoice_number', bill.numbers['invoice_number'])}</div>"
        if sheet.chance(0.7)
        else ""
    )
    return first + number


def _rows(sheet: Sheet) -> str:
    return "".join(f"<div>{key} {value}</div>" for key, value in _identity(sheet))


def _bare(sheet: Sheet) -> str:
    """Date, time and numbers in one line without labels, as many tills print it."""
    bill, rng = sheet.bill, sheet.rng
    number = sheet.mark("invoice_number", bill.numbers["invoice_number"]) if sheet.chance(0.6) else ""
    till = sheet.mark("other_number", fill(rng, "##"))
    return f'<div class="centre">{sheet.date_of("date")} {sheet.mark("time", bill.time)} {number} {till}</div>'


def _stacked(sheet: Sheet) -> str:
    """Each value at the right end below its label."""
    return "".join(f'<div>{key}</div><div style="text-align:right">{value}</div>' for key, value in _identity(sheet))


def _table(sheet: Sheet) -> str:
    """Labels in one row, values below them."""
    pairs = _identity(sheet, 3)
    return f"<table><tr>{''.join(f'<th>{key}</th>' for key, _ in pairs)}</tr><tr>{''.join(f'<td>{value}</td>' for _, value in pairs)}</tr></table>"


WHENS: dict[str, Callable[[Sheet], str]] = {
    "pairs": _pairs,
    "one_line": _one_line,
    "rows": _rows,
    "bare": _bare,
    "stacked": _stacked,
    "table": _table,
}


def _count(sheet: Sheet, item: Item) -> str:
    unit = {"kg": "kg", "l": "l"}.get(item.unit, "")
    price = sheet.mark("unit_price", _unit_price(sheet, item))
    return f"{sheet.mark('quantity', sheet.quantity(item))}{unit} {sheet.rng.choice(('x', '×', '@', 'X'))} {price}"


def _unit_price(sheet: Sheet, item: Item) -> str:
    exponent = -int(item.unit_price.normalize().as_tuple().exponent)
    return write_number(item.unit_price, sheet.bill.region, places=max(sheet.bill.region.decimals, exponent))


def _line(left: str, right: str) -> str:
    return f'<tr><td>{left}</td><td class="v">{right}</td></tr>'


def _items_plain(
    sheet: Sheet, *, letters: bool = False, codes: bool = False, counted: bool = False, two: bool = False
) -> str:
    """Items with what each layout adds: tax letters, codes, the quantity before, or a second line."""
    sheet.columns |= {"description", "amount"} | ({"quantity"} if counted else set())
    rates = [part.rate for part in sheet.bill.sums.taxes]
    rows = ""
    for item in sheet.bill.items:
        description = sheet.mark("item_description", item.description)
        many = item.quantity != 1
        if counted:
            description = f"{sheet.mark('quantity', sheet.quantity(item))} {description}"
        amount = sheet.money("item_amount", item.amount, item=True)
        if letters and rates:
            amount += f" {'ABC'[rates.index(item.rate)]}"
        if codes:
            description = f"{sheet.mark('item_code', fill(sheet.rng, '########'))}<br>{description}"
        if two and (many or item.unit in {"kg", "l"}):
            rows += f'<tr><td colspan="2">{description}</td></tr>{_line("&nbsp;&nbsp;" + _count(sheet, item), amount)}'
        elif many and not counted:
            rows += f"{_line(description, amount)}<tr><td colspan=2>&nbsp;&nbsp;{_count(sheet, item)}</td></tr>"
        else:
            rows += _line(description, amount)
    if not counted:
        sheet.columns |= {"quantity", "unit_price"}
    return f"<table>{rows}</table>"


def _items_table(sheet: Sheet) -> str:
    """A table with heads: description, quantity, price, amount."""
    sheet.columns |= {"description", "quantity", "unit_price", "amount"}
    heads = "".join(
        f'<th class="{"" if c == "description" else "v"}">{sheet.label(c)}</th>'
        for c in ("description", "quantity", "unit_price", "amount")
    )
    rows = ""
    for item in sheet.bill.items:
        price = sheet.mark("unit_price", _unit_price(sheet, item))
        rows += (
            f"<tr><td>{sheet.mark('item_description', item.description)}</td><td class=v>{sheet.mark('quantity', sheet.quantity(item))}</td>"
            f"<td class=v>{price}</td><td class=v>{sheet.money('item_amount', item.amount, item=True)}</td></tr>"
        )
    return f"<table><tr>{heads}</tr>{rows}</table>"


LINES: dict[str, Callable[[Sheet], str]] = {
    "one_line": _items_plain,
    "two_lines": lambda sheet: _items_plain(sheet, two=True),
    "lettered": lambda sheet: _items_plain(sheet, letters=True, two=True),
    "counted": lambda sheet: _items_plain(sheet, counted=True),
    "coded": lambda sheet: _items_plain(sheet, codes=True, two=True),
    "table": _items_table,
}  # fmt: skip


def _before_total(sheet: Sheet) -> list[tuple[str, str]]:
    """Discount, tip, rounding, and the tax where it is added."""
    bill, sums, rows = sheet.bill, sheet.bill.sums, []
    extras = sums.discount is not None
    if bill.mode == "added" and not extras:
        rows.append((sheet.label("subtotal"), sheet.money("subtotal", sums.subtotal)))
    elif extras or sheet.chance(0.3):
        rows.append((sheet.label("items_sum"), sheet.money("other_amount", sums.items)))
    if sums.discount is not None:
        rows.append((sheet.label("discount"), sheet.money("discount", -sums.discount)))
    if extras and bill.mode == "added":
        rows.append((sheet.label("subtotal"), sheet.money("subtotal", sums.subtotal)))
    if bill.mode == "added":
        rows += _taxes(sheet)
    if sums.tip is not None:
        rows.append((sheet.label("tip"), sheet.money("tip", sums.tip)))
    if sums.rounding is not None:
        rows.append((sheet.label("rounding"), sheet.money("rounding", sums.rounding)))
    return rows


def _taxes(sheet: Sheet) -> list[tuple[str, str]]:
    taxes = sheet.bill.sums.taxes
    if len(taxes) > 1:
        sheet.unsummed = [part.tax for part in taxes]
    return [(tax_label(sheet, part), sheet.money("tax", part.tax)) for part in taxes]


def _payment(sheet: Sheet) -> list[tuple[str, str]]:
    sums = sheet.bill.sums
    if sums.cash is not None and sums.change is not None:
        change = (
            [(sheet.label("change"), sheet.money("change", sums.change))] if sums.change or sheet.chance(0.5) else []
        )
        return [(sheet.label("cash"), sheet.money("paid", sums.cash)), *change]
    return [(sheet.label("card"), sheet.money("paid", sums.total))] if sheet.chance(0.8) else []


def _included(sheet: Sheet) -> str:
    """Tax that the total includes: lines, or nothing where a table follows."""
    if sheet.bill.mode != "included":
        return ""
    rows = "".join(_line(key, value) for key, value in _taxes(sheet))
    if sheet.chance(0.3):
        rows = _line(sheet.label("subtotal"), sheet.money("subtotal", sheet.bill.sums.subtotal)) + rows
    return f'<table class="small">{rows}</table>'


def _total(sheet: Sheet, css: str) -> str:
    value = sheet.money("total", sheet.bill.sums.total)
    name = sheet.label("total") + (f" {sheet.currency()}" if sheet.sign == "0" and sheet.chance(0.4) else "")
    return f'<table style="{css}"><tr><td>{name}</td><td class="v">{value}</td></tr></table>'


def _tables(pairs: list[tuple[str, str]]) -> str:
    return f"<table>{''.join(_line(key, value) for key, value in pairs)}</table>" if pairs else ""


def _plain_sums(sheet: Sheet) -> str:
    strong = "font-weight:bold" if sheet.chance(0.7) else ""
    return f"{_tables(_before_total(sheet))}{_total(sheet, strong)}{_tables(_payment(sheet))}{_included(sheet)}"


def _dotted(sheet: Sheet) -> str:
    def leaders(pairs: list[tuple[str, str]]) -> str:
        return "".join(
            f'<div class="leader"><span>{key}</span><i style="border-bottom:1px dotted #000"></i><span>{value}</span></div>'
            for key, value in pairs
        )

    total = leaders([(f"<b>{sheet.label('total')}</b>", f"<b>{sheet.money('total', sheet.bill.sums.total)}</b>")])
    return leaders(_before_total(sheet)) + total + leaders(_payment(sheet)) + _included(sheet)


def _large(sheet: Sheet) -> str:
    total = _total(sheet, f"font-size:{sheet.size * sheet.rng.uniform(1.4, 1.9):.1f}px;font-weight:bold")
    return f'{_tables(_before_total(sheet))}<div class="ruled"></div>{total}<div class="ruled"></div>{_tables(_payment(sheet))}{_included(sheet)}'


def _by_rate(sheet: Sheet) -> str:
    """The tax as a table by rate under the payment."""
    sums = sheet.bill.sums
    if sheet.bill.mode != "included":
        return _plain_sums(sheet)
    if len(sums.taxes) > 1:
        sheet.unsummed = [part.tax for part in sums.taxes]
    total = _total(sheet, "font-weight:bold")
    return f'{_tables(_before_total(sheet))}{total}{_tables(_payment(sheet))}<div class="rule"></div>{rate_table(sheet, "tax")}'


def _framed(sheet: Sheet) -> str:
    total = f'<div class="centre" style="border:1px solid #000;padding:4px;margin:4px 0"><div>{sheet.label("total")}</div><b>{sheet.money("total", sheet.bill.sums.total)}</b></div>'
    return f"{_tables(_before_total(sheet))}{total}{_included(sheet)}{_tables(_payment(sheet))}"


def _total_first(sheet: Sheet) -> str:
    """The total above what it is made of."""
    return f"{_total(sheet, 'font-weight:bold')}{_tables(_before_total(sheet))}{_included(sheet)}{_tables(_payment(sheet))}"


SUMS: dict[str, Callable[[Sheet], str]] = {
    "plain": _plain_sums, "dotted": _dotted, "large": _large, "by_rate": _by_rate, "framed": _framed, "total_first": _total_first,
}  # fmt: skip


def _end(sheet: Sheet) -> str:
    """Card slip, points, counts and thanks."""
    rng, sums, pieces = sheet.rng, sheet.bill.sums, []
    if sums.cash is None and sheet.chance(0.6):
        pieces.append(
            f"<div>{sheet.label('card')} {sheet.mark('other_number', '************' + fill(rng, '####'))}</div><div>AUTH {sheet.mark('other_number', fill(rng, '######'))}</div>"
        )
    if sheet.chance(0.3):
        pieces.append(f"<div>{sheet.named('count')} {sheet.mark('quantity', str(len(sheet.bill.items)))}</div>")
    if sheet.chance(0.2):
        points = write_number(Decimal(rng.randint(10, 90000)) / 100, sheet.bill.region, places=2)
        pieces.append(f"<div>{sheet.named('points')} {sheet.mark('other_amount', points)}</div>")
    if sheet.chance(0.75):
        pieces.append(f'<div class="centre" style="margin-top:8px">{sheet.label("thanks")}</div>')
    if sheet.chance(0.25):
        pieces.append(f'<div class="centre small">{fill(rng, "#### #### #### ####")}</div>')
    return "".join(pieces)


def draw_receipt(rng: random.Random, bill: Bill, layout: str) -> tuple[Sheet, str, tuple[int, int]]:
    """The sheet with its marks, its HTML, and the paper's width; its height of 0 stands for that of the content."""
    sheet, parts = Sheet(rng, bill), LAYOUTS[layout]
    rule = rng.choice(
        (
            '<div class="rule"></div>',
            '<div class="ruled"></div>',
            '<div style="height:7px"></div>',
            f'<div style="overflow:hidden;white-space:nowrap">{"*" * 60}</div>',
        )
    )
    head, items = HEADS[parts.head](sheet), LINES[parts.items](sheet)
    sums, when, end = SUMS[parts.sums](sheet), WHENS[parts.when](sheet), _end(sheet)
    order = [head, items, sums, when, end] if parts.when_last else [head, when, items, sums, end]
    width = rng.choice(_WIDTHS)
    css = f"width:{width}px;font-family:'{sheet.font}';font-size:{sheet.size}px;line-height:{rng.choice((1.15, 1.25, 1.4))}"
    body = rule.join(block for block in order if block)
    return (
        sheet,
        f'<!DOCTYPE html><html><head><meta charset="utf-8"><style>{_STYLE.read_text(encoding="utf-8")}</style></head><body><div class="page receipt" style="{css}">{body}</div></body></html>',
        (width, 0),
    )
