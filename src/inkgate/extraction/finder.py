"""Finds the fields of documents: everybody who can proposes values, and `answer` decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Final

import structlog

from inkgate.caller import Caller
from inkgate.errors import InkgateError, InputRejected
from inkgate.extraction.text_model import TextModelServer
from inkgate.extraction.wanted import CheckedFields, wanted_fields
from inkgate.fields.classify import classify, may_be
from inkgate.fields.document_types import DocumentTypes, TypeFileInvalid
from inkgate.fields.extract import answer, unknown_checks
from inkgate.fields.proposed import model_proposals, proposed
from inkgate.fields.schema import FieldSchema
from inkgate.service.reader import CheckedOptions
from inkgate.service.terms import TermChange, Terms, load_terms
from inkgate.serving.threads import FairThreads
from inkgate.settings import FieldsSettings, SchedulingSettings, Settings
from inkgate_client.fields.asked import WantedFields
from inkgate_client.fields.values import Extraction, Proposal, Source
from inkgate_client.types import DocumentResult, PageResult, Task, TaskKind

log = structlog.get_logger(__name__)

_THREADS: Final = 2
Proposals = Mapping[str, Sequence[Proposal]]
TEXT_MODEL_FAILED: Final = "text_model_failed"
"""A note of `Extraction.notes`: the text model could not be asked."""
TYPE_UNLIKELY: Final = "type_unlikely"
"""A note of `Extraction.notes`: nothing on the pages tells of the requested type, so nothing was looked for."""


class FieldFinder:
    """Used from one event loop, by many callers at once.

    Attributes:
        types: the known document types.
        threads: for work on fields.
    """

    def __init__(
        self,
        types: DocumentTypes,
        settings: FieldsSettings,
        *,
        asks: bool = False,
        text_model: TextModelServer | None = None,
        terms: Terms | None = None,
        scheduling: SchedulingSettings | None = None,
    ) -> None:
        """`asks`: the engine is a model that can be asked for fields. `scheduling`: how callers share the threads."""
        self._terms = terms or Terms(())
        self.types = types
        self._settings = settings
        self._asks = asks
        self._text_model = text_model
        self.threads = FairThreads(_THREADS, scheduling)

    def running(self) -> AbstractAsyncContextManager[None]:
        """Context in which fields can be found."""
        return nullcontext() if self._text_model is None else self._text_model.running()

    async def wanted(self, request: WantedFields, caller: Caller) -> CheckedFields:
        """The request, checked. Raises InputRejected as `wanted_fields`."""
        return await self.threads.run(caller, 1, wanted_fields, request, self.types)

    def read_options(self, wanted: CheckedFields, options: CheckedOptions) -> CheckedOptions:
        """`options`, for reading a document whose fields are wanted."""
        names = tuple(wanted.schema.questions) if wanted.schema and wanted.given is None and self._asks else ()
        # Papers of persons are not cached.
        task = Task(kind=TaskKind.PARSE, fields=names, images=options.task.images)
        return replace(options, task=task, private=wanted.private)

    async def schema_of(self, pages: Sequence[PageResult], caller: Caller) -> FieldSchema:
        """The schema of the type that the pages are of; one without fields if they are of none."""
        return await self.threads.run_long(caller, classify, pages, self.types)

    async def find(self, result: DocumentResult, wanted: CheckedFields, caller: Caller) -> Extraction:
        """The fields of a document that was read with `read_options`. A text model that fails costs its values only."""
        schema, pages = wanted.schema, result.pages
        changes = [
            TermChange(page.index, each.line, each.text, each.read_as) for page in pages for each in page.corrections
        ]
        if self._terms.forms:
            pages, own = await self.threads.run_long(caller, self._with_terms, pages)
            changes += own
        if schema is None:
            schema = await self.schema_of(pages, caller)
        answers: Proposals = {}
        notes: tuple[str, ...] = ()
        if self._text_model is not None and wanted.given is None:
            try:
                answers = await self._text_model.propose(pages, schema, caller)
            except InkgateError as error:
                log.warning("text_model_failed", code=error.code)
                notes = (TEXT_MODEL_FAILED,)
        found = await self.threads.run_long(caller, self.decide, pages, schema, wanted, answers, notes)
        return with_read_as(found, changes)

    def _with_terms(self, pages: Sequence[PageResult]) -> tuple[tuple[PageResult, ...], list[TermChange]]:
        """Blocking."""
        corrected = [self._terms.correct(page) for page in pages]
        return tuple(page for page, _ in corrected), [change for _, changes in corrected for change in changes]

    def decide(
        self,
        pages: Sequence[PageResult],
        schema: FieldSchema,
        wanted: CheckedFields,
        answers: Proposals | None = None,
        notes: tuple[str, ...] = (),
    ) -> Extraction:
        """The fields of pages. `answers`: what a text model said. Blocking."""
        proposals, find = wanted.given, wanted.given is None
        if find and not may_be(pages, schema, self.types):
            proposals, find, notes = {}, False, (*notes, TYPE_UNLIKELY)
        elif proposals is None:
            proposals = proposed(pages, schema, [model_proposals(pages, schema), answers or {}])
        found = answer(pages, schema, proposals, self._settings.min_confidence, whole=find)
        return replace(found, notes=(*notes, *found.notes))


def with_read_as(extraction: Extraction, changes: Sequence[TermChange]) -> Extraction:
    """The extraction; the sources whose text has a changed word say what was read."""
    if not changes:
        return extraction
    fields = {
        path: replace(value, sources=tuple(_read_as(source, changes) for source in value.sources))
        for path, value in extraction.fields.items()
    }
    return replace(extraction, fields=fields)


def _read_as(source: Source, changes: Sequence[TermChange]) -> Source:
    text = source.text
    for change in changes:
        if change.page == source.page and change.line in source.lines:
            text = text.replace(change.text, change.read_as)
    return source if text == source.text else replace(source, read_as=text)


def field_finder(settings: Settings) -> FieldFinder:
    """Finds fields as the settings say. Blocking: reads the files of the document types.

    Raises:
        InputRejected: "feature_unavailable": a file of a document type can't be used.
    """
    try:
        types = DocumentTypes.load(map(Path, settings.fields.types))
        for name, schema in types.schemas.items():
            if missing := ", ".join(unknown_checks(schema)):
                more = "The package inkgate-papers has more."
                raise TypeFileInvalid(f"{name} names checks that no installed package has: {missing}. {more}")
    except TypeFileInvalid as error:
        raise InputRejected("feature_unavailable", f"`fields.types`: {error}") from error
    terms = load_terms(settings.fields.terms, "fields.terms")
    configured = settings.fields.text_model
    known = [load_terms(settings.terms.files, "terms.files"), terms] if configured.url else []
    forms = [form for each in known if each is not None for form in each.forms]
    text_model = TextModelServer(configured, forms) if configured.url else None
    asks = settings.engine.name != "ppocr"
    return FieldFinder(
        types,
        settings.fields,
        asks=asks,
        text_model=text_model,
        terms=terms,
        scheduling=settings.serving.scheduling,
    )
