"""Layouts of receipts: narrow paper, as high as its content."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from training.fields.bill import Bill
from training.fields.identifiers import fill
from training.fields.receipt_parts import HEADS, LINES, WHENS, line
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
        sheet.overrides["paid"] = sums.cash
        return [(sheet.label("cash"), sheet.money("paid", sums.cash)), *change]
    sheet.overrides["paid"] = sums.total
    return [(sheet.label("card"), sheet.money("paid", sums.total))] if sheet.chance(0.8) else []


def _included(sheet: Sheet) -> str:
    """Tax that the total includes: lines, or nothing where a table follows."""
    if sheet.bill.mode != "included":
        return ""
    rows = "".join(line(key, value) for key, value in _taxes(sheet))
    if sheet.chance(0.3):
        rows = line(sheet.label("subtotal"), sheet.money("subtotal", sheet.bill.sums.subtotal)) + rows
    return f'<table class="small">{rows}</table>'


def _total(sheet: Sheet, css: str) -> str:
    value = sheet.money("total", sheet.bill.sums.total)
    name = sheet.label("total") + (f" {sheet.currency()}" if sheet.sign == "0" and sheet.chance(0.4) else "")
    return f'<table style="{css}"><tr><td>{name}</td><td class="v">{value}</td></tr></table>'


def _tables(pairs: list[tuple[str, str]]) -> str:
    return f"<table>{''.join(line(key, value) for key, value in pairs)}</table>" if pairs else ""


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
