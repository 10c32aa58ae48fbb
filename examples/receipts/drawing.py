"""Draws receipts of invented shops, so that the demo needs no documents of anybody."""

from __future__ import annotations

import io
from dataclasses import dataclass
from random import Random

from PIL import Image, ImageDraw, ImageFont

_SHOPS = ("Harbour Bakery", "Corner Books", "Green Grocer", "Lamp and Light", "Two Bridges Cafe", "North Hardware")
_GOODS = ("Bread", "Coffee", "Notebook", "Apples", "Candles", "Screws", "Tea", "Pencils", "Soup", "Lamp oil")
_WIDTH, _MARGIN, _LINE = 620, 40, 44


@dataclass(frozen=True, slots=True)
class Receipt:
    """A receipt: its number, its total as printed, and its picture as PNG."""

    number: str
    total: str
    png: bytes


def draw(index: int) -> Receipt:
    """The receipt with this index: always the same."""
    random = Random(index)  # noqa: S311 - no secret
    number = f"R{10_000 + index}"
    goods = [(random.choice(_GOODS), random.randint(50, 2500)) for _ in range(random.randint(2, 6))]
    total = f"{sum(price for _, price in goods) / 100:.2f}"
    rows = [
        (random.choice(_SHOPS), ""),
        (f"{random.randint(1, 99)} Mill Street", ""),
        ("", ""),
        ("Receipt", number),
        ("Date", f"{random.randint(1, 28):02}/{random.randint(1, 12):02}/2026"),
        ("", ""),
        *((name, f"{price / 100:.2f}") for name, price in goods),
        ("", ""),
        ("TOTAL", total),
    ]
    return Receipt(number, total, _png(rows))


def _png(rows: list[tuple[str, str]]) -> bytes:
    picture = Image.new("L", (_WIDTH, 2 * _MARGIN + _LINE * len(rows)), 255)
    pen, font = ImageDraw.Draw(picture), ImageFont.load_default(28)
    for row, (left, right) in enumerate(rows):
        y = _MARGIN + _LINE * row
        pen.text((_MARGIN, y), left, 0, font)
        pen.text((_WIDTH - _MARGIN, y), right, 0, font, anchor="ra")
    data = io.BytesIO()
    picture.save(data, "png")
    return data.getvalue()
