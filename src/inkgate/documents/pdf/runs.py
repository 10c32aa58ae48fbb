"""Runs of characters that follow each other on one baseline, in file order. Pure."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import floor

from inkgate.documents.pdf.glyph import FIRST_CJK, FIRST_RIGHT_TO_LEFT, Glyph, is_cjk, is_right_to_left
from inkgate.documents.pdf.normalize import ACCENTS, SOFT_HYPHEN, accent_of, composed, readable

# Distances are in ems: multiples of the font's size.
BACK = -0.6
"""Maximum overlap of the next character with the last: kerning, italics, accents."""
AHEAD = 1.2
"""Maximum gap: a space of justified text is 0.2 to 1.0; columns are further apart."""
JOIN_AHEAD = 0.6
"""Maximum gap after a move in the file: cells of forms and tables may be 0.7 apart."""
WORD_GAP = 0.5
"""Minimum gap that counts as a space if neither the file nor pdfium has one there (pdfium infers spaces from about 0.2,
and knows widths better)."""
MOVED_WORD_GAP = 0.2
"""The same after a move in the file, where pdfium has a new line instead of the space."""
_BASELINE = 0.25
"""Maximum baseline shift within a line if boxes don't overlap by half: superscripts, wavy lines."""
_TWICE = 0.12
"""Equal characters within this distance are one, drawn twice for bold or shadow."""
_MIN_REACH = 0.1
_CELLS = 1 << 24
"""Number of cells in a row of the grid in which equal characters are sought: more than any page is wide."""
_MARK_HEIGHT = 0.25
"""Maximum height of marks; a letter that is lower has its mark's box."""
_MARK_REACH = 0.5
"""Maximum distance of a mark from its line's letters, from top to bottom and from left to right."""
_TOUCH = 0.02
"""Overlap of characters that are beside each other."""
_BLANKS = {" ", "\n"}
_INITIAL = 2.0
"""A drop cap is at least this many times as large as the text beside it: exponents are more than half of a letter."""
_STACK = (0.7, 1.35)
"""Distance between characters of vertical Chinese or Japanese."""


@dataclass(slots=True)
class PlacedCharacter:
    """A character in its line's coordinates: u along the baseline, v down across it. `space`: the file has a space
    before it; `moved`: the file moved there from another position; `accented`: composed of two characters; `origin`:
    where its glyph begins; `parts`: how many characters of the file share its box, 0 if its text is in reading order.
    """

    text: str
    u0: float
    u1: float
    v0: float
    v1: float
    base: float
    size: float
    space: bool = False
    accented: bool = False
    moved: bool = False
    bold: bool = False
    italic: bool = False
    origin: float = 0.0
    parts: int = 1


@dataclass(slots=True)
class CharacterRun:
    """Characters that follow each other. `angle`: their direction in whole degrees."""

    angle: int
    ux: float
    uy: float
    pieces: list[PlacedCharacter] = field(default_factory=list)
    vertical: bool = False
    right_to_left: bool = False
    u0: float = math.inf
    u1: float = -math.inf
    v0: float = math.inf
    v1: float = -math.inf
    size: float = 0.0

    def add(self, piece: PlacedCharacter) -> None:
        self.pieces.append(piece)
        # Comparisons, as calls of min and max take most of a page's time.
        self.u0 = min(self.u0, piece.u0)
        self.u1 = max(self.u1, piece.u1)
        self.v0 = min(self.v0, piece.v0)
        self.v1 = max(self.v1, piece.v1)
        self.size = max(self.size, piece.size)
        if piece.text >= FIRST_RIGHT_TO_LEFT and is_right_to_left(piece.text[0]):
            self.right_to_left = True


def runs_of(glyphs: Sequence[Glyph]) -> list[CharacterRun]:
    """The file's characters, split wherever one does not continue the previous one. Characters drawn twice count
    once, and accents are merged with their letters.
    """
    return _place_accents(list(_runs(glyphs)))


def _runs(glyphs: Sequence[Glyph]) -> Iterator[CharacterRun]:
    run: CharacterRun | None = None
    before: Glyph | None = None
    space = moved = False
    seen = _DrawnCharacters()
    for glyph in glyphs:
        char = glyph.text
        if char in _BLANKS:
            space, moved = space or char == " ", moved or char == "\n"
            continue
        text = readable(char)
        if char == SOFT_HYPHEN and glyph.right <= glyph.left:  # an unused break opportunity
            continue
        if run is not None and before is not None and not space and text and _is_one_glyph(before, glyph):
            _extend(run, _piece(glyph, text, run.ux, run.uy))
            continue
        if not text or seen.again(glyph):
            continue
        before = glyph
        angle, ux, uy = _direction(glyph)
        piece = _piece(glyph, text, ux, uy, space=space, moved=moved)
        space = moved = False
        if run is not None and run.angle == angle and _accented(run, piece):
            continue
        if run is None or run.angle != angle or not _continues(run, piece):
            if run is not None:
                yield run
            run = CharacterRun(angle, ux, uy)
        run.add(piece)
    if run is not None:
        yield run


