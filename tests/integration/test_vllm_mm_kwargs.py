"""`mm_processor_kwargs`, which vLLM refuses from 0.32 on unless it was started with a flag."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import orjson
import pytest

from inkgate.caller import NO_CALLER
from inkgate.engines.vlm.engine import VlmEngine
from inkgate.engines.vlm.presets import find_preset
from inkgate.model_servers.server import ModelServer
from inkgate.model_servers.upstream import ModelCall
from inkgate.settings import VllmSettings
from inkgate_client.types import Size, Task, TaskKind
from support.chat_api import JSON, PATH, relay
from support.chat_requests import chat
from support.ppocr import ArrayPage
from support.stub_upstream import Reply, Request, StubUpstream, image_of, running_stub

pytestmark = pytest.mark.anyio

KWARGS = {"min_pixels": 112896, "max_pixels": 1003520}
MODEL = "PaddleOCR-VL-1.6-0.9B"
SAID = (
    "Per-request {name} are disabled by default because they can change multimodal preprocessing resource usage. Start "
    "the server with --trust-request-mm-kwargs only when clients are trusted."
)


class StrictServerScript:
    """A script of a vLLM 0.32 without the flag; with it where `trusting`."""

    def __init__(self, trusting: bool = False) -> None:
        self.trusting = trusting

    def __call__(self, request: Request) -> Reply:
        for name in ("mm_processor_kwargs", "media_io_kwargs"):
            if request.get(name) and not self.trusting:
                error = {"message": SAID.format(name=name), "type": "BadRequestError", "param": name, "code": 400}
                return Reply(status=400, body=json.dumps({"error": error}).encode())
        return Reply(["Invoice"])


@asynccontextmanager
async def server_of(stub: StubUpstream) -> AsyncIterator[ModelServer]:
    server = ModelServer(stub.url, connect_s=10)
    try:
        yield server
    finally:
        await server.close()


async def sent(server: ModelServer, request: dict[str, object]) -> tuple[int, str | None]:
    """The status, and what was left out."""
    async with server.send(ModelCall(orjson.dumps(request))) as answer:
        assert b"".join([chunk async for chunk in answer.chunks])
        return answer.status, answer.headers.get("X-Inkgate-Ignored")


async def test_pages_are_read_by_a_server_that_takes_none_and_it_is_asked_once() -> None:
    with running_stub(StrictServerScript(), (MODEL,)) as stub:
        engine = VlmEngine(find_preset("paddleocr-vl"), VllmSettings(jpeg_quality=0), ModelServer(stub.url, 5))
        await engine.start()
        line = np.full((28, 448, 3), 255, np.uint8)
        line[10:18, 20:400] = 0
        results = [await engine.read(ArrayPage(line), Task(TaskKind.TEXT), NO_CALLER) for _ in range(3)]
        await engine.stop()
    assert [result.text for result in results] == ["Invoice"] * 3
    assert ["mm_processor_kwargs" in request for request in stub.seen] == [True, False, False, False]
    # The image is what the refused fields would have made of it.
    seen = [Size(image_of(request).shape[1], image_of(request).shape[0]) for request in stub.seen]
    assert set(seen) == {Size(1344, 84)}


async def test_a_server_that_takes_them_gets_them() -> None:
    with running_stub(StrictServerScript(trusting=True)) as stub:
        async with server_of(stub) as server:
            assert await sent(server, {**chat(), "mm_processor_kwargs": KWARGS}) == (200, None)
    assert stub.seen[0]["mm_processor_kwargs"] == KWARGS


async def test_a_server_that_was_started_again_is_asked_again() -> None:
    request = {**chat(), "mm_processor_kwargs": KWARGS, "media_io_kwargs": {"image": {"image_mode": "L"}}}
    with running_stub(StrictServerScript()) as stub:
        port = int(stub.url.rpartition(":")[2].partition("/")[0])
        server = ModelServer(stub.url, connect_s=10)
        assert await sent(server, request) == (200, "mm_processor_kwargs, media_io_kwargs")
        assert await sent(server, chat()) == (200, None)
    assert await server.readings() is None
    with running_stub(StrictServerScript(trusting=True), port=port) as again:
        assert await sent(server, request) == (200, None)
    await server.close()
    assert again.seen == [request]


async def test_other_refusals_are_the_answer() -> None:
    body = json.dumps({"error": {"message": "temperature must be non-negative", "code": 400}}).encode()
    call = ModelCall(orjson.dumps({**chat(), "mm_processor_kwargs": KWARGS}))
    with running_stub(Reply(status=400, body=body)) as stub:
        async with server_of(stub) as server, server.send(call) as answer:
            assert (answer.status, b"".join([chunk async for chunk in answer.chunks])) == (400, body)
    assert len(stub.seen) == 1


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_of_chat_is_told_what_was_left_out(stream: bool) -> None:
    async with relay(StrictServerScript()) as (api, _):
        request = {**chat(stream=stream), "mm_processor_kwargs": KWARGS}
        answers = [await api.client.post(PATH, content=orjson.dumps(request), headers=JSON) for _ in range(2)]
        plain = await api.client.post(PATH, content=orjson.dumps(chat()), headers=JSON)
    assert [answer.status_code for answer in answers] == [200, 200]
    assert [answer.headers["x-inkgate-ignored"] for answer in answers] == ["mm_processor_kwargs"] * 2
    assert "x-inkgate-ignored" not in plain.headers
    assert all("Invoice" in answer.text for answer in answers)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_of_chat_gets_no_larger_images_than_the_preset_has(stream: bool) -> None:
    asked = {"mm_processor_kwargs": {"max_pixels": 10**9, "do_resize": False}, "priority": -1}
    passed = {"mm_processor_kwargs": {"max_pixels": 1003520}}
    async with relay(StrictServerScript(trusting=True), vllm={"max_pixels": 1003520}) as (api, stub):
        answer = await api.client.post(PATH, json={**chat(stream=stream), **asked})
        refused = await api.client.post(PATH, json={**chat(stream=stream), "use_beam_search": True})
    assert (answer.status_code, answer.headers["x-inkgate-ignored"]) == (200, "priority, mm_processor_kwargs")
    assert stub.seen == [{**chat(stream=stream), **passed}]
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "options_invalid")


async def test_what_was_left_out_here_and_what_the_server_got_without_are_named_once() -> None:
    async with relay(StrictServerScript()) as (api, stub):
        request = {**chat(), "mm_processor_kwargs": KWARGS | {"size": 1}, "media_io_kwargs": {"image": {}}}
        answer = await api.client.post(PATH, json=request)
    assert answer.headers["x-inkgate-ignored"] == "media_io_kwargs, mm_processor_kwargs"
    assert [set(seen) - set(chat()) for seen in stub.seen] == [{"mm_processor_kwargs"}, set()]
