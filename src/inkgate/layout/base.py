"""The Layout port: finds the blocks of a page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from inkgate.types import BlockType, Box, RgbArray


@dataclass(frozen=True, slots=True)
class Region:
    """A part of the page and its type.

    Attributes:
        box: in pixels of the model's input image.
        rank: its position in the reading order, from 0, if the layout model gives one.
        label: the model's own class name if it is more specific than `type`: `chart`, `seal`.
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
        """Regions of an upright page, best first; may overlap, may be empty. Blocking; safe from many threads."""
        ...
