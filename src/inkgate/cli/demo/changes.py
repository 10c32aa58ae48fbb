"""What changed between two versions of a document, word by word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

_WORD = re.compile(r"\w[\w.,'’/-]*")
_PAGE_MARK = re.compile(r"<!--.*?-->")
_AROUND = 4
"""Words that are shown before and after a change."""


@dataclass(frozen=True, slots=True)
class TextChange:
    """Words that differ, and those around them, which both versions have."""

    before: str
    first: str
    second: str
    after: str


def changes(first: str, second: str) -> list[TextChange]:
    """The changes between two texts in Markdown, in their order. Case, punctuation at the end of a word, line breaks
    and page breaks don't count.
    """
    left, right = (_WORD.findall(_PAGE_MARK.sub("", text)) for text in (first, second))
    matcher = SequenceMatcher(None, [_key(word) for word in left], [_key(word) for word in right], autojunk=False)
    return [
        TextChange(
            _said(left[max(0, begin - _AROUND) : begin]),
            _said(left[begin:end]),
            _said(right[from_:to]),
            _said(left[end : end + _AROUND]),
        )
        for kind, begin, end, from_, to in matcher.get_opcodes()
        if kind != "equal"
    ]


def _key(word: str) -> str:
    return word.strip(".,'’/-").casefold()


def _said(words: Sequence[str]) -> str:
    return " ".join(words)
