"""Layouts of invoices: which parts stand where."""

import random
from dataclasses import dataclass, replace
from pathlib import Path

from training.fields.addressees import ADDRESSEES
from training.fields.addressees import WITH_SELLER as BUYERS_WITH_SELLER
from training.fields.arrangements import ARRANGEMENTS, Blocks
from training.fields.bill import Bill
from training.fields.closings import CLOSINGS, page_number, reference, strangers
from training.fields.closings import WITH_SELLER as FEET_WITH_SELLER
from training.fields.foot import FEET, imprint, terms
from training.fields.heads import HEADS, renamed
from training.fields.issuer import CUSTOMERS, ISSUERS, sender_line
from training.fields.items import TABLES, cards, text_lines, written
from training.fields.meta import METAS, WIDE, WITH_TITLE, title
from training.fields.oddities import odd
from training.fields.sheet import Sheet
from training.fields.sums import SUMS, last_rows, top_box
from training.fields.words import Half
from training.layout.drawing import SIZES

_STYLE = Path(__file__).with_name("style.css")
_SWAPPED = 0.4
"""The share of documents that take one part from another layout."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The parts of an invoice, by their names in ISSUERS or HEADS, CUSTOMERS or ADDRESSEES, METAS, TABLES (or `lines`, `cards`), SUMS, and FEET or CLOSINGS."""

    arrangement: str
    issuer: str
    customer: str
    meta: str
    items: str
    sums: str
    foot: str
    half: Half = "tuning"
    top_box: bool = False


