"""The range of shapes of each model's input: TensorRT builds an engine for a range."""

from __future__ import annotations

from typing import Final

from inkgate.runtimes import models as files
from inkgate.runtimes.providers import ShapeRange

MOST_LINES: Final = 8
"""Maximum lines per call of the recognition model: see call_sizes."""
LEAST_WIDTH: Final = 96
MOST_WIDTH: Final = 5120
"""Longer lines are cut into pieces of 4,096 pixels on average; a piece is at most a quarter wider."""
MOST_ORIENTED: Final = 16
"""Lines per call of the classifier of upside-down lines."""


def shape_ranges() -> dict[str, ShapeRange]:
    """By file name of the model. Detection has none, as pages have all shapes; page orientation and layout have a
    single shape each and take little time.
    """
    recognition = ShapeRange("x", (1, 3, 48, LEAST_WIDTH), (4, 3, 48, 320), (MOST_LINES, 3, 48, MOST_WIDTH))
    orientation = ShapeRange("x", (1, 3, 48, 192), (8, 3, 48, 192), (MOST_ORIENTED, 3, 48, 192))
    return {files.text_recognition().name: recognition, files.line_orientation().name: orientation}
