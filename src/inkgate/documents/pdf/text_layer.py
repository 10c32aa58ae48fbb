"""Lines and words of a PDF page's text layer, in the form of an engine's result. Pure.

Characters that follow each other on one baseline, in file order, form a run; runs that continue each other form a line.
The order of lines is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from math import floor

from inkgate.documents.pdf.glyph import FIRST_CJK, Glyph, is_cjk
from inkgate.documents.pdf.letter_spacing import joined_words, word_gaps
from inkgate.documents.pdf.right_to_left import in_reading_order, right_to_left_lines, right_to_left_share
from inkgate.documents.pdf.runs import (
    BACK,
    JOIN_AHEAD,
    MOVED_WORD_GAP,
    WORD_GAP,
    CharacterRun,
    PlacedCharacter,
    is_drop_cap,
    runs_of,
    same_line,
)
from inkgate.documents.pdf.vertical import vertical_columns
from inkgate.page import LineStyle, TextLayer, TextSpan
from inkgate_client.types import Line, Quad, Word

# Distances are in ems: multiples of the font's size.
_SIZES = 1.6
"""Maximum size ratio of neighbours in a line, unless they touch as exponents do."""
_CJK_WORD_GAP = 0.8
"""Minimum gap that counts as a space between CJK characters, as they are often set wide."""
_MIN_STYLED_SHARE = 0.9
"""A line is bold if this share of its letters is: a bold word that begins a paragraph does not make its line bold."""
_MIN_GAP = 0.08
"""Next to an accented letter, a narrower space is not a space: pdfium inferred it from TeX's move to the accent."""


def lines_of(glyphs: Sequence[Glyph]) -> tuple[Line, ...]:
    """Lines with words, confidence 1.0 and quads in the glyphs' pixels, in file order of their first character.

    Hidden characters count too; remove unwanted ones before. Characters drawn twice count once, ligatures are
    expanded, hyphens at line ends stay. Right-to-left text is in reading order.
    """
    return layer_of(glyphs).lines


def layer_of(glyphs: Sequence[Glyph]) -> TextLayer:
    """The lines of `lines_of` with their styles."""
    runs = runs_of(glyphs)
    chains = vertical_columns(joined_words(list(_chains(runs))))
    share = 0.0
    if any(run.right_to_left for run in runs):
        chains = right_to_left_lines(chains)
        share = right_to_left_share(runs)
    lines: list[Line] = []
    styles: list[LineStyle] = []
    spans: list[TextSpan] = []
    for chain in chains:
        line = _line(chain, share)
        if line is not None:
            lines.append(line)
            styles.append(_style([piece for run in chain for piece in run.pieces]))
            spans += _spans(chain)
    return TextLayer(tuple(lines), tuple(styles), spans=tuple(spans))


def _spans(chain: Sequence[CharacterRun]) -> Iterator[TextSpan]:
    """The parts of a level line that are bold or italic."""
    if chain[0].ux != 1.0 or chain[0].uy or chain[0].vertical:
        return
    pieces = [piece for run in chain for piece in run.pieces]
    if not any(piece.bold or piece.italic for piece in pieces):
        return
    for (bold, italic), group in groupby(pieces, key=lambda piece: (piece.bold, piece.italic)):
        if bold or italic:
            part = list(group)
            left, right = min(piece.u0 for piece in part), max(piece.u1 for piece in part)
            top, bottom = min(piece.v0 for piece in part), max(piece.v1 for piece in part)
            yield TextSpan((round(left, 2), round(top, 2), round(right, 2), round(bottom, 2)), bold, italic)


