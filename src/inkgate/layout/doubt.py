"""What may be wrong with a part of a page: measures of its text and its order, from its lines and blocks. Pure.

Each measure but the length grows with doubt. confidence.py turns them into probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median, pstdev

from inkgate.layout.text.surprise import surprise
from inkgate_client.types import Block, BlockType, Box, Line, PageResult, Word, mean_confidence

MIN_DOUBT = 1e-4
"""Doubts below this are equal; confidences are published with four digits."""
SAME_ROW = 0.5
"""Lines that share this part of the lower one's height stand side by side."""
LONG_LINE = 3.0
"""Width of a line, in multiples of its height, from which its slope can be told."""
MAX_BEND = 0.1
"""Deviation of slopes from which a page can't be bent more: about 6 degrees."""
BEND = 0.01
"""Unit of bend: slopes of a page scanned flat deviate by less, those of a photographed page by one to ten."""
SURE_WORD = 0.95
"""Confidence of a word below which it is unsure: of those that have more, 99 in 100 are right."""
TOLERATED = 0.03
"""Share of a page's words that may be wrong: its text is right above an F1 of 0.97."""
CLEAR_HEIGHT = 24.0
"""Pixels; lines of this height or more are large enough for the recogniser, which sees 48."""
MAX_BLOCKS = 400
"""Maximum blocks of a page that are compared with each other: more would cost more than it tells."""
MARGINAL = frozenset({BlockType.FIGURE, BlockType.HEADER, BlockType.FOOTER, BlockType.FORMULA})
"""Types that are rarely read right as text: what is written in pictures, in margins, in formulas."""

MAX_SURPRISAL, MAX_TOTAL = 5.0, 20.0
"""Confidences below 0.007 are equal, and so are pages with more than four such blocks."""

Measures = Mapping[str, float]


def text_measures(lines: Sequence[Line]) -> Measures:
    """What makes the text of a page doubtful; of its lines, at least one. Its worst words make it wrong, not the mean.

    unsure: root of the share of words below SURE_WORD, in [0, 1].
    worst: logarithm of the doubt (1 - confidence) of the word that TOLERATED words are worse than, from 0 (MIN_DOUBT)
        to 4.
    small: halvings of CLEAR_HEIGHT to the median height of the lines, at least 0.
    odd: share of characters in words that don't look like words, in [0, 1].
    codes: share of characters in words of letters and digits, such as TNFRSF12A: their neighbours don't tell 0 from O.
    bend: as order_measures has it.
    """
    confidences = sorted(word.confidence for word in _words(lines))
    unsure = sum(confidence < SURE_WORD for confidence in confidences) / max(1, len(confidences))
    worst = confidences[int(TOLERATED * len(confidences))] if confidences else 0.0
    return {
        "unsure": math.sqrt(unsure),
        "worst": _logarithm(1.0 - worst),
        "small": max(0.0, math.log2(CLEAR_HEIGHT / max(1.0, median(map(_height, lines))))),
        "odd": _odd(lines),
        "codes": _codes(lines),
        "bend": bend(lines),
    }


def order_measures(page: PageResult) -> Measures:
    """What makes the order of a page's lines doubtful; the lines in their order, at least one.

    bend: deviation of the lines' slopes, in BENDs: on curved or creased paper, rows and columns run into each other.
    rows: share of neighbours in the order that stand side by side; columns would be another order.
    worst, total: the greatest doubt and the sum of the doubts of where blocks are read, as _surprisal has them.
    """
    doubts = [_surprisal(block.order_confidence) for block in page.blocks or ()]
    return {
        "bend": bend(page.lines),
        "rows": _rows(page.lines),
        "worst": max(doubts, default=0.0),
        "total": min(sum(doubts), MAX_TOTAL),
    }


def page_doubt(blocks: Sequence[Block]) -> float:
    """How doubtful the places of a page's blocks are: the logarithm of the mean doubt, from 0 (MIN_DOUBT) to 4."""
    known = [1 - block.order_confidence for block in blocks if block.order_confidence is not None]
    return _logarithm(sum(known) / max(len(known), 1))


def structure_measures(number: int, blocks: Sequence[Block], page: float) -> Measures:
    """What makes the type of block `number` of a page, and its place in the order, doubtful. `page`: its page_doubt.

    type, order, around: logarithms of the doubt in its type, in its place, and in that of a block before or behind it.
    unknown: 1 if neither its type nor its place has a known doubt.
    """
    block = blocks[number]
    around = [
        _log_doubt(other.order_confidence)
        for other in (*blocks[max(number - 1, 0) : number], *blocks[number + 1 : number + 2])
    ]
    return {
        "type": _log_doubt(block.type_confidence),
        "order": _log_doubt(block.order_confidence),
        "around": max(around, default=0.0),
        "page": page,
        "unknown": float(block.type_confidence is None and block.order_confidence is None),
    }


