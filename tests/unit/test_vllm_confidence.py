"""Log-probabilities of tokens become the confidence of words."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.engines.vlm.confidence import Confidence, scored_words
from inkgate.model_servers.protocol import GeneratedToken

SURE, UNSURE = -0.01, -1.0


def token(text: str, logprob: float = SURE) -> GeneratedToken:
    return GeneratedToken(text.encode(), logprob)


def scores(text: str, *tokens: GeneratedToken, shown: str | None = None) -> dict[str, float]:
    found = scored_words(text if shown is None else shown, Confidence(text, tokens))
    return {word.text: word.confidence for word in found}


def test_a_word_has_the_mean_of_its_tokens() -> None:
    found = scores("total due", token("to", -0.2), token("tal", -0.4), token(" due", -1.0))
    assert found == {"total": pytest.approx(math.exp(-0.3)), "due": pytest.approx(math.exp(-1.0))}


def test_a_token_of_two_words_counts_for_both() -> None:
    found = scores("a b c", token("a b", -0.5), token(" c", 0.0))
    assert found == {"a": pytest.approx(math.exp(-0.5)), "b": pytest.approx(math.exp(-0.5)), "c": 1.0}


def test_tokens_that_are_not_in_the_text_are_left_out() -> None:
    tokens = (token("<s>", -9), token("Hi", SURE), token("<|pad|>", -9), token(" you", SURE), token("</s>", -9))
    confidence = Confidence("Hi you", tokens)
    assert confidence.page == pytest.approx(math.exp(SURE))


def test_parts_of_a_character_belong_to_it() -> None:
    part = GeneratedToken("\ufffd".encode(), UNSURE)
    found = scores("a字b", token("a"), part, part, token("b"))
    assert found == {"a": math.exp(SURE), "字": pytest.approx(math.exp(UNSURE)), "b": math.exp(SURE)}
    assert scores("字", part, part, part)["字"] == pytest.approx(math.exp(UNSURE))
    raw = [GeneratedToken(bytes([byte]), UNSURE) for byte in "字".encode()]
    assert scores("字", *raw)["字"] == pytest.approx(math.exp(UNSURE))


def test_the_space_that_a_tokenizer_strips_from_the_start_is_no_matter() -> None:
    found = scores("Hello you", token(" Hello", UNSURE), token(" you"))
    assert found == {"Hello": pytest.approx(math.exp(UNSURE)), "you": pytest.approx(math.exp(SURE))}


def test_signs_of_scripts_without_spaces_are_words() -> None:
    found = scored_words("文字 ok", Confidence("文字 ok", [token("文"), token("字", UNSURE), token(" ok")]))
    assert [(word.text, word.start) for word in found] == [("文", 0), ("字", 1), ("ok", 3)]
    assert found[1].confidence == pytest.approx(math.exp(UNSURE))


def test_words_of_a_parsed_text_are_found_in_the_answer_behind_its_markup() -> None:
    answer = "<table><tr><td>t</td><td>b</td></tr></table>"
    tokens = [token("<table><tr><td>", -5), token("t", UNSURE), token("</td><td>", -5), token("b"), token("</td>", -5)]
    assert scores(answer, *tokens, shown="t b") == {
        "t": pytest.approx(math.exp(UNSURE)),
        "b": pytest.approx(math.exp(SURE)),
    }


def test_words_that_are_not_in_the_answer_have_no_score() -> None:
    assert scores("one two", token("one"), token(" two"), shown="one & two") == {
        "one": math.exp(SURE),
        "two": math.exp(SURE),
    }
    assert scores("one") == {}


def test_parts_are_told_by_their_characters() -> None:
    confidence = Confidence("世界 ok", [token("世界", UNSURE), token(" ok")])
    assert confidence.of(0, 2) == pytest.approx(math.exp(UNSURE))
    assert confidence.of(3, 5) == pytest.approx(math.exp(SURE))
    assert confidence.of(3, 3) is None


@given(st.lists(st.tuples(st.text(max_size=6), st.floats(-20, 0)), max_size=30))
def test_every_word_of_any_text_has_the_confidence_of_its_tokens(parts: list[tuple[str, float]]) -> None:
    parts = [(text.encode("utf-8", "replace").decode(), logprob) for text, logprob in parts if "\ufffd" not in text]
    text = "".join(part for part, _ in parts)
    confidence = Confidence(text, [token(part, logprob) for part, logprob in parts])
    start = 0
    for part, logprob in parts:
        if part:
            assert confidence.of(start, start + len(part)) == pytest.approx(math.exp(logprob))
        start += len(part)
    assert all(0 <= word.confidence <= 1 for word in scored_words(text, confidence))


@given(st.text(max_size=60), st.lists(st.tuples(st.binary(max_size=5), st.floats(-20, 0)), max_size=30))
def test_tokens_of_another_text_do_no_harm(text: str, parts: list[tuple[bytes, float]]) -> None:
    confidence = Confidence(text, [GeneratedToken(data, logprob) for data, logprob in parts])
    assert confidence.page is None or 0 <= confidence.page <= 1
