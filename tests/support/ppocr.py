"""Small pages with known text, drawn with the font that Pillow carries."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from inkgate.page import Pixels, RgbArray, TextLayer
from inkgate_client.types import Size


@dataclass(frozen=True, slots=True)
class ArrayPage:
    """A Page from an array, shrunk by skipping pixels."""

    rgb: RgbArray
    index: int = 0
    dpi: float | None = None
    text_layer: TextLayer | None = None

    @property
    def content_key(self) -> bytes:
        return blake2b(self.rgb.tobytes(), digest_size=32).digest()

    @property
    def size(self) -> Size:
        return Size(self.rgb.shape[1], self.rgb.shape[0])

    def retain(self) -> AbstractContextManager[None]:
        return nullcontext()

    async def pixels(self, longest_side: int | None = None) -> Pixels:
        longest = max(self.rgb.shape[:2])
        step = 1 if longest_side is None else -(-longest // longest_side)
        return Pixels(np.ascontiguousarray(self.rgb[::step, ::step]), float(step))


def drawn(
    lines: Sequence[str],
    size: tuple[int, int] = (640, 360),
    font_px: int = 28,
    font: ImageFont.FreeTypeFont | ImageFont.ImageFont | None = None,
) -> RgbArray:
    """A white page (H, W, 3) with `lines` in black, one below the other, from (30, 20) on."""
    image = Image.new("RGB", size, "white")
    canvas = ImageDraw.Draw(image)
    font = font or ImageFont.load_default(font_px)
    for row, line in enumerate(lines):
        canvas.text((30, 20 + row * font_px * 1.8), line, fill="black", font=font)
    return np.asarray(image, np.uint8)


def drawn_cells(texts: Sequence[str], font: ImageFont.FreeTypeFont, heading: Sequence[str] = ()) -> RgbArray:
    """A white page with a heading and a grid of cells that hold a text each, far apart, five in a row."""
    em = round(font.size)
    top = round(1.7 * em * len(heading)) + em
    image = Image.new("RGB", (24 * em, top + 3 * em * -(-len(texts) // 5) + em), "white")
    canvas = ImageDraw.Draw(image)
    for row, line in enumerate(heading):
        canvas.text((em, round((1.5 + 1.6 * row) * em)), line, fill="black", font=font, anchor="ls")
    for place, text in enumerate(texts):
        row, column = divmod(place, 5)
        canvas.text((2 * em + 4.5 * em * column, top + (3 * row + 1.5) * em), text, "black", font, anchor="ls")
    return np.asarray(image, np.uint8)


def faces(size: int) -> dict[str, ImageFont.FreeTypeFont]:
    """The fonts that Pillow and matplotlib carry: six faces of three families."""
    import matplotlib as mpl  # takes a second, and few tests need it

    folder = Path(mpl.get_data_path()) / "fonts" / "ttf"
    names = ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSerif", "DejaVuSansMono", "DejaVuSerif-Italic")
    default = ImageFont.load_default(size)
    assert isinstance(default, ImageFont.FreeTypeFont)
    return {"Pillow": default, **{name: ImageFont.truetype(folder / f"{name}.ttf", size) for name in names}}


def drawn_line(text: str, font_px: int = 32) -> RgbArray:
    """A crop that holds one line and little else."""
    font = ImageFont.load_default(font_px)
    width = round(font.getlength(text)) + 16
    image = Image.new("RGB", (width, round(font_px * 1.5)), "white")
    ImageDraw.Draw(image).text((8, 4), text, fill="black", font=font)
    return np.asarray(image, np.uint8)
