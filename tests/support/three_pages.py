"""A scanned document of three pages, with headings, a figure on each page, a table and page numbers."""

from __future__ import annotations

import io

from PIL import Image, ImageDraw, ImageFont

from support.pictured_page import picture

HEADINGS = ("Survey of the northern hills", "Rainfall by station", "Results and outlook")
TABLE = (("Station", "Spring", "Autumn"), ("Algeria", "120", "310"), ("Egypt", "14", "22"), ("Morocco", "96", "205"))
TEXTS = (
    "The hills north of the town were drawn by a surveyor",
    "who walked along the river in the spring of that year",
    "and wrote down what he saw on the way to the station.",
)
WIDTH, HEIGHT = 1240, 1754
"""A4 at 150 pixels an inch."""


def three_pages() -> bytes:
    """The PDF: images without a text layer."""
    pages = [_page(number) for number in range(3)]
    file = io.BytesIO()
    pages[0].save(file, "PDF", resolution=150, save_all=True, append_images=pages[1:])
    return file.getvalue()


def _page(index: int) -> Image.Image:
    image = Image.new("RGB", (WIDTH, HEIGHT), "white")
    canvas = ImageDraw.Draw(image)
    text = ImageFont.load_default(26)
    canvas.text((120, 110), HEADINGS[index], fill="black", font=ImageFont.load_default(50))
    for row in range(6):
        canvas.text((120, 230 + 40 * row), TEXTS[row % 3], fill="black", font=text)
    image.paste(picture(), (300, 540))
    canvas.text((420, 885), f"Figure {index + 1}: Hills in the morning", fill="black", font=text)
    if index == 1:
        _draw_table(canvas, text)
    for row in range(5):
        canvas.text((120, 1350 + 40 * row), TEXTS[(row + 1) % 3], fill="black", font=text)
    canvas.text((WIDTH / 2, 1690), str(index + 1), fill="black", font=text, anchor="mm")
    return image


def _draw_table(canvas: ImageDraw.ImageDraw, font: ImageFont.FreeTypeFont | ImageFont.ImageFont) -> None:
    left, top, width, height = 300, 980, 220, 60
    for row, cells in enumerate(TABLE):
        for column, cell in enumerate(cells):
            x, y = left + column * width, top + row * height
            canvas.rectangle((x, y, x + width, y + height), outline="black", width=2)
            canvas.text((x + 20, y + 14), cell, fill="black", font=font)
