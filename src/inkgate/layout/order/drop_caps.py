"""Drop caps: large initials that stand beside the first lines of their paragraph."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from inkgate.layout.order.frame import LayoutPiece

LARGE = 1.7
"""A drop cap is at least this many line heights high: initials over two lines are about two."""
BESIDE = 1.5
"""Lines begin within this distance right of their drop cap, in line heights."""
MIN_LINES = 2
_INITIAL = re.compile(r"[\"'“„«‘»]?\s*[^\W\d_]")
_WORDS = frozenset("AIOYÀÓÉ")
"""Letters that are words of their own in languages written here: what follows shows whether they are."""
_VOWELS = frozenset("aeiouyàáâäèéêëìíîïòóôöùúûü")


def with_drop_caps(pieces: Sequence[LayoutPiece], unit: float) -> list[LayoutPiece]:
    """The pieces, with each drop cap moved into the row of the first line beside it, which continues its word."""
    found: dict[int, LayoutPiece] = {}
    for piece in pieces:
        if piece.zone < 0 and not piece.turn and piece.height >= LARGE * unit and _is_initial(piece.text):
            first = _first_line(piece, pieces, unit)
            if first is not None:
                joined = _continues(piece.text.strip(), first.text)
                found[piece.index] = replace(piece, top=first.top, bottom=first.bottom, joined=joined)
    return [found.get(piece.index, piece) if piece.zone < 0 else piece for piece in pieces]


def _is_initial(text: str) -> bool:
    return _INITIAL.fullmatch(text.strip()) is not None


def _first_line(cap: LayoutPiece, pieces: Sequence[LayoutPiece], unit: float) -> LayoutPiece | None:
    """The first of the lines beside a drop cap; None if there are too few, or none begins at its top."""
    beside = [
        piece
        for piece in pieces
        if piece.zone < 0
        and piece.index != cap.index
        and -unit / 2 <= piece.left - cap.right <= BESIDE * unit
        and cap.top - unit / 2 <= piece.middle <= cap.bottom
        and piece.height < cap.height / 1.4
    ]
    beside.sort(key=lambda piece: (piece.middle, piece.left, piece.text))
    if len(beside) < MIN_LINES or beside[0].middle > (cap.top + cap.bottom) / 2:
        return None
    return beside[0]


def _continues(cap: str, text: str) -> bool:
    """Whether the text goes on with the initial's word: `W` and `hen`, `I` and `n`; not `I` and `was`."""
    word = text.split(" ", maxsplit=1)[0].lower()
    if not word[:1].isalpha():
        return word[:1] in {"'", "’"}
    return cap[-1] not in _WORDS or not _VOWELS & set(word)
