"""OpenAI's Responses API, answered by chat completions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai import APIError, AsyncOpenAI, UnprocessableEntityError
from openai.types.responses import Response, ResponseCompletedEvent, ResponseIncompleteEvent, ResponseTextDeltaEvent
from pydantic import TypeAdapter

from inkgate.serving.outcomes import WorkOutcome
from support.api_client import Api, b64, png, running_api
from support.chat_api import relay
from support.stub_upstream import Reply, error_reply

pytestmark = pytest.mark.anyio

PATH = "/v1/responses"
URL = f"data:image/png;base64,{b64(png())}"
PAGE: Any = [
    {
        "role": "user",
        "content": [
            {"type": "input_image", "image_url": URL, "detail": "high"},
            {"type": "input_text", "text": "OCR:"},
        ],
    }
]


def client_of(api: Api) -> AsyncOpenAI:
    """OpenAI's own client. It checks nothing that it receives, so the tests validate."""
    http: Any = api.client  # of httpx, which has the methods of httpx2
    return AsyncOpenAI(api_key="any", base_url="http://localhost/v1", http_client=http, max_retries=0)


@pytest.mark.smoke
async def test_an_image_is_read_and_its_response_has_openais_types() -> None:
    usage = {"prompt_tokens": 40, "completion_tokens": 2, "total_tokens": 42}
    choice = {"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}
    chat = {"object": "chat.completion", "created": 17, "model": "stub-model", "choices": [choice], "usage": usage}
    async with relay(Reply(body=json.dumps(chat).encode())) as (api, stub):
        response = await client_of(api).responses.create(
            model="stub-model", instructions="Read.", input=PAGE, max_output_tokens=99, temperature=0, store=True
        )
    TypeAdapter(Response).validate_python(response.model_dump(), strict=True)
    assert (response.output_text, response.status, response.model) == ("Hello", "completed", "stub-model")
    assert (response.created_at, response.model_dump()["store"]) == (17, False)
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (40, 2)
    image = {"type": "image_url", "image_url": {"url": URL, "detail": "high"}}
    assert stub.seen == [
        {
            "model": "stub-model",
            "temperature": 0,
            "messages": [
                {"role": "system", "content": "Read."},
                {"role": "user", "content": [image, {"type": "text", "text": "OCR:"}]},
            ],
            "max_completion_tokens": 99,
        }
    ]
    assert api.limiter.ended == {WorkOutcome.OK: 1}


@pytest.mark.parametrize(("finish", "status"), [("stop", "completed"), ("length", "incomplete")])
async def test_events_come_as_openais_and_end_with_the_whole_response(finish: str, status: str) -> None:
    async with relay(Reply(["Hel", "lo"], finish=finish)) as (api, _):
        stream = await client_of(api).responses.create(model="stub-model", input=PAGE, stream=True)
        events = [event async for event in stream]
    for event in events:
        type(event).model_validate(event.model_dump(), strict=True)
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [event.type for event in events] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        f"response.{status}",
    ]
    assert [event.delta for event in events if isinstance(event, ResponseTextDeltaEvent)] == ["Hel", "lo"]
    last = events[-1]
    assert isinstance(last, ResponseCompletedEvent | ResponseIncompleteEvent)
    assert (last.response.output_text, last.response.status) == ("Hello", status)
    assert last.response.usage is not None
    assert last.response.usage.output_tokens == 2
    reason = last.response.incomplete_details and last.response.incomplete_details.reason
    assert reason == (None if finish == "stop" else "max_output_tokens")


