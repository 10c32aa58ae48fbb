"""Candidates: what accuracy is measured of. Here are the protocol and inkgate itself; other tools are in peers.py."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

import anyio

import inkgate
from inkgate.caller import NO_CALLER
from inkgate.extraction.finder import FieldFinder
from inkgate.extraction.wanted import CheckedFields
from inkgate.service.gateway import Gateway
from inkgate.service.reader import CheckedOptions
from inkgate.settings import PdfText
from inkgate_bench.accuracy.fields import JudgedField, judge_fields, schema_for
from inkgate_bench.accuracy.manifest import Entry, load_fields
from inkgate_bench.accuracy.metrics import ReadLine
from inkgate_client.coordinates import as_sent
from inkgate_client.types import BlockType, Box, Document, DocumentResult, PageResult, Task, TaskKind


@dataclass(frozen=True, slots=True)
class PageFailure:
    """A page that was not read: its index from 0, and the code of its error."""

    index: int
    code: str

    def __str__(self) -> str:
        return f"page {self.index}: {self.code}"


@dataclass(frozen=True, slots=True)
class TranscriptPage:
    """A page as a candidate read it.

    Attributes:
        lines: in reading order, `quad` in pixels of the upright page.
        blocks: text and confidence of each in reading order; a block's confidence is that of its lines, weighted by
            length, as the page's is.
        left_out: numbers of the lines that are not in the Markdown, by intent.
        header, footer: running heads and feet, whether or not they are in the Markdown.
        layout: type, box (as shares of the upright page) and text of each block; empty if there are none.
    """

    text: str
    lines: tuple[ReadLine, ...] = ()
    markdown: str | None = None
    confidence: float | None = None
    blocks: tuple[tuple[str, float | None], ...] = ()
    left_out: tuple[int, ...] = ()
    header: str | None = None
    footer: str | None = None
    layout: tuple[tuple[BlockType, Box, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Transcript:
    """A document as a candidate read it.

    Attributes:
        text: plain text in its own reading order, pages one after the other.
        markdown: None where the candidate has none: unit tests are then run on `text`.
        lines: of the first page, as it was before it was turned upright: ground truth lines exist for images only.
        sources: how each page was read (`ocr`, `text_layer`).
        failures: one for each page that was not read.
        read_pages: page by page; empty where the candidate gives only a text.
        fields: compared with the document's, where the candidate finds some.
    """

    text: str
    pages: int
    lines: tuple[ReadLine, ...] = ()
    markdown: str | None = None
    sources: tuple[str, ...] = ()
    failures: tuple[PageFailure, ...] = ()
    read_pages: tuple[TranscriptPage, ...] = ()
    fields: tuple[JudgedField, ...] = ()

    @property
    def has_layout(self) -> bool:
        """Whether the candidate gives blocks with types and boxes."""
        return any(page.layout for page in self.read_pages)


class Candidate(Protocol):
    """Something that reads documents, its models loaded. Used from one event loop."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def parallel(self) -> int:
        """Documents that it reads at the same time."""
        ...

    async def read(self, entry: Entry) -> Transcript:
        """Read the document. Any exception means that it was not read."""
        ...


class OwnReader:
    """inkgate's Gateway, with the settings in use.

    `structure`: read every document with PARSE, for its Markdown; else only those with tests, structure or fields,
    the others with TEXT. `finder`: finds the fields of documents whose truth has some.
    """

    version = inkgate.__version__

    def __init__(
        self,
        name: str,
        gateway: Gateway,
        pdf_text: PdfText | None = None,
        parallel: int = 1,
        *,
        structure: bool = False,
        finder: FieldFinder | None = None,
    ) -> None:
        self.name = name
        self.parallel = parallel
        self._gateway = gateway
        self._pdf_text = pdf_text
        self._structure = structure
        self._finder = finder

    async def read(self, entry: Entry) -> Transcript:
        """Read once: diagrams with CHART, with PARSE where Markdown is needed, else with TEXT. Raises InkgateError."""
        task = Task(kind=TaskKind.PARSE if self._needs_markdown(entry) else TaskKind.TEXT)
        task = Task(kind=TaskKind.CHART) if entry.diagram else task
        document = Document(await anyio.Path(entry.file).read_bytes(), entry.file.name)
        options = CheckedOptions(task=task, pdf_text=self._pdf_text)
        asked: tuple[dict[str, Any], CheckedFields] | None = None
        if self._finder is not None and entry.fields is not None:
            truth = load_fields(entry.fields)
            asked = truth, CheckedFields(schema_for(truth, self._finder.types, entry.document_type))
            options = self._finder.read_options(asked[1], options)
        admission = self._gateway.admit(NO_CALLER, len(document.data), wait_s=math.inf)
        async with admission as admitted, admitted.read(document, options) as reading:
            result = await reading.all()
        return replace(transcript(result), fields=await self._fields(result, asked))

    def _needs_markdown(self, entry: Entry) -> bool:
        return self._structure or entry.tests is not None or entry.structure is not None

    async def _fields(
        self, result: DocumentResult, asked: tuple[dict[str, Any], CheckedFields] | None
    ) -> tuple[JudgedField, ...]:
        if self._finder is None or asked is None or asked[1].schema is None:
            return ()
        truth, wanted = asked
        found = await self._finder.find(result, wanted, NO_CALLER)
        return judge_fields(found.fields, truth, asked[1].schema)


def transcript(result: DocumentResult) -> Transcript:
    """A document's result as a transcript."""
    pages = result.pages
    markdown = [page.markdown for page in pages if page.markdown is not None]
    return Transcript(
        text="\n\n".join(page.text for page in pages),
        pages=len(pages),
        lines=_lines(pages[0]) if pages else (),
        markdown="\n\n".join(markdown) if markdown else None,
        sources=tuple(page.source for page in pages),
        failures=tuple(PageFailure(page.index, page.error.code) for page in pages if page.error is not None),
        read_pages=tuple(map(_page, pages)),
    )


def _page(page: PageResult) -> TranscriptPage:
    return TranscriptPage(
        text=page.text,
        lines=tuple(ReadLine(line.text, line.quad) for line in page.lines),
        markdown=page.markdown,
        confidence=page.confidence,
        blocks=tuple((block.text, block.confidence) for block in page.blocks or ()),
        left_out=tuple(line for part in page.left_out for line in part.lines),
        header=page.header,
        footer=page.footer,
        layout=tuple((block.type, _shares(block.box, page), block.text) for block in page.blocks or ()),
    )


def _shares(box: Box, page: PageResult) -> Box:
    left, top, right, bottom = box
    return (left / page.width, top / page.height, right / page.width, bottom / page.height)


def _lines(page: PageResult) -> tuple[ReadLine, ...]:
    return tuple(ReadLine(line.text, line.quad) for line in as_sent(page).lines)
