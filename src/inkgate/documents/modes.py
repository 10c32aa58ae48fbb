"""Converts Pillow's pixel modes to 8-bit grey or RGB."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from PIL import Image

GreyOrRgb = NDArray[np.uint8]
"""(H, W) uint8 grey, or (H, W, 3) uint8 in the order red, green, blue."""

_BAND_PIXELS = 1 << 21
"""Pixels converted at a time, to limit temporary memory to some tens of megabytes."""
_NUMBERS = frozenset({"I", "F", "I;16", "I;16L", "I;16B", "I;16N"})
_WHITE = (255, 255, 255)
_BLACK = (0, 0, 0)


def to_array(image: Image.Image, *, white_is_zero: bool = False) -> GreyOrRgb:
    """The loaded `image` as 8-bit grey if it has no colour, else as RGB.

    Transparent parts get a background that contrasts with the visible ones. Values of more than 8 bits are scaled by
    their range; `white_is_zero`: their lowest value is white (Pillow inverts 8-bit values itself). Colour profiles are
    ignored. Blocking.
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
    # CMYK is converted by (1 - ink)(1 - black). Pillow has already corrected Adobe's inverted inks.
    return _fill(image, lambda band: np.asarray(band.convert("RGB")), channels=3)


def _bands(image: Image.Image) -> Iterator[tuple[int, Image.Image]]:
    """Horizontal bands of the image, each with its top row."""
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
    """A function that scales bands of integers or floats to grey by the range of the whole image."""
    low, high = _range(image)
    scale = 255.0 / max(high - low, 1e-9)

    def convert(band: Image.Image) -> GreyOrRgb:
        # NaN marks a pixel without a value; it becomes white, as paper is.
        values = np.nan_to_num(np.asarray(band).astype(np.float32), nan=high, posinf=high, neginf=low)
        grey: GreyOrRgb = np.clip((values - low) * scale + 0.5, 0, 255).astype(np.uint8)
        return np.invert(grey) if white_is_zero else grey

    return convert


def _range(image: Image.Image) -> tuple[float, float]:
    """The values of black and white.

    Integers use the fewest bits that hold the brightest value (at least 8): 12-bit scans are stored in 16-bit files,
    and dropping the low byte would make them black; stretching to the exact range would turn an empty page's noise
    into marks.
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
    """The band as RGBA. The transparent colour of a 16-bit image is reduced to the 8 bits that Pillow keeps."""
    key = band.info.get("transparency")
    if band.mode == "RGB" and isinstance(key, tuple) and max(key) > 255:
        band.info["transparency"] = tuple(value >> 8 for value in key)
    return band if band.mode == "RGBA" else band.convert("RGBA")


def _background(image: Image.Image) -> tuple[int, int, int] | None:
    """The background colour; None if the image is fully opaque or fully transparent.

    White, unless the visible part is light and less than half of the image: that is light writing for a dark
    background, invisible on white.
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