async def test_an_event_stream_is_the_same_however_it_is_cut() -> None:
    events = (
        'data: {"created":1,"model":"m","choices":[{"delta":{"role":"assistant","content":""}}]}\r\n\r\n'
        'data: {"choices":[{"delta":{"content":"Äb"}}]}\n\n'
        'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]'
    ).encode()
    async with relay(Reply(body=events, content_type="text/event-stream")) as (api, _):
        answer = await api.client.post(PATH, json={"model": "m", "input": "OCR:", "stream": True})
    sent = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
    assert sent[-1]["response"]["output"][0]["content"][0]["text"] == "Äb"


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"input": 5}, "`input` must be"),
    ({"input": []}, "`input` must be"),
    ({"previous_response_id": "resp_1"}, "stores no responses"),
    ({"conversation": {"id": "c"}}, "stores no responses"),
    ({"background": True}, "/v1/jobs"),
    ({"tools": [{"type": "web_search"}]}, "call no tools"),
    ({"tool_choice": "required"}, "call no tools"),
    ({"reasoning": {"effort": "high"}}, "don't reason"),
    ({"prompt": {"id": "p"}}, "stores no prompts"),
    ({"top_logprobs": 3}, "/v1/chat/completions"),
    ({"logprobs": True}, "/v1/chat/completions"),
    ({"functions": [{"name": "f"}]}, "call no tools"),
    ({"modalities": ["text", "audio"]}, "text only"),
    ({"include": ["message.output_text.logprobs"]}, "/v1/chat/completions"),
    ({"n": 2}, "one output"),
    ({"messages": []}, "has `input`"),
    ({"text": {"verbosity": "low"}}, "`verbosity`"),
    ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "store: false"),
    ({"input": [{"type": "function_call_output", "output": "1"}]}, "function_call_output"),
    ({"input": [{"role": "tool", "content": "1"}]}, "known role"),
    ({"input": [{"role": "user"}]}, "`content`"),
    ({"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]}, "`image_url`"),
    ({"input": [{"role": "user", "content": [{"type": "input_file", "file_data": "x"}]}]}, "/v1/ocr"),
    ({"input": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "input_audio"),
    ({"input": [{"role": "user", "content": [{"type": ["input_text"]}]}]}, "input_text"),
]


async def test_what_cannot_be_honoured_is_refused_and_says_what_to_do() -> None:
    wrong = []
    async with relay() as (api, stub):
        for fields, told in REFUSED:
            answer = await api.client.post(PATH, json={"model": "stub-model", "input": "OCR:"} | fields)
            error = answer.json().get("error") or {}
            if (answer.status_code, error.get("code")) != (422, "options_invalid") or told not in error["message"]:
                wrong.append((fields, answer.text))
    assert wrong == []
    assert stub.seen == []


async def test_what_changes_nothing_is_accepted() -> None:
    neutral = {
        "previous_response_id": None,
        "background": False,
        "tools": [],
        "tool_choice": "auto",
        "top_logprobs": 0,
        "logprobs": False,
        "reasoning": {"effort": None},
        "include": ["reasoning.encrypted_content"],
        "metadata": {"a": "b"},
        "parallel_tool_calls": True,
        "truncation": "auto",
        "service_tier": "auto",
        "text": {"verbosity": "medium"},
    }
    spoken = [
        {"type": "message", "role": "developer", "content": "Read."},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Hello", "annotations": []}], "id": "msg_1"},
        {"role": "user", "content": "More?"},
    ]
    async with relay() as (api, stub):
        answer = await api.client.post(PATH, json={"model": "stub-model", "input": spoken, "top_k": 1} | neutral)
    assert (answer.status_code, answer.json()["metadata"]) == (200, {"a": "b"})
    assert stub.seen == [
        {
            "model": "stub-model",
            "top_k": 1,
            "messages": [
                {"role": "system", "content": "Read."},
                {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]},
                {"role": "user", "content": "More?"},
            ],
        }
    ]


async def test_a_schema_becomes_the_chats_response_format() -> None:
    schema = {"type": "object", "properties": {"number": {"type": "string"}}}
    text = {"format": {"type": "json_schema", "name": "invoice", "schema": schema, "strict": True}}
    async with relay() as (api, stub):
        await api.client.post(PATH, json={"model": "stub-model", "input": "OCR:", "text": text})
    expected = {"type": "json_schema", "json_schema": {"name": "invoice", "schema": schema, "strict": True}}
    assert stub.seen[0]["response_format"] == expected


async def test_the_rules_for_chats_hold_here_too() -> None:
    async with relay(limits={"max_body_mb": 0.01}) as (api, stub):
        refused = await api.client.post(PATH, json={"input": "OCR:", "prompt_logprobs": 2})
        large = await api.client.post(PATH, json={"input": "OCR:" + 12_000 * "x"})
        await api.client.post(PATH, json={"model": "stub-model", "input": "OCR:", "priority": -5})
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "options_invalid")
    assert (large.status_code, large.json()["error"]["code"]) == (413, "body_too_large")
    assert [("priority" in request) for request in stub.seen] == [False]


