"""Layouts of receipts: narrow paper, as high as its content."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from training.fields import till_heads
from training.fields.bill import ROUNDINGS, Bill
from training.fields.identifiers import fill
from training.fields.oddities import odd
from training.fields.receipt_parts import HEADS, LINES, WHENS, line
from training.fields.regions import write_number
from training.fields.sheet import Sheet
from training.fields.sums import rate_table, tax_label
from training.fields.words import Half, tax_names

_STYLE = Path(__file__).with_name("style.css")
_WIDTHS = (219, 250, 272, 302)
"""58 to 80 mm in CSS pixels."""
_TIPS = 0.5
"""The share of the tuning half's meals that ask for a tip."""
_BEFORE_ROUNDING, _UNROUNDED, _BY_RATE = 0.65, 0.3, 0.14
"""Shares of the tuning half's receipts: of rounded ones, those that print the total before it, too; of others in
countries that round, those with a rounding of zero; of taxed ones, those with a total by rate."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The parts of a receipt, by their names in HEADS (of receipt_parts.py or till_heads.py), WHENS, LINES and SUMS."""

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
    "mart1": Layout("firm", "aligned", "table", "plain"),
    "mart2": Layout("firm_number", "pairs", "two_lines", "plain"),
    "mart3": Layout("numbered", "aligned", "lettered", "by_rate"),
    "mart4": Layout("titled", "packed", "one_line", "large"),
    "mart5": Layout("former", "rows", "table", "plain"),
    "chain1": Layout("brand_firm", "pairs", "one_line", "plain"),
    "chain2": Layout("brand_small", "packed", "counted", "by_rate"),
    "chain3": Layout("owned", "one_line", "two_lines", "large", when_last=True),
    "chain4": Layout("logo_brand", "aligned", "lettered", "dotted"),
    "chain5": Layout("station", "pairs", "one_line", "plain"),
    "outlet1": Layout("branch", "packed", "counted", "plain"),
    "outlet2": Layout("branch_code", "pairs", "one_line", "large"),
    "outlet3": Layout("logo", "rows", "counted", "plain", when_last=True),
    "outlet4": Layout("plain", "packed", "two_lines", "by_rate", when_last=True),
    "kopitiam1": Layout("scripts", "aligned", "table", "plain"),
    "kopitiam2": Layout("scripts", "pairs", "counted", "large"),
    "counter1": Layout("greeted", "one_line", "one_line", "dotted"),
    "counter2": Layout("queued", "rows", "counted", "plain"),
    "counter3": Layout("dated", "packed", "two_lines", "plain"),
    "counter4": Layout("contact_first", "pairs", "lettered", "plain"),
    "counter5": Layout("site_first", "bare", "one_line", "large"),
    "starred1": Layout("starred", "pairs", "two_lines", "plain"),
    "starred2": Layout("starred", "aligned", "table", "dotted", when_last=True),
    "footed1": Layout("footed", "pairs", "one_line", "plain"),
    "footed2": Layout("footed_address", "aligned", "counted", "large"),
    "ledger1": Layout("wide", "aligned", "table", "by_rate"),
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
    if bill.half == "tuning":
        rows += [*_totals_by_rate(sheet), *_before_rounding(sheet)]
    if sums.rounding is not None:
        rows.append((sheet.label("rounding"), sheet.money("rounding", sums.rounding)))
    return rows


def _part_of_total(sheet: Sheet, value: Decimal) -> str:
    """An amount that is called a total; it may be the total, too."""
    return sheet.money("total" if value == sheet.bill.sums.total else "other_amount", value)


def _including(sheet: Sheet) -> str:
    """`Incl. VAT` and its like."""
    region = sheet.bill.region
    tax = sheet.rng.choice(("GST", "SST")) if region.country == "MY" else tax_names(region.key)[0]
    return sheet.beside("including").format(tax=tax)


def _before_rounding(sheet: Sheet) -> list[tuple[str, str]]:
    """The total before its rounding: `Total incl. GST 8.11`. A rounding may be zero."""
    sums, region = sheet.bill.sums, sheet.bill.region
    zero = sums.rounding is None and region.country in ROUNDINGS and sheet.chance(_UNROUNDED)
    if not zero and (sums.rounding is None or not sheet.chance(_BEFORE_ROUNDING)):
        return []
    said = any(word in sheet.label("total").lower() for word in ("ttc", "incl", "dph", "brutto", "iva"))
    taxed = sheet.bill.mode in {"added", "included"} and not said and sheet.chance(0.6)
    name = f"{sheet.label('total')} {_including(sheet)}" if taxed else sheet.label("total")
    rows = [(name, _part_of_total(sheet, sums.total - (sums.rounding or Decimal(0))))]
    return [*rows, (sheet.label("rounding"), sheet.money("other_amount", Decimal(0)))] if zero else rows


