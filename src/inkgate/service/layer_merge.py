"""Merges the lines of a PDF's text layer with what was read from the page's pixels. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

import numpy as np
from numpy.typing import NDArray

from inkgate.page import LineStyle, TextLayer
from inkgate.runtimes.base import FloatArray
from inkgate_client.types import Box, Line, Quad, ReviewNote, ReviewReason, Word

MAX_SURE = 0.9999
"""Confidence of lines that were read from pixels is less than 1.0, which only a text layer has."""
UNDECIDED = 0.5
"""Confidence of a line whose font is doubtful and that could not be read from the pixels."""
_REACH = 0.3
"""Heights of a line by which a word's centre may be outside of it and still be in it."""
_ALIKE = 0.8
"""Similarity of the letters of a line of the text layer and of its reading from which the layer is right. Different
maps of characters give less than 0.4, readings of legible print more than 0.9."""
MIN_UNSURE = 0.9
"""Confidence of a reading that counts where there may be no text."""
_DASHES = frozenset("\xad\u2010\u2011\u2012\u2013\u2014\u2212")
_SIGNS = frozenset(".,-") | _DASHES
_SIGNED = re.compile(r"[.,-](?=\d)|\d")
_NUMBER = re.compile(r"\d[\d.,]*\d|\d")
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class MergedLines:
    """Lines of the page, those of the text layer first, with styles as in TextLayer; and what remains open."""

    lines: tuple[Line, ...]
    styles: tuple[LineStyle | None, ...] = ()
    notes: tuple[ReviewNote, ...] = ()


def merge(layer: TextLayer, read: Sequence[Line], places: Sequence[Box], unsure: Sequence[Box] = ()) -> MergedLines:
    """The lines of the layer, and of `read` those in `places` and those that replace doubtful lines.

    `unsure`: places that may be something else than text: what was read with little confidence there does not count,
    and none of them is noted as unread.
    """
    pieces = [(number, word) for number, line in enumerate(read) for word in line.words or (_as_word(line),)]
    centres = np.array([_centre(word.quad) for _, word in pieces], np.float32).reshape(-1, 2)
    known: BoolArray = np.any(_inside(centres, layer.lines), axis=1)
    doubted = _inside(centres, layer.doubtful) & ~known[:, np.newaxis]
    sure = np.array([read[number].confidence >= MIN_UNSURE for number, _ in pieces], np.bool_)
    wanted = (_in_boxes(centres, places) | (_in_boxes(centres, unsure) & sure)) & ~known
    kept, notes = list(layer.lines), list[ReviewNote]()
    for column, line in enumerate(layer.doubtful):
        own = np.flatnonzero(doubted[:, column])
        said = " ".join(pieces[at][1].text for at in own)
        if not said:
            words = tuple(replace(word, confidence=UNDECIDED) for word in line.words)
            kept.append(replace(line, confidence=UNDECIDED, words=words))
            notes.append(ReviewNote(ReviewReason.DOUBTFUL_LAYER, "", line.box))
        elif agree(line.text, said, layer.suspects[column] if layer.suspects else ""):
            kept.append(line)
            wanted[own] = False
            doubted[own] = False
        else:
            wanted[own] = True
    taken: dict[int, list[Word]] = {}
    for at in np.flatnonzero(wanted):
        number, word = pieces[at]
        taken.setdefault(number, []).append(word)
    found = [part for number, words in taken.items() for part in _parts(read[number], words)]
    notes += [ReviewNote(ReviewReason.INK_WITHOUT_TEXT, "", box) for box in _empty(places, found)]
    styles = (*layer.styles, *[None] * (len(kept) - len(layer.lines) + len(found))) if layer.styles else ()
    return MergedLines((*kept, *found), styles, tuple(notes))


