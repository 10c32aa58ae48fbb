"""What a vision model sees: how it resizes an image and counts its tokens, crops of pages, and data URLs."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Protocol

import cv2
import numpy as np
import pybase64

from inkgate.errors import EngineFailed, InputRejected
from inkgate.page import Page, Pixels, RgbArray, TextLayer
from inkgate_client.types import Box, Size

_NOISE = 8
"""Maximum difference between the darkest and the brightest value of a blank page, of 255."""
MARGIN = 0.002
"""Margin around a block, as a share of the page's longer side: layout models draw tight boxes."""


class Tiling(Protocol):
    """Describes how a model splits an image into tiles."""

    def tokens(self, size: Size, /) -> int:
        """Tokens of an image of this size."""
        ...


@dataclass(frozen=True, slots=True)
class SquareTiles:
    """Idefics3 (`image_processing_idefics3.py` in transformers): the image, its longer side scaled to `longest`, in
    tiles of `side`, and once as a whole; `each` tokens a tile, and marks around them.
    """

    side: int
    longest: int
    each: int

    def tokens(self, size: Size) -> int:
        scale = self.longest / max(size.width, size.height)
        columns, rows = (max(1, math.ceil(n * scale / self.side)) for n in (size.width, size.height))
        tiles = columns * rows
        return self.each + 4 if tiles == 1 else (tiles + 1) * (self.each + 2) + rows + 2


@dataclass(frozen=True, slots=True)
class RatioTiles:
    """DeepSeek-OCR (`dynamic_preprocess` in its code): an image with a side over `side` is stretched to that grid of 2
    to `most` tiles whose shape is nearest to its own; `whole` tokens for the image and `each` for a tile.
    """

    side: int
    most: int
    whole: int
    each: int

    def tokens(self, size: Size) -> int:
        if max(size.width, size.height) <= self.side:
            return self.whole + 1
        aspect = size.width / size.height
        grids = [(w, h) for w in range(1, self.most + 1) for h in range(1, self.most // w + 1) if w * h > 1]
        wide, high = min(grids, key=lambda grid: (abs(aspect - grid[0] / grid[1]), -grid[0] * grid[1]))
        return self.whole + wide * high * self.each + 1


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """Describes how a model's image processor sizes an image (`smart_resize` in transformers) and counts its tokens.

    Attributes:
        patch: side of a patch, in pixels.
        merge: patches merged along each side into one token.
        min_pixels, max_pixels: of the resized image; larger and smaller ones are scaled by area.
        aspect: maximum ratio of the longer side to the shorter one.
        raise_sides: images with a side under one merged patch are first enlarged to it (PaddleOCR-VL does, HunyuanOCR
            does not).
        double_under: images with both sides under this many pixels are doubled first; None: never.
        row_tokens: tokens added to each row of merged patches.
        extra_tokens: tokens added to each image.
        sent: whether min_pixels and max_pixels are sent with the request as `mm_processor_kwargs`, because the server's
            defaults differ.
        longest_side: maximum longer side, in pixels, to which images are shrunk first; None: no such limit.
        stretch: all images are stretched to this size, whatever their shape; None: they keep their shape.
        tiling: counts the tokens of models that split images into tiles; None: tokens are merged patches.
    """

    patch: int
    merge: int
    min_pixels: int
    max_pixels: int
    aspect: float = 200.0
    raise_sides: bool = False
    double_under: int | None = None
    row_tokens: int = 0
    extra_tokens: int = 0
    sent: bool = False
    longest_side: int | None = None
    stretch: Size | None = None
    tiling: Tiling | None = None

    def __post_init__(self) -> None:
        if min(self.patch, self.merge, self.min_pixels) < 1 or self.max_pixels < self.min_pixels:
            raise ValueError(f"limits that no image can meet: {self}")

    @property
    def factor(self) -> int:
        """Side of a merged patch, in pixels: both sides of a resized image are multiples of it."""
        return self.patch * self.merge

    def resized(self, size: Size) -> Size:
        """The size after resizing. An image that already has that size is not changed.

        Sides are rounded to the nearest multiple of `factor` (halves to even). If that has too many pixels, both sides
        are scaled down and rounded down; if too few, scaled up and rounded up.

        Raises:
            InputRejected: `image_too_narrow`.
        """
        width, height = self._started(size)
        if max(width, height) > self.aspect * min(width, height):
            detail = f"the image is {size.width} x {size.height} pixels; the model's limit is {self.aspect:g}:1"
            raise InputRejected("image_too_narrow", detail)
        if self.stretch is not None:
            return self.stretch
        wide, high = round(width / self.factor), round(height / self.factor)
        pixels = wide * high * self.factor**2
        if pixels > self.max_pixels:
            beta = math.sqrt(height * width / self.max_pixels)
            wide = max(1, math.floor(width / beta / self.factor))
            high = max(1, math.floor(height / beta / self.factor))
        elif pixels < self.min_pixels:
            beta = math.sqrt(self.min_pixels / (height * width))
            wide = math.ceil(width * beta / self.factor)
            high = math.ceil(height * beta / self.factor)
        return Size(wide * self.factor, high * self.factor)

    @property
    def most_tokens(self) -> int:
        """Image tokens of about the largest image: a square."""
        side = max(1, math.isqrt(self.max_pixels))
        return self.tokens(Size(side, side))

    def tokens(self, size: Size) -> int:
        """Image tokens in the prompt for an image of `size`, exact. Raises InputRejected as `resized` does."""
        seen = self.resized(size)
        if self.tiling is not None:
            return self.tiling.tokens(seen)
        wide, high = seen.width // self.factor, seen.height // self.factor
        return high * (wide + self.row_tokens) + self.extra_tokens

    def shrunk(self, factor: float) -> ImageLimits:
        """The same limits with the sides of the largest image scaled by `factor`; never under `min_pixels`. A fixed
        size stays: models that have one know no other.
        """
        longest = None if self.longest_side is None else max(self.factor, int(self.longest_side * factor))
        return replace(self, max_pixels=max(self.min_pixels, int(self.max_pixels * factor**2)), longest_side=longest)

    def within(self, max_pixels: int) -> ImageLimits:
        """The same limits with at most this many pixels; never under `min_pixels`."""
        return replace(self, max_pixels=max(self.min_pixels, min(self.max_pixels, max_pixels)))

    def _started(self, size: Size) -> tuple[int, int]:
        """Width and height before rounding."""
        width, height = max(size.width, 1), max(size.height, 1)
        if self.double_under is not None and max(width, height) < self.double_under:
            width, height = width * 2, height * 2
        if self.raise_sides:
            if height < self.factor:
                width, height = round(width * self.factor / height), self.factor
            if width < self.factor:
                width, height = self.factor, round(height * self.factor / width)
        if self.longest_side is not None and max(width, height) > self.longest_side:
            scale = self.longest_side / max(width, height)
            width, height = max(1, round(width * scale)), max(1, round(height * scale))
        return width, height


@dataclass(frozen=True, slots=True)
class EncodedImage:
    """An image as a data URL, of `size`, made for `target`. `key`: equal for equal images."""

    url: str
    size: Size
    target: Size
    key: bytes


def encode(
    rgb: RgbArray, target: Size, jpeg_quality: int, *, enlarge: float = 1.0, stretch: bool = False
) -> EncodedImage:
    """`rgb` (H, W, 3) shrunk to fit `target`, or enlarged by `enlarge` at most, as JPEG; as PNG for quality 0.
    `stretch`: made exactly as large as `target`, whatever its shape. Blocking.

    The server resizes to its own grid: enlarging only for that is left to it, which saves bandwidth.
    """
    height, width = rgb.shape[:2]
    factor = min(enlarge, target.width / width, target.height / height)
    size = target if stretch else Size(max(1, round(width * factor)), max(1, round(height * factor)))
    if size != Size(width, height):
        kernel = cv2.INTER_AREA if factor < 1.0 else cv2.INTER_CUBIC
        rgb = np.asarray(cv2.resize(rgb, (size.width, size.height), interpolation=kernel), np.uint8)
    bgr = cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR)
    if jpeg_quality:
        kind, done, data = "jpeg", *cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, jpeg_quality])
    else:
        kind, done, data = "png", *cv2.imencode(".png", bgr, [cv2.IMWRITE_PNG_COMPRESSION, 1])
    if not done:
        raise EngineFailed("engine_failed", "The page could not be encoded for the model server.")
    url = f"data:image/{kind};base64,{pybase64.b64encode_as_string(data.data)}"
    return EncodedImage(url, size, target, blake2b(data.data, digest_size=16).digest())


