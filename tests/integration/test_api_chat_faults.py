"""Chat completions whose model server refuses, fails, stalls, breaks off, or talks nonsense."""

from __future__ import annotations

import json

import pytest

from inkgate.model_servers.server import ModelServer
from inkgate.serving.outcomes import WorkOutcome
from support.api_client import RawCall, running_api
from support.chat_api import JSON, PATH, relay
from support.chat_requests import chat
from support.stub_upstream import Reply, error_reply

pytestmark = pytest.mark.anyio

INTERNAL = "internal: /srv/vllm/engine.py"
BREAKS_OFF = [
    (Reply(["Hel", "lo"], broken="end"), "upstream_cut_off"),
    (Reply(["Hel", "lo"], broken="close"), "upstream_cut_off"),
    (Reply(["Hel", "lo"], silent="after"), "upstream_stalled"),
]


@pytest.mark.parametrize(
    ("status", "kept", "code", "outcome"),
    [
        (400, 400, "upstream_rejected", WorkOutcome.REJECTED),
        (404, 404, "model_not_found", WorkOutcome.REJECTED),
        (422, 422, "upstream_rejected", WorkOutcome.REJECTED),
        (500, 502, "upstream_failed", WorkOutcome.FAILED),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_errors_of_the_model_server_keep_their_status_and_are_in_our_words(
    status: int, kept: int, code: str, outcome: WorkOutcome, *, stream: bool
) -> None:
    async with relay(error_reply(status, INTERNAL)) as (api, _):
        answer = await api.client.post(PATH, json=chat(stream=stream))
    assert (answer.status_code, answer.json()["error"]["code"]) == (kept, code)
    assert answer.headers["content-type"] == "application/json"
    assert "internal" not in answer.text
    (logged,) = [line for line in api.logs if line["event"] == "model_server_refused"]
    assert (logged["status"], logged["request_id"]) == (status, answer.headers["x-request-id"])
    assert INTERNAL not in str(api.logs)
    assert api.limiter.ended == {outcome: 1}


async def test_an_error_within_a_stream_is_in_our_words_too() -> None:
    events = b'data: {"choices": [{"delta": {"content": "{\\"error\\": 1}"}}]}\n\n'
    events += b'data: {"error": {"message": "secret", "type": "InternalServerError", "code": 500}}\n\ndata: [DONE]\n\n'
    async with relay(Reply(body=events, content_type="text/event-stream")) as (api, _):
        answer = await api.client.post(PATH, json=chat(stream=True))
    first, second, last = answer.text.split("\n\n")[:3]
    assert (first.encode(), last) == (events.split(b"\n\n")[0], "data: [DONE]")
    error = json.loads(second.removeprefix("data: "))["error"]
    assert (error["code"], error["request_id"]) == ("upstream_failed", answer.headers["x-request-id"])
    assert "secret" not in answer.text
    assert api.limiter.ended == {WorkOutcome.FAILED: 1}


async def test_a_stream_whose_text_says_done_is_not_whole_for_that() -> None:
    event = b'data: {"choices": [{"delta": {"content": "[DONE]"}}]}\n\n'
    async with relay(Reply(body=event, content_type="text/event-stream")) as (api, _):
        answer = await api.client.post(PATH, json=chat(stream=True))
    *_, last = [line for line in answer.text.split("\n") if line]
    assert json.loads(last.removeprefix("data: "))["error"]["code"] == "upstream_cut_off"
    assert api.limiter.ended == {WorkOutcome.FAILED: 1}


async def test_a_busy_model_server_is_told_of_with_a_time_to_return() -> None:
    async with relay(error_reply(503, "The queue is full.")) as (api, _):
        answer = await api.client.post(PATH, json=chat())
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    assert answer.json()["error"]["code"] == "upstream_busy"
    assert "The queue is full." not in answer.text
    assert api.limiter.ended == {WorkOutcome.FAILED: 1}


async def test_a_key_that_the_model_server_refuses_is_ours_and_not_the_clients() -> None:
    async with relay(error_reply(401, "Wrong key sk-secret.")) as (api, _):
        answer = await api.client.post(PATH, json=chat())
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_denied")
    assert "sk-secret" not in answer.text


async def test_what_is_no_model_server_is_told_of() -> None:
    async with relay(Reply(status=200, body=b"<html>", content_type="text/html")) as (api, _):
        answer = await api.client.post(PATH, json=chat())
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_garbled")


async def test_a_model_server_that_is_not_there_is_told_of() -> None:
    upstream = ModelServer("http://127.0.0.1:9/v1", 5)
    async with running_api(upstream=upstream) as api:
        answer = await api.client.post(PATH, json=chat())
    await upstream.close()
    assert (answer.status_code, answer.headers["retry-after"]) == (502, "10")
    assert answer.json()["error"]["code"] == "upstream_unreachable"
    assert answer.json()["error"]["type"] == "server_error"
    assert api.limiter.ended == {WorkOutcome.FAILED: 1}


@pytest.mark.parametrize(("reply", "code"), BREAKS_OFF)
async def test_a_stream_that_breaks_off_ends_in_an_error_event(reply: Reply, code: str) -> None:
    async with relay(reply, vllm={"progress_s": 0.2}) as (api, _):
        call = RawCall(api.app, JSON, [json.dumps(chat(stream=True)).encode()], PATH)
        await call.run()
    *events, last = [json.loads(line[6:]) for line in call.body.decode().split("\n") if line.startswith("data: ")]
    assert call.status == 200
    assert "".join(event["choices"][0]["delta"].get("content", "") for event in events) == "Hello"
    assert last["error"]["code"] == code
    assert call.sent[-1].get("more_body", False) is False
    assert api.limiter.ended == {WorkOutcome.FAILED: 1}
    (line,) = [line for line in api.logs if line["event"] == "request"]
    assert line["code"] == code


async def test_a_first_token_that_does_not_come_is_a_plain_error() -> None:
    async with relay(Reply(silent="at all"), vllm={"first_token_s": 0.1}) as (api, stub):
        answer = await api.client.post(PATH, json=chat(stream=True))
        await stub.wait_until_left()
    assert (answer.status_code, answer.headers["retry-after"]) == (504, "30")
    assert answer.json()["error"]["code"] == "upstream_stalled"


async def test_an_answer_in_one_piece_has_the_whole_time_of_a_request() -> None:
    async with relay(Reply(silent="at all"), vllm={"first_token_s": 0.01}, limits={"time_s": 0.2}) as (api, stub):
        answer = await api.client.post(PATH, json=chat())
        await stub.wait_until_left()
    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "service_timeout")


async def test_a_stream_without_end_is_ended_by_the_time_of_a_request() -> None:
    async with relay(Reply(["on"], endless=True), limits={"time_s": 0.3}) as (api, stub):
        call = RawCall(api.app, JSON, [json.dumps(chat(stream=True)).encode()], PATH)
        await call.run()
        await stub.wait_until_left()
    last = call.body.decode().rstrip("\n").split("\n")[-1]
    assert json.loads(last.removeprefix("data: "))["error"]["code"] == "service_timeout"
