"""How much of a text was read: error rate, F1 and line recall, as docs/guides/accuracy.md defines them. Pure."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

from inkgate_bench.accuracy.manifest import TruthLine
from inkgate_client.types import Quad

CJK_SHARE = 0.3
"""Share of letters in scripts without spaces from which a text is compared by character bigrams."""
MIN_SPACE_SHARE = 0.03
LONGEST_MEAN_WORD = 5.5
"""A text whose lines hold a smaller share of spaces than this, though its tokens are longer than words on average
are, lacks its spaces. Measured on 110 European pages, receipts and tables: where spaces were kept, the share is 0.06
or more, or, in tables with a line for each cell, tokens have 2 to 5.5 characters; in WildReceipt's labels, which lack
most spaces, the share is 0.00 and tokens have 6 to 12."""
COVERED = 0.5
"""Share of a true line's area that must have been read for the line to be found."""
ALIKE = 0.5
"""Similarity that what was read there must have to the line's text."""


class Token(StrEnum):
    """What F1 counts."""

    WORDS = "words"
    BIGRAMS = "bigrams"


@dataclass(frozen=True, slots=True)
class ReadLine:
    """A line as read; `quad` in pixels of the image before it was turned upright, like the ground truth's."""

    text: str
    quad: Quad


@dataclass(frozen=True, slots=True)
class CharacterErrors:
    """Edits (Levenshtein) from what was read to the truth, and the truth's characters.

    `edits` are never more than `characters`: a page on which much was invented is wholly wrong, and can't outweigh
    others beyond that. `excess`: the edits beyond that.
    """

    edits: int
    characters: int
    excess: int = 0

    @property
    def rate(self) -> float:
        """Character error rate, in [0, 1]; 0 without any truth."""
        return self.edits / self.characters if self.characters else 0.0

    @property
    def uncapped_rate(self) -> float:
        """The same of all edits: above 1 where more was invented than there is; 0 without any truth."""
        return (self.edits + self.excess) / self.characters if self.characters else 0.0


def character_errors(truth: str, read: str, *, fold_case: bool = False) -> CharacterErrors:
    """Errors in reading order. Both texts in NFKC; white space doesn't count; case counts unless folded."""
    wanted, got = (_closed(_folded(text) if fold_case else _composed(text)) for text in (truth, read))
    edits = Levenshtein.distance(wanted, got)
    capped = min(len(wanted), edits)
    return CharacterErrors(capped, len(wanted), edits - capped)


def f1(truth: str, read: str) -> float:
    """F1 of the tokens of both as multisets, in [0, 1], whatever their order and case. Nothing in both: 1."""
    token = token_of(truth)
    wanted, got = (_tokens(_folded(text), token) for text in (truth, read))
    total = wanted.total() + got.total()
    return 2 * (wanted & got).total() / total if total else 1.0


def token_of(truth: str) -> Token:
    """Bigrams where the truth's script has no spaces, or where its spaces were left out; else words."""
    letters = [letter for letter in truth if letter.isalpha()]
    if letters and sum(map(is_spaceless, letters)) / len(letters) >= CJK_SHARE:
        return Token.BIGRAMS
    lines = [found for line in truth.splitlines() if (found := line.split())]
    words = sum(map(len, lines))
    characters = sum(len(word) for line in lines for word in line)
    spaces = words - len(lines)
    closed = characters > LONGEST_MEAN_WORD * words and spaces < MIN_SPACE_SHARE * (characters + spaces)
    return Token.BIGRAMS if closed else Token.WORDS


def line_recall(truth: Sequence[TruthLine], read: Sequence[ReadLine]) -> float:
    """Share of the true lines that were found, in [0, 1]; 1 where there are none.

    A true line is found when the read lines that overlap it cover at least COVERED of its area, and their texts,
    joined from left to right, hold its text with a similarity of at least ALIKE.
    """
    lines = [line for line in truth if _closed(line.text)]
    return sum(_found(line, read) for line in lines) / len(lines) if lines else 1.0


def _found(line: TruthLine, read: Sequence[ReadLine]) -> bool:
    area = _area(line.quad)
    overlaps = [(_intersection(line.quad, piece.quad), piece) for piece in read]
    # A read line that merely touches the line above or below is not a piece of it.
    pieces = [(part, piece) for part, piece in overlaps if part >= 0.25 * min(area, _area(piece.quad)) > 0]
    if sum(part for part, _ in pieces) < COVERED * area:
        return False
    ordered = sorted((piece for _, piece in pieces), key=lambda piece: min(x for x, _ in piece.quad))
    wanted, got = (_closed(_folded(text)) for text in (line.text, "".join(piece.text for piece in ordered)))
    if len(got) <= len(wanted):
        return fuzz.ratio(wanted, got) >= 100 * ALIKE
    return fuzz.partial_ratio(wanted, got) >= 100 * ALIKE


def closed_folded(text: str) -> str:
    """NFKC in small letters without white space: what is compared where neither case nor spaces count."""
    return _closed(_folded(text))


def token_counts(text: str, token: Token) -> Counter[str]:
    """The tokens of a text as a multiset, whatever their case."""
    return _tokens(_folded(text), token)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _folded(text: str) -> str:
    """NFKC in small letters: the truth of some sets (SROIE) was put in capitals by those who made it."""
    return _composed(text).lower()


def _closed(text: str) -> str:
    return "".join(text.split())


def _tokens(text: str, token: Token) -> Counter[str]:
    if token is Token.WORDS:
        return Counter(text.split())
    closed = _closed(text)
    if len(closed) < 2:
        return Counter([closed] if closed else [])
    return Counter(first + second for first, second in pairwise(closed))


def is_spaceless(letter: str) -> bool:
    """Whether the letter's script is written without spaces: Han, kana, Thai, Lao, Khmer, Burmese."""
    code = ord(letter)
    return (
        0x0E00 <= code <= 0x0EFF
        or 0x1000 <= code <= 0x109F
        or 0x1780 <= code <= 0x17FF
        or 0x3040 <= code <= 0x30FF
        or 0x3400 <= code <= 0x9FFF
        or 0xF900 <= code <= 0xFAFF
        or 0x20000 <= code <= 0x3FFFF
    )


def _polygon(quad: Quad) -> NDArray[np.float32]:
    return np.asarray(quad, np.float32)


def _area(quad: Quad) -> float:
    return float(cv2.contourArea(_polygon(quad)))


def _intersection(first: Quad, second: Quad) -> float:
    if not _boxes_meet(first, second):
        return 0.0
    return float(cv2.intersectConvexConvex(_polygon(first), _polygon(second))[0])


def _boxes_meet(first: Quad, second: Quad) -> bool:
    return all(
        max(corner[axis] for corner in first) > min(corner[axis] for corner in second)
        and max(corner[axis] for corner in second) > min(corner[axis] for corner in first)
        for axis in (0, 1)
    )
