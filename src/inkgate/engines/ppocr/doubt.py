"""How doubtful each word is that the tiny recognizer read, from its reading alone.

Boosted trees, fitted by training/cascade.py to words that the small recognizer reads differently. A limit on the least
certain character alone sends more words to it for the same accuracy: benchmarks/results/2026-11-30-cascade.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from inkgate.engines.ppocr.crops import READING_HEIGHT
from inkgate.engines.ppocr.recognition import RecognizedText
from inkgate.page import RgbArray
from inkgate.runtimes import models as files
from inkgate.runtimes.base import FloatArray
from inkgate.runtimes.trees import BoostedTrees

_Ints = NDArray[np.int64]
_Bools = NDArray[np.bool_]
_Measures = NDArray[np.float64]

_SPACES = (0x20, 0x3000)
_LOWER, _UPPER, _DIGIT, _SIGN, _OTHER = range(5)
_ASCII: Final = np.array(
    [
        _LOWER if c.islower() else _UPPER if c.isupper() else _DIGIT if c.isdigit() else _SIGN
        for c in map(chr, range(128))
    ],
    np.int64,
)
_ALIKE: Final = np.array([c in "Il1|!ij0OoQS5B8Z2G6g9q.,:;'`-" for c in map(chr, range(128))])
"""ASCII characters that differ from another one in little."""
_USUAL_PITCH = 20.0
"""Distance of two characters in pixels, at the height of 48, of a word that has only one."""
_LEAST = 1e-3
"""Confidence that a character has at least, for the logarithm."""
_ROWS = 8
"""Rows of a crop in which its sharpness is measured."""


@dataclass(frozen=True, slots=True)
class Words:
    """W words of several readings: runs of characters between spaces, in order.

    Attributes:
        lines: (W,) the index of each word's reading.
        starts, ends: (W,) its characters, as indices into that reading.
    """

    lines: _Ints
    starts: _Ints
    ends: _Ints


Doubts = Callable[[Sequence[RecognizedText], Sequence[RgbArray]], tuple[Words, _Measures]]
"""From readings and their crops to the words, and for each the probability that it is misread. Blocking."""


@dataclass(frozen=True, slots=True)
class _Characters:
    """The characters of all readings, one after the other.

    Attributes:
        line: (n,) of each character.
        code: (n,) Unicode.
        confidence: (n,); 1 of spaces.
        place: (n,) in pixels from the left, at the height of 48.
        space: (n,) whether it is one.
        starts, ends: (W,) of the words, as indices into these arrays.
        word: (n,) of each character, a space counting to the word before it.
        offsets: (lines,) the index of each line's first character.
    """

    line: _Ints
    code: _Ints
    confidence: _Measures
    place: _Measures
    space: _Bools
    starts: _Ints
    ends: _Ints
    word: _Ints
    offsets: _Ints

    @classmethod
    def of(cls, readings: Sequence[RecognizedText], widths: Sequence[float]) -> _Characters:
        """`widths`: of the crops in pixels, at the height of 48."""
        lengths = np.array([len(reading.text) for reading in readings], np.int64)
        line = np.repeat(np.arange(len(readings)), lengths)
        text = "".join(reading.text for reading in readings)
        code = np.frombuffer(text.encode("utf-32-le"), np.uint32).astype(np.int64)
        space = np.isin(code, _SPACES)
        inked = np.concatenate([[False], ~space, [False]])
        lines = np.concatenate([[-1], line, [-1]])
        changes = lines[1:] != lines[:-1]
        starts = np.flatnonzero(inked[1:-1] & (~inked[:-2] | changes[:-1]))
        ends = np.flatnonzero(inked[1:-1] & (~inked[2:] | changes[1:])) + 1
        confidence = _joined([reading.confidences for reading in readings])
        place = _joined([reading.positions * width for reading, width in zip(readings, widths, strict=True)])
        word = np.searchsorted(starts, np.arange(len(code)), side="right") - 1
        return cls(line, code, confidence, place, space, starts, ends, word, np.cumsum(lengths) - lengths)

    def words(self) -> Words:
        lines = self.line[self.starts]
        return Words(lines, self.starts - self.offsets[lines], self.ends - self.offsets[lines])


@dataclass(frozen=True, slots=True)
class WordDoubt:
    """The trees."""

    trees: BoostedTrees

    @classmethod
    def load(cls) -> WordDoubt:
        with np.load(files.recognition_doubt()) as kept:
            return cls(BoostedTrees.of(kept))

    def of(self, readings: Sequence[RecognizedText], crops: Sequence[RgbArray]) -> tuple[Words, _Measures]:
        """The words, and for each of them (W,) the probability that it is misread. Blocking."""
        words, measures = measured(readings, crops)
        return words, self.trees.probabilities(measures) if len(measures) else np.zeros(0)


def measured(readings: Sequence[RecognizedText], crops: Sequence[RgbArray]) -> tuple[Words, _Measures]:
    """The words and what the trees see of each, (W, 27) float64. `crops`: of the readings."""
    widths = [READING_HEIGHT * crop.shape[1] / crop.shape[0] for crop in crops]
    characters = _Characters.of(readings, widths)
    words = characters.words()
    if not len(words.lines):
        return words, np.zeros((0, 27))
    sharp = np.array([_sharpness(crop) for crop in crops])[words.lines]
    columns = [*_confidences(characters), *_kinds(characters), *_distances(characters), sharp]
    return words, np.stack(columns, axis=1)


def _confidences(of: _Characters) -> list[_Measures]:
    """Of each word (W,): what its characters' confidences, its neighbours' and the line's tell."""
    counts = (of.ends - of.starts).astype(np.float64)
    lost = np.where(of.space, 0.0, 1 - of.confidence)
    surprise = np.where(of.space, 0.0, -np.log(np.maximum(of.confidence, _LEAST)))
    least = np.minimum.reduceat(np.where(of.space, 1.0, of.confidence), of.starts)
    line = of.line[of.starts]
    before, after = np.ones(len(least)), np.ones(len(least))
    together = line[1:] == line[:-1]
    before[1:][together], after[:-1][together] = least[:-1][together], least[1:][together]
    sizes = np.bincount(line, counts, len(of.offsets))
    of_line = np.bincount(of.line, lost, len(sizes)) / np.maximum(sizes, 1)
    spaces = np.concatenate([[1.0], of.confidence, [1.0]])
    return [
        least,
        np.add.reduceat(lost, of.starts) / counts,
        np.add.reduceat(surprise, of.starts),
        of.confidence[of.starts],
        of.confidence[of.ends - 1],
        before,
        after,
        of_line[line],
        np.where(_continues(line), spaces[of.starts], 1.0),
        np.where(_continues(line[::-1])[::-1], spaces[of.ends + 1], 1.0),
        counts,
        sizes[line],
    ]