LAYOUTS: dict[str, Layout] = {
    "classic1": Layout("classic", "plain", "billed", "table", "lined", "right", "nothing"),
    "classic2": Layout("classic", "logo", "shipped", "table", "striped", "right", "line"),
    "classic3": Layout("classic", "logo", "unlabelled", "list", "ruled", "rows", "imprint"),
    "classic4": Layout("classic", "small", "billed", "below", "open", "by_rate", "bank", top_box=True),
    "letterhead1": Layout("letter", "right", "window", "table", "lined", "right", "imprint"),
    "letterhead2": Layout("letter", "logo", "window", "list", "open", "wide", "imprint"),
    "letterhead3": Layout("letter", "centred", "window", "heads", "ruled", "strip", "line"),
    "letterhead4": Layout("letter", "nothing", "window", "slashed", "lined", "by_rate", "imprint"),
    "letterhead5": Layout("letter", "nothing", "window", "titled", "lines", "sentence", "imprint"),
    "mirrored1": Layout("mirrored", "right", "billed", "table", "striped", "right", "bank"),
    "mirrored2": Layout("mirrored", "logo", "boxed", "leaders", "ruled", "rows", "line"),
    "mirrored3": Layout("mirrored", "right", "unlabelled", "titled", "lined", "left", "slip"),
    "stacked1": Layout("stacked", "centred", "billed", "heads", "ruled", "right", "nothing"),
    "stacked2": Layout("stacked", "plain", "shipped", "line", "striped", "strip", "bank"),
    "stacked3": Layout("stacked", "centred", "unlabelled", "sentence", "lines", "wide", "line"),
    "form1": Layout("form", "labelled", "boxed", "table", "ruled", "by_rate", "bank"),
    "form2": Layout("form", "labelled", "billed", "titled", "lined", "right", "line"),
    "strip1": Layout("stripped", "logo", "shipped", "heads", "lined", "rows", "slip"),
    "strip2": Layout("stripped", "plain", "billed", "line", "open", "right", "imprint", top_box=True),
    "sidebar1": Layout("sidebar", "plain", "billed", "below", "lined", "right", "nothing"),
    "office1": Layout("classic", "practice", "attention", "table", "lined", "right", "columns"),
    "office2": Layout("mirrored", "slogan", "billed", "list", "striped", "rows", "seat"),
    "office3": Layout("classic", "contact_box", "framed", "table", "ruled", "by_rate", "columns"),
    "office4": Layout("stripped", "two_columns", "accounted", "heads", "open", "right", "payable"),
    "practice1": Layout("letter", "practice", "salutation", "titled", "open", "worded", "columns"),
    "practice2": Layout("stacked", "stationery", "attention", "list", "lines", "sentence", "payable"),
    "practice3": Layout("letter", "person", "salutation", "list", "lined", "wide", "bank"),
    "footer1": Layout("letter", "nothing", "salutation", "table", "lined", "right", "columns"),
    "footer2": Layout("first_buyer", "website", "framed", "list", "striped", "rows", "columns"),
    "footer3": Layout("headline", "nothing", "large", "table", "open", "sentence", "seat"),
    "footer4": Layout("letter", "pictured", "attention", "below", "ruled", "by_rate", "columns"),
    "imprint1": Layout("letter", "nothing", "unlabelled", "table", "lined", "right", "single"),
    "imprint2": Layout("first_buyer", "nothing", "unlabelled", "list", "open", "rows", "single"),
    "imprint3": Layout("headline", "nothing", "large", "heads", "striped", "by_rate", "single"),
    "imprint4": Layout("stacked", "nothing", "attention", "list", "ruled", "right", "single"),
    "trading1": Layout("classic", "brand", "billed", "table", "striped", "right", "trading"),
    "trading2": Layout("stacked", "branded", "delivered", "heads", "lined", "rows", "seat"),
    "trading3": Layout("mirrored", "brand", "framed", "list", "open", "strip", "columns", top_box=True),
    "trading4": Layout("classic", "branded", "attention", "leaders", "lined", "right", "trading"),
    "addressee1": Layout("addressee", "department", "large", "table", "lined", "worded", "line"),
    "addressee2": Layout("first_buyer", "registered", "attention", "heads", "ruled", "by_rate", "payable"),
    "addressee3": Layout("addressee", "beside", "beside", "list", "open", "rows", "seat"),
    "addressee4": Layout("numbers_first", "split", "large", "table", "striped", "right", "bank"),
    "parties1": Layout("facing", "nothing", "three", "table", "lined", "worded", "line"),
    "parties2": Layout("facing", "nothing", "facing", "list", "ruled", "by_rate", "bank"),
    "parties3": Layout("facing", "pictured", "facing", "heads", "striped", "rows", "payable"),
    "parties4": Layout("three", "labelled", "delivered", "list", "open", "right", "seat"),
    "sheet1": Layout("headline", "form_lines", "form_lines", "table", "ruled", "left", "line"),
    "sheet2": Layout("grid", "registered", "accounted", "below", "lined", "rows", "bank"),
    "sheet3": Layout("form", "form_lines", "form_lines", "leaders", "open", "right", "payable"),
    "sheet4": Layout("grid", "beside", "beside", "table", "ruled", "by_rate", "columns"),
    "freelance1": Layout("classic", "person", "attention", "list", "lines", "sentence", "payable"),
    "freelance2": Layout("numbers_first", "person", "unlabelled", "line", "open", "right", "bank"),
    "freelance3": Layout("french", "person", "large", "table", "lined", "wide", "seat"),
    "avenue1": Layout("french", "split", "framed", "table", "ruled", "by_rate", "seat"),
    "avenue2": Layout("french", "slogan", "salutation", "heads", "striped", "right", "columns"),
    "avenue3": Layout("french", "pictured", "attention", "line", "lined", "strip", "trading"),
    "company1": Layout("stacked", "registered", "salutation", "table", "ruled", "worded", "payable"),
    "company2": Layout("headline", "registered", "attention", "table", "lined", "rows", "line"),
    "company3": Layout("stacked", "stationery", "accounted", "list", "ruled", "right", "bank"),
    "judged1": Layout("classic", "banner", "billed", "boxes", "cards", "right", "stub", "judging"),
    "judged2": Layout("letter", "one_line", "window", "placed", "lined", "big", "imprint", "judging"),
    "judged3": Layout("mirrored", "logo", "inline", "double", "striped", "bar", "line", "judging"),
    "judged4": Layout("stacked", "banner", "shipped", "double", "ruled", "labels_right", "bank", "judging"),
    "judged5": Layout("form", "labelled", "boxed", "boxes", "open", "bar", "stub", "judging"),
    "judged6": Layout("right_sidebar", "plain", "billed", "list", "lined", "big", "line", "judging"),
    "judged7": Layout("letter", "nothing", "window", "table", "ruled", "labels_right", "imprint", "judging"),
    "judged8": Layout("signed", "nothing", "inline", "placed", "lines", "wide", "nothing", "judging"),
    "judged9": Layout("signed", "nothing", "billed", "list", "cards", "right", "bank", "judging"),
    "judged10": Layout("right_sidebar", "logo", "unlabelled", "below", "open", "by_rate", "slip", "judging"),
}


def _items_and_sums(sheet: Sheet, layout: Layout) -> tuple[str, ...]:
    if layout.items in {"lines", "cards"}:
        written_items = text_lines(sheet) if layout.items == "lines" else cards(sheet)
        return written_items, SUMS["wide" if layout.sums == "rows" else layout.sums](sheet)
    made = TABLES[layout.items](sheet)
    if layout.sums == "rows":
        return (written(made, last_rows(sheet, made.columns)),)
    return written(made), f"<div>{SUMS[layout.sums](sheet)}</div>"


