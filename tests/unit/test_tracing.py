"""What is taken from the headers of a trace, and what travels from a request to what is done for it."""

from __future__ import annotations

import anyio
import pytest

from inkgate.telemetry.tracing import (
    NOT_RECORDING,
    TraceContext,
    current_span,
    current_trace_id,
    outgoing_headers,
    over,
    parse_context,
    part,
    shared_part,
    within,
)
from support.traces import SpanRecorder

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SENT = TraceContext(TRACE, SPAN, sampled=True, state="vendor=1")


def test_a_context_is_understood_and_passed_on_as_it_came() -> None:
    headers = {"traceparent": f"00-{TRACE}-{SPAN}-01", "tracestate": "vendor=1"}
    assert parse_context(headers["traceparent"], headers["tracestate"]) == SENT
    assert SENT.headers() == headers
    assert TraceContext(TRACE, SPAN, sampled=False).headers() == {"traceparent": f"00-{TRACE}-{SPAN}-00"}


def test_a_later_version_may_say_more() -> None:
    assert parse_context(f"01-{TRACE}-{SPAN}-03-more") == TraceContext(TRACE, SPAN, sampled=True)


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
    assert [parent for parent in cases if parse_context(parent) is not None] == []


@pytest.mark.parametrize("state", ["a=1\r\nx: y", "a=\x00", "ä=1", "a=" + "1" * 600])
def test_a_state_that_can_not_be_passed_on_is_left_out(state: str) -> None:
    assert parse_context(f"00-{TRACE}-{SPAN}-01", state) == TraceContext(TRACE, SPAN, sampled=True)


def test_outside_of_any_trace_nothing_happens() -> None:
    assert NOT_RECORDING.request(None) is None
    with part("page"):
        over("wait", 1.0)
        assert (current_span(), current_trace_id(), outgoing_headers()) == (None, None, {})


@pytest.mark.anyio
async def test_what_is_done_for_a_request_is_in_its_trace() -> None:
    span = NOT_RECORDING.request(SENT)
    assert span is not None
    found: list[str | None] = []

    async def work() -> None:
        with part("page"):
            found.append(current_trace_id())

    with within(span):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work)
        assert outgoing_headers() == SENT.headers()
    assert found == [TRACE]
    assert current_trace_id() is None


def test_what_is_done_for_nobodys_trace_is_in_none() -> None:
    kept = SpanRecorder()
    span = kept.tracer.request(None)
    assert span is not None
    with within(span), shared_part("model call", []):
        pass
    assert [span.name for span in kept.done()] == ["request"]


def test_a_trace_that_is_not_recorded_is_no_exemplar_and_is_passed_on() -> None:
    span = NOT_RECORDING.request(TraceContext(TRACE, SPAN, sampled=False))
    assert span is not None
    with within(span):
        assert current_trace_id() is None
        assert outgoing_headers() == {"traceparent": f"00-{TRACE}-{SPAN}-00"}
