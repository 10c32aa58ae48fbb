"""From the log-probabilities of tokens to the confidence of words: exp of their mean. Pure.

Tokens and words don't end at the same places, and what a parser makes of an answer is not its text any more. So tokens
are laid onto the answer by their bytes, and words are looked for in the answer, each after the one before it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import accumulate

from inkgate.engines.vllm.wire import GeneratedToken
from inkgate.types import TextWord

_REPLACED = "\ufffd".encode()
"""What servers show of a token that is a part of a character."""
_CHARACTER_BYTES = 4
"""Most bytes that such a part can stand for."""
_SIGNS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
"""Kana and ideographs: scripts without spaces, each sign a word of its own."""
_WORD = re.compile(rf"[{_SIGNS}]|[^\s{_SIGNS}]+")
_TAG = re.compile(r"<[^<>]{1,200}>")
_REACH = 1000
"""How far ahead of the last word the next is looked for: the markup of a table's row may lie between."""


def scored_words(text: str, confidence: Confidence) -> tuple[TextWord, ...]:
    """The words of `text`, which was made of the answer, in their order; those that can't be found in it are left out.

    A word is what white space sets apart; signs of scripts without spaces are words alone.
    """
    found = ((word, confidence.next(word.group())) for word in _WORD.finditer(text))
    return tuple(TextWord(word.group(), word.start(), score) for word, score in found if score is not None)


class Confidence:
    """How sure the model was of each part of `text`, its answer as it was generated."""

    def __init__(self, text: str, tokens: Sequence[GeneratedToken]) -> None:
        """`tokens` in their order; those that are not part of the text (end of answer, markers) are left out."""
        self._tokens = tokens
        self._owner = _owners(text.encode("utf-8", "surrogatepass"), tokens)
        sizes = (len(sign.encode("utf-8", "surrogatepass")) for sign in text)
        self._byte_at = list(accumulate(sizes, initial=0))
        # Words are not to be found in the names of tags.
        self._searched = _TAG.sub(lambda tag: "\0" * len(tag.group()), text)
        self._cursor = 0

    @property
    def page(self) -> float | None:
        """Of the whole answer; None where no token is known."""
        return self.of(0, len(self._searched))

    def of(self, start: int, end: int) -> float | None:
        """Of the characters from `start` to before `end`; None where no token of them is known."""
        used = {token for token in self._owner[self._byte_at[start] : self._byte_at[end]] if token >= 0}
        if not used:
            return None
        return math.exp(sum(self._tokens[token].logprob for token in used) / len(used))

    def next(self, word: str) -> float | None:
        """Of `word`, looked for after the last one asked for; None where it isn't there, or no token is known."""
        at = self._searched.find(word, self._cursor, self._cursor + len(word) + _REACH)
        if at < 0:
            return None
        self._cursor = at + len(word)
        return self.of(at, self._cursor)


def _owners(data: bytes, tokens: Sequence[GeneratedToken]) -> list[int]:
    """For each byte the index of the token it came from, or -1.

    A token that doesn't continue the text is either none of it, or a part of a character: which, is seen by where the
    next one that does continues.
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
    """Where `part` begins: at `at`, or after what `waiting` parts of characters can stand for; -1 for nowhere.

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
    """Gives the bytes in [start, end) to `parts`, evenly and in order."""
    for place in range(start, end):
        owner[place] = parts[min((place - start) * len(parts) // (end - start), len(parts) - 1)] if parts else -1