def _is_one_glyph(before: Glyph, glyph: Glyph) -> bool:
    """Whether the characters come from one glyph, such as a ligature: they have one position."""
    if glyph.x != before.x or glyph.y != before.y:
        return False
    return not (accent_of(glyph.text) or accent_of(before.text))


def _extend(run: CharacterRun, piece: PlacedCharacter) -> None:
    """Adds a character to the run's last glyph. pdfium divides the glyph's box where a PDF gives its text as
    `ActualText`, from right to left if that is so written.
    """
    last = run.pieces[-1]
    run.right_to_left = run.right_to_left or is_right_to_left(piece.text[0])
    is_divided = (piece.u0, piece.u1) != (last.u0, last.u1)
    is_first = is_divided and run.right_to_left and piece.u0 >= last.u1 - _TOUCH * last.size
    last.text = piece.text + last.text if is_first else last.text + piece.text
    last.parts = 0 if is_divided or not last.parts else last.parts + 1
    last.u0, last.u1 = min(last.u0, piece.u0), max(last.u1, piece.u1)
    run.u0, run.u1 = min(run.u0, piece.u0), max(run.u1, piece.u1)


class _DrawnCharacters:
    """Positions of drawn characters, to detect duplicates: a grid, searched in the four cells around a position."""

    def __init__(self) -> None:
        self._cells: dict[str, dict[int, Glyph]] = {}

    def again(self, glyph: Glyph) -> bool:
        reach = _TWICE * glyph.size
        cell = 2 * reach if reach > _MIN_REACH else 2 * _MIN_REACH
        x, y = glyph.x / cell, glyph.y / cell
        own = floor(y) * _CELLS + floor(x)
        cells = self._cells.get(glyph.text)
        if cells is None:
            self._cells[glyph.text] = {own: glyph}
            return False
        left, right = floor(x - 0.5), floor(x + 0.5)
        above, below = floor(y - 0.5) * _CELLS, floor(y + 0.5) * _CELLS
        for key in (above + left, below + left, above + right, below + right):
            if key in cells:
                at = cells[key]
                if at.size == glyph.size and abs(at.x - glyph.x) + abs(at.y - glyph.y) <= reach:
                    return True
        cells[own] = glyph
        return False


def _direction(glyph: Glyph) -> tuple[int, float, float]:
    """The reading direction in whole degrees, and its unit vector; nearly vertical or level ones become exact."""
    if abs(glyph.uy) < 0.03:
        return (0, 1.0, 0.0) if glyph.ux > 0 else (180, -1.0, 0.0)
    if abs(glyph.ux) < 0.03:
        return (90, 0.0, 1.0) if glyph.uy > 0 else (270, 0.0, -1.0)
    return round(math.degrees(math.atan2(glyph.uy, glyph.ux))) % 360, glyph.ux, glyph.uy


def _piece(
    glyph: Glyph, text: str, ux: float, uy: float, *, space: bool = False, moved: bool = False
) -> PlacedCharacter:
    if ux == 1.0 and not uy:  # nearly all
        _, left, top, right, bottom, x, y, _, _, size, _, _, bold, italic, _, _ = glyph
        return PlacedCharacter(text, left, right, top, bottom, y, size, space, False, moved, bold, italic, x)  # noqa: FBT003 - keywords take half as long again
    u0, u1, v0, v1, base, origin = _turned(glyph, text, ux, uy)
    return PlacedCharacter(
        text, u0, u1, v0, v1, base, glyph.size, space, moved=moved, bold=glyph.bold, italic=glyph.italic, origin=origin
    )


def _turned(glyph: Glyph, text: str, ux: float, uy: float) -> tuple[float, float, float, float, float, float]:
    """Returns where a character is along a direction and across it: two sides each; its baseline, and its origin on
    that.
    """
    base = glyph.y * ux - glyph.x * uy
    start = glyph.x * ux + glyph.y * uy
    if ux and uy:
        # The axis-parallel box of a slanted character is inaccurate, so use a typical box around the origin instead.
        width = min(math.hypot(glyph.right - glyph.left, glyph.bottom - glyph.top), 0.5 * glyph.size * len(text))
        return start, start + width, base - 0.75 * glyph.size, base + 0.2 * glyph.size, base, start
    us = (glyph.left * ux + glyph.top * uy, glyph.right * ux + glyph.bottom * uy)
    vs = (glyph.top * ux - glyph.left * uy, glyph.bottom * ux - glyph.right * uy)
    return min(us), max(us), min(vs), max(vs), base, start


