"""The Layout port: what finds the blocks of a page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from inkgate.types import BlockType, Box, RgbArray


@dataclass(frozen=True, slots=True)
class Region:
    """A part of the page and what it seems to be.

    Attributes:
        box: in pixels of the image that was looked at.
        rank: its place in the order in which the page is read, from 0, where the layout model knows that.
        label: the model's own name of it, where that says more than `type` does: `chart`, `seal`.
    """

    type: BlockType
    box: Box
    confidence: float
    rank: int | None = None
    label: str = ""

    def scaled(self, factor: float) -> Region:
        """The same region in an image `factor` times as large."""
        left, top, right, bottom = self.box
        return replace(self, box=(left * factor, top * factor, right * factor, bottom * factor))


class Layout(Protocol):
    """Finds the regions of a page."""

    def find(self, pixels: RgbArray) -> list[Region]:
        """Regions of an upright page, best first; may overlap, may be none. Blocking; safe from many threads."""
        ...
