"""Where what is done now belongs in a trace, and what is recorded of it there.

The span that is current travels in a context variable from a request to everything that is done for it, as its log
lines' request ID does. Outside of any trace, which is the normal case, all of this does nothing.

Names and attributes of spans never hold anything from a document, a file's name, or a key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

Value = str | int | float | bool
Attributes = Mapping[str, Value]
NOTHING: Attributes = {}

_PARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_MOST_STATE = 512
"""Characters of `tracestate` that are passed on; the recommendation asks for as many at least."""
_STATE = re.compile(r"[ -~\t]*")


@dataclass(frozen=True, slots=True)
class TraceContext:
    """A place in a trace, as https://www.w3.org/TR/trace-context/ has it.

    Attributes:
        trace_id, span_id: 32 and 16 hexadecimal digits, not all of them 0.
        sampled: whether it is recorded by who sent it.
        state: `tracestate`, as it came.
    """

    trace_id: str
    span_id: str
    sampled: bool
    state: str = ""

    def headers(self) -> dict[str, str]:
        """With which it is passed on."""
        headers = {"traceparent": f"00-{self.trace_id}-{self.span_id}-{self.sampled:02x}"}
        return headers | {"tracestate": self.state} if self.state else headers


def parse_context(parent: str, state: str = "") -> TraceContext | None:
    """What the headers `traceparent` and `tracestate` say; None where the first is none, as the recommendation asks."""
    found = _PARENT.fullmatch(parent.strip())
    if found is None:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    if version == "ff" or (version == "00" and more) or not trace_id.strip("0") or not span_id.strip("0"):
        return None
    kept = state if len(state) <= _MOST_STATE and _STATE.fullmatch(state) else ""
    return TraceContext(trace_id, span_id, bool(int(flags, 16) & 1), kept)


class Span(Protocol):
    """Something that is being done, as part of a trace."""

    @property
    def context(self) -> TraceContext:
        """Its place, for what is done elsewhere on its behalf."""
        ...

    def begin(self, name: str, attributes: Attributes, *, ago_s: float = 0.0, links: Sequence[Span] = ()) -> Span:
        """A part of it, begun `ago_s` seconds ago. `links`: others that it is done for, too."""
        ...

    def note(self, attributes: Attributes, name: str = "") -> None:
        """Adds to what is known of it. `name`: a better one."""
        ...

    def event(self, name: str, attributes: Attributes) -> None:
        """Something happened."""
        ...

    def fail(self, code: str) -> None:
        """It failed."""
        ...

    def end(self) -> None:
        """It is over. Later calls are not heard."""
        ...


@dataclass(frozen=True, slots=True)
class Forwarded:
    """A Span of somebody else's trace, which is passed on as it came and not recorded here."""

    context: TraceContext

    def begin(self, name: str, attributes: Attributes, *, ago_s: float = 0.0, links: Sequence[Span] = ()) -> Span:  # noqa: ARG002 - see Span
        """See Span: itself."""
        return self

    def note(self, attributes: Attributes, name: str = "") -> None:
        """See Span."""

    def event(self, name: str, attributes: Attributes) -> None:
        """See Span."""

    def fail(self, code: str) -> None:
        """See Span."""

    def end(self) -> None:
        """See Span."""


class Tracer(Protocol):
    """Begins traces, and goes on with those of others."""

    def request(self, sent: TraceContext | None) -> Span | None:
        """The span of a request that came with `sent`; None where there is no trace."""
        ...


class ForwardingTracer:
    """A Tracer that records nothing: traces of others are passed on."""

    def request(self, sent: TraceContext | None) -> Span | None:
        """See Tracer."""
        return None if sent is None else Forwarded(sent)


NOT_RECORDING: Tracer = ForwardingTracer()

_current: ContextVar[Span | None] = ContextVar("span", default=None)


def current_span() -> Span | None:
    """The span that what is done now belongs to; None outside of any. Tasks begun inside of one inherit it."""
    return _current.get()


def current_trace_id() -> str | None:
    """The recorded trace that what is done now belongs to, in 32 hexadecimal digits; None outside of any."""
    current = _current.get()
    return current.context.trace_id if current is not None and current.context.sampled else None


def outgoing_headers() -> dict[str, str]:
    """What a request to another service is sent with, so that it goes on with this trace."""
    current = _current.get()
    return {} if current is None else current.context.headers()


@contextmanager
def within(span: Span) -> Iterator[None]:
    """What is done inside belongs to `span`, which ends with it."""
    before = _current.get()
    _current.set(span)
    try:
        yield
    finally:
        # Not by a token: a generator may be closed in another context than it was begun in.
        _current.set(before)
        span.end()


@contextmanager
def part(name: str, attributes: Attributes = NOTHING) -> Iterator[None]:
    """What is done inside is a part of the current span."""
    parent = _current.get()
    if parent is None:
        yield
        return
    with within(parent.begin(name, attributes)):
        yield


@contextmanager
def shared_part(name: str, spans: Sequence[Span], attributes: Attributes = NOTHING) -> Iterator[None]:
    """What is done inside is a part of the first of `spans`, and linked to the others. Of none: of no trace."""
    if not spans:
        yield
        return
    with within(spans[0].begin(name, attributes, links=spans[1:])):
        yield


def over(name: str, seconds: float) -> None:
    """A part of the current span that took so long is over."""
    parent = _current.get()
    if parent is not None:
        parent.begin(name, NOTHING, ago_s=seconds).end()


def event(name: str, attributes: Attributes) -> None:
    """Something happened that the current span should tell of."""
    current = _current.get()
    if current is not None:
        current.event(name, attributes)
