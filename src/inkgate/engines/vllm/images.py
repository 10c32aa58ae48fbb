"""How a vision model resizes an image, and how many tokens the image becomes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from inkgate.errors import InputRejected
from inkgate.types import Size


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """How a model's image processor sizes an image (`smart_resize` in transformers) and counts its tokens.

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

    def tokens(self, size: Size) -> int:
        """Image tokens in the prompt for an image of `size`, exact. Raises InputRejected as `resized` does."""
        seen = self.resized(size)
        wide, high = seen.width // self.factor, seen.height // self.factor
        return high * (wide + self.row_tokens) + self.extra_tokens

    def shrunk(self, factor: float) -> ImageLimits:
        """The same limits with the sides of the largest image scaled by `factor`; never under `min_pixels`."""
        return replace(self, max_pixels=max(self.min_pixels, int(self.max_pixels * factor**2)))

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
        return width, height
