"""What is taken from the headers of a trace, and what travels from a request to what is done for it."""

from __future__ import annotations

import anyio
import pytest
from opentelemetry.trace import SpanKind, Tracer

from inkgate.telemetry.tracing import (
    NOT_RECORDING,
    child_span,
    finished_span,
    outgoing_headers,
    request_span,
    sampled_trace_id,
    shared_span,
    trace_context,
)
from support.traces import SpanRecorder, only

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{SPAN}-01"
SENT = {"traceparent": PARENT, "tracestate": "vendor=1"}


def passed_on(headers: dict[str, str], tracer: Tracer = NOT_RECORDING) -> dict[str, str] | None:
    """What a model server gets for a request with these headers; None if the request has no trace."""
    with request_span(tracer, headers) as span:
        return None if span is None else outgoing_headers()


@pytest.mark.parametrize(
    "headers",
    [
        SENT,
        {"traceparent": PARENT},
        {"traceparent": f"00-{TRACE}-{SPAN}-00"},
        {"traceparent": PARENT, "tracestate": "vendor=1,other@tenant=a b"},
    ],
)
def test_a_context_is_understood_and_passed_on_as_it_came(headers: dict[str, str]) -> None:
    assert passed_on(headers) == headers


def test_a_later_version_may_say_more() -> None:
    assert passed_on({"traceparent": f"01-{TRACE}-{SPAN}-01-more"}) == {"traceparent": PARENT}


def test_what_is_no_context_is_none() -> None:
    cases = [
        "",
        "00",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-01-more",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE}-{SPAN}-01\r\nx: y",
        f"00-{TRACE}x-{SPAN}-01",
    ]
    assert [parent for parent in cases if passed_on({"traceparent": parent}) is not None] == []


@pytest.mark.parametrize("state", ["a=1\r\nx: y", "a=\x00", "ä=1", "a=" + "1" * 600])
def test_a_state_that_can_not_be_passed_on_is_left_out(state: str) -> None:
    assert passed_on({"traceparent": PARENT, "tracestate": state}) == {"traceparent": PARENT}


def test_outside_of_any_trace_nothing_happens() -> None:
    with request_span(NOT_RECORDING, {}) as span, child_span("page"):
        finished_span("wait", 1.0)
        assert span is None
        assert (trace_context(), sampled_trace_id(), outgoing_headers()) == (None, None, {})


@pytest.mark.anyio
async def test_what_is_done_for_a_request_is_in_its_trace() -> None:
    found: list[str | None] = []

    async def work() -> None:
        with child_span("page"):
            found.append(sampled_trace_id())

    with request_span(NOT_RECORDING, SENT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work)
        assert outgoing_headers() == SENT
    assert found == [TRACE]
    assert sampled_trace_id() is None


def test_what_is_done_for_nobodys_trace_is_in_none() -> None:
    kept = SpanRecorder()
    with request_span(kept.tracer, {}), shared_span("model call", [], {}):
        pass
    assert [span.name for span in kept.done()] == ["request"]


def test_what_is_shared_is_in_the_first_trace_and_linked_to_the_others() -> None:
    kept = SpanRecorder()
    contexts = []
    for _ in range(2):
        with request_span(kept.tracer, {}):
            context = trace_context()
            assert context is not None
            contexts.append(context)
    with shared_span("model call", contexts, {"inkgate.items": 2}):
        pass
    first, second, call = kept.done()
    assert call.parent is not None
    assert call.parent.span_id == first.context.span_id
    assert [link.context.span_id for link in call.links] == [second.context.span_id]


def test_a_part_that_has_ended_began_before() -> None:
    kept = SpanRecorder()
    with request_span(kept.tracer, SENT), child_span("call", kind=SpanKind.CLIENT):
        finished_span("wait", 2.0)
    spans = kept.done()
    wait = only(spans, "wait")
    assert wait.start_time is not None
    assert wait.end_time is not None
    assert wait.end_time - wait.start_time >= 2_000_000_000
    assert [only(spans, name).kind for name in ("request", "call")] == [SpanKind.SERVER, SpanKind.CLIENT]


def test_a_trace_that_is_not_recorded_is_no_exemplar_and_is_passed_on() -> None:
    with request_span(NOT_RECORDING, {"traceparent": f"00-{TRACE}-{SPAN}-00"}):
        assert sampled_trace_id() is None
        assert outgoing_headers() == {"traceparent": f"00-{TRACE}-{SPAN}-00"}
