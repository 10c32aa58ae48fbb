"""The shapes that the engine's models are fed, as far as they have bounds: TensorRT builds a model for a range."""

from __future__ import annotations

from typing import Final

from inkgate.runtimes import models as files
from inkgate.runtimes.providers import ShapeRange

MOST_LINES: Final = 8
"""In one call of the recogniser: see call_sizes."""
LEAST_WIDTH: Final = 96
MOST_WIDTH: Final = 5120
"""Longer lines are cut into pieces of 4,096 pixels on the whole, and a piece is at most a quarter wider."""
MOST_ORIENTED: Final = 16
"""Lines in one call of the classifier of upside-down lines."""


def shape_ranges() -> dict[str, ShapeRange]:
    """By the names of the models' files. Pages are of all shapes, so that there is none for detection; the page's
    orientation and layout have one shape alone, and cost little.
    """
    recognition = ShapeRange("x", (1, 3, 48, LEAST_WIDTH), (4, 3, 48, 320), (MOST_LINES, 3, 48, MOST_WIDTH))
    orientation = ShapeRange("x", (1, 3, 48, 192), (8, 3, 48, 192), (MOST_ORIENTED, 3, 48, 192))
    return {files.text_recognition().name: recognition, files.line_orientation().name: orientation}
