"""Open-loop load on a gateway: requests come when they come, whatever becomes of those before; and a look at each
answer, byte by byte.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

import anyio
import h11

from support.numbered_model import striped, text_of

Kind = Literal["page", "chat", "stream"]
KINDS: Sequence[Kind] = ("page", "page", "page", "chat", "stream")
PRIORITIES = (None, "interactive", "normal", "batch")
TENANTS = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
"""Without API keys, tenants are addresses; all of 127/8 is this machine."""
RETRYABLE = frozenset({429, 502, 503, 504})
ANSWER_S = 180.0


@dataclass(frozen=True)
class Asked:
    """A request, to be sent `at_s` seconds after the beginning."""

    kind: Kind
    number: int
    at_s: float = 0.0
    tenant: str = TENANTS[0]
    priority: str | None = None

    def bytes(self) -> bytes:
        """As it goes over the wire."""
        if self.kind == "page":
            path, content_type, body = "/ocr", "multipart/form-data; boundary=b", _form(striped(self.number))
        else:
            message = {"role": "user", "content": f"Say {self.number}"}
            chat = {"model": "PaddleOCR-VL-1.6-0.9B", "messages": [message], "stream": self.kind == "stream"}
            path, content_type, body = "/v1/chat/completions", "application/json", json.dumps(chat).encode()
        head = [f"POST {path} HTTP/1.1", "Host: localhost", "Connection: close", f"Content-Type: {content_type}"]
        head += [f"Content-Length: {len(body)}"]
        head += [] if self.priority is None else [f"X-Inkgate-Priority: {self.priority}"]
        return "\r\n".join([*head, "", ""]).encode() + body


def _form(file: bytes) -> bytes:
    head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n'
    return head + file + b"\r\n--b--\r\n"


@dataclass(frozen=True)
class Answered:
    """All that came back on a request's connection until it was closed."""

    asked: Asked
    received: bytes

    def outcome(self) -> str:
        """`right`, or the code of the error that it tells.

        Raises:
            AssertionError: it is neither, or not exactly one whole answer: something was lost, or answered twice.
        """
        status, headers, body = self._whole()
        if status != 200:
            assert status in RETRYABLE, (self.asked, status, body)
            assert int(headers["retry-after"]) >= 1, (self.asked, headers)
            return _code(json.loads(body))
        if self.asked.kind == "stream":
            return self._streamed(body.decode())
        answer = json.loads(body)
        text = answer["text"] if self.asked.kind == "page" else answer["choices"][0]["message"]["content"]
        assert text.strip() == text_of(self.asked.number), (self.asked, answer)
        return "right"

    def _whole(self) -> tuple[int, dict[str, str], bytes]:
        connection = h11.Connection(h11.CLIENT)
        connection.send(h11.Request(method="POST", target="/", headers=[("Host", "inkgate")]))
        connection.send(h11.EndOfMessage())
        connection.receive_data(self.received)
        connection.receive_data(b"")
        head: h11.Response | None = None
        body = b""
        try:
            while not isinstance(event := connection.next_event(), h11.EndOfMessage):
                if isinstance(event, h11.Response):
                    head = event
                else:
                    assert isinstance(event, h11.Data), f"no answer to {self.asked}"
                    body += event.data
        except h11.RemoteProtocolError as error:
            raise AssertionError(f"no whole answer to {self.asked}: {self.received[-300:]!r}") from error
        assert head is not None, self.asked
        assert connection.trailing_data[0] == b"", f"more than one answer to {self.asked}"
        return head.status_code, {name.decode(): value.decode() for name, value in head.headers}, body

    def _streamed(self, body: str) -> str:
        """A stream that has begun can tell of an error only in its last event, which is not [DONE] then."""
        events = [line.removeprefix("data: ") for line in body.splitlines() if line.startswith("data: ")]
        assert events, self.asked
        if events[-1] != "[DONE]":
            assert "[DONE]" not in events, self.asked
            return _code(json.loads(events[-1]))
        assert events.count("[DONE]") == 1, self.asked
        choices = [choice for event in events[:-1] for choice in json.loads(event).get("choices", [])]
        text = "".join(choice["delta"].get("content", "") for choice in choices)
        assert text == text_of(self.asked.number), (self.asked, body)
        return "right"


def _code(problem: dict[str, object]) -> str:
    """Of an error in either form."""
    error = problem.get("error", problem)
    assert isinstance(error, dict)
    return str(error["code"])


def open_loop(rate: float, for_s: float, seed: int, kinds: Sequence[Kind] = KINDS) -> Iterator[Asked]:
    """Requests of all kinds, classes and tenants, `rate` a second on average (a Poisson process)."""
    rng = random.Random(seed)
    at_s = rng.expovariate(rate)
    number = 1000 * seed
    while at_s < for_s:
        yield Asked(rng.choice(kinds), number, at_s, rng.choice(TENANTS), rng.choice(PRIORITIES))
        at_s += rng.expovariate(rate)
        number += 1


Fault = tuple[float, Callable[[], object]]
"""What happens, and how many seconds after the beginning."""


def under_load(
    url: str,
    asked: Iterable[Asked],
    faults: Iterable[Fault] = (),
    beside: Callable[[], Coroutine[Any, Any, None]] | None = None,
    at_once: int | None = None,
) -> Counter[str]:
    """Sends everything at its time, while faults happen at theirs and others do what they do `beside` it; how often
    each outcome was. `at_once`: so many are on their way at most, and others wait: a slow machine has no more to bear.
    Raises as `outcome`.
    """
    answers: list[Answered] = []
    requests = list(asked)
    places = anyio.Semaphore(at_once or len(requests))

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            for request in requests:
                tasks.start_soon(_one, url, request, places, answers)
            for fault in faults:
                tasks.start_soon(_happen, *fault)
            if beside is not None:
                tasks.start_soon(beside)

    anyio.run(run)
    assert len(answers) == len(requests)
    return Counter(answer.outcome() for answer in answers)


async def _happen(at_s: float, what: Callable[[], object]) -> None:
    await anyio.sleep(at_s)
    what()


async def _one(url: str, asked: Asked, places: anyio.Semaphore, answers: list[Answered]) -> None:
    await anyio.sleep(asked.at_s)
    async with places:
        answers.append(Answered(asked, await _received(url, asked)))


async def _received(url: str, asked: Asked) -> bytes:
    """All that came back until the connection was closed."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    received = b""
    with anyio.fail_after(ANSWER_S):
        async with await anyio.connect_tcp(parts.hostname, parts.port, local_host=asked.tenant) as stream:
            await stream.send(asked.bytes())
            try:
                async for chunk in stream:
                    received += chunk
            except anyio.BrokenResourceError:
                pass  # what came before is looked at
    return received