def _totals_by_rate(sheet: Sheet) -> list[tuple[str, str]]:
    """`Total 6% supplies (inc. GST)` of each rate, in some documents; one of rate 0 may have nothing."""
    taxes, region = sheet.bill.sums.taxes, sheet.bill.region
    if not taxes or not sheet.chance(_BY_RATE):
        return []
    goods = f" {sheet.beside('supplies')}" if sheet.chance(0.7) else ""
    behind = f" {_including(sheet)}" if sheet.chance(0.6) else ""
    parts = [(part.rate, part.base + part.tax) for part in taxes]
    if len(parts) == 1 and region.decimals and sheet.chance(0.5):
        parts.append(("0", Decimal(0).quantize(region.unit)))
    if sheet.chance(0.4):
        parts.reverse()
    return [
        (f"{sheet.label('total')} {sheet.rate(rate)}{goods}{behind}", _part_of_total(sheet, amount))
        for rate, amount in parts
    ]


def _total_name(sheet: Sheet) -> str:
    """What the total is called: rounded, where it is and the tuning half says so."""
    rounded = sheet.bill.half == "tuning" and sheet.bill.sums.rounding is not None and sheet.chance(0.5)
    return sheet.beside("rounded") if rounded else sheet.label("total")


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
    name = _total_name(sheet) + (f" {sheet.currency()}" if sheet.sign == "0" and sheet.chance(0.4) else "")
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

    total = leaders([(f"<b>{_total_name(sheet)}</b>", f"<b>{sheet.money('total', sheet.bill.sums.total)}</b>")])
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


def tips(sheet: Sheet) -> str:
    """Lines for a tip to be written by hand, and tips that are suggested."""
    bill = sheet.bill
    if bill.trade != "dishes" or bill.sums.tip is not None or bill.region.language not in {"en", "zh", "es"}:
        return ""
    blank = "_" * sheet.rng.randint(6, 12)
    rows = [line(sheet.label("tip"), blank), line(sheet.label("total"), blank)] if sheet.chance(0.6) else []
    if sheet.chance(0.6):
        shares = sheet.rng.choice(((15, 18, 20), (18, 20, 22), (10, 15)))
        amounts = [(bill.sums.total * share / 100).quantize(bill.region.unit) for share in shares]
        rows.append(f"<tr><td colspan=2>{sheet.beside('suggested')}</td></tr>")
        rows += [
            line(f"{share}%", sheet.money("other_amount", amount))
            for share, amount in zip(shares, amounts, strict=True)
        ]
    return f'<table style="margin-top:6px">{"".join(rows)}</table>' if rows else ""


def draw_receipt(rng: random.Random, bill: Bill, layout: str) -> tuple[Sheet, str, tuple[int, int]]:
    """The sheet with its marks, its HTML, and the paper's width; its height of 0 stands for that of the content."""
    parts = LAYOUTS[layout]
    if bill.half == "tuning":
        bill = odd(rng, till_heads.renamed(rng, bill, parts.head))
    sheet = Sheet(rng, bill)
    rule = rng.choice(
        (
            '<div class="rule"></div>',
            '<div class="ruled"></div>',
            '<div style="height:7px"></div>',
            f'<div style="overflow:hidden;white-space:nowrap">{"*" * 60}</div>',
        )
    )
    head = HEADS[parts.head](sheet) if parts.head in HEADS else till_heads.draw_head(sheet, parts.head)
    items, sums = LINES[parts.items](sheet), SUMS[parts.sums](sheet)
    when, end = WHENS[parts.when](sheet), _end(sheet)
    if bill.half == "tuning":
        end = (tips(sheet) if sheet.chance(_TIPS) else "") + end
    if parts.head in till_heads.FOOTED:
        end += till_heads.named_foot(sheet)
    order = [head, items, sums, when, end] if parts.when_last else [head, when, items, sums, end]
    width = rng.choice(_WIDTHS)
    css = f"width:{width}px;font-family:'{sheet.font}';font-size:{sheet.size}px;line-height:{rng.choice((1.15, 1.25, 1.4))}"
    body = rule.join(block for block in order if block)
    return (
        sheet,
        f'<!DOCTYPE html><html><head><meta charset="utf-8"><style>{_STYLE.read_text(encoding="utf-8")}</style></head><body{sheet.body}><div class="page receipt" style="{css}">{body}</div></body></html>',
        (width, 0),
    )
