"""What a model server says of its errors, in our words."""

from __future__ import annotations

import orjson

from inkgate.model_servers.refusals import chat_error, upstream_error


def body(message: str, param: str | None = None) -> bytes:
    return orjson.dumps({"error": {"message": message, "type": "BadRequestError", "param": param, "code": 400}})


def test_a_request_that_is_too_long_is_told_with_both_numbers() -> None:
    cases = [
        (
            (
                "This model's maximum context length is 4096 tokens. However, your prompt contains at least 4097 "
                "input tokens, which exceeds this limit even without any output tokens. Please reduce the length of "
                "the input prompt. (parameter=input_tokens, value=4097)"
            ),
            "The prompt has 4097 tokens; the model's limit is 4096, including the answer.",
        ),
        (
            (
                "This model's maximum context length is 4096 tokens. However, your prompt contains 90000 characters "
                "(more than 40960 characters, which is the upper bound for 4096 input tokens)."
            ),
            "The prompt has 90000 characters, more than the model's 4096 tokens can hold.",
        ),
        (
            (
                "This model's maximum context length is 2048 tokens. However, you requested 3000 tokens (1000 in the "
                "messages, 2000 in the completion)."
            ),
            "The request asks for 3000 tokens; the model's limit is 2048 for prompt and answer together.",
        ),
        (
            (
                "max_completion_tokens=1000000 cannot be greater than max_model_len=2048. Please request fewer output "
                "tokens."
            ),
            "`max_completion_tokens` is 1000000; the model's limit is 2048 tokens for prompt and answer together.",
        ),
        (
            "The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that",
            "The prompt has 5000 tokens; the model's limit is 4096, including the answer.",
        ),
    ]
    wrong = [
        (said, found)
        for said, detail in cases
        if (found := upstream_error(400, body(said, "input_tokens")).detail) != detail
    ]
    assert wrong == []


def test_a_field_is_named_and_nothing_else_is_said() -> None:
    assert "`temperature`" in upstream_error(400, body("secret", "temperature")).detail
    for param in (None, "secret thing", "x" * 100):
        assert upstream_error(400, body("secret", param)).detail == "The model server refused the request (400)."
    for odd in (b"secret", b'"secret"', b"[1]", b'{"error": "secret"}', b'{"detail": ["secret"]}', b"\xff"):
        assert "secret" not in upstream_error(400, odd).detail
        assert "secret" not in upstream_error(500, odd).detail


def test_a_model_that_is_not_served_is_told_from_a_wrong_address() -> None:
    unknown = chat_error(404, body("The model `x` does not exist."), "x")
    wrong = chat_error(404, b'{"detail": "Not Found"}', "x")
    assert (unknown.code, unknown.detail) == ("engine_unknown", "The model server has no model 'x'.")
    assert wrong.code == "upstream_garbled"