def _signature(sheet: Sheet) -> str:
    """The seller at the end, as under a letter."""
    merchant = sheet.bill.merchant
    return f'<div style="margin-top:20px"><div>{sheet.mark("merchant_name", merchant.name, "font-weight:bold")}</div>{sheet.lines("merchant_address", merchant.address)}</div>'


_HEADS = {**ISSUERS, **HEADS}
_BUYERS = {**CUSTOMERS, **ADDRESSEES}
_FEET = {**FEET, **CLOSINGS}
_STRANGERS, _REFERENCES, _PAGED = 0.35, 0.15, 0.25
"""Shares of documents of the tuning half with false names, with a sentence that refers to another paper, and with a page's number."""


def _blocks(sheet: Sheet, layout: Layout) -> Blocks:
    head = _HEADS[layout.issuer](sheet)
    customer = _BUYERS[layout.customer](sheet)
    named = layout.foot in {"imprint", *FEET_WITH_SELLER} or layout.customer in BUYERS_WITH_SELLER
    if layout.issuer == "nothing" and "sender" not in customer and layout.arrangement != "signed" and not named:
        customer = sender_line(sheet) + customer
    name = "" if layout.meta in WITH_TITLE else title(sheet)
    meta = METAS[layout.meta](sheet)
    box = top_box(sheet) if layout.top_box else ""
    tail = [*_items_and_sums(sheet, layout), terms(sheet)]
    if layout.half == "tuning":
        if sheet.chance(0.8 if sheet.bill.credit else _REFERENCES):
            tail.insert(0, reference(sheet))
        if sheet.chance(_STRANGERS):
            tail.append(strangers(sheet))
    if layout.foot == "bank":
        tail.append(FEET["bank"](sheet))
    if layout.arrangement == "signed":
        tail.append(_signature(sheet))
    return Blocks(head, customer, name, meta, box, tuple(tail), sheet.accent, layout.meta in WIDE)


def _page(sheet: Sheet, layout: Layout, size: str) -> str:
    rng = sheet.rng
    width, height = SIZES[size]
    blocks = _blocks(sheet, layout)
    foot = (
        ""
        if layout.foot in {"bank", "nothing"}
        else _FEET[layout.foot](sheet)
        if layout.foot != "imprint"
        else imprint(sheet, with_name=layout.issuer == "nothing" or sheet.chance(0.6))
    )
    if layout.half == "tuning" and sheet.chance(_PAGED):
        foot += page_number(sheet)
    top, side = rng.randint(36, 70), rng.randint(40, 76)
    body = ARRANGEMENTS[layout.arrangement](blocks) + "".join(
        f'<div class="part">{part}</div>' for part in blocks.tail if part
    )
    css = (
        f"width:{width}px;height:{height}px;padding:{top}px {side}px 40px;font-family:'{sheet.font}';font-size:{sheet.size}px;"
        f"line-height:{rng.choice((1.2, 1.3, 1.4, 1.5))};--gap:{rng.choice((12, 16, 20, 26))}px;--pad:{rng.choice((2, 3, 4, 6))}px;--left:{side}px;--right:{side}px"
    )
    if layout.arrangement.endswith("sidebar"):
        body = f'<div class="sidebar">{body}</div></div>'
    return f'<div class="page" style="{css}"><div class="flow">{body}</div>{foot}</div>'


def _varied(rng: random.Random, layout: Layout) -> Layout:
    """The layout, with one part from another layout of its half in some documents."""
    if rng.random() >= _SWAPPED:
        return layout
    other = rng.choice([candidate for candidate in LAYOUTS.values() if candidate.half == layout.half])
    return rng.choice(
        (replace(layout, meta=other.meta), replace(layout, items=other.items), replace(layout, sums=other.sums))
    )


def draw_invoice(rng: random.Random, bill: Bill, layout: str) -> tuple[Sheet, str, tuple[int, int]]:
    """The sheet with its marks, its HTML, and the page's width and height in CSS pixels."""
    if bill.half == "tuning":
        bill = odd(rng, renamed(rng, bill, LAYOUTS[layout].issuer))
    sheet = Sheet(rng, bill)
    size = "letter" if bill.region.country == "US" else "a4"
    page = _page(sheet, _varied(rng, LAYOUTS[layout]), size)
    return (
        sheet,
        f'<!DOCTYPE html><html><head><meta charset="utf-8"><style>{_STYLE.read_text(encoding="utf-8")}</style></head><body{sheet.body}>{page}</body></html>',
        SIZES[size],
    )
