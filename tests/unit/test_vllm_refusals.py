"""What a model server says of its errors, in our words."""

from __future__ import annotations

import orjson

from inkgate.api.http.errors import Problem, openai_error
from inkgate.model_servers.refusals import chat_error, upstream_error


def body(message: str, param: str | None = None) -> bytes:
    return orjson.dumps({"error": {"message": message, "type": "BadRequestError", "param": param, "code": 400}})


def limit(tokens: int) -> str:
    return f"This model's maximum context length is {tokens} tokens for prompt and answer together"


def test_a_request_that_is_too_long_is_told_with_both_numbers() -> None:
    cases = [
        (
            (
                "This model's maximum context length is 4096 tokens. However, your prompt contains at least 4097 "
                "input tokens, which exceeds this limit even without any output tokens. Please reduce the length of "
                "the input prompt. (parameter=input_tokens, value=4097)"
            ),
            f"{limit(4096)}, and the prompt has 4097.",
        ),
        (
            (
                "This model's maximum context length is 4096 tokens. However, your prompt contains 90000 characters "
                "(more than 40960 characters, which is the upper bound for 4096 input tokens)."
            ),
            f"{limit(4096)}, and the prompt has 90000 characters, more than they can hold.",
        ),
        (
            (
                "This model's maximum context length is 2048 tokens. However, you requested 3000 tokens (1000 in the "
                "messages, 2000 in the completion)."
            ),
            f"{limit(2048)}, and the request asks for 3000.",
        ),
        (
            (
                "max_completion_tokens=1000000 cannot be greater than max_model_len=2048. Please request fewer output "
                "tokens."
            ),
            f"{limit(2048)}, and `max_completion_tokens` is 1000000.",
        ),
        (
            "The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that",
            f"{limit(4096)}, and the prompt has 5000.",
        ),
    ]
    wrong = [
        (said, found.code, found.detail)
        for said, detail in cases
        for found in (upstream_error(400, body(said, "input_tokens")),)
        if (found.code, found.detail) != ("context_length_exceeded", detail)
    ]
    assert wrong == []


def test_an_image_that_the_model_server_cannot_read_has_a_code_of_its_own() -> None:
    said = ["Failed to load image: cannot identify image file <_io.BytesIO object at 0x7f>", "Non-base64 digit found"]
    found = [upstream_error(400, body(text)) for text in said]
    assert [(error.code, "BytesIO" in error.detail) for error in found] == 2 * [("image_refused", False)]
    assert upstream_error(400, body("The prompt says: Failed to load image")).code == "upstream_rejected"


def test_langchain_and_litellm_recognize_a_request_that_is_too_long_by_its_words() -> None:
    error = upstream_error(400, body("max_tokens=9000 cannot be greater than max_model_len=4096."))
    message = openai_error(Problem.of(error, ""))["error"]["message"]
    assert "prompt is too long" in message
    assert "This model's maximum context length is" in message


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
