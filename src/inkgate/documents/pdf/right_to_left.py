"""Lines with right-to-left letters, of runs of a PDF's characters. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from math import floor
from statistics import median

from inkgate.documents.pdf.glyph import is_right_to_left
from inkgate.documents.pdf.logical_order import BRACKETS, glyph_text, logical_order, shown_from_right, with_pairs
from inkgate.documents.pdf.runs import (
    AHEAD,
    BACK,
    JOIN_AHEAD,
    MOVED_WORD_GAP,
    WORD_GAP,
    CharacterRun,
    PlacedCharacter,
    is_mark,
    is_over,
    same_line,
)

_BAND = 16.0
_OVERLAP = 0.3
"""Maximum overlap of characters of two parts of a line, in ems."""
_ONE_ORIGIN = 0.01
"""Maximum distance of origins that are the same, in ems."""
_NUMBER_GAP = 0.28
"""Minimum gap that is a space between digits and their separators, in ems: a 1 has 0.2 beside it."""
_OF_NUMBERS = {"EN", "CS", "ES"}
_BOUNDARY_GAP = 0.22
"""Minimum gap that is a space beside brackets, signs, numbers and Latin words, in ems. In four programs' PDFs with 15
fonts, spaces were 0.23 and more, gaps without one 0.21 at most."""
_SPACE_SHARE, _NARROWEST = 0.55, 0.1
"""The same as a share of the spaces between the line's other words, of which narrow fonts have narrow ones, and the
least that it is then."""


def right_to_left_share(runs: Sequence[CharacterRun]) -> float:
    """Share of the letters that are written from right to left."""
    letters = [piece.text[0] for run in runs for piece in run.pieces if piece.text[0].isalpha()]
    return sum(map(is_right_to_left, letters)) / max(len(letters), 1)


def right_to_left_lines(chains: Sequence[list[CharacterRun]]) -> list[list[CharacterRun]]:
    """The chains, joined where one with right-to-left letters stands beside another on one baseline: numbers and Latin
    words, which the file has in another place.
    """
    bands: dict[tuple[int, int], list[int]] = {}
    beside: dict[int, list[int]] = {}
    for number, chain in enumerate(chains):
        if chain[0].vertical:
            continue
        for other in {other for key in _keys(chain) for other in bands.get(key, ())}:
            if _is_one_line(chains[other], chain):
                beside.setdefault(number, []).append(other)
                beside.setdefault(other, []).append(number)
        for key in _keys(chain):
            bands.setdefault(key, []).append(number)
    lines: list[list[int]] = []
    placed: set[int] = set()
    for number, chain in enumerate(chains):
        if number in placed or not any(run.right_to_left for run in chain):
            continue
        line = [number]
        placed.add(number)
        for member in line:  # grows while its members' neighbours are added
            line.extend(other for other in beside.get(member, ()) if other not in placed)
            placed.update(line)
        lines.append(sorted(line))
    lines.extend([number] for number in range(len(chains)) if number not in placed)
    return [[run for number in line for run in chains[number]] for line in sorted(lines)]


def _keys(chain: Sequence[CharacterRun]) -> list[tuple[int, int]]:
    first = floor(min(run.v0 for run in chain) / _BAND)
    last = floor(max(run.v1 for run in chain) / _BAND)
    return [(chain[0].angle, band) for band in range(first, min(last, first + 20) + 1)]


def _is_one_line(chain: Sequence[CharacterRun], other: Sequence[CharacterRun]) -> bool:
    for letters, marks in ((chain, other), (other, chain)):
        if all(is_mark(piece.text) for run in marks for piece in run.pieces):
            return any(is_over(run, piece) for run in letters for piece in marks[0].pieces[:1])
    return any(_is_beside(run, beside) for run in chain for beside in other)


def _is_beside(run: CharacterRun, other: CharacterRun) -> bool:
    if not same_line(run, other, run.pieces[0].base, other.pieces[0].base):
        return False
    size = max(run.pieces[0].size, other.pieces[0].size)
    gap = max(run.u0 - other.u1, other.u0 - run.u1)
    near = other.pieces[0].moved or not (run.right_to_left or other.right_to_left)
    if gap > (JOIN_AHEAD if near else AHEAD) * size:
        return False
    return gap >= BACK / 2 * size or not _overlap(run, other, _OVERLAP * size)


def _overlap(run: CharacterRun, other: CharacterRun, most: float) -> bool:
    """Whether characters of one stand on the other's by more than `most`."""
    placed = sorted((piece.u0, piece.u1) for piece in (*run.pieces, *other.pieces))
    return any(left[1] - right[0] > most for left, right in pairwise(placed))


