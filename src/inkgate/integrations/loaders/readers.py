"""What reads for loaders: a service here, the engine of this process in engine.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from threading import Event
from typing import Protocol, TypeVar

from inkgate.client import InkgateClient, ReadAs, ServiceError
from inkgate.client.many import ReadPatience
from inkgate.fields.asked import FieldsAsked
from inkgate.fields.values import Extraction
from inkgate.integrations.loaders.options import LoaderOptions, LoadFailed
from inkgate.types import DocumentResult, PageResult

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PageStreamOf:
    """The pages of a document as they are read. `page_count`: of the whole document; None if unknown."""

    pages: Iterator[PageResult]
    page_count: int | None


@dataclass(frozen=True, slots=True)
class FieldsOf:
    """The fields of a document. `document`: as it was read for them, if that is how it is to be loaded, too."""

    extraction: Extraction
    document: DocumentResult | None = None


class LoaderReader(Protocol):
    """Reads one document. Blocking; all methods raise LoadFailed."""

    def stream(self) -> AbstractContextManager[PageStreamOf]:
        """The pages as they are read. Leaving the block early cancels the rest."""
        ...

    def read(self) -> DocumentResult:
        """The whole document, after the steps for whole documents."""
        ...

    def fields(self, asked: FieldsAsked) -> FieldsOf:
        """Its fields."""
        ...


class ServiceReader:
    """Reads by a service. `left`: set when nobody wants the document any more."""

    def __init__(self, source: str, document: tuple[str, bytes], options: LoaderOptions, left: Event) -> None:
        self._source = source
        self._name, self._data = document
        self._options = options
        self._left = left
        self._read_as = ReadAs(
            task=options.task,
            pages=options.pages,
            pdf_text=options.pdf_text,
            password=options.password,
            priority=options.priority,
        )

    @contextmanager
    def stream(self) -> Iterator[PageStreamOf]:
        with self._client() as client, ExitStack() as stack:
            pages = self._retried(lambda: stack.enter_context(client.stream(self._data, self._read_as, self._name)))
            yield PageStreamOf(iter(pages), pages.page_count)

    def read(self) -> DocumentResult:
        with self._client() as client:
            return self._retried(lambda: client.read(self._data, self._read_as, self._name))

    def fields(self, asked: FieldsAsked) -> FieldsOf:
        with self._client() as client:
            found = self._retried(lambda: client.find_fields(self._data, asked, self._name, self._read_as))
            return FieldsOf(found.extraction)

    @contextmanager
    def _client(self) -> Iterator[InkgateClient]:
        try:
            with InkgateClient(self._options.server, self._options.key) as client:
                yield client
        except ServiceError as error:
            raise LoadFailed(f"{self._source}: {error}", self._source, code=error.code) from error

    def _retried(self, ask: Callable[[], T]) -> T:
        patience = ReadPatience(self._options.retry_s, self._left)
        while True:
            try:
                return ask()
            except ServiceError as error:
                refused = error
            patience.pause(refused)
