"""Where the parts of an invoice stand on its page."""

from collections.abc import Callable
from dataclasses import dataclass


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


def _addressee(blocks: Blocks) -> str:
    """The buyer above the seller."""
    right = f"<div>{blocks.title}{'' if blocks.wide_meta else blocks.meta}{blocks.box}</div>"
    return f'<div class="row">{blocks.customer}{right}</div><div>{blocks.head}</div>{blocks.meta if blocks.wide_meta else ""}'


def _first_buyer(blocks: Blocks) -> str:
    """The buyer at the left, the seller at the right, the title below."""
    below = f'<div class="row"><div>{blocks.title}</div>{blocks.box}</div><div>{blocks.meta}</div>'
    return f'<div class="row">{blocks.customer}<div>{blocks.head}</div></div>{below}'


def _headline(blocks: Blocks) -> str:
    """The title first, in the middle, then seller and buyer under each other at the left."""
    return f'<div style="text-align:center">{blocks.title}</div>{_above_or_beside(blocks, f"<div>{blocks.head}</div>")}<div>{blocks.customer}</div>'


def _french(blocks: Blocks) -> str:
    """The seller at the left, the buyer lower at the right."""
    left = f"<div>{blocks.head}</div>"
    right = f'<div style="margin-left:52%">{blocks.customer}</div>'
    return f'{left}{right}<div class="row"><div>{blocks.title}</div>{blocks.box}</div><div>{blocks.meta}</div>'


def _grid(blocks: Blocks) -> str:
    """A table of two by two cells with lines."""
    css = f'style="border:1px solid {blocks.accent};padding:8px 10px;vertical-align:top;width:50%"'
    meta = "" if blocks.wide_meta else blocks.meta
    rows = f"<tr><td {css}>{blocks.head}</td><td {css}>{blocks.title}{blocks.box}</td></tr><tr><td {css}>{blocks.customer}</td><td {css}>{meta}</td></tr>"
    return f'<table style="width:100%;table-layout:fixed">{rows}</table>{blocks.meta if blocks.wide_meta else ""}'


def _three(blocks: Blocks) -> str:
    """The title above a row of three: seller, buyer, numbers and dates."""
    cells = f"<div>{blocks.head}</div>{blocks.customer}{'' if blocks.wide_meta else blocks.meta}"
    return f'<div class="row"><div>{blocks.title}</div>{blocks.box}</div><div class="row small">{cells}</div>{blocks.meta if blocks.wide_meta else ""}'


def _numbers_first(blocks: Blocks) -> str:
    """Title, numbers and dates above the seller and the buyer."""
    return f'<div class="row"><div>{blocks.title}</div>{blocks.box}</div><div>{blocks.meta}</div><div>{blocks.head}</div><div>{blocks.customer}</div>'


def _facing(blocks: Blocks) -> str:
    """A part that has seller and buyer, over the page's width."""
    top = f'<div class="row"><div>{blocks.head}<div style="height:10px"></div>{blocks.title}</div><div>{blocks.box}{"" if blocks.wide_meta else blocks.meta}</div></div>'
    return f"{top}{blocks.meta if blocks.wide_meta else ''}<div>{blocks.customer}</div>"


ARRANGEMENTS: dict[str, Callable[[Blocks], str]] = {
    "classic": _classic, "mirrored": _mirrored, "letter": _letter, "stacked": _stacked, "form": _form, "stripped": _stripped,
    "sidebar": _sidebar, "right_sidebar": _right_sidebar, "signed": _stacked,
    "addressee": _addressee, "first_buyer": _first_buyer, "headline": _headline, "french": _french, "grid": _grid, "three": _three,
    "numbers_first": _numbers_first, "facing": _facing,
}  # fmt: skip
