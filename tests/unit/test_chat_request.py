"""Parsing a chat request, and replacing one field of it."""

from __future__ import annotations

import json
from contextlib import AbstractAsyncContextManager

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.api.chat.request import MAX_IMAGES, parse_chat, rename_model
from inkgate.api.http.served import ServedModels
from inkgate.errors import EngineFailed, InputRejected
from inkgate.model_servers.protocol import EventLines
from inkgate.model_servers.upstream import ModelAnswer, ModelCall
from support.chat_requests import RECORDED

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.just("model"), inner, max_size=3),
    max_leaves=8,
)


def request(*urls: str, text: str = "", **fields: object) -> bytes:
    parts: list[dict[str, object]] = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    content = [*parts, {"type": "text", "text": text}]
    return orjson.dumps({"model": "m", "messages": [{"role": "user", "content": content}], **fields})


@pytest.mark.parametrize(
    ("client", "model"),
    [("PaddleOCR-VL", "PaddleOCR-VL-1.6-0.9B"), ("MinerU", "stub-model"), ("olmOCR", "olmocr"), ("unusual", "")],
)
def test_what_clients_send_is_understood_and_kept(client: str, model: str) -> None:
    asked = parse_chat(RECORDED[client])
    assert asked.body is RECORDED[client]
    assert (asked.model, asked.stream, bool(asked.key)) == (model, False, client != "unusual")


def test_tokens_are_those_of_text_images_and_answer() -> None:
    alone = parse_chat(request(text=400 * "x", max_tokens=50)).tokens
    assert alone == 100 + 50
    assert parse_chat(request(text=400 * "x", max_completion_tokens=70, max_tokens=50)).tokens == 100 + 70
    assert parse_chat(request(text=400 * "x", max_tokens=50, n=4)).tokens == 100 + 4 * 50
    assert parse_chat(request(text=400 * "x", max_tokens=50, n=2, best_of=8)).tokens == 100 + 8 * 50
    assert parse_chat(request(text=400 * "x", n=3)).tokens == 100 + 3 * 1024
    assert parse_chat(request(40_000 * "A", text=400 * "x", max_tokens=50)).tokens == 150 + 4096
    assert parse_chat(request()).tokens == parse_chat(b"{}").tokens > 0


@pytest.mark.parametrize("field", ["n", "best_of"])
def test_more_answers_to_one_request_than_anybody_needs_are_refused(field: str) -> None:
    def asked(answers: object) -> bytes:
        return orjson.dumps({"messages": [], field: answers})

    parse_chat(asked(16))
    with pytest.raises(InputRejected, match=r"request_malformed: .* asks for 17 completions"):
        parse_chat(asked(17))
    assert parse_chat(asked("many")).tokens == parse_chat(asked(1)).tokens


def test_the_same_images_have_the_same_key_whatever_is_asked_of_them() -> None:
    images = ["data:image/png;base64," + letter * 300_000 for letter in "AB"]
    first = parse_chat(request(images[0], text="OCR:")).key
    assert first == parse_chat(request(images[0], text="Table Recognition:", temperature=1)).key
    keys = {first, parse_chat(request(images[1])).key, parse_chat(request(*images)).key, parse_chat(request()).key}
    assert len(keys) == 4


@pytest.mark.parametrize("at", [22, 150_000, 299_990])
def test_images_that_differ_in_more_than_a_few_bytes_have_other_keys(at: int) -> None:
    image = "data:image/png;base64," + 300_000 * "A"
    changed = image[:at] + 20_000 * "B" + image[at + 20_000 :]
    assert parse_chat(request(image)).key != parse_chat(request(changed[: len(image)])).key


LARGE = "data:image/png;base64," + 5000 * "A"


@pytest.mark.parametrize(
    "body",
    [
        request(LARGE, LARGE, text="x", stream=True),
        json.dumps({"stream": True, "model": "m", "messages": [{"content": [{"image_url": LARGE}, LARGE]}]}).encode(),
        json.dumps({"x": f'"{LARGE}"', "y": [LARGE, f"{LARGE}\\"], "model": "m", "stream": True}, indent=1).encode(),
        json.dumps({"x": f' "{LARGE}" "', LARGE: f'{LARGE}"', "model": "m", "stream": True}).encode(),
    ],
)
def test_large_images_are_left_out_of_the_parse_and_nothing_else(body: bytes) -> None:
    asked = parse_chat(body)
    assert (asked.body, asked.model, asked.stream) == (body, "m", True)


@given(st.lists(st.sampled_from(['"', "data:", "\\", LARGE, ":", " ", "model", "é"]), max_size=8))
def test_no_text_hides_a_field(pieces: list[str]) -> None:
    text = "".join(pieces)
    for ascii_only in (True, False):
        body = json.dumps({text: [text], "messages": [text], "model": "m"}, ensure_ascii=ascii_only).encode()
        assert parse_chat(body).model == "m"


