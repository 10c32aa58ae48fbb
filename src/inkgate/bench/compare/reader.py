"""A service as a candidate of an accuracy evaluation: documents are sent as the load test sends them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import orjson

from inkgate.bench.accuracy.candidates import PageFailure, Transcript, transcript
from inkgate.bench.accuracy.manifest import Entry
from inkgate.bench.accuracy.scores import score, summarize
from inkgate.bench.compare.results import EngineAccuracy
from inkgate.bench.load.arrivals import LoadRequest
from inkgate.bench.load.pages import load_pages
from inkgate.bench.load.plan import Load, Plan
from inkgate.bench.load.protocols import stream_events
from inkgate.bench.load.results import Axis
from inkgate.bench.load.samples import RequestOutcome
from inkgate.bench.load.sender import Sender
from inkgate.bench.load.target import ProtocolName, Target
from inkgate.codec import parse_document
from inkgate.concurrency import Threads

READ_PARALLEL = 4
"""Documents that are read at a time: few enough that no service refuses them."""
TIMEOUT_S = 660.0
"""Longer than inkgate's own limit for a document."""
_PLAN = Plan(Axis.CONCURRENCY, 1, 1.0, timeout_s=TIMEOUT_S)


class ResponseUnusable(Exception):
    """There is no text in the response; the message says why."""


@dataclass(frozen=True, slots=True)
class ServiceReader:
    """A Candidate: the service at `target`, which reads `parallel` documents at a time."""

    name: str
    target: Target
    files: Threads
    parallel: int = READ_PARALLEL
    version: str = ""

    async def read(self, entry: Entry) -> Transcript:
        """The document's text.

        Raises:
            ResponseUnusable, LoadImpossible: it was not read.
        """
        pages = await self.files.run(load_pages, entry.file)
        target = replace(self.target, task="parse") if entry.tests else self.target
        async with Sender(Load(target, pages, _PLAN)) as sender:
            sent = await sender.send(LoadRequest(sender.now(), 0, 0))
        response = sent.response
        if response is not None and target.protocol is ProtocolName.OCR and response.status == 200:
            return document_transcript(response.body)
        if response is None or sent.sample.outcome is not RequestOutcome.ANSWERED:
            raise ResponseUnusable(sent.sample.kind)
        chat = target.protocol is ProtocolName.CHAT
        return chat_transcript(response.body) if chat else simple_transcript(response.body)


async def measure_accuracy(name: str, target: Target, entries: Sequence[Entry]) -> EngineAccuracy:
    """How well the service reads the documents whose text is known."""
    reader = ServiceReader(name, target, Threads("compared_documents", 1))
    scores = await score(reader, entries, lambda *_: None)
    summary = summarize(scores.files)
    return EngineAccuracy(
        documents=summary.files,
        unread=summary.failed,
        cer=summary.cer,
        f1=summary.f1,
        line_recall=summary.line_recall,
        tests_passed=summary.tests_passed,
        tests=summary.tests,
    )


def document_transcript(body: bytes) -> Transcript:
    """Lines, Markdown and failed pages of inkgate's document. Raises ResponseUnusable."""
    try:
        return transcript(parse_document(body))
    except ValueError as error:
        raise ResponseUnusable("the response is not a document") from error


def simple_transcript(body: bytes) -> Transcript:
    """The text under `text` or `result`. Raises ResponseUnusable."""
    parsed = orjson.loads(body)
    text = parsed.get("text", parsed.get("result")) if isinstance(parsed, dict) else None
    if not isinstance(text, str):
        raise ResponseUnusable("the response has neither `text` nor `result`")
    return Transcript(text, 1)


def chat_transcript(body: bytes) -> Transcript:
    """The text of a chat completion, streamed or not; taken as Markdown, which models write.

    Raises:
        ResponseUnusable: it is none.
    """
    events = [body] if body.lstrip().startswith(b"{") else stream_events(body)
    try:
        chunks = [orjson.loads(event) for event in events if event != b"[DONE]"]
        choices = [chunk["choices"][0] for chunk in chunks if chunk.get("choices")]
        parts = [(choice.get("delta") or choice.get("message") or {}).get("content") or "" for choice in choices]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ResponseUnusable("the response is not a chat completion") from error
    text = "".join(parts)
    cut = any(choice.get("finish_reason") == "length" for choice in choices)
    return Transcript(text, 1, markdown=text, failures=(PageFailure(0, "output_truncated"),) if cut else ())