def _continues(line: _Ints) -> _Bools:
    """Whether the word before each is of the same line."""
    return np.concatenate([[False], line[1:] == line[:-1]])


def _kinds(of: _Characters) -> list[_Measures]:
    """Of each word (W,): which kinds of characters it has, and of which kind the least certain one is."""
    counts = of.ends - of.starts
    low = np.minimum(of.code, 127)
    kind = np.where(of.code < 128, _ASCII[low], _OTHER)
    inked = ~of.space
    shares = [np.add.reduceat((inked & (kind == each)).astype(float), of.starts) / counts for each in range(5)]
    letters = shares[_LOWER] + shares[_UPPER]
    alike = np.add.reduceat((inked & (of.code < 128) & _ALIKE[low]).astype(float), of.starts)
    follows = np.concatenate([[False], inked[1:] & inked[:-1] & (of.line[1:] == of.line[:-1])])
    rises = follows & (kind == _UPPER) & (np.concatenate([[_OTHER], kind[:-1]]) == _LOWER)
    confidence = np.where(of.space, 2.0, of.confidence)
    order = np.lexsort((confidence, of.word))
    first = order[np.searchsorted(of.word[order], np.arange(len(of.starts)))]
    return [
        *shares,
        ((letters > 0) & (shares[_DIGIT] > 0)).astype(float),
        np.add.reduceat(rises.astype(float), of.starts),
        alike / counts,
        kind[first].astype(float),
        ((of.code[first] < 128) & _ALIKE[low[first]]).astype(float),
    ]


def _distances(of: _Characters) -> list[_Measures]:
    """Of each word (W,): how far apart its characters stand."""
    counts = of.ends - of.starts
    span = of.place[of.ends - 1] - of.place[of.starts]
    pitch = np.where(counts > 1, span / np.maximum(counts - 1, 1), _USUAL_PITCH)
    inked = ~of.space
    inside = np.concatenate([[False], inked[1:] & inked[:-1] & (of.line[1:] == of.line[:-1])])
    apart = np.concatenate([[0.0], np.diff(of.place)])
    widest = np.maximum.reduceat(np.where(inside, apart, 0.0), of.starts)
    narrowest = np.minimum.reduceat(np.where(inside, apart, np.inf), of.starts)
    narrowest = np.where(np.isfinite(narrowest), narrowest, pitch)
    line = of.line[of.starts]
    of_line = np.bincount(line, span) / np.maximum(np.bincount(line, np.maximum(counts - 1, 0)), 1)
    usual = np.where(of_line > 0, of_line, _USUAL_PITCH)[line]
    return [pitch, widest / usual, narrowest / usual, pitch / usual]


def _sharpness(crop: RgbArray) -> float:
    """How abrupt the edges of a crop's middle rows are: low where it was enlarged from small print, or is blurred."""
    height = crop.shape[0]
    rows = crop[height // 4 : max(height * 3 // 4, 1) : max(height // (2 * _ROWS), 1), :, 1].astype(np.float32)
    if rows.shape[1] < 2:
        return 0.0
    range_ = float(rows.max() - rows.min())
    steep: FloatArray = np.abs(np.diff(rows, axis=1)).max(axis=1)
    return float(steep.mean() * height / READING_HEIGHT / max(range_, 1.0))


def _joined(parts: Sequence[FloatArray]) -> _Measures:
    return np.concatenate([np.zeros(0), *parts])
