"""Second readings of doubtful lines, from crops without a margin above and below.

The margin shows strokes of the lines above and below where print is tight or crooked; without it letters are enlarged
by three tenths. Of 219 doubtful lines of the development documents (4% of all lines, 2% of their width) 43 are read
better, 11 worse and the others alike if the more confident of the two readings counts. Misread characters of all lines
drop from 901 to 863, of lines lower than 20 pixels from 67 to 60. Small print gains from nothing else that was tried:
see docs/contributing/benchmarks.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from inkgate.engines.ppocr.crops import crop, with_margin
from inkgate.engines.ppocr.lines import LineCrop, is_legible
from inkgate.engines.ppocr.recognition import RecognizedText, unspaced
from inkgate.page import RgbArray
from inkgate.runtimes.base import FloatArray

_ACROSS = 0.0
"""Margin above and below. With 0.025 31 errors less, with -0.05, which cuts into the box, 39; with 0: 43."""
_MOST_LOST = 0.25
"""Share of its characters that the second reading may lack: of a box too low it reads little, with confidence."""


def is_doubtful(reading: RecognizedText, least: float, below: float) -> bool:
    """Whether to read a line twice: it is legible (`least`), but read with a confidence less than `below`.

    Lines of Han and the like are read once: their characters fill the box, and a tight crop cuts them.
    """
    if not is_legible(reading, least) or reading.confidence >= below:
        return False
    return 2 * sum(map(unspaced, reading.text)) < len(reading.text)


def tight_crops(rgb: RgbArray, quads: Sequence[FloatArray]) -> list[RgbArray]:
    """The pixels of quads (4, 2), each with a margin at its ends only. The other margin has no part in positions."""
    return [crop(rgb, with_margin(quad, _ACROSS)) for quad in quads]


def replace_worse(
    read: list[tuple[LineCrop, RecognizedText]], at: Sequence[int], again: Sequence[RecognizedText]
) -> None:
    """Puts the second readings `again` of the lines `at` in place of the less confident first ones."""
    for index, second in zip(at, again, strict=True):
        item, first = read[index]
        complete = _letters(second) >= (1 - _MOST_LOST) * _letters(first)
        if complete and second.confidence > first.confidence:
            read[index] = item, second


def _letters(reading: RecognizedText) -> int:
    return sum(character != " " for character in reading.text)