def heading_measures(block: Block) -> Measures:
    """What makes it doubtful that a block is a heading, or none."""
    return {"type": _surprisal(block.type_confidence), "title": float(block.type is BlockType.TITLE)}


def table_measures(block: Block) -> Measures:
    """What makes a table doubtful. `wide`: how many cells it has, in doublings."""
    cells = len(block.table.cells) if block.table is not None else 0
    return {"type": _surprisal(block.type_confidence), "wide": math.log2(1 + cells)}


def _log_doubt(confidence: float | None) -> float:
    return 0.0 if confidence is None else _logarithm(1.0 - confidence)


def _surprisal(confidence: float | None) -> float:
    """Minus the natural logarithm of a confidence, from 0 for one that is 1 or unknown to MAX_SURPRISAL."""
    return 0.0 if confidence is None else min(MAX_SURPRISAL, -math.log(max(confidence, 1e-9)))


def block_measures(number: int, blocks: Sequence[Block], lines: Sequence[Line], page_bend: float) -> Measures:
    """Measures block `number` of a page with these lines. `rows` is as order_measures has it, but of the block's lines.

    doubt: logarithm of the mean doubt (1 - confidence) of the characters, from 0 (MIN_DOUBT) to 4.
    overlap: part of its box that others' boxes cover, in [0, 1]: two readings of one place, or wrong bounds.
    brief: how short it is, in halvings of 1,024 characters, at least 0: one wrong character makes a short text wrong.
    table, marginal: 1 for blocks of these types.
    """
    block = blocks[number]
    own = [lines[index] for index in block.lines]
    length = sum(len(line.text) for line in own)
    return {
        "doubt": _doubt(own),
        "bend": page_bend,
        "rows": _rows(own),
        "overlap": _overlap(number, blocks),
        "brief": max(0.0, 10 - math.log2(1 + length)),
        "table": float(block.type is BlockType.TABLE),
        "marginal": float(block.type in MARGINAL),
    }


def bend(lines: Sequence[Line]) -> float:
    """Deviation of the slopes of long lines, in BENDs; 0 for fewer than three."""
    slopes = [_slope(line) for line in lines if _is_long(line)]
    return min(MAX_BEND, pstdev(slopes)) / BEND if len(slopes) > 2 else 0.0


def _doubt(lines: Sequence[Line]) -> float:
    return _logarithm(1.0 - (mean_confidence(lines) or 0.0))


def _logarithm(doubt: float) -> float:
    """Returns the logarithm, from 0 for MIN_DOUBT and less to 4 for 1."""
    return math.log10(min(1.0, max(MIN_DOUBT, doubt)) / MIN_DOUBT)


def _words(lines: Sequence[Line]) -> list[Word | Line]:
    """The words with a letter or digit; lines whose words are unknown are words."""
    words: list[Word | Line] = []
    for line in lines:
        words += [word for word in line.words or (line,) if any(map(str.isalnum, word.text))]
    return words


def _odd(lines: Sequence[Line]) -> float:
    length = sum(len(line.text) for line in lines)
    return sum(surprise(line.text) * len(line.text) for line in lines) / max(1, length)


def _codes(lines: Sequence[Line]) -> float:
    words = [word for line in lines for word in line.text.split()]
    mixed = [word for word in words if any(map(str.isalpha, word)) and any(map(str.isdigit, word))]
    return sum(map(len, mixed)) / max(1, sum(map(len, words)))


def _height(line: Line) -> float:
    """Returns the height of the letters of a line, which may be turned."""
    left, top, right, bottom = line.box
    return min(right - left, bottom - top)


def _rows(lines: Sequence[Line]) -> float:
    boxes = [line.box for line in lines]
    return sum(_side_by_side(a, b) for a, b in pairwise(boxes)) / max(1, len(boxes) - 1)


def _overlap(number: int, blocks: Sequence[Block]) -> float:
    if len(blocks) > MAX_BLOCKS:
        return 0.0
    left, top, right, bottom = blocks[number].box
    covered = 0.0
    for i, other in enumerate(blocks):
        across = min(right, other.box[2]) - max(left, other.box[0])
        down = min(bottom, other.box[3]) - max(top, other.box[1])
        if i != number and other.text and across > 0 and down > 0:
            covered += across * down
    return min(1.0, covered / max(1.0, (right - left) * (bottom - top)))


def _slope(line: Line) -> float:
    (x0, y0), (x1, y1), *_ = line.quad
    return (y1 - y0) / max(1.0, x1 - x0)


def _is_long(line: Line) -> bool:
    (x0, y0), (x1, _), _, (_, y3) = line.quad
    return x1 - x0 > LONG_LINE * max(1.0, y3 - y0)


def _side_by_side(a: Box, b: Box) -> bool:
    shared = min(a[3], b[3]) - max(a[1], b[1])
    return shared > SAME_ROW * min(a[3] - a[1], b[3] - b[1])