def _accented(run: CharacterRun, piece: PlacedCharacter) -> bool:
    """Merges `piece` and the end of `run` into one character if one is an accent drawn over the other, and returns
    whether it did. TeX draws accents so, before or after their letter.
    """
    last = run.pieces[-1]
    if piece.text not in ACCENTS and last.text not in ACCENTS:
        return False
    mark = accent_of(piece.text)
    if mark:
        middle = (piece.u0 + piece.u1) / 2
        for letter in reversed(run.pieces):
            if letter.u0 <= middle <= letter.u1 and abs(letter.base - piece.base) < 0.5 * letter.size:
                return _compose(letter, letter.text, mark)
        return False
    mark = accent_of(last.text)
    if mark and piece.u0 <= (last.u0 + last.u1) / 2 <= piece.u1 and abs(piece.base - last.base) < 0.5 * piece.size:
        last.u0, last.u1 = piece.u0, piece.u1
        return _compose(last, piece.text, mark)
    return False


def _place_accents(runs: list[CharacterRun]) -> list[CharacterRun]:
    """`runs` without accents over letters of other runs, which are merged into them."""
    accents = [run for run in runs if len(run.pieces) == 1 and accent_of(run.pieces[0].text)]
    placed = {
        id(run) for run in accents if any(_covers(other, run) and _accented(other, run.pieces[0]) for other in runs)
    }
    return [run for run in runs if id(run) not in placed]


def _covers(run: CharacterRun, accent: CharacterRun) -> bool:
    return run is not accent and run.angle == accent.angle and run.u0 <= accent.u0 and accent.u1 <= run.u1


def _compose(place: PlacedCharacter, letter: str, mark: str) -> bool:
    text = composed(letter, mark)
    if text is None:
        return False
    place.text, place.accented = text, True
    return True


def same_line(
    run: CharacterRun | PlacedCharacter, piece: PlacedCharacter | CharacterRun, run_base: float, base: float
) -> bool:
    if abs(base - run_base) <= _BASELINE * (max(piece.size, run.size)):
        return True
    overlap = min(run.v1, piece.v1) - max(run.v0, piece.v0)
    least = min(run.v1 - run.v0, piece.v1 - piece.v0)
    return overlap >= max(0.5 * least, 1e-6)


def _continues(run: CharacterRun, piece: PlacedCharacter) -> bool:
    last = run.pieces[-1]
    size = max(piece.size, last.size)
    if run.vertical or (piece.text >= FIRST_CJK and len(run.pieces) == 1):
        if _stacked(last, piece, size):
            run.vertical = True
            return True
        if run.vertical:
            return False
    if run.right_to_left or (piece.text >= FIRST_RIGHT_TO_LEFT and is_right_to_left(piece.text[0])):
        return _continues_from_right(run, piece)
    if not same_line(last, piece, last.base, piece.base) or (len(run.pieces) == 1 and is_drop_cap(last, piece)):
        return False
    return BACK * size <= piece.u0 - last.u1 <= (JOIN_AHEAD if piece.moved else AHEAD) * size


def is_drop_cap(initial: PlacedCharacter, piece: PlacedCharacter) -> bool:
    """Whether the first of two characters beside each other reaches down over the second's line to another."""
    return (
        initial.text.isalpha()
        and initial.size >= _INITIAL * piece.size
        and initial.base - piece.base >= piece.size
        and piece.base > initial.v0
    )


def _continues_from_right(run: CharacterRun, piece: PlacedCharacter) -> bool:
    """The same for text with right-to-left letters, which may go on at either end."""
    if run.right_to_left and is_over(run, piece):
        return True
    last = next((letter for letter in reversed(run.pieces) if not is_mark(letter.text)), run.pieces[-1])
    if not same_line(last, piece, last.base, piece.base):
        return False
    distance = max(run.u0 - piece.u1, piece.u0 - run.u1)
    return distance <= (JOIN_AHEAD if piece.moved else AHEAD) * max(last.size, piece.size)


def is_mark(text: str) -> bool:
    """Whether it is a mark over or under a letter, such as a vowel of Arabic or Hebrew."""
    return text[0] > "\u02ff" and unicodedata.category(text[0]) == "Mn"


def is_over(run: CharacterRun, mark: PlacedCharacter) -> bool:
    """Whether a mark stands over, on or under a run's letters, or a letter whose box is that of its mark."""
    if not is_mark(mark.text) and mark.v1 - mark.v0 > _MARK_HEIGHT * mark.size:
        return False
    reach = _MARK_REACH * mark.size
    middle = (mark.u0 + mark.u1) / 2
    return run.u0 - reach <= middle <= run.u1 + reach and run.v0 - reach <= mark.v1 and mark.v0 <= run.v1 + reach


def _stacked(last: PlacedCharacter, piece: PlacedCharacter, size: float) -> bool:
    """Whether characters are below each other, as in vertical Chinese and Japanese."""
    if not (is_cjk(piece.text[0]) and is_cjk(last.text[0])):
        return False
    nearest, furthest = _STACK
    beside = abs((piece.u0 + piece.u1) - (last.u0 + last.u1)) / 2
    below = ((piece.v0 + piece.v1) - (last.v0 + last.v1)) / 2
    return beside <= 0.3 * size and nearest * size <= below <= furthest * size
