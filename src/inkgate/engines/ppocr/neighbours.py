"""Removes a character that was read in two neighbouring lines.

Boxes of neighbours on a row may overlap, and crops include a margin around their boxes (`crops.with_margin`): the
character there may be read in both lines, as in "16" and "6 Annual Report" at a footnote mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np

from inkgate.engines.ppocr.crops import along_quad
from inkgate.engines.ppocr.recognition import RecognizedText
from inkgate.runtimes.base import FloatArray


@dataclass(frozen=True, slots=True)
class RecognizedCrop:
    """A line's quad (4, 2) and the text recognized in its crop."""

    quad: FloatArray
    reading: RecognizedText


def own_text(line: RecognizedCrop, lines: Sequence[RecognizedCrop]) -> RecognizedText:
    """The line's text without a character at either end that lies in another line and was also read there.

    A character in both boxes stays with the line that ends there; a character in a crop's margin is removed.
    """
    text = line.reading.text
    if len(text) < 2:
        return line.reading
    places = along_quad(line.reading.positions, line.quad)
    first = int(any(_holds(other, line, places[0], -1) for other in lines))
    last = int(places[-1] > 1 and any(_holds(other, line, places[-1], 0) for other in lines))
    if not first and not last:
        return line.reading
    inner = text[first : len(text) - last]
    kept = slice(first + len(inner) - len(inner.lstrip()), first + len(inner.rstrip()))
    reading = line.reading
    return replace(reading, text=text[kept], confidences=reading.confidences[kept], positions=reading.positions[kept])


def _holds(other: RecognizedCrop, line: RecognizedCrop, place: float, end: int) -> bool:
    """Whether another line covers the point at `place` along the middle of `line`, and has its character at that end.

    `end`: the other line's last character (-1) for the start of `line`, its first (0) for the end of `line`.
    """
    character = line.reading.text[0 if end else -1]
    if other is line or not other.reading.text or other.reading.text[end] != character:
        return False
    left, right = (line.quad[0] + line.quad[3]) / 2, (line.quad[1] + line.quad[2]) / 2
    x, y = (left + (right - left) * place).tolist()
    return cv2.pointPolygonTest(np.asarray(other.quad, np.float32), (x, y), measureDist=False) >= 0
