"""Requests as traces, through whole services in this process."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio
import httpx
import pytest
from opentelemetry.trace import StatusCode, TraceFlags, Tracer
from PIL import Image

from inkgate.api.app import create_app
from inkgate.api.http.metrics_server import exposed, registry_of
from inkgate.bootstrap import Service, running
from inkgate.settings import load_settings
from inkgate.telemetry.tracing import NOT_RECORDING
from support.chat_api import PATH, relay
from support.chat_requests import chat
from support.ppocr import drawn
from support.stub_upstream import Reply, StubUpstream, error_reply, running_stub
from support.traces import SpanRecorder, attributes, only, span_id, trace_ids, tree

pytestmark = pytest.mark.anyio

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SENT = {"traceparent": f"00-{TRACE}-{SPAN}-01", "tracestate": "vendor=1"}
LINE = Reply(["Total ", "42.50"])
LOOP = Reply(["Total 42.50.\n", "And so it goes. "], endless=True)
TRACED: dict[str, object] = {"endpoint": "http://127.0.0.1:9"}


@asynccontextmanager
async def served(
    tracer: Tracer, flags: Mapping[str, dict[str, object]]
) -> AsyncIterator[tuple[Service, httpx.AsyncClient]]:
    """A service with these settings, whose requests `tracer` records, and a client of it."""
    settings = load_settings(None, **{"tracing": TRACED, **flags}, pdf={"warm_workers": 0})
    async with running(settings) as service:
        app = create_app(service, settings, tracer=tracer)
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://inkgate.localhost", timeout=60) as client:
            yield service, client


def on(stub: StubUpstream, **more: object) -> dict[str, dict[str, object]]:
    vllm: dict[str, object] = {"urls": [stub.url], "model": "stub-model", "fallback": False, "reading": "page"}
    return {"engine": {"name": "paddleocr-vl", "vllm": vllm | more}}


def document(pages: int = 1) -> bytes:
    file = io.BytesIO()
    first, *others = [Image.fromarray(drawn(["Total 42.50", f"page {number}"])) for number in range(pages)]
    first.save(file, "TIFF", save_all=True, append_images=others)
    return file.getvalue()


def parents(stub: StubUpstream) -> set[str]:
    """What came with chat completions."""
    return {headers["traceparent"] for headers in stub.headers if "traceparent" in headers}


@pytest.mark.smoke
async def test_a_request_is_one_tree_that_goes_on_at_the_model_server() -> None:
    kept = SpanRecorder()
    with running_stub(LINE) as stub:
        async with served(kept.tracer, on(stub)) as (_, client):
            answer = await client.post("/ocr", files={"file": ("invoice.tiff", document(2))}, headers=SENT)
            await client.get("/health", headers=SENT)
    assert answer.status_code == 200
    assert "traceparent" not in answer.headers
    spans = kept.done()
    assert trace_ids(spans) == {TRACE}
    assert tree(spans) == {
        "": {"POST /ocr"},
        "POST /ocr": {"receive", "open", "page", "assemble"},
        "page": {"open", "wait", "engine", "call"},
        "call": {"wait"},
    }
    request = only(spans, "POST /ocr")
    assert request.parent is not None
    assert f"{request.parent.span_id:016x}" == SPAN
    assert attributes(request)["http.response.status_code"] == 200
    assert attributes(request)["inkgate.request_id"] == answer.headers["x-request-id"]
    pages = [attributes(span) for span in spans if span.name == "page"]
    assert {page["inkgate.page"] for page in pages} == {0, 1}
    assert {(page["inkgate.engine"], page["inkgate.task"]) for page in pages} == {("paddleocr-vl-1.6", "text")}
    calls = [span for span in spans if span.name == "call"]
    assert [attributes(call)["gen_ai.usage.output_tokens"] for call in calls] == [2] * len(calls)
    assert [[event.name for event in call.events] for call in calls] == [["sent"]] * len(calls)
    assert parents(stub) == {f"00-{TRACE}-{span_id(call)}-01" for call in calls}
    assert {headers.get("tracestate") for headers in stub.headers if "traceparent" in headers} == {"vendor=1"}


async def test_spans_hold_nothing_of_a_document_and_no_key() -> None:
    kept = SpanRecorder()
    with running_stub(LINE) as stub:
        async with served(kept.tracer, on(stub)) as (_, client):
            file = {"file": ("invoice-of-mallory.png", document())}
            await client.post("/ocr?pages=1", files=file, headers={"authorization": "Bearer sk-very-secret"})
    told = "".join(span.to_json() for span in kept.done())
    assert "inkgate.page" in told
    for secret in ("mallory", "42.50", "sk-very-secret"):
        assert secret not in told


async def test_failures_are_told() -> None:
    kept = SpanRecorder()
    with running_stub(error_reply(500, "boom")) as stub:
        async with served(kept.tracer, on(stub, recover_s=0.1)) as (_, client):
            answer = await client.post("/ocr", files={"file": document()})
    spans = kept.done()
    assert answer.status_code >= 500
    assert only(spans, "POST /ocr").status.status_code is StatusCode.ERROR
    page = only(spans, "page")
    assert attributes(page)["error.type"] == answer.json()["code"]
    assert page.status.status_code is StatusCode.ERROR


async def test_tries_are_told() -> None:
    kept = SpanRecorder()
    with running_stub(lambda _: LOOP if len(stub.seen) == 1 else LINE) as stub:
        async with served(kept.tracer, on(stub)) as (_, client):
            answer = await client.post("/ocr", files={"file": document()})
    assert answer.status_code == 200
    spans = kept.done()
    page = only(spans, "page")
    assert [(event.name, dict(event.attributes or {})) for event in page.events] == [
        ("retry", {"error.type": "output_repeats"})
    ]
    assert page.status.status_code is StatusCode.UNSET
    assert len([span for span in spans if span.name == "call"]) == 2


async def test_what_pages_share_is_linked_to_each() -> None:
    kept = SpanRecorder()
    async with served(kept.tracer, {"cache": {"enabled": False}}) as (_, client), anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(lambda: client.post("/ocr", files={"file": document()}))
    spans = kept.done()
    calls = [span for span in spans if span.name == "model call"]
    pages = {span_id(span) for span in spans if span.name == "page"}
    assert len(pages) == 4
    assert tree(spans)["page"] >= {"batch", "model call"}
    worked_for = [f"{link.context.span_id:016x}" for call in calls for link in call.links]
    assert set(worked_for) <= pages
    assert sum(attributes(call)["inkgate.items"] == 1 for call in calls) < len(calls) or not worked_for


async def test_chat_requests_go_on_too() -> None:
    async with relay(LINE) as (api, stub):
        await api.client.post(PATH, json=chat(), headers=SENT)
    assert parents(stub) == {SENT["traceparent"]}


@pytest.mark.parametrize(("length", "passed_on"), [(512, True), (513, False)])
async def test_the_state_of_a_trace_is_passed_on_up_to_512_characters(length: int, *, passed_on: bool) -> None:
    first = f"a={'v' * 200},b={'v' * 200},c="
    state = first + "v" * (length - len(first))
    async with relay(LINE) as (api, stub):
        await api.client.post(PATH, json=chat(), headers=SENT | {"tracestate": state})
    assert parents(stub) == {SENT["traceparent"]}
    states = {headers.get("tracestate") for headers in stub.headers if "traceparent" in headers}
    assert states == {state if passed_on else None}


async def test_a_part_of_the_traces_is_recorded_and_others_say_for_themselves() -> None:
    kept = SpanRecorder(sample_ratio=0.0)
    with running_stub(LINE) as stub:
        async with served(kept.tracer, {**on(stub), "cache": {"enabled": False}}) as (_, client):
            for headers in ({}, SENT, {"traceparent": f"00-{'1' * 32}-{SPAN}-00"}):
                await client.post("/ocr", files={"file": document()}, headers=headers)
    assert trace_ids(kept.done()) == {TRACE}
    assert sorted(int(parent[-2:], 16) & TraceFlags.SAMPLED for parent in parents(stub)) == [0, 0, 1]


async def test_without_an_endpoint_traces_are_passed_on_as_they_came() -> None:
    with running_stub(LINE) as stub:
        async with served(NOT_RECORDING, {**on(stub), "tracing": {}, "cache": {"enabled": False}}) as (_, client):
            await client.post("/ocr", files={"file": document()})
            assert parents(stub) == set()
            await client.post("/ocr", files={"file": document()}, headers=SENT)
    assert parents(stub) == {SENT["traceparent"]}


async def test_durations_are_shown_with_the_trace_that_took_so_long() -> None:
    kept = SpanRecorder()
    with running_stub(LINE) as stub:
        async with served(kept.tracer, on(stub)) as (service, client):
            await client.post("/ocr", files={"file": document()}, headers=SENT)
            text, _ = exposed(registry_of([service.metrics]), "application/openmetrics-text; version=1.0.0")
    kept.done()
    named = [line for line in text.decode().splitlines() if f'# {{trace_id="{TRACE}"}}' in line]
    families = {line.partition("_bucket")[0] for line in named}
    assert families >= {"inkgate_http_request_duration_seconds", "inkgate_page_duration_seconds"}
