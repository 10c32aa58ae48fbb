"""Continuous requests, independent of earlier ones; each response is checked byte by byte."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Literal, Self
from urllib.parse import urlsplit

import anyio
import h11

from support.numbered_model import NAME, striped, text_of
from support.waiting import until

Kind = Literal["page", "chat", "stream"]
KINDS: Sequence[Kind] = ("page", "page", "page", "chat", "stream")
PRIORITIES = (None, "interactive", "normal", "batch")
TENANTS = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
"""Without API keys, tenants are addresses; all of 127/8 is this machine."""
RETRYABLE = frozenset({429, 502, 503, 504})
RIGHT = "right"
UNANSWERED = "unanswered"
BUSY = frozenset({"service_full", "share_exceeded"})
"""Codes of requests that are refused because of load."""
ANSWER_S = 120.0


@dataclass(frozen=True)
class NumberedRequest:
    """A request for the text of a number, from an address."""

    kind: Kind
    number: int
    tenant: str = TENANTS[0]
    priority: str | None = None

    def encoded(self) -> bytes:
        """The bytes to send."""
        if self.kind == "page":
            path, content_type, body = "/ocr", "multipart/form-data; boundary=b", _form(striped(self.number))
        else:
            message = {"role": "user", "content": f"Say {self.number}"}
            chat = {"model": NAME, "messages": [message], "stream": self.kind == "stream"}
            path, content_type, body = "/v1/chat/completions", "application/json", json.dumps(chat).encode()
        head = [f"POST {path} HTTP/1.1", "Host: localhost", "Connection: close", f"Content-Type: {content_type}"]
        head += [f"Content-Length: {len(body)}"]
        head += [] if self.priority is None else [f"X-Inkgate-Priority: {self.priority}"]
        return "\r\n".join([*head, "", ""]).encode() + body

    def outcome(self, received: bytes) -> str:
        """`right`, `unanswered`, or the error's code, from everything received until the connection was closed.

        Raises:
            AssertionError: it is none of these, or not exactly one complete response: something was lost or answered
                twice.
        """
        if not received:
            return UNANSWERED
        status, headers, body = _whole_answer(received)
        if status != 200:
            assert status in RETRYABLE, (status, body)
            assert int(headers["retry-after"]) >= 1, headers
            return _code(json.loads(body))
        if self.kind == "stream":
            return self._stream_outcome(body.decode())
        answer = json.loads(body)
        text = answer["text"] if self.kind == "page" else answer["choices"][0]["message"]["content"]
        assert text.strip() == text_of(self.number), answer
        return RIGHT

    def _stream_outcome(self, body: str) -> str:
        """A stream that has begun can report an error only in its last event, which is then not [DONE]."""
        events = [line.removeprefix("data: ") for line in body.splitlines() if line.startswith("data: ")]
        assert events
        if events[-1] != "[DONE]":
            assert "[DONE]" not in events
            return _code(json.loads(events[-1]))
        assert events.count("[DONE]") == 1
        choices = [choice for event in events[:-1] for choice in json.loads(event).get("choices", [])]
        text = "".join(choice["delta"].get("content", "") for choice in choices)
        assert text == text_of(self.number), body
        return RIGHT


def _form(file: bytes) -> bytes:
    head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n'
    return head + file + b"\r\n--b--\r\n"


def _whole_answer(received: bytes) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="POST", target="/", headers=[("Host", "inkgate")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(received)
    connection.receive_data(b"")
    head: h11.Response | None = None
    body = b""
    try:
        while not isinstance(event := connection.next_event(), h11.EndOfMessage):
            if isinstance(event, h11.Response):
                head = event
            else:
                assert isinstance(event, h11.Data), "no answer"
                body += event.data
    except h11.RemoteProtocolError as error:
        raise AssertionError(f"no whole answer: {received[-300:]!r}") from error
    assert head is not None, "no answer"
    assert connection.trailing_data[0] == b"", "more than one answer"
    return head.status_code, {name.decode(): value.decode() for name, value in head.headers}, body


def _code(problem: dict[str, object]) -> str:
    """The code of an error in either form."""
    error = problem.get("error", problem)
    assert isinstance(error, dict)
    return str(error["code"])


_numbers = count(1)


def new_pages(pages: int) -> list[NumberedRequest]:
    """Pages that no cache holds, of all tenants in rotation."""
    return [NumberedRequest("page", next(_numbers), TENANTS[each % len(TENANTS)]) for each in range(pages)]


def ask_at_once(url: str, requests: Iterable[NumberedRequest]) -> Counter[str]:
    """Sends all requests at the same time. Returns the number of each outcome. Raises as `NumberedRequest.outcome`."""
    outcomes: Counter[str] = Counter()

    async def ask(request: NumberedRequest) -> None:
        outcomes[request.outcome(await _received(url, request))] += 1

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            for request in requests:
                tasks.start_soon(ask, request)

    anyio.run(run)
    return outcomes


class ContinuousLoad:
    """Sends new requests of all kinds, classes and tenants from its own thread during the `with` block.

    Requests are a Poisson process with at most `at_once` in flight, so that a slow machine is not overloaded unless the
    test wants it.

    Attributes:
        outcomes: of all requests answered so far, in the order of the responses.
        wrong: errors in other responses: incomplete, more than one, or with another's text.
        under_way: requests in flight.
    """

    def __init__(self, url: str, rate: float, at_once: int) -> None:
        self.at_once = at_once
        self.outcomes: list[str] = []
        self.wrong: list[str] = []
        self.under_way = 0
        self._url = url
        self._rate = rate
        self._random = random.Random(1)
        self._paused = False
        self._ended = False
        self._deciding = threading.Lock()
        self._thread = threading.Thread(target=anyio.run, args=(self._run,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True
        self._thread.join(2 * ANSWER_S)
        assert not self._thread.is_alive(), "the load never ended: does a test replace a clock of the whole process?"

    def pause(self) -> None:
        """Returns once all requests are answered; sends no more."""
        with self._deciding:
            self._paused = True
        until(lambda: not self.under_way, lambda: f"an answer to {self.under_way} requests", ANSWER_S)

    def resume(self) -> None:
        self._paused = False

    async def _run(self) -> None:
        async with anyio.create_task_group() as tasks:
            while not self._ended:
                await anyio.sleep(self._random.expovariate(self._rate))
                with self._deciding:
                    if self._paused or self.under_way >= self.at_once:
                        continue
                    self.under_way += 1
                tasks.start_soon(self._ask, self._request())

    def _request(self) -> NumberedRequest:
        choose = self._random.choice
        return NumberedRequest(choose(KINDS), next(_numbers), choose(TENANTS), choose(PRIORITIES))

    async def _ask(self, request: NumberedRequest) -> None:
        try:
            self.outcomes.append(request.outcome(await _received(self._url, request)))
        except (AssertionError, OSError) as error:
            self.wrong.append(f"{request}: {error!r}")
        finally:
            self.under_way -= 1


async def _received(url: str, request: NumberedRequest) -> bytes:
    """Everything received until the connection was closed."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    received = b""
    with anyio.fail_after(ANSWER_S):
        async with await anyio.connect_tcp(parts.hostname, parts.port, local_host=request.tenant) as stream:
            await stream.send(request.encoded())
            try:
                async for chunk in stream:
                    received += chunk
            except anyio.BrokenResourceError:
                pass  # the bytes before it are checked
    return received