@given(st.dictionaries(st.text(), VALUES, max_size=4), VALUES)
def test_any_object_is_understood(fields: dict[str, object], messages: object) -> None:
    asked = parse_chat(json.dumps(fields | {"messages": messages}).encode())
    assert asked.tokens >= 0


def test_more_images_than_any_model_takes_are_refused() -> None:
    assert parse_chat(request(*["data:a"] * MAX_IMAGES)).key
    assert parse_chat(request(*["data:" + 3000 * "a"] * MAX_IMAGES)).key
    with pytest.raises(InputRejected, match="options_invalid: The request has more than 999 images"):
        parse_chat(request(*["data:a"] * (MAX_IMAGES + 1)))


@pytest.mark.parametrize(
    ("body", "code"), [(b"", "json_invalid"), (b"{'a': 1}", "json_invalid"), (b"3", "request_malformed")]
)
def test_what_is_no_object_is_refused(body: bytes, code: str) -> None:
    with pytest.raises(InputRejected) as caught:
        parse_chat(body)
    assert caught.value.code == code


def test_a_model_is_replaced_and_every_other_byte_stays() -> None:
    body = b'{ "a":1.50, "model" :\n"old" , "text": "\\"model\\": \\"old\\"", "n": 1e2}'
    assert rename_model(body, "old", 'ne"w') == body.replace(b'"old" ,', b'"ne\\"w" ,')


@given(st.dictionaries(st.text(), VALUES, max_size=4), st.text(min_size=1), st.text())
def test_only_the_model_is_replaced(fields: dict[str, object], old: str, new: str) -> None:
    given_fields = fields | {"model": old}
    for ascii_only in (True, False):
        body = json.dumps(given_fields, ensure_ascii=ascii_only).encode()
        assert json.loads(rename_model(body, old, new)) == given_fields | {"model": new}


@given(st.lists(st.sampled_from([b"data: x\n\n", b"da", b"ta: y", b"\n", b"\r\n", b"\n\n"])))
def test_a_stream_is_let_through_in_whole_lines_and_nothing_is_lost(chunks: list[bytes]) -> None:
    lines = EventLines()
    passed = [lines.feed(chunk) for chunk in chunks]
    assert b"".join(passed) + lines.rest == b"".join(chunks)
    assert all(not piece or piece.endswith(b"\n") for piece in passed)


@pytest.mark.parametrize("end", [b"data: [DONE]\n\n", b"data:[DONE]\r\n\r\n", b"data: [DONE]"])
def test_the_end_of_a_stream_is_seen_wherever_it_is_cut_and_nowhere_else(end: bytes) -> None:
    text = b'data: {"text": "[DONE]"}\n\ndata: {"text": "data: [DONE]"}\n\n: data: [DONE]\n\n'
    for at in range(len(text + end)):
        lines = EventLines()
        lines.feed((text + end)[:at])
        assert not lines.done or at >= len(text) + len(b"data:[DONE]")
        lines.feed((text + end)[at:])
        assert lines.done


def test_a_line_of_any_length_is_one_line() -> None:
    lines = EventLines()
    assert lines.feed(b"data: " + b"x" * 2_000_000)
    lines.feed(b"data: [DONE]\n")
    assert not lines.done
    lines.feed(b"data: [DONE]\n")
    assert lines.done


def test_payloads_of_a_line_of_any_length_are_refused() -> None:
    with pytest.raises(EngineFailed) as refused:
        list(EventLines().payloads(b"data: " + b"x" * 2_000_000))
    assert refused.value.code == "upstream_garbled"


class _ListedModels:
    """Returns a list of models, or raises a given error."""

    def __init__(self) -> None:
        self.answers: list[tuple[str, ...] | EngineFailed] = []

    async def models(self) -> tuple[str, ...]:
        answer = self.answers.pop(0)
        if isinstance(answer, EngineFailed):
            raise answer
        return answer

    def send(self, call: ModelCall) -> AbstractAsyncContextManager[ModelAnswer]:
        raise AssertionError("nothing is to be sent")

    async def close(self) -> None: ...


@pytest.mark.anyio
async def test_models_are_asked_for_again_when_they_are_old() -> None:
    now = 0.0
    upstream = _ListedModels()
    served = ServedModels(upstream, fresh_s=10, now=lambda: now)
    upstream.answers = [("a",), ("a", "b"), EngineFailed("upstream_unreachable", "Gone.")]
    assert [await served.names(), await served.names()] == [("a",), ("a",)]
    now = 10.0
    assert await served.names() == ("a", "b")
    now = 20.0
    assert await served.known() == ("a", "b")
    upstream.answers = [EngineFailed("upstream_unreachable", "Gone.")]
    with pytest.raises(EngineFailed):
        await served.names()