async def test_a_large_image_is_translated_in_a_thread_and_sent_whole() -> None:
    url = "data:image/png;base64," + 3_000_000 * "A"
    part = {"type": "input_image", "image_url": url}
    async with relay() as (api, stub):
        body = {"model": "stub-model", "input": [{"role": "user", "content": [part]}]}
        answer = await api.client.post(PATH, json=body)
    assert answer.status_code == 200
    assert stub.seen[0]["messages"][0]["content"][0]["image_url"]["url"] == url


async def test_errors_are_the_clients_own_exceptions() -> None:
    long = "This model's maximum context length is 2048 tokens. However, your prompt contains 9000 input tokens."
    async with relay(error_reply(422, long)) as (api, _):
        for stream in (False, True):
            with pytest.raises(UnprocessableEntityError, match="maximum context length is 2048") as refused:
                await client_of(api).responses.create(model="stub-model", input=PAGE, stream=stream)
            assert refused.value.code == "context_length_exceeded"


@pytest.mark.parametrize("reply", [Reply(["Hel"], broken="end"), Reply(["Hel"], broken="close")])
async def test_a_stream_that_breaks_off_raises_and_is_never_completed(reply: Reply) -> None:
    seen = []
    async with relay(reply) as (api, _):
        stream = await client_of(api).responses.create(model="stub-model", input=PAGE, stream=True)
        with pytest.raises(APIError) as broken:
            async for event in stream:
                seen.append(event.type)  # noqa: PERF401 - what was seen before the error
    assert broken.value.code == "upstream_cut_off"
    assert "response.completed" not in seen


async def test_an_error_within_a_stream_raises_and_ends_it() -> None:
    events = b'data: {"choices": [{"delta": {"content": "Hel"}}]}\n\n'
    events += b'data: {"error": {"message": "secret", "type": "InternalServerError", "code": 500}}\n\ndata: [DONE]\n\n'
    async with relay(Reply(body=events, content_type="text/event-stream")) as (api, _):
        answer = await api.client.post(PATH, json={"model": "m", "input": "OCR:", "stream": True})
    assert answer.text.count("event: error") == 1
    assert "response.completed" not in answer.text
    assert "secret" not in answer.text


GARBLED = [
    b'{"choices": []}',
    b'{"choices": [{"message": {"content": 5}, "finish_reason": "stop"}]}',
    b'{"choices": [{"message": {"content": "a"}, "finish_reason": ["stop"]}]}',
    b'{"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}], "usage": "all"}',
]


async def test_what_is_no_chat_completion_is_the_model_servers_fault() -> None:
    wrong = []
    for body in GARBLED:
        async with relay(Reply(body=body)) as (api, _):
            answer = await api.client.post(PATH, json={"model": "m", "input": "OCR:"})
        if (answer.status_code, answer.json()["error"]["code"]) != (502, "upstream_garbled"):
            wrong.append((body, answer.text))
    assert wrong == []


async def test_the_embedded_engine_has_no_responses_either() -> None:
    async with running_api() as api:
        answer = await api.client.post(PATH, json={"input": "OCR:"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (501, "chat_unavailable")
