"""Text out of tokens as they come, with what a tokenizer does to the first token and to parts of characters."""

from __future__ import annotations

from collections.abc import Sequence

from inkgate.engines.transformers.chat import GeneratedPiece
from inkgate.engines.transformers.hub import Detokenizer

SPECIAL = 256


def of_bytes(tokens: Sequence[int]) -> str:
    """A byte-level tokenizer: a token is a byte; special tokens aren't shown."""
    return bytes(token for token in tokens if token < SPECIAL).decode("utf-8", "replace")


def of_words(tokens: Sequence[int]) -> str:
    """A tokenizer in the manner of SentencePiece: words carry the space before them, which the first one loses."""
    return "".join([" Invoice", " number", " 2", "0417"][token] for token in tokens).removeprefix(" ")


def pieces(
    detokenizer: Detokenizer, tokens: Sequence[int], logprobs: Sequence[float] | None = None
) -> list[GeneratedPiece]:
    found = [detokenizer.feed(*pair) for pair in zip(tokens, logprobs or [0.0] * len(tokens), strict=True)]
    return [piece for piece in [*found, detokenizer.rest()] if piece is not None]


def test_pieces_make_the_whole_text() -> None:
    cases = ["Invoice 20417", "Straße", "合計 42", "a😀b", ""]
    wrong = [
        found
        for text in cases
        if (found := "".join(piece.text for piece in pieces(Detokenizer(of_bytes), text.encode()))) != text
    ]
    assert wrong == []


def test_spaces_between_words_are_kept() -> None:
    assert [piece.text for piece in pieces(Detokenizer(of_words), [0, 1, 2, 3])] == ["Invoice", " number", " 2", "0417"]


def test_a_character_of_several_tokens_comes_whole_with_the_mean_of_their_logprobs() -> None:
    assert pieces(Detokenizer(of_bytes), "aß".encode(), [-0.1, -0.2, -0.6]) == [
        GeneratedPiece("a", -0.1),
        GeneratedPiece("ß", -0.4),
    ]


def test_special_tokens_are_no_part_of_the_text_nor_of_its_confidence() -> None:
    assert pieces(Detokenizer(of_bytes), [SPECIAL, 97, SPECIAL, 98], [-9, -0.1, -9, -0.2]) == [
        GeneratedPiece("a", -0.1),
        GeneratedPiece("b", -0.2),
    ]


def test_half_a_character_at_the_end_is_shown_as_such() -> None:
    assert pieces(Detokenizer(of_bytes), [97, 0xE5], [-0.1, -0.3]) == [
        GeneratedPiece("a", -0.1),
        GeneratedPiece("\ufffd", -0.3),
    ]


def test_bytes_that_never_become_a_character_are_not_waited_for() -> None:
    detokenizer = Detokenizer(of_bytes)
    found = [detokenizer.feed(0xFF, -0.5) for _ in range(8)]
    assert found == [None] * 7 + [GeneratedPiece("\ufffd" * 8, -0.5)]
