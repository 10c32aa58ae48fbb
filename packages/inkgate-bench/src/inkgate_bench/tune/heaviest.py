"""The heaviest images that the limits allow: a service that starts may still die under them."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

from inkgate_bench.load.pages import LoadPage

_TEXT = "The quick brown fox jumps over 1,234,567 lazy dogs; "
_SAMPLE = (1240, 1754)
"""An A4 page at 150 dpi, drawn if there is no image among the pages."""
_LINE_PX = 24
_BODY_SHARE = 0.9
"""Share of the largest body that a file may have: a form has more than its file."""


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """The largest images that a service accepts.

    Attributes:
        max_pixels: of an image that is sent (`limits.max_pixels`).
        model_pixels: of an image that the model gets; None if it is not bounded.
        max_bytes: of a request's body.
        max_in_flight: documents that are admitted at once, and so the clients that send the heaviest images.
    """

    max_pixels: int
    model_pixels: int | None
    max_bytes: int
    max_in_flight: int


def heaviest_pages(pages: Sequence[LoadPage], limits: UploadLimits) -> tuple[LoadPage, ...]:
    """Images full of text, because that makes answers long: one as large as may be sent, and one as large as the model
    gets without shrinking it, if that is less. Blocking, some seconds.

    The text is that of the largest image among `pages`, repeated.
    """
    tile = _largest(pages)
    sizes = {limits.max_pixels, min(limits.max_pixels, limits.model_pixels or limits.max_pixels)}
    return tuple(_page(tile, pixels, limits.max_bytes) for pixels in sorted(sizes))


def _page(tile: Image.Image, pixels: int, max_bytes: int) -> LoadPage:
    """An image of at most `pixels`; of fewer if it would have too many bytes."""
    while True:
        image = _tiled(tile, pixels)
        written = io.BytesIO()
        # A JPEG could be decoded at half its size or less; this has to be held whole, in colour.
        image.save(written, "PNG", compress_level=1)
        content = written.getvalue()
        if len(content) <= max_bytes * _BODY_SHARE or pixels < tile.width:
            return LoadPage(f"heaviest {image.width} x {image.height}", content, "image/png", 1)
        pixels = int(pixels * max_bytes * _BODY_SHARE / len(content) * 0.95)


def _tiled(tile: Image.Image, pixels: int) -> Image.Image:
    """A page of the proportions of A4, covered with the tile."""
    width = max(1, math.floor(math.sqrt(pixels / math.sqrt(2))))
    height = max(1, min(pixels // width, math.floor(width * math.sqrt(2))))
    page = Image.new("RGB", (width, height), "white")
    for top in range(0, height, tile.height):
        for left in range(0, width, tile.width):
            page.paste(tile, (left, top))
    return page


def _largest(pages: Sequence[LoadPage]) -> Image.Image:
    """The image with the most pixels among the pages; a drawn page if none can be opened.

    In black and white: in the same number of bytes there is room for many times as many pixels.
    """
    images = [image for page in pages if (image := _opened(page)) is not None]
    largest = max(images, key=lambda image: image.width * image.height, default=None)
    try:
        grey = _drawn() if largest is None else largest.convert("L")
    except (OSError, ValueError):  # its pixels are broken
        grey = _drawn()
    levels = [level for level, count in enumerate(grey.histogram()) if count]
    paper = (levels[0] + levels[-1]) / 2
    return grey.point(lambda level: 255 if level > paper else 0).convert("RGB")


def _opened(page: LoadPage) -> Image.Image | None:
    """The image, its pixels not read yet; None if it is no image, or a broken one."""
    try:
        return Image.open(io.BytesIO(page.content)) if page.media_type.startswith("image/") else None
    except (OSError, ValueError, Image.DecompressionBombError):
        return None


def _drawn() -> Image.Image:
    page = Image.new("L", _SAMPLE, 255)
    draw = ImageDraw.Draw(page)
    font = ImageFont.load_default(_LINE_PX * 0.75)
    for top in range(_LINE_PX, _SAMPLE[1] - 2 * _LINE_PX, _LINE_PX):
        draw.text((_LINE_PX, top), _TEXT * 2, fill=0, font=font)
    return page
