"""Columns of vertical Chinese and Japanese, of runs of a PDF's characters. Pure.

A column's characters stand below each other; full stops stand in a corner of their place, numbers of two digits side by
side, and Latin words on their side. Each of these is a run of its own, and belongs to the column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from inkgate.documents.pdf.runs import CharacterRun, PlacedCharacter

_DOWNWARDS = 90
MAX_GAP = 1.2
"""Maximum gap in a column, in ems: a full stop or a bracket leaves half an em free, and an empty place is one."""
MAX_OVERLAP = 0.5
ASIDE = 0.3
"""Maximum distance by which a part sticks out of its column, in ems: characters are up to this narrower than their
place."""
MAX_WIDTH = 1.2
"""Maximum width of digits that stand side by side in a column, in ems."""
MAX_DIGITS = 3
MAX_SIZES = 1.6
"""Maximum ratio of sizes in a column. Readings beside characters are half as large."""


@dataclass(frozen=True, slots=True)
class _ColumnPart:
    """A chain that may be part of a column; its box on the page."""

    number: int
    left: float
    top: float
    right: float
    bottom: float
    size: float


def vertical_columns(chains: Sequence[list[CharacterRun]]) -> list[list[CharacterRun]]:
    """The chains, with the parts of columns joined to one run each; the same chains if none is vertical."""
    if not any(run.vertical for chain in chains for run in chain):
        return list(chains)
    parts = sorted((part for n, chain in enumerate(chains) if (part := _part(n, chain))), key=lambda part: part.top)
    columns: list[list[_ColumnPart]] = []
    for part in parts:
        fitting = [column for column in columns if _continues(column, part)]
        if fitting:
            min(fitting, key=lambda column: abs(part.top - column[-1].bottom)).append(part)
        else:
            columns.append([part])
    joined = {
        column[0].number: column
        for column in columns
        if len(column) > 1 and any(chains[part.number][0].vertical for part in column)
    }
    gone = {part.number for column in joined.values() for part in column[1:]}
    return [
        [_run([chains[part.number] for part in joined[n]])] if n in joined else chain
        for n, chain in enumerate(chains)
        if n not in gone
    ]


def _part(number: int, chain: Sequence[CharacterRun]) -> _ColumnPart | None:
    run = chain[0]
    pieces = [_upright(piece, run.angle) for part in chain for piece in part.pieces]
    box = (
        min(piece.u0 for piece in pieces),
        min(piece.v0 for piece in pieces),
        max(piece.u1 for piece in pieces),
        max(piece.v1 for piece in pieces),
    )
    short = len(pieces) == 1 or (
        len(pieces) <= MAX_DIGITS
        and all(piece.text.isdigit() for piece in pieces)
        and box[2] - box[0] <= MAX_WIDTH * run.size
    )
    fits = run.vertical or run.angle == _DOWNWARDS or (run.angle == 0 and short)
    return _ColumnPart(number, *box, run.size) if fits and run.angle in (0, _DOWNWARDS) else None


def _continues(column: Sequence[_ColumnPart], part: _ColumnPart) -> bool:
    """Whether the part stands below the column's last, in the place of its characters."""
    last = column[-1]
    small, size = sorted((last.size, part.size))
    left, right = min(each.left for each in column), max(each.right for each in column)
    if size > MAX_SIZES * small:
        return False
    aside = ASIDE * size
    # A column that began with a narrow character is as wide as its font.
    middle, place = (left + right) / 2, max(right - left, size) / 2
    within = middle - place - aside <= part.left and part.right <= middle + place + aside
    return within and -MAX_OVERLAP * size <= part.top - last.bottom <= MAX_GAP * size


def _run(chains: Sequence[Sequence[CharacterRun]]) -> CharacterRun:
    column = CharacterRun(0, 1.0, 0.0, vertical=True)
    for chain in chains:
        for run in chain:
            for piece in run.pieces:
                column.add(_upright(piece, run.angle))
    return column


def _upright(piece: PlacedCharacter, angle: int) -> PlacedCharacter:
    """A character of text that runs downwards, in the coordinates of text that runs from left to right."""
    if angle != _DOWNWARDS:
        return piece
    return replace(piece, u0=-piece.v1, u1=-piece.v0, v0=piece.u0, v1=piece.u1, base=piece.u1, origin=-piece.v1)
