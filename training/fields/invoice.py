"""Layouts of invoices: which parts stand where."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from training.fields.bill import Bill
from training.fields.foot import FEET, imprint, terms
from training.fields.issuer import CUSTOMERS, ISSUERS, sender_line
from training.fields.items import TABLES, cards, text_lines, written
from training.fields.meta import METAS, WIDE, WITH_TITLE, title
from training.fields.sheet import Sheet
from training.fields.sums import SUMS, last_rows, top_box
from training.fields.words import Half
from training.layout.drawing import SIZES

_STYLE = Path(__file__).with_name("style.css")
_SWAPPED = 0.4
"""The share of documents that take one part from another layout."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The parts of an invoice, by their names in ISSUERS, CUSTOMERS, METAS, TABLES (or `lines`, `cards`), SUMS and FEET."""

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


@dataclass(frozen=True, slots=True)
class Blocks:
    """The HTML of the parts, before they are arranged. `title` is empty where the meta block has it."""

    head: str
    customer: str
    title: str
    meta: str
    box: str
    tail: tuple[str, ...]
    accent: str
    wide_meta: bool


def _above_or_beside(blocks: Blocks, left: str) -> str:
    """`left` with the meta block at its right, or below it where that needs the width."""
    if blocks.wide_meta:
        return f'<div class="row">{left}{blocks.box}</div>{blocks.meta}'
    return f'<div class="row">{left}<div>{blocks.box}{blocks.meta}</div></div>'


def _classic(blocks: Blocks) -> str:
    top = f'<div class="row"><div>{blocks.head}</div><div>{blocks.title}{"" if blocks.wide_meta else blocks.meta}</div></div>'
    return f'{top}<div class="row">{blocks.customer}{blocks.box}</div>{blocks.meta if blocks.wide_meta else ""}'


def _mirrored(blocks: Blocks) -> str:
    top = f'<div class="row"><div>{blocks.title}{"" if blocks.wide_meta else blocks.meta}</div><div>{blocks.head}</div></div>'
    return f'{top}<div class="row">{blocks.customer}{blocks.box}</div>{blocks.meta if blocks.wide_meta else ""}'


def _letter(blocks: Blocks) -> str:
    if blocks.title:
        return f"<div>{blocks.head}</div>{_above_or_beside(blocks, blocks.customer)}{blocks.title}"
    return f'<div>{blocks.head}</div><div class="row">{blocks.customer}{blocks.box}</div><div>{blocks.meta}</div>'


def _stacked(blocks: Blocks) -> str:
    return f"<div>{blocks.head}</div><div>{blocks.title}</div>{_above_or_beside(blocks, blocks.customer)}"


def _form(blocks: Blocks) -> str:
    top = f'<div class="row"><div>{blocks.title}</div><div>{"" if blocks.wide_meta else blocks.meta}</div></div>'
    return f'{top}{blocks.meta if blocks.wide_meta else ""}<div class="pair">{blocks.head}{blocks.customer}</div>'


def _stripped(blocks: Blocks) -> str:
    return f'<div class="row"><div>{blocks.head}</div><div>{blocks.title}{blocks.box}</div></div><div>{blocks.meta}</div>{blocks.customer}'


def _sidebar(blocks: Blocks) -> str:
    return f'<div class="side" style="border-right:3px solid {blocks.accent}">{blocks.head}{blocks.customer}{blocks.meta}</div><div class="main flow">{blocks.title}'


def _right_sidebar(blocks: Blocks) -> str:
    return f'<div class="side" style="order:2;background:#f0f1f3">{blocks.head}{blocks.meta}</div><div class="main flow"><div>{blocks.title}</div>{blocks.customer}'


ARRANGEMENTS: dict[str, Callable[[Blocks], str]] = {
    "classic": _classic, "mirrored": _mirrored, "letter": _letter, "stacked": _stacked, "form": _form, "stripped": _stripped,
    "sidebar": _sidebar, "right_sidebar": _right_sidebar, "signed": _stacked,
}  # fmt: skip


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


def _blocks(sheet: Sheet, layout: Layout) -> Blocks:
    head = ISSUERS[layout.issuer](sheet)
    customer = CUSTOMERS[layout.customer](sheet)
    if (
        layout.issuer == "nothing"
        and "sender" not in customer
        and layout.arrangement != "signed"
        and layout.foot != "imprint"
    ):
        customer = sender_line(sheet) + customer
    name = "" if layout.meta in WITH_TITLE else title(sheet)
    meta = METAS[layout.meta](sheet)
    box = top_box(sheet) if layout.top_box else ""
    tail = [*_items_and_sums(sheet, layout), terms(sheet)]
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
        else FEET[layout.foot](sheet)
        if layout.foot != "imprint"
        else imprint(sheet, with_name=layout.issuer == "nothing" or sheet.chance(0.6))
    )
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
    sheet = Sheet(rng, bill)
    size = "letter" if bill.region.country == "US" else "a4"
    page = _page(sheet, _varied(rng, LAYOUTS[layout]), size)
    return (
        sheet,
        f'<!DOCTYPE html><html><head><meta charset="utf-8"><style>{_STYLE.read_text(encoding="utf-8")}</style></head><body>{page}</body></html>',
        SIZES[size],
    )