def in_reading_order(pieces: Sequence[PlacedCharacter], share: float) -> tuple[list[PlacedCharacter], list[bool]]:
    """A line's characters in reading order, and whether there is a space before each.

    Args:
        pieces: in file order.
        share: of the page's letters, those that are written from right to left.
    """
    for piece in pieces:
        if piece.parts in {0, len(piece.text)}:
            piece.text = glyph_text(piece.text, in_order=piece.parts == 0)
    placed = sorted(_without_marks(pieces), key=lambda item: (item[1].origin, item[0]))
    units: list[PlacedCharacter | None] = [placed[0][1]]
    least = _boundary_gap(placed)
    for left, right in pairwise(placed):
        if _is_space_between(left, right, least):
            units.append(None)
        units.append(right[1])
    texts = [" " if unit is None else unit.text for unit in units]
    order = logical_order(texts, from_right=shown_from_right(texts, share))
    found: list[PlacedCharacter] = []
    spaces: list[bool] = []
    spaced = False
    for at in order:
        unit = units[at]
        if unit is None:
            spaced = True
            continue
        found.append(unit)
        spaces.append(spaced and len(found) > 1)
        spaced = False
    for unit, text in zip(found, with_pairs([unit.text for unit in found], spaces), strict=True):
        unit.text = text
    return found, spaces


def _without_marks(pieces: Sequence[PlacedCharacter]) -> list[tuple[int, PlacedCharacter]]:
    """The characters with their numbers in the file; marks are part of the letters that they stand on."""
    letters = [(number, piece) for number, piece in enumerate(pieces) if not is_mark(piece.text)]
    if not letters or len(letters) == len(pieces):
        return letters or list(enumerate(pieces))
    for number, mark in enumerate(pieces):
        if is_mark(mark.text):
            _, letter = min(letters, key=lambda item: (*_distance(item[1], mark), abs(item[0] - number)))
            letter.text += mark.text
            if not _distance(letter, mark)[0]:  # pdfium divided the letter's box between both
                letter.u0, letter.u1 = min(letter.u0, mark.u0), max(letter.u1, mark.u1)
    return list(enumerate(letter for _, letter in letters))


def _distance(letter: PlacedCharacter, mark: PlacedCharacter) -> tuple[bool, float]:
    """Whether the mark's glyph begins elsewhere than the letter's, and how far its middle is from the letter's ink."""
    middle = (mark.u0 + mark.u1) / 2
    apart = abs(letter.origin - mark.origin) > _ONE_ORIGIN * mark.size
    return apart, max(letter.u0 - middle, middle - letter.u1, 0.0)


def _boundary_gap(placed: Sequence[tuple[int, PlacedCharacter]]) -> float:
    """Minimum gap that is a space beside brackets, signs, numbers and Latin words: half of the line's other spaces."""
    known = [
        (right.u0 - left.u1) / max(left.size, right.size)
        for (first, left), (second, right) in pairwise(placed)
        if abs(first - second) == 1 and _kind(left) == _kind(right) == "R" and (right if second > first else left).space
    ]
    return min(_BOUNDARY_GAP, max(_SPACE_SHARE * median(known), _NARROWEST)) if known else _BOUNDARY_GAP


def _is_space_between(
    left: tuple[int, PlacedCharacter], right: tuple[int, PlacedCharacter], boundary_gap: float
) -> bool:
    """Whether there is a space between neighbours, of which the numbers in the file are given.

    pdfium adds spaces where numbers, Latin words and brackets stand beside letters, so there the gap decides.
    """
    (first, before), (second, after) = left, right
    gap = (after.u0 - before.u1) / max(before.size, after.size)
    kinds = {_kind(before), _kind(after)}
    if len(kinds) > 1 and kinds <= _OF_NUMBERS:
        return gap > _NUMBER_GAP
    if before.text in BRACKETS or after.text in BRACKETS:
        return gap > _BOUNDARY_GAP
    if abs(first - second) != 1:
        return gap > boundary_gap
    later = after if second > first else before
    if later.space:
        return (len(kinds) == 1 and not _has_marks(before, after)) or gap > boundary_gap
    return gap > (MOVED_WORD_GAP if later.moved else WORD_GAP)


def _has_marks(*pieces: PlacedCharacter) -> bool:
    return any(is_mark(piece.text[-1]) for piece in pieces)


def _kind(piece: PlacedCharacter) -> str:
    kind = unicodedata.bidirectional(piece.text[0])
    return {"AL": "R", "AN": "EN"}.get(kind, kind)