def _style(pieces: Sequence[PlacedCharacter]) -> LineStyle:
    """The style of most of the line's letters; `size` is that of its largest common font, not of exponents."""
    letters = [piece for piece in pieces if piece.text[0].isalnum()] or pieces
    sizes = sorted(piece.size for piece in letters)
    bold = sum(piece.bold for piece in letters) >= _MIN_STYLED_SHARE * len(letters)
    italic = sum(piece.italic for piece in letters) >= _MIN_STYLED_SHARE * len(letters)
    return LineStyle(round(sizes[len(sizes) * 2 // 3], 2), bold, italic)


def _chains(runs: Sequence[CharacterRun]) -> Iterator[list[CharacterRun]]:
    """Chains of runs that continue each other on the page, in any file order, from left to right."""
    following: dict[int, int] = {}
    led: set[int] = set()
    rows = _Rows(runs)
    for number, run in enumerate(runs):
        if run.vertical or run.right_to_left:
            continue
        best = None if rows.has_drop_cap(run) else rows.next_of(run, led)
        if best is not None:  # it ends further right than `run`, so there are no cycles
            following[number] = best
            led.add(best)
    for number, run in enumerate(runs):
        if number not in led:
            chain, at = [run], number
            while (at := following.get(at, -1)) >= 0:
                chain.append(runs[at])
                runs[at].pieces[0].moved = True
            yield chain


class _Rows:
    """Index of runs by direction and height on the page, to find neighbours without comparing all pairs."""

    _BAND = 16.0

    def __init__(self, runs: Sequence[CharacterRun]) -> None:
        self._runs = runs
        self._bands: dict[tuple[int, int], list[int]] = {}
        for number, run in enumerate(runs):
            if not (run.vertical or run.right_to_left):
                for band in self._of(run):
                    self._bands.setdefault((run.angle, band), []).append(number)

    def _of(self, run: CharacterRun) -> Iterable[int]:
        first, last = floor(run.v0 / self._BAND), floor(run.v1 / self._BAND)
        return range(first, min(last, first + 20) + 1)

    def has_drop_cap(self, run: CharacterRun) -> bool:
        """Whether the run is one letter, beside which a line above the last of those that it spans begins."""
        initial = run.pieces[0]
        if len(run.pieces) > 1:
            return False
        return any(
            BACK / 2 * initial.size <= other.u0 - run.u1 <= JOIN_AHEAD * initial.size
            and is_drop_cap(initial, other.pieces[0])
            for band in self._of(run)
            for other in map(self._runs.__getitem__, self._bands.get((run.angle, band), ()))
        )

    def next_of(self, run: CharacterRun, taken: set[int]) -> int | None:
        """The nearest run that starts where `run` ends, on the same line."""
        best: tuple[float, int] | None = None
        last = run.pieces[-1]
        for band in self._of(run):
            for number in self._bands.get((run.angle, band), ()):
                other = self._runs[number]
                size = max(last.size, other.pieces[0].size)
                gap = other.u0 - run.u1
                ahead = JOIN_AHEAD * size if size <= _SIZES * min(last.size, other.pieces[0].size) else 0.1 * size
                if not BACK / 2 * size <= gap <= ahead or number in taken or other.u1 <= run.u1:
                    continue
                if same_line(run, other, last.base, other.pieces[0].base) and (best is None or abs(gap) < best[0]):
                    best = (abs(gap), number)
        return None if best is None else best[1]


def _line(chain: Sequence[CharacterRun], share: float) -> Line | None:
    """One line; None if it has no text. `share`: of the page's letters, those that run from right to left."""
    run = chain[0]
    pieces = [piece for part in chain for piece in part.pieces]
    if any(part.right_to_left for part in chain):
        pieces, spaces = in_reading_order(pieces, share)
    else:
        spaces = [False, *(_spaced(before, piece, vertical=run.vertical) for before, piece in pairwise(pieces))]
        spaces = spaces if run.vertical else word_gaps(pieces, spaces)
    words: list[list[PlacedCharacter]] = []
    parts: list[str] = []
    was_cjk = True
    for piece, spaced in zip(pieces, spaces, strict=True):
        part = piece.text
        cjk = part >= FIRST_CJK and is_cjk(part[0])
        if spaced or cjk or was_cjk:
            words.append([])
        if spaced:
            parts.append(" ")
        words[-1].append(piece)
        parts.append(part)
        was_cjk = cjk if len(part) == 1 else is_cjk(part[-1])
    text = "".join(parts).strip()
    if not text:
        return None
    made = tuple([Word("".join([piece.text for piece in word]), _quad(word, run), 1.0) for word in words])
    return Line(text, _quad(pieces, run), 1.0, made)


def _spaced(before: PlacedCharacter, piece: PlacedCharacter, *, vertical: bool) -> bool:
    size = max(piece.size, before.size)
    if vertical:
        apart = piece.space or (piece.moved and piece.v0 - before.v1 > MOVED_WORD_GAP * size)
        return apart and not is_cjk(piece.text[0]) and not is_cjk(before.text[-1])
    gap = piece.u0 - before.u1
    if piece.text >= FIRST_CJK and is_cjk(piece.text[0]) and is_cjk(before.text[-1]):
        return gap > _CJK_WORD_GAP * size
    inferred = (piece.accented or before.accented) and gap <= _MIN_GAP * size
    return (piece.space and not inferred) or gap > (MOVED_WORD_GAP if piece.moved else WORD_GAP) * size


def _quad(pieces: Sequence[PlacedCharacter], run: CharacterRun) -> Quad:
    u0, u1 = min([piece.u0 for piece in pieces]), max([piece.u1 for piece in pieces])
    v0, v1 = min([piece.v0 for piece in pieces]), max([piece.v1 for piece in pieces])
    if run.ux == 1.0 and not run.uy:  # nearly all
        u0, v0, u1, v1 = round(u0, 2), round(v0, 2), round(u1, 2), round(v1, 2)
        return ((u0, v0), (u1, v0), (u1, v1), (u0, v1))
    corners = ((u0, v0), (u1, v0), (u1, v1), (u0, v1))
    a, b, c, d = ((round(u * run.ux - v * run.uy, 2), round(u * run.uy + v * run.ux, 2)) for u, v in corners)
    return (a, b, c, d)
