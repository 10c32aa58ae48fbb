"""What a model server is tried with, and what is found by it: a server that answers text and fails on every image."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import httpx
import pytest
from PIL import Image

from inkgate.api.app import create_app
from inkgate.bootstrap import running
from inkgate.model_servers.server import ModelServer
from inkgate.settings import load_settings
from support.images import encoded
from support.ppocr import drawn
from support.stub_upstream import Reply, Request, error_reply, image_of, running_stub

pytestmark = pytest.mark.anyio

READ = Reply(["Invoice", " number", " 20417"])
PAGE = encoded(Image.fromarray(drawn(["Invoice number 20417"])), "PNG")


class ImageEncoderScript:
    """A model server's script: text is always answered, images while `open`."""

    def __init__(self) -> None:
        self.open = False

    def __call__(self, request: Request) -> Reply:
        shown = any(isinstance(message["content"], list) for message in request["messages"])
        return error_reply(500, "no eyes") if shown and not self.open else READ


def refuses_repetition_detection(request: Request) -> Reply:
    """A model server's script: an engine that fails on a field of the requests for pages."""
    return error_reply(500, "unknown field") if "repetition_detection" in request else READ


class SmallImageScript:
    """A model server's script: reads the small image of a probe and fails on every page, until `open`."""

    def __init__(self) -> None:
        self.open = False
        self.pages = 0

    def __call__(self, request: Request) -> Reply:
        if max(image_of(request).shape) <= 64:
            return READ
        self.pages += 1
        return READ if self.open else error_reply(500, "CUDA error")


def page(number: int) -> bytes:
    """One of several different pages."""
    return encoded(Image.fromarray(drawn([f"Invoice number {number}"])), "PNG")


@asynccontextmanager
async def served(url: str, *, fallback: bool = False) -> AsyncIterator[httpx.AsyncClient]:
    vllm = {"urls": [url], "model": "stub-model", "fallback": fallback, "reading": "page", "recover_s": 0.1}
    own = {"workers": 0}
    settings = load_settings(None, engine={"name": "paddleocr-vl", "vllm": vllm, "ppocr": own})
    async with running(settings) as service:
        transport = httpx.ASGITransport(create_app(service, settings))
        async with httpx.AsyncClient(transport=transport, base_url="http://inkgate.localhost", timeout=60) as client:
            yield client


async def test_a_lone_server_that_fails_on_images_is_out_until_it_reads_them_again() -> None:
    eyes = ImageEncoderScript()
    with running_stub(eyes) as stub:
        async with served(stub.url) as client:
            failed = await client.post("/ocr", files={"file": PAGE})
            blind = await client.get("/readyz")
            eyes.open = True
            with anyio.fail_after(60):
                while (await client.get("/readyz")).status_code != 200:  # noqa: ASYNC110 - it is tried again
                    await anyio.sleep(0.01)
            again = await client.post("/ocr", files={"file": PAGE})
    assert failed.status_code == 502
    assert (blind.status_code, blind.json()["reasons"]) == (
        503,
        ["engine: no model server takes calls (status 500, then upstream_failed)"],
    )
    assert (again.status_code, again.json()["text"]) == (200, "Invoice number 20417\n")


async def test_a_probe_asks_for_its_image_as_pages_are_asked_for() -> None:
    with running_stub(refuses_repetition_detection) as stub:
        async with served(stub.url) as client:
            failed = await client.post("/ocr", files={"file": PAGE})
            ready = await client.get("/readyz")
    assert (failed.status_code, failed.json()["code"]) == (502, "upstream_unreachable")
    assert (ready.status_code, ready.json()["reasons"]) == (
        503,
        ["engine: no model server takes calls (status 500, then upstream_failed)"],
    )
    probes = [request for request in stub.seen if max(image_of(request).shape) == 64]
    assert probes
    assert {request.get("max_completion_tokens", request.get("max_tokens")) for request in probes} == {4}
    assert all(request.keys() >= {"repetition_detection", "temperature"} for request in probes)


async def test_a_server_that_fails_on_every_page_is_out_though_its_probe_succeeds() -> None:
    script = SmallImageScript()
    with running_stub(script) as stub:
        async with served(stub.url) as client:
            answers = [await client.post("/ocr", files={"file": page(number)}) for number in range(12)]
            ready, state = await client.get("/readyz"), (await client.get("/state?history=false")).json()
    codes = [(answer.status_code, answer.json()["code"]) for answer in answers]
    assert codes == [(502, "engine_failed")] * 4 + [(502, "upstream_failed")] + [(503, "engine_breaker_open")] * 7
    assert all("retry-after" in answer.headers for answer in answers[5:])
    assert script.pages == 4 * 2 + 1
    assert ready.status_code == 503
    assert "the last 5 pages could not be read" in ready.text
    assert [(each["state"], each["opened"]) for each in state["breakers"]] == [("open", 1)]
    assert [each["taken_out"] for each in state["replicas"]] == [1]


async def test_the_embedded_engine_reads_meanwhile_and_readiness_says_so_until_a_page_is_read() -> None:
    script = SmallImageScript()
    with running_stub(script) as stub:
        async with served(stub.url, fallback=True) as client:
            answers = [await client.post("/ocr", files={"file": page(number)}) for number in range(12)]
            ready, asked = await client.get("/readyz"), script.pages
            taken_out = (await client.get("/state?history=false")).json()["replicas"][0]["taken_out"]
            script.open = True
            number = 12
            with anyio.fail_after(60):
                while "paddleocr" not in (await client.post("/ocr", files={"file": page(number)})).json()["engine"]:
                    number += 1
    results = [answer.json() for answer in answers]
    assert [
        (answer.status_code, result["pages"][0]["degraded"]) for answer, result in zip(answers, results, strict=True)
    ] == [(200, ["model_server_out"])] * 12
    assert "Invoice number 7" in results[7]["text"]
    assert asked == 4 * 2 + taken_out  # a page at a time that it is on trial
    assert taken_out <= 1 + 4
    assert (ready.status_code, ready.json()["reasons"]) == (200, [])
    assert "engine: calls to paddleocr-vl-1.6 are stopped" in ready.text
    assert "ppocr reads its pages" in ready.text


async def test_the_model_that_reads_pages_is_shown_another_small_image_each_time() -> None:
    """A server with its processor's, its encoder's or its prefix cache would answer for an image that it has seen."""
    with running_stub(READ, models=("for-text-alone", "stub-model")) as stub:
        server = ModelServer(stub.url, 2, model_names=("its-other-name", "stub-model"))
        for _ in range(2):
            await server.probe()
        await server.close()
    first, second = (image_of(request) for request in stub.seen)
    assert {request["model"] for request in stub.seen} == {"stub-model"}
    assert first.shape == second.shape == (64, 64, 3)
    assert (first != second).any()
    assert max(len(body) for body in stub.bodies) < 2_000
