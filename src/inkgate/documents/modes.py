"""From any of Pillow's pixel modes to 8-bit grey or RGB that can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from PIL import Image

GreyOrRgb = NDArray[np.uint8]
"""(H, W) uint8 grey, or (H, W, 3) uint8 in the order red, green, blue."""

_BAND_PIXELS = 1 << 21
"""Pixels converted at a time: what a conversion needs in between stays at some tens of megabytes."""
_NUMBERS = frozenset({"I", "F", "I;16", "I;16L", "I;16B", "I;16N"})
_WHITE = (255, 255, 255)
_BLACK = (0, 0, 0)


def to_array(image: Image.Image, *, white_is_zero: bool = False) -> GreyOrRgb:
    """The loaded `image` as 8-bit grey where it has no colour, else as RGB.

    Transparent parts get the background that the visible ones stand out from. Numbers of more than 8 bits are scaled
    by their range; `white_is_zero` says that the lowest is white (only they need it: Pillow turns 8-bit ones itself).
    Colour profiles are ignored. Blocking.
    """
    if image.mode in _NUMBERS:
        return _fill(image, _numbers(image, white_is_zero=white_is_zero), channels=1)
    if image.has_transparency_data:
        background = _background(image)
        if background is not None:
            return _fill(image, lambda band: _over(background, band), channels=3)
        return _fill(image, lambda band: np.asarray(_rgba(band).convert("RGB")), channels=3)
    if image.mode in {"1", "L"}:
        return _fill(image, lambda band: np.asarray(band.convert("L")), channels=1)
    # CMYK goes by (1 - ink)(1 - black): Pillow has turned Adobe's inverted inks when it decoded them.
    return _fill(image, lambda band: np.asarray(band.convert("RGB")), channels=3)


def _bands(image: Image.Image) -> Iterator[tuple[int, Image.Image]]:
    """The image in horizontal bands, each with its top row."""
    width, height = image.size
    rows = max(1, _BAND_PIXELS // width)
    for top in range(0, height, rows):
        yield top, image.crop((0, top, width, min(top + rows, height)))


def _fill(image: Image.Image, convert: Callable[[Image.Image], GreyOrRgb], channels: int) -> GreyOrRgb:
    width, height = image.size
    pixels = np.empty((height, width) if channels == 1 else (height, width, channels), np.uint8)
    for top, band in _bands(image):
        pixels[top : top + band.height] = convert(band)
    return pixels


def _numbers(image: Image.Image, *, white_is_zero: bool) -> Callable[[Image.Image], GreyOrRgb]:
    """How bands of integers or floats become grey: by the range of the whole image."""
    low, high = _range(image)
    scale = 255.0 / max(high - low, 1e-9)

    def convert(band: Image.Image) -> GreyOrRgb:
        # NaN marks a pixel without a value: white, as paper is.
        values = np.nan_to_num(np.asarray(band).astype(np.float32), nan=high, posinf=high, neginf=low)
        grey: GreyOrRgb = np.clip((values - low) * scale + 0.5, 0, 255).astype(np.uint8)
        return np.invert(grey) if white_is_zero else grey

    return convert


def _range(image: Image.Image) -> tuple[float, float]:
    """The values that stand for black and white.

    Integers use the fewest bits that hold the brightest (8 at least): 12-bit scans come in 16-bit files, and cutting
    off the low byte would leave them black; stretching to the very range would turn an empty page's noise into marks.
    """
    low, high = np.inf, -np.inf
    for _, band in _bands(image):
        values = np.asarray(band)
        finite = values[np.isfinite(values)]
        if finite.size:
            low, high = min(low, float(finite.min())), max(high, float(finite.max()))
    if high < low:
        return 0.0, 1.0
    if image.mode == "F":
        return (0.0, 1.0) if low >= 0 and high <= 1 else (low, high)
    if low < 0:
        return low, high
    return 0.0, float(2 ** max(8, int(high).bit_length()) - 1)


def _rgba(band: Image.Image) -> Image.Image:
    """The band as RGBA; the transparent colour of a 16-bit image is cut to the 8 bits that Pillow keeps of it."""
    key = band.info.get("transparency")
    if band.mode == "RGB" and isinstance(key, tuple) and max(key) > 255:
        band.info["transparency"] = tuple(value >> 8 for value in key)
    return band if band.mode == "RGBA" else band.convert("RGBA")


def _background(image: Image.Image) -> tuple[int, int, int] | None:
    """What to put behind the image; None where its transparency means nothing: all of it is opaque, or all hidden.

    White, unless the visible part is light and less than half of the image: that is light writing made for a dark
    background, which would vanish on white.
    """
    extrema = [_rgba(band).getchannel("A").getextrema() for _, band in _bands(image)]
    if min(least for least, _ in extrema) == 255 or max(most for _, most in extrema) == 0:
        return None
    visible, light = 0, 0
    for _, band in _bands(image):
        rgba = _rgba(band)
        shown = np.asarray(rgba.getchannel("A")) >= 128
        visible += int(np.count_nonzero(shown))
        light += int(np.asarray(rgba.convert("L"))[shown].sum(dtype=np.int64))
    light_writing = visible * 2 < image.width * image.height and light > 160 * visible
    return _BLACK if light_writing else _WHITE


def _over(background: tuple[int, int, int], band: Image.Image) -> GreyOrRgb:
    rgba = _rgba(band)
    canvas = Image.new("RGB", band.size, background)
    canvas.paste(rgba, mask=rgba.getchannel("A"))
    return np.asarray(canvas)
