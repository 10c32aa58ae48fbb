"""Lines of a text layer that the page's edge cuts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter

from inkgate.documents.pdf.glyph import Glyph
from inkgate_client.types import Box, ReviewNote, ReviewReason, Size

MAX_NOTES = 20
"""Cut lines of a page that are named."""
_PART = 0.15
"""Share of a character's height or width that must be missing, and shown: boxes of fonts are a little too large."""
_MIN_IN_ROW = 3
"""Characters of a line of which the upper or lower part is missing; fewer are accents and ornaments."""
_MIN_SIDE = 0.05
"""Least height and width of what is shown, in sizes of the font: boxes of fonts that are missing have none."""
_LEFT, _TOP, _RIGHT, _BOTTOM = (itemgetter(Glyph._fields.index(side)) for side in ("left", "top", "right", "bottom"))
_NEXT = 1.2
"""Distance between characters of one line, in sizes of the font."""


@dataclass(frozen=True, slots=True)
class _Run:
    """Characters that follow each other in a line, with their shares within the page across and down."""

    glyphs: Sequence[Glyph]
    shares: Sequence[tuple[float, float]]


def cut_lines(glyphs: Sequence[Glyph], size: Size) -> tuple[ReviewNote, ...]:
    """Notes about the parts of lines at the edges of a page of `size` that are only partly on it."""
    if not _reach_over(glyphs, size):
        return ()
    notes = []
    for run in _runs(glyphs, size):
        if (box := _cut_part(run, size)) is not None:
            notes.append(ReviewNote(ReviewReason.CUT_OFF, box=box))
            if len(notes) == MAX_NOTES:
                break
    return tuple(notes)


def _reach_over(glyphs: Sequence[Glyph], size: Size) -> bool:
    """Whether a character reaches over the page's edge. By C loops, as most pages have no such character."""
    if min(map(_LEFT, glyphs), default=0) < 0 or min(map(_TOP, glyphs), default=0) < 0:
        return True
    return max(map(_RIGHT, glyphs), default=0) > size.width or max(map(_BOTTOM, glyphs), default=0) > size.height


def _runs(glyphs: Iterable[Glyph], size: Size) -> Iterator[_Run]:
    found: list[Glyph] = []
    for glyph in glyphs:
        if glyph.text.isspace():
            continue
        if found and not _follows(found[-1], glyph):
            yield _Run(found, [_shares(each, size) for each in found])
            found = []
        found.append(glyph)
    if found:
        yield _Run(found, [_shares(each, size) for each in found])


def _follows(last: Glyph, glyph: Glyph) -> bool:
    """Whether `glyph` is the next character of the line of `last`."""
    along_x, along_y = glyph.x - last.x, glyph.y - last.y
    along = along_x * last.ux + along_y * last.uy
    off = abs(along_x * last.uy - along_y * last.ux)
    width = abs((last.right - last.left) * last.ux) + abs((last.bottom - last.top) * last.uy)
    return off < 0.3 * last.size and -0.5 * last.size < along < width + _NEXT * last.size


def _shares(glyph: Glyph, size: Size) -> tuple[float, float]:
    return _share(glyph.left, glyph.right, size.width), _share(glyph.top, glyph.bottom, size.height)


def _share(start: float, end: float, side: float) -> float:
    """Share of a stretch that is within 0 and `side`."""
    if end - start < 1e-6:
        return float(0 <= start <= side)
    return max(0.0, min(end, side) - max(start, 0.0)) / (end - start)


def _cut_part(run: _Run, size: Size) -> Box | None:
    """The box of what is shown of the characters that are cut, or of the last ones before the edge; None if none is."""
    if _is_hidden(run, size):
        return None
    parts = [(_is_part(across), _is_part(down)) for across, down in run.shares]
    along_x = sum(abs(glyph.ux) for glyph in run.glyphs) >= len(run.glyphs) / 2
    lengthwise = [part[0] if along_x else part[1] for part in parts]
    in_height = [part[1] if along_x else part[0] for part in parts]
    shown = [across * down > _PART for across, down in run.shares]
    cut = {at for at, part in enumerate(lengthwise) if part and min(run.shares[at]) > 0}
    if sum(in_height) >= _MIN_IN_ROW:
        cut |= {at for at, part in enumerate(in_height) if part}
    pairs = pairwise(shown)
    cut |= {at + (not first) for at, (first, second) in enumerate(pairs) if first != second}
    near = [glyph for at in cut for glyph in run.glyphs[max(0, at - 1) : at + 2]]
    if not any(glyph.text.isalnum() for glyph in near):  # rules are made of dots and dashes
        return None
    if not any(glyph.visible for glyph in near) and any(glyph.visible for glyph in run.glyphs):
        return None  # it ends before the edge, by a clipping path
    boxes = [run.glyphs[at] for at in sorted(cut)]
    left, top = max(0.0, min(each.left for each in boxes)), max(0.0, min(each.top for each in boxes))
    right = min(float(size.width), max(each.right for each in boxes))
    bottom = min(float(size.height), max(each.bottom for each in boxes))
    least = _MIN_SIDE * max(each.size for each in boxes)
    return (left, top, right, bottom) if min(right - left, bottom - top) > least else None


def _is_hidden(run: _Run, size: Size) -> bool:
    """Whether none of the run is visible, and not only because it is mostly outside of the page."""
    return not any(glyph.visible for glyph in run.glyphs) and any(
        0 <= (glyph.left + glyph.right) / 2 <= size.width and 0 <= (glyph.top + glyph.bottom) / 2 <= size.height
        for glyph in run.glyphs
    )


def _is_part(share: float) -> bool:
    return _PART < share < 1 - _PART
