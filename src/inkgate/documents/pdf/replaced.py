"""Puts visible characters into the place of those that they replace, such as the new digit of a changed sum. Pure.

Whoever changes a PDF hides some characters of a line and draws others on them, elsewhere in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from inkgate.documents.pdf.glyph import Glyph

MAX_HIDDEN = 500
"""Groups of invisible characters; on pages with more, a whole text is hidden, and nothing is in its place."""
_REACH = 0.25
"""Ems by which other characters may overlap the neighbours of those that they replace, and be higher or lower."""
_AHEAD = 1.2
"""Ems between two characters from which they are not of one text."""
_LEVEL = 0.999
"""Least part of a text's direction that is along the page's sides."""

_Part = tuple[int, int]
"""The first of some successive characters, and the first after them."""


def without_hidden(glyphs: Sequence[Glyph]) -> list[Glyph]:
    """The visible characters in file order, but those that replace invisible ones of a line in their place."""
    if all(glyph.visible for glyph in glyphs):
        return list(glyphs)
    hidden = [part for part in _parts(glyphs, visible=False) if _is_level(glyphs[part[0]])][: MAX_HIDDEN + 1]
    if len(hidden) > MAX_HIDDEN:
        return [glyph for glyph in glyphs if glyph.visible]
    moved: dict[int, list[Glyph]] = {}
    taken: set[int] = set()
    shown = list(_parts(glyphs, visible=True)) if hidden else []
    for place in hidden:
        for part in shown:
            if part[0] not in taken and _fits(glyphs, place, part):
                taken.update(range(*part))
                moved[place[0]] = list(glyphs[slice(*part)])
                break
    found: list[Glyph] = []
    for number, glyph in enumerate(glyphs):
        found += moved.get(number, ())
        if glyph.visible and number not in taken:
            found.append(glyph)
    return found


def _is_level(glyph: Glyph) -> bool:
    return max(abs(glyph.ux), abs(glyph.uy)) > _LEVEL


def _parts(glyphs: Sequence[Glyph], *, visible: bool) -> Iterator[_Part]:
    """Successive characters of one line that are all visible or all invisible, without blanks at the ends."""
    start = end = -1
    for number, glyph in enumerate(glyphs):
        if glyph.text.isspace():
            if glyph.text == "\n" and start >= 0:
                yield start, end
                start = -1
            continue
        if start >= 0 and (glyph.visible is not visible or not _continues(glyphs[end - 1], glyph)):
            yield start, end
            start = -1
        if glyph.visible is visible:
            start, end = number if start < 0 else start, number + 1
    if start >= 0:
        yield start, end


def _span(glyph: Glyph) -> tuple[float, float, float]:
    """Returns where it starts and ends along its line, and its baseline."""
    one, other = glyph.left * glyph.ux + glyph.top * glyph.uy, glyph.right * glyph.ux + glyph.bottom * glyph.uy
    return min(one, other), max(one, other), glyph.y * glyph.ux - glyph.x * glyph.uy


def _continues(before: Glyph, glyph: Glyph) -> bool:
    """Whether a character stands where one is expected after another: blanks in between say little."""
    start, end, _ = _span(before)
    return start - _REACH * glyph.size <= _span(glyph)[0] <= end + _AHEAD * glyph.size


def _fits(glyphs: Sequence[Glyph], place: _Part, part: _Part) -> bool:
    """Whether the visible `part` is where the hidden characters of `place` are, and between their neighbours."""
    old, first = glyphs[place[0]], glyphs[part[0]]
    if (old.ux, old.uy) != (first.ux, first.uy):
        return False
    reach = _REACH * old.size
    start, _, base = _span(old)
    own_start, _, own_base = _span(first)
    own_end = _span(glyphs[part[1] - 1])[1]
    if abs(own_base - base) > reach or own_start >= _span(glyphs[place[1] - 1])[1] or own_end <= start:
        return False
    before, after = _beside(glyphs, place[0] - 1, -1), _beside(glyphs, place[1], 1)
    if before is None and after is None:
        return False
    starts = before is None or own_start >= _span(before)[1] - reach
    return starts and (after is None or own_end <= _span(after)[0] + reach)


def _beside(glyphs: Sequence[Glyph], number: int, step: int) -> Glyph | None:
    """The next character in a direction, on the same line; None if there is none or it is invisible."""
    while 0 <= number < len(glyphs) and glyphs[number].text != "\n":
        if not glyphs[number].text.isspace():
            return glyphs[number] if glyphs[number].visible else None
        number += step
    return None
