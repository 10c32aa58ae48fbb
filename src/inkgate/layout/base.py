"""The Layout port: what finds the blocks of a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from inkgate.types import BlockType, Box, RgbArray


@dataclass(frozen=True, slots=True)
class Region:
    """A part of the page and what it seems to be; `box` in pixels of the image that was looked at."""

    type: BlockType
    box: Box
    confidence: float

    def scaled(self, factor: float) -> Region:
        """The same region in an image `factor` times as large."""
        left, top, right, bottom = self.box
        return Region(self.type, (left * factor, top * factor, right * factor, bottom * factor), self.confidence)


class Layout(Protocol):
    """Finds the regions of a page."""

    def find(self, pixels: RgbArray) -> list[Region]:
        """Regions of an upright page, best first; may overlap, may be none. Blocking; safe from many threads."""
        ...
