"""Contenders as candidates of an evaluation: documents are read over HTTP, sent as the load sends them."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

import httpx
import orjson

from inkgate.bench.accuracy.candidates import PageFailure, Transcript, transcript
from inkgate.bench.accuracy.manifest import Entry
from inkgate.bench.load.pages import load_pages
from inkgate.bench.load.protocols import Answer, wire_of
from inkgate.bench.load.samples import Outcome
from inkgate.bench.load.target import ProtocolName, Target
from inkgate.client import AsyncInkgateClient, ReadAs
from inkgate.concurrency import Threads

TIMEOUT_S = 660.0
"""Beyond inkgate's own bound for a document."""


class AnswerUnusable(Exception):
    """There is no text in the answer; the message says why."""


class _Service(Protocol):
    async def read(self, entry: Entry) -> Transcript: ...

    async def close(self) -> None: ...


class Asked:
    """The service at `target`, given `parallel` documents at once. To be used with `async with`."""

    version = ""

    def __init__(
        self, name: str, target: Target, parallel: int = 1, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        """`transport`: instead of the network."""
        self.name = name
        self.parallel = parallel
        ours = target.protocol is ProtocolName.OCR
        self._service: _Service = _Inkgate(target, transport) if ours else _Other(target, transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._service.close()

    async def start(self) -> None:
        """Nothing to do: it answers."""

    async def read(self, entry: Entry) -> Transcript:
        """What the service says of the document.

        Raises:
            ServiceError, AnswerUnusable, LoadImpossible, httpx.HTTPError: it was not read.
        """
        return await self._service.read(entry)


class _Inkgate:
    """Lines, Markdown and pages that failed, which only a whole result has."""

    def __init__(self, target: Target, transport: httpx.AsyncBaseTransport | None) -> None:
        self._client = AsyncInkgateClient(target.origin, target.key, transport=transport)

    async def read(self, entry: Entry) -> Transcript:
        return transcript(await self._client.read(entry.file, ReadAs(task="parse" if entry.tests else "text")))

    async def close(self) -> None:
        await self._client.close()


class _Other:
    """A chat endpoint, or one that is given {"image": base64}."""

    def __init__(self, target: Target, transport: httpx.AsyncBaseTransport | None) -> None:
        self._target = target
        self._wire = wire_of(target)
        self._files = Threads("compared_documents", 1)
        headers = {"Authorization": f"Bearer {target.key}"} if target.key else {}
        self._http = httpx.AsyncClient(headers=headers, timeout=TIMEOUT_S, transport=transport, trust_env=False)

    async def close(self) -> None:
        await self._http.aclose()

    async def read(self, entry: Entry) -> Transcript:
        (page,) = await self._files.run(load_pages, entry.file)
        body = self._wire.body(page)
        headers = {"Content-Type": body.content_type}
        answer = await self._http.post(self._target.url, content=body.content, headers=headers)
        verdict = self._wire.judge(Answer(answer.status_code, answer.headers, answer.content))
        if verdict.outcome is not Outcome.ANSWERED:
            raise AnswerUnusable(verdict.kind)
        if self._target.protocol is ProtocolName.CHAT:
            return said_in_chat(answer.content)
        return said_in_json(answer.content)


def said_in_json(body: bytes) -> Transcript:
    """The text under `text`, or `result`. Raises AnswerUnusable."""
    answer = orjson.loads(body)
    text = answer.get("text", answer.get("result")) if isinstance(answer, dict) else None
    if not isinstance(text, str):
        raise AnswerUnusable("the answer has neither `text` nor `result`")
    return Transcript(text, 1)


def said_in_chat(body: bytes) -> Transcript:
    """The text of a chat completion, streamed or in one piece; taken for Markdown, as models write it.

    Raises:
        AnswerUnusable: it is none.
    """
    try:
        chunks = [orjson.loads(event) for event in _events(body)]
        choices = [chunk["choices"][0] for chunk in chunks if chunk.get("choices")]
        parts = [(choice.get("delta") or choice.get("message") or {}).get("content") or "" for choice in choices]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise AnswerUnusable("the answer is no chat completion") from error
    text = "".join(parts)
    cut = any(choice.get("finish_reason") == "length" for choice in choices)
    return Transcript(text, 1, markdown=text, failures=(PageFailure(0, "output_truncated"),) if cut else ())


def _events(body: bytes) -> list[bytes]:
    if body.lstrip().startswith(b"{"):
        return [body]
    events = [line[5:].strip() for line in body.splitlines() if line.startswith(b"data:")]
    return [event for event in events if event != b"[DONE]"]
