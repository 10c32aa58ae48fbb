"""From token IDs to text, one at a time, as the whole would be decoded. Pure.

The way of Hugging Face's text-generation-inference and of vLLM: a token's text is what it adds to the text of the few
before it, because some tokenizers treat the first token of what they decode differently.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from inkgate.engines.transformers.model import GeneratedPiece

_PART = "\ufffd"
"""What a tokenizer shows of a character whose last bytes are in the next token."""
_LONGEST = 8
"""Tokens after which no character is waited for any more: it has 4 bytes, and the text has this very sign."""


class Detokenizer:
    """Makes pieces of the tokens of one answer."""

    def __init__(self, decode: Callable[[Sequence[int]], str]) -> None:
        self._decode = decode
        self._context: list[int] = []
        self._new: list[int] = []
        self._logprobs: list[float] = []

    def feed(self, token: int, logprob: float) -> GeneratedPiece | None:
        """What is readable now; None while a character has only begun, or for a token that isn't shown."""
        self._new.append(token)
        self._logprobs.append(logprob)
        text = self._added()
        return None if text.endswith(_PART) and len(self._new) < _LONGEST else self._piece(text)

    def rest(self) -> GeneratedPiece | None:
        """What is left at the end: a character that was never completed, as it is shown."""
        return self._piece(self._added()) if self._new else None

    def _added(self) -> str:
        before = self._decode(self._context)
        return self._decode(self._context + self._new)[len(before) :]

    def _piece(self, text: str) -> GeneratedPiece | None:
        if not text:
            # A special token: none of the text, nor is how sure the model was of it.
            self._new.pop()
            self._logprobs.pop()
            return None
        logprob = sum(self._logprobs) / len(self._logprobs)
        self._context, self._new, self._logprobs = self._new, [], []
        return GeneratedPiece(text, logprob)