def agree(layer: str, read: str, suspects: str = "") -> bool:
    """Whether a line of a text layer says what was read from its pixels: the same digits, and nearly the same letters.

    `suspects`: letters of the layer in whose place nothing else may have been read.
    """
    ours, theirs = _folded(layer), _folded(read)
    if _numbers(layer) != _numbers(read) or (set(suspects) & _SIGNS and _signed(layer) != _signed(read)):
        return False
    if ours == theirs:
        return True
    compared = SequenceMatcher(None, ours, theirs, autojunk=False)
    differing = {
        char for kind, start, end, _, _ in compared.get_opcodes() if kind != "equal" for char in ours[start:end]
    }
    return compared.ratio() >= _ALIKE and not differing & set(_folded(suspects))


def _numbers(text: str) -> str:
    """All digits of a text, with the points and commas between them."""
    return "".join(_NUMBER.findall(unicodedata.normalize("NFKC", text)))


def _signed(text: str) -> str:
    """All digits of a text, and the points, commas and dashes before them."""
    plain = "".join("-" if char in _DASHES else char for char in unicodedata.normalize("NFKC", text))
    return "".join(_SIGNED.findall(plain))


def _folded(text: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKD", text).casefold() if char.isalnum())


def _parts(line: Line, words: Sequence[Word]) -> Iterator[Line]:
    """The line if all of its words are wanted, else its runs of wanted words."""
    if len(words) >= len(line.words):
        yield replace(line, confidence=min(line.confidence, MAX_SURE))
        return
    run: list[Word] = []
    wanted = {id(word) for word in words}
    for word in (*line.words, None):
        if word is not None and id(word) in wanted:
            run.append(word)
        elif run:
            yield _line_of(line, run)
            run = []


def _line_of(line: Line, words: Sequence[Word]) -> Line:
    """A line of some words of another, spaced as there."""
    at, text = line.text.find(words[0].text), ""
    for word in words:
        start = line.text.find(word.text, at)
        if start < 0:
            text = " ".join(word.text for word in words)
            break
        text += (" " if text and line.text[at:start].strip(" ") != line.text[at:start] else "") + word.text
        at = start + len(word.text)
    quad: Quad = (words[0].quad[0], words[-1].quad[1], words[-1].quad[2], words[0].quad[3])
    mean = sum(word.confidence * len(word.text) for word in words) / max(sum(len(word.text) for word in words), 1)
    return Line(text, quad, min(mean, MAX_SURE), tuple(words))


def _as_word(line: Line) -> Word:
    return Word(line.text, line.quad, line.confidence)


def _centre(quad: Quad) -> tuple[float, float]:
    return sum(x for x, _ in quad) / 4, sum(y for _, y in quad) / 4


def _inside(points: FloatArray, lines: Sequence[Line]) -> BoolArray:
    """(N, M) bool: whether each point (N, 2) is within each line's quad, grown by _REACH of its height."""
    inside = np.zeros((len(points), len(lines)), np.bool_)
    for column, line in enumerate(lines):
        quad = np.array(line.quad, np.float32)
        right, down = quad[1] - quad[0], quad[3] - quad[0]
        length, height = max(float(np.linalg.norm(right)), 1e-3), max(float(np.linalg.norm(down)), 1e-3)
        offset = points - quad[0]
        along, across, reach = offset @ (right / length), offset @ (down / height), _REACH * height
        inside[:, column] = (
            (along >= -reach) & (along <= length + reach) & (across >= -reach) & (across <= height + reach)
        )
    return inside


def _in_boxes(points: FloatArray, boxes: Sequence[Box]) -> BoolArray:
    """(N,) bool: whether each point is in one of the boxes."""
    found = np.zeros(len(points), np.bool_)
    for left, top, right, bottom in boxes:
        x, y = points[:, 0], points[:, 1]
        found |= (x >= left) & (x <= right) & (y >= top) & (y <= bottom)
    return found


def _empty(boxes: Iterable[Box], lines: Sequence[Line]) -> list[Box]:
    """The boxes in which no line is."""
    return [box for box in boxes if not any(overlap(box, line.box) for line in lines)]


def overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
