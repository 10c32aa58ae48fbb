"""Confidence of words from the log-probabilities of tokens: exp of their mean. Pure, and so tested without a model.

Tokens and words have different boundaries, and a parser changes the answer's text. So tokens are aligned with the
answer's bytes, and each word is searched for in the answer, after the word before it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import accumulate

from inkgate.model_servers.protocol import GeneratedToken
from inkgate_client.types import TextWord

_REPLACED = "\ufffd".encode()
"""What servers report for a token that holds part of a character."""
_CHARACTER_BYTES = 4
"""Maximum number of bytes in such a part."""
_SIGNS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
"""Kana and ideographs: scripts without spaces; each character is a word."""
_WORD = re.compile(rf"[{_SIGNS}]|[^\s{_SIGNS}]+")
_TAG = re.compile(r"<[^<>]{1,200}>")
_REACH = 1000
"""How far after the last word to search for the next: the markup of a table row may lie between."""


def scored_words(text: str, confidence: Confidence) -> tuple[TextWord, ...]:
    """The words of `text`, which was parsed from the answer, in order. Words that are not found in the answer are
    omitted.

    Words are separated by white space; in scripts without spaces each character is a word.
    """
    found = ((word, confidence.next(word.group())) for word in _WORD.finditer(text))
    return tuple(TextWord(word.group(), word.start(), score) for word, score in found if score is not None)


class Confidence:
    """The model's confidence in each part of `text`, its answer as generated."""

    def __init__(self, text: str, tokens: Sequence[GeneratedToken]) -> None:
        """`tokens` in order; those that are not part of the text (end of answer, markers) are ignored."""
        self._tokens = tokens
        self._owner = _owners(text.encode("utf-8", "surrogatepass"), tokens)
        sizes = (len(sign.encode("utf-8", "surrogatepass")) for sign in text)
        self._byte_at = list(accumulate(sizes, initial=0))
        # Names of tags are excluded from the search for words.
        self._searched = _TAG.sub(lambda tag: "\0" * len(tag.group()), text)
        self._cursor = 0

    @property
    def page(self) -> float | None:
        """Confidence of the whole answer; None if no token is known."""
        return self.of(0, len(self._searched))

    def of(self, start: int, end: int) -> float | None:
        """Confidence of the characters from `start` to before `end`; None if no token of them is known."""
        used = {token for token in self._owner[self._byte_at[start] : self._byte_at[end]] if token >= 0}
        if not used:
            return None
        return math.exp(sum(self._tokens[token].logprob for token in used) / len(used))

    def next(self, word: str) -> float | None:
        """Confidence of `word`, searched for after the previous call's word; None if not found, or if no token is
        known.
        """
        at = self._searched.find(word, self._cursor, self._cursor + len(word) + _REACH)
        if at < 0:
            return None
        self._cursor = at + len(word)
        return self.of(at, self._cursor)


def _owners(data: bytes, tokens: Sequence[GeneratedToken]) -> list[int]:
    """Returns for each byte the index of its token, or -1.

    A token that does not continue the text is either not in it, or part of a character. The position of the next token
    that continues the text tells which.
    """
    owner = [-1] * len(data)
    at = 0
    waiting: list[int] = []
    for index, token in enumerate(tokens):
        if token.data == _REPLACED or not token.data:
            waiting.append(index)
            continue
        found = _place(data, token.data, at, len(waiting))
        if found < 0:
            continue
        _share(owner, at, found, waiting)
        at = found + len(token.data) - (not data.startswith(token.data, found))
        owner[found:at] = [index] * (at - found)
        waiting.clear()
    if waiting and len(data) - at <= _CHARACTER_BYTES * len(waiting):
        _share(owner, at, len(data), waiting)
    return owner


def _place(data: bytes, part: bytes, at: int, waiting: int) -> int:
    """Start of `part`: at `at`, or after the bytes that `waiting` partial characters can take; -1 if not found.

    Tokenizers may strip the first token's leading space from the text.
    """
    if data.startswith(part, at):
        return at
    if at == 0 and part.startswith(b" ") and data.startswith(part[1:]):
        return 0
    if waiting:
        return data.find(part, at, at + _CHARACTER_BYTES * waiting + len(part))
    return -1


def _share(owner: list[int], start: int, end: int, parts: Sequence[int]) -> None:
    """Distributes the bytes in [start, end) evenly over `parts`, in order."""
    for place in range(start, end):
        owner[place] = parts[min((place - start) * len(parts) // (end - start), len(parts) - 1)] if parts else -1