def is_blank(rgb: RgbArray) -> bool:
    """Whether all pixels are nearly the same. Models invent text on blank pages. Blocking."""
    # Every eighth pixel first: finds most pages that are not blank at 1/64 of the cost.
    return all(int(sample.max()) - int(sample.min()) <= _NOISE for sample in (rgb[::8, ::8], rgb))


def crop_pixels(rgb: RgbArray, box: Box) -> RgbArray:
    """A view of the pixels in the box and a small margin, at least one pixel."""
    height, width = rgb.shape[:2]
    margin = MARGIN * max(width, height)
    left, top = max(0, math.floor(box[0] - margin)), max(0, math.floor(box[1] - margin))
    right, bottom = min(width, math.ceil(box[2] + margin)), min(height, math.ceil(box[3] + margin))
    left, top = min(left, width - 1), min(top, height - 1)
    return rgb[top : max(bottom, top + 1), left : max(right, left + 1)]


class PageCrop:
    """A Page that is part of another. `scale`: pixels of that page per pixel of `rgb`."""

    def __init__(self, page: Page, rgb: RgbArray, scale: float) -> None:
        self.rgb = rgb
        self._page = page
        self._scale = scale

    @property
    def index(self) -> int:
        return self._page.index

    @property
    def size(self) -> Size:
        """The size in pixels of the whole page."""
        height, width = self.rgb.shape[:2]
        return Size(max(1, round(width * self._scale)), max(1, round(height * self._scale)))

    @property
    def dpi(self) -> float | None:
        return self._page.dpi

    @property
    def text_layer(self) -> TextLayer | None:
        return None

    @property
    def content_key(self) -> bytes:
        """Empty: blocks are not cached; the whole page is."""
        return b""

    def retain(self) -> AbstractContextManager[None]:
        """Does nothing: the pixels are in memory already."""
        return nullcontext()

    async def pixels(self, longest_side: int | None = None) -> Pixels:
        """Returns the pixels, which are in memory; shrinking part of a page is fast enough for the event loop."""
        height, width = self.rgb.shape[:2]
        factor = 1.0 if longest_side is None else min(1.0, longest_side / max(width, height))
        if factor == 1.0:
            return Pixels(np.ascontiguousarray(self.rgb), self._scale)
        size = (max(1, round(width * factor)), max(1, round(height * factor)))
        small = cv2.resize(self.rgb, size, interpolation=cv2.INTER_AREA)
        return Pixels(np.asarray(small, np.uint8), self._scale / factor)
