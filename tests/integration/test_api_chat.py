"""Chat completions, passed on: what goes up and comes back, who is let in, who leaves."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import httpx
import jsonschema_rs
import pytest

from inkgate.model_servers.server import ModelServer
from inkgate.model_servers.upstream import ModelAnswer, ModelCall
from inkgate.serving.outcomes import WorkOutcome
from support.api_client import Message, RawCall, png, running_api
from support.chat_api import JSON, PATH, relay
from support.chat_requests import RECORDED, chat
from support.stub_upstream import Reply, running_stub

pytestmark = pytest.mark.anyio


@pytest.mark.smoke
@pytest.mark.parametrize("client", RECORDED)
async def test_what_clients_send_goes_up_byte_by_byte(client: str) -> None:
    async with relay() as (api, stub):
        answer = await api.client.post(PATH, content=RECORDED[client], headers=JSON)
    assert stub.bodies == [RECORDED[client]]
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json()["choices"][0]["message"]["content"] == "Hello"
    assert answer.headers["x-request-id"]
    assert api.limiter.ended == {WorkOutcome.OK: 1}


@pytest.mark.smoke
async def test_events_come_back_byte_by_byte() -> None:
    async with relay() as (api, stub):
        call = RawCall(api.app, JSON, [json.dumps(chat(stream=True)).encode()], PATH)
        await call.run()
        async with httpx.AsyncClient(timeout=60) as direct:
            expected = await direct.post(f"{stub.url}/chat/completions", json=chat(stream=True))
    assert call.body == expected.content
    start = dict(call.sent[0]["headers"])
    assert start[b"content-type"] == b"text/event-stream; charset=utf-8"
    assert b"content-length" not in start
    assert b"transfer-encoding" not in start


async def test_events_come_as_they_are_made() -> None:
    async with relay(Reply(["Hel", "lo"], silent="after")) as (api, stub):
        call = RawCall(api.app, JSON, [json.dumps(chat(stream=True)).encode()], PATH)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call.run)
            with anyio.fail_after(60):
                while b'"lo"' not in call.body:  # noqa: ASYNC110 - it is sent by a server in another thread
                    await anyio.sleep(0.005)
            assert stub.at_once == 1
            call.left.set()


async def test_a_client_that_leaves_a_stream_ends_it_on_the_model_server() -> None:
    async with relay(Reply(["on"], endless=True)) as (api, stub):
        call = RawCall(api.app, JSON, [json.dumps(chat(stream=True)).encode()], PATH)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call.run)
            await stub.wait_until_asked()
            assert api.limiter.in_flight == 1
            call.left.set()
        await stub.wait_until_left()
    assert api.limiter.ended == {WorkOutcome.LEFT: 1}
    assert api.limiter.in_flight == 0


async def test_a_client_that_leaves_before_the_answer_ends_the_request_too() -> None:
    async with relay(Reply(silent="at all")) as (api, stub):
        call = RawCall(api.app, JSON, [json.dumps(chat()).encode()], PATH)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call.run)
            await stub.wait_until_asked()
            call.left.set()
        await stub.wait_until_left()
    assert api.limiter.ended == {WorkOutcome.LEFT: 1}
    assert call.sent == []


async def test_a_full_service_refuses_before_the_body_is_read() -> None:
    async with relay(Reply(silent="at all"), limits={"max_in_flight": 1}) as (api, stub):
        first = RawCall(api.app, JSON, [json.dumps(chat()).encode()], PATH)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first.run)
            await stub.wait_until_asked()
            refused = await api.client.post(PATH, json=chat(), headers={"X-Inkgate-Wait": "0"})
            others = [
                await api.client.post(path, json=chat(), headers={"X-Inkgate-Wait": "0"})
                for path in (PATH, "/v1/ocr", "/ocr", "/layout-parsing", PATH)
            ]
            first.left.set()
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
    assert refused.json()["error"]["code"] == "service_full"
    assert refused.json()["error"]["type"] == "server_error"
    assert {answer.status_code for answer in others} == {503}
    return_ms = [int(answer.headers["retry-after-ms"]) for answer in (refused, *others)]
    assert return_ms == sorted(set(return_ms))
    assert len(stub.seen) == 1


@pytest.mark.parametrize(
    ("body", "headers", "status", "code"),
    [
        (b"{", JSON, 400, "json_invalid"),
        (b"[]", JSON, 400, "request_malformed"),
        (b"{}", {"content-type": "text/plain"}, 415, "media_type_unsupported"),
        (b"{}", JSON | {"content-encoding": "gzip"}, 415, "media_type_unsupported"),
        (b'{"a": "' + 3000 * b"x" + b'"}', JSON, 413, "body_too_large"),
    ],
)
async def test_what_is_no_request_is_refused_in_openais_form(
    body: bytes, headers: dict[str, str], status: int, code: str
) -> None:
    async with relay(limits={"max_body_mb": 0.002}) as (api, stub):
        answer = await api.client.post(PATH, content=body, headers=headers | {"x-request-id": "mine"})
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json")
    error = answer.json()["error"]
    assert (error["code"], error["type"], error["request_id"]) == (code, "invalid_request_error", "mine")
    assert stub.seen == []
    assert api.limiter.ended == {WorkOutcome.REJECTED: 1}


async def test_keys_and_draining_hold_here_too() -> None:
    async with relay(auth={"key_hashes": [hashlib.sha256(b"secret").hexdigest()]}) as (api, stub):
        nobody = await api.client.post(PATH, json=chat())
        known = await api.client.post(PATH, json=chat(), headers={"authorization": "Bearer secret"})
        api.context.drain.begin()
        late = await api.client.post(PATH, json=chat(), headers={"authorization": "Bearer secret"})
    refused = nobody.json()["error"]
    assert (nobody.status_code, refused["code"], refused["inkgate_code"]) == (401, "invalid_api_key", "unauthenticated")
    assert "Send `Authorization: Bearer <key>`" in refused["message"]
    assert known.status_code == 200
    assert (late.status_code, late.json()["error"]["code"]) == (503, "draining")
    assert len(stub.seen) == 1
    assert "authorization" not in stub.headers[0]


async def test_an_engine_without_model_servers_says_what_to_start() -> None:
    async with running_api() as api:
        answer = await api.client.post(PATH, json=chat())
    assert (answer.status_code, answer.json()["error"]["code"]) == (501, "chat_unavailable")
    assert "--engine paddleocr-vl" in answer.json()["error"]["message"]


async def test_the_log_tells_model_and_statuses() -> None:
    async with relay() as (api, _):
        await api.client.post(PATH, json=chat(stream=True))
    (line,) = [line for line in api.logs if line["event"] == "request"]
    told = {key: line[key] for key in ("path", "status", "model", "stream", "upstream_status")}
    assert told == {"path": PATH, "status": 200, "model": "stub-model", "stream": True, "upstream_status": 200}


async def test_the_engines_name_stands_for_its_model_and_nothing_else_is_changed() -> None:
    body = b'{ "model" : "fake", "messages": [{"role":"user","content":"\\"model\\": \\"fake\\""}],"x":1.50}'
    async with relay(models=("a-model",)) as (api, stub):
        await api.client.post(PATH, content=body, headers=JSON)
        await api.client.post(PATH, json=chat(model="another"))
    assert stub.bodies[0] == body.replace(b'"fake"', b'"a-model"')
    assert stub.seen[1]["model"] == "another"


async def test_which_of_several_models_is_the_engines_is_for_the_settings_to_say() -> None:
    async with relay(models=("a", "b")) as (api, stub):
        await api.client.post(PATH, json=chat(model="fake"))
    async with relay(models=("a", "b"), vllm={"model": "b"}) as (api, told):
        await api.client.post(PATH, json=chat(model="fake"))
    assert (stub.seen[0]["model"], told.seen[0]["model"]) == ("fake", "b")


async def test_every_name_of_the_preset_is_listed_and_stands_for_its_model() -> None:
    names = ["paddleocr-vl-1.6", "paddleocr-vl", "PaddleOCR-VL-1.6-0.9B", "PaddlePaddle/PaddleOCR-VL-1.6"]
    async with relay(models=("a-path",), vllm={"preset": "paddleocr-vl-1.6"}) as (api, stub):
        stub.described = {"max_model_len": 4096}
        listed = (await api.client.get("/v1/models")).json()["data"]
        described = (await api.client.get("/v1/models/PaddlePaddle/PaddleOCR-VL-1.6")).json()
        for name in [*names, "PADDLEOCR-VL-1.6-0.9b", "a-path", "PaddleOCR-VL-1.5-0.9B"]:
            await api.client.post(PATH, json=chat(model=name))
        document = {"type": "image_url", "image_url": "data:image/png;base64," + base64.b64encode(png()).decode()}
        read = await api.client.post("/v1/ocr", json={"model": names[2], "document": document})
    assert [model["id"] for model in listed] == ["a-path", *names]
    assert [model.get("root") for model in listed] == [None, *["a-path"] * 4]
    assert described == listed[-1]
    assert all(model["max_model_len"] == 4096 and model["capabilities"]["completion_chat"] for model in listed)
    assert [seen["model"] for seen in stub.seen] == ["a-path"] * 6 + ["PaddleOCR-VL-1.5-0.9B"]
    assert read.status_code == 200


async def test_of_several_models_the_one_that_the_preset_knows_is_the_engines() -> None:
    served = ("other", "PaddlePaddle/PaddleOCR-VL-1.6")
    async with relay(models=served, vllm={"preset": "paddleocr-vl-1.6"}) as (api, stub):
        await api.client.post(PATH, json=chat(model="PaddleOCR-VL-1.6-0.9B"))
        await api.client.post(PATH, json=chat(model="other"))
        listed = (await api.client.get("/v1/models")).json()["data"]
    assert [seen["model"] for seen in stub.seen] == [served[1], "other"]
    assert [model["id"] for model in listed[:2]] == [*served]
    assert {model["root"] for model in listed[2:]} == {served[1]}


async def test_mineru_is_listed_by_one_name_because_its_client_takes_no_more() -> None:
    async with relay(models=("/models/m",), vllm={"preset": "mineru"}) as (api, stub):
        listed = (await api.client.get("/v1/models")).json()["data"]
        await api.client.post(PATH, json=chat(model="MinerU2.5"))
    assert [model["id"] for model in listed] == ["/models/m"]
    assert stub.seen[0]["model"] == "/models/m"


async def test_models_of_the_servers_are_listed() -> None:
    async with relay(models=("a", "b")) as (api, stub):
        listed = (await api.client.get("/v1/models")).json()
        await api.client.get("/v1/models")
    assert listed["object"] == "list"
    assert [model["id"] for model in listed["data"]] == ["a", "b"]
    assert all(model["object"] == "model" and "created" in model and model["owned_by"] for model in listed["data"])
    assert len(stub.headers) == 1


async def test_a_model_is_described_with_the_length_of_its_context() -> None:
    async with relay(models=("org/a", "b")) as (api, stub):
        stub.described = {"max_model_len": 4096, "root": "/srv/secret"}
        listed = (await api.client.get("/v1/models")).json()["data"]
        described = (await api.client.get("/v1/models/org/a")).json()
        engine = (await api.client.get("/v1/models/fake")).json()
    assert [model["max_model_len"] for model in listed] == [4096, 4096]
    assert described == listed[0] == {**listed[0], "id": "org/a", "owned_by": "model-server"}
    assert engine == {
        "id": "fake",
        "object": "model",
        "type": "base",
        "capabilities": {"completion_chat": False, "vision": True, "ocr": True},
        "created": 0,
        "owned_by": "inkgate",
    }
    assert "root" not in described


async def test_one_model_is_listed_where_there_is_one_and_may_be_sent_everywhere() -> None:
    async with relay(models=("one",)) as (api, _):
        listed = (await api.client.get("/v1/models")).json()
        chatted = await api.client.post(PATH, json=chat(model="one"))
        document = {"type": "image_url", "image_url": "data:image/png;base64," + base64.b64encode(png()).decode()}
        read = await api.client.post("/v1/ocr", json={"model": "one", "document": document})
    expected = {
        "id": "one",
        "object": "model",
        "type": "base",
        "capabilities": {"completion_chat": True, "vision": True, "ocr": True},
        "created": 0,
        "owned_by": "model-server",
    }
    assert listed == {"object": "list", "data": [expected]}
    assert (chatted.status_code, read.status_code) == (200, 200)


async def test_without_a_server_that_answers_the_engine_is_listed() -> None:
    upstream = ModelServer("http://127.0.0.1:9/v1", 5)
    async with running_api(upstream=upstream) as api:
        listed = (await api.client.get("/v1/models")).json()
    await upstream.close()
    assert [model["id"] for model in listed["data"]] == ["fake"]


async def test_the_example_of_the_description_works_as_described() -> None:
    async with relay() as (api, stub):
        described = (await api.client.get("/openapi.json")).json()["paths"][PATH]["post"]
        content = described["requestBody"]["content"]["application/json"]
        [example] = content["examples"].values()
        answer = await api.client.post(PATH, json=example["value"])
    jsonschema_rs.validate(content["schema"], example["value"])
    assert answer.status_code == 200
    assert stub.seen == [example["value"]]


WAITS: list[tuple[dict[str, object], dict[str, str], bool]] = [
    ({}, {}, True),
    ({"chat_wait_s": 0}, {"X-Inkgate-Wait": "60"}, True),
    ({"chat_wait_s": 0}, {}, False),
    ({}, {"X-Inkgate-Wait": "0"}, False),
    ({}, {"X-Stainless-Read-Timeout": "0.02"}, False),
    ({}, {"X-Stainless-Timeout": "0.02"}, False),
    ({}, {"X-Stainless-Read-Timeout": "60.0", "X-Stainless-Timeout": "never"}, True),
    ({"waiting_mb": 0.5}, {}, False),
]
"""Settings, headers, whether all of many requests at once are answered."""


@pytest.mark.parametrize(("admission", "headers", "all_answered"), WAITS)
async def test_many_requests_at_once_wait_for_room_where_they_may(
    admission: dict[str, object], headers: dict[str, str], *, all_answered: bool
) -> None:
    statuses: list[int] = []
    slow = Reply(["Hello"], pause_s=0.02)
    async with relay(slow, limits={"max_in_flight": 4}, serving={"admission": admission}) as (api, stub):

        async def ask() -> None:
            answer = await api.client.post(PATH, json=chat(stream=True), headers=headers, timeout=60)
            statuses.append(answer.status_code)

        async with anyio.create_task_group() as tasks:
            for _ in range(40):
                tasks.start_soon(ask)
    assert (set(statuses) == {200}) is all_answered
    assert set(statuses) <= {200, 503}
    assert stub.most_at_once <= 4


async def test_how_long_to_wait_is_a_number_of_seconds() -> None:
    async with relay() as (api, _):
        for wait in ("-1", "nan", "long"):
            answer = await api.client.post(PATH, json=chat(), headers={"X-Inkgate-Wait": wait})
            assert (answer.status_code, answer.json()["error"]["code"]) == (422, "options_invalid")


@dataclass
class _CountingUpstream:
    """An Upstream that knows how many calls it has open."""

    inner: ModelServer
    open: int = 0

    async def models(self) -> tuple[str, ...]:
        return await self.inner.models()

    @asynccontextmanager
    async def send(self, call: ModelCall) -> AsyncIterator[ModelAnswer]:
        self.open += 1
        try:
            async with self.inner.send(call) as answer:
                yield answer
        finally:
            self.open -= 1

    async def close(self) -> None:
        await self.inner.close()


@dataclass
class _FullConnection(RawCall):
    """A client whose connection is full from the first byte of the body on."""

    full: anyio.Event = field(default_factory=anyio.Event)

    async def _send(self, message: Message) -> None:
        await super()._send(message)
        if message["type"] == "http.response.body":
            self.full.set()
            await self.left.wait()


async def test_a_client_that_takes_no_answer_holds_its_place_and_nothing_of_the_model_server() -> None:
    with running_stub(Reply(["Hello " * 20_000])) as stub:  # more than the last 64 KB
        upstream = _CountingUpstream(ModelServer(stub.url, 5))
        async with running_api(upstream=upstream) as api, anyio.create_task_group() as tasks:
            client = _FullConnection(api.app, JSON, [json.dumps(chat()).encode()], PATH)
            tasks.start_soon(client.run)
            await client.full.wait()
            assert (upstream.open, api.limiter.in_flight) == (0, 1)
            client.left.set()
        await upstream.close()
    assert api.limiter.in_flight == 0


class _SlowConnection(RawCall):
    """A client that takes its time for each message."""

    async def _send(self, message: Message) -> None:
        await anyio.sleep(0.8)
        await super()._send(message)


async def test_a_response_that_is_ready_is_sent_past_the_deadline() -> None:
    async with relay(Reply(["Hello " * 20_000])) as (api, _):
        headers = {**JSON, "X-Inkgate-Timeout": "2"}
        client = _SlowConnection(api.app, headers, [json.dumps(chat()).encode()], PATH)
        await client.run()
    assert json.loads(client.body)["choices"][0]["message"]["content"] == "Hello " * 20_000
    assert api.limiter.ended == {WorkOutcome.OK: 1}
