"""What became of a doubtful word: part of a page's result (types.py)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TermCorrection:
    """Words that became a term of the domain.

    Attributes:
        line: index into `PageResult.lines`.
        text: what the line says there now.
        read_as: what was read.
    """

    line: int
    text: str
    read_as: str
