"""Options of chunks, and how large a text is."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field

DEFAULT_TOKENS = 512
MIN_TOKENS, MAX_TOKENS = 32, 100_000
MIN_CHARACTERS, MAX_CHARACTERS = 100, 400_000
_EAST_ASIAN = re.compile(
    r"[\u1100-\u11ff\u2e80-\u30ff\u3100-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)
_OTHER = re.compile(r"[\u0370-\u10ff\u1200-\u1dff\ua4d0-\uabff\ufb1d-\ufdff\ufe70-\ufeff]")
"""Greek, Cyrillic, Hebrew, Arabic, scripts of India and South East Asia, and others."""


def estimated_tokens(text: str) -> int:
    """The tokens of a text by its scripts: 4 characters of Latin script are a token, 2 of other alphabets, and each
    Chinese, Japanese or Korean character is one. Tokenizers of models differ from this by some ten per cent, and more
    on numbers.
    """
    if text.isascii():
        return math.ceil(len(text) / 4)
    east_asian, other = len(_EAST_ASIAN.findall(text)), len(_OTHER.findall(text))
    return math.ceil((len(text) - east_asian - other) / 4 + other / 2 + east_asian)


@dataclass(frozen=True, slots=True)
class ChunkOptions:
    """How to divide a document.

    Attributes:
        tokens: largest chunk in tokens; None and no `characters`: 512.
        characters: largest chunk in characters; used in place of `tokens`.
        overlap: how much of the chunk before, in the same unit, begins a chunk of the same section; at most half of the
            limit. Whole words of running text, never of tables.
        headings: the headings above a chunk stand in front of its text.
        merge: small neighbours below the same heading become one chunk.
        count: counts the tokens of a text, such as with the tokenizer of an embedding model. Without one, they are
            estimated.
    """

    tokens: int | None = None
    characters: int | None = None
    overlap: int = 0
    headings: bool = False
    merge: bool = True
    count: Callable[[str], int] = field(default=estimated_tokens, repr=False)

    def __post_init__(self) -> None:
        """Raises ValueError if a number is out of range, or both limits are given."""
        if self.tokens is not None and self.characters is not None:
            raise ValueError("Limit chunks by tokens or by characters, not by both.")
        if self.tokens is not None and not MIN_TOKENS <= self.tokens <= MAX_TOKENS:
            raise ValueError(f"Chunks may have {MIN_TOKENS} to {MAX_TOKENS:,} tokens at most.")
        if self.characters is not None and not MIN_CHARACTERS <= self.characters <= MAX_CHARACTERS:
            raise ValueError(f"Chunks may have {MIN_CHARACTERS} to {MAX_CHARACTERS:,} characters at most.")
        if not 0 <= self.overlap <= self.limit // 2:
            raise ValueError(f"The overlap of chunks must be from 0 to half of their limit, which is {self.limit}.")

    @property
    def limit(self) -> int:
        """The largest size of a chunk."""
        return self.characters or self.tokens or DEFAULT_TOKENS

    def size(self, text: str) -> int:
        """The size of `text` in the unit of the limit."""
        return len(text) if self.characters is not None else self.count(text)
