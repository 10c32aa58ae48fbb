"""Converts token IDs to text one at a time, equal to decoding them all together. Pure.

Same method as Hugging Face's text-generation-inference and vLLM: a token's text is what it adds to the text of the few
tokens before it, because some tokenizers treat the first token of their input differently.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from inkgate.engines.transformers.model import GeneratedPiece

_PART = "\ufffd"
"""The tokenizer's placeholder for a character whose last bytes are in the next token."""
_LONGEST = 8
"""After this many tokens no more bytes are awaited: a character has at most 4, so the sign is in the text itself."""


class Detokenizer:
    """Converts the tokens of one answer to text."""

    def __init__(self, decode: Callable[[Sequence[int]], str]) -> None:
        self._decode = decode
        self._context: list[int] = []
        self._new: list[int] = []
        self._logprobs: list[float] = []

    def feed(self, token: int, logprob: float) -> GeneratedPiece | None:
        """The new text; None while a character is incomplete, or for a token that is not shown."""
        self._new.append(token)
        self._logprobs.append(logprob)
        text = self._added()
        return None if text.endswith(_PART) and len(self._new) < _LONGEST else self._piece(text)

    def rest(self) -> GeneratedPiece | None:
        """The remaining text at the end: a character that was never completed, with its placeholder."""
        return self._piece(self._added()) if self._new else None

    def _added(self) -> str:
        before = self._decode(self._context)
        return self._decode(self._context + self._new)[len(before) :]

    def _piece(self, text: str) -> GeneratedPiece | None:
        if not text:
            # A special token: neither its text nor its probability counts.
            self._new.pop()
            self._logprobs.pop()
            return None
        logprob = sum(self._logprobs) / len(self._logprobs)
        self._context, self._new, self._logprobs = self._new, [], []
        return GeneratedPiece(text, logprob)
