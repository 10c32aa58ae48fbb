"""Reading in this process, for blocking code."""

from __future__ import annotations

import asyncio
import atexit
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from threading import Thread
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack, overload

import anyio
from anyio.from_thread import BlockingPortal
from pydantic import BaseModel

from inkgate.documents.files import FileFormat
from inkgate.library.arguments import (
    ExtractArguments,
    ReadArguments,
    SettingsSource,
    asked_fields,
    extract_options,
    read_arguments,
)
from inkgate.library.awaited import AsyncOcr
from inkgate.library.local import CLOSED, LocalReader, check_open
from inkgate.library.results import DocumentFields, OcrResult
from inkgate.service.reader import Reading
from inkgate_client.concurrency import single_error
from inkgate_client.fields.asked import ModelT, Wanted
from inkgate_client.files import Source
from inkgate_client.many import CONCURRENCY, ManyDocuments, Outcome, blocking_outcomes, call, check_sources
from inkgate_client.types import DocumentResult, PageResult

T = TypeVar("T")

_EVENT_LOOP = (
    "This thread runs an event loop, as async code and notebooks do, which a blocking call would stop. "
    "Use `async with inkgate.AsyncOcr() as ocr: result = await ocr.read(...)`, or `await inkgate.aread(...)`."
)


class OcrPages:
    """The pages of a document as they are read; iterate once. `count`: their number; `page_count`: see
    DocumentResult.
    """

    def __init__(self, reading: Reading, portal: BlockingPortal, pid: int) -> None:
        self.count = len(reading.selected)
        self.page_count = reading.page_count
        self._reading = reading
        self._pages = aiter(reading)
        self._portal = portal
        self._pid = pid

    @property
    def notes(self) -> tuple[str, ...]:
        """Messages for people, of the pages until now."""
        return self._reading.notes

    def __iter__(self) -> Iterator[PageResult]:
        while (page := self._next_page()) is not None:
            yield page
        if self._reading.answered < self.count:
            raise RuntimeError("Ctrl-C or a signal ended the reading before all pages were read.")

    def _next_page(self) -> PageResult | None:
        check_open(self._pid)
        return call(self._portal, partial(_next, self._pages))


class Ocr:
    """AsyncOcr for blocking code, with an event loop in a thread of its own. Several threads may read at once."""

    def __init__(self, settings: SettingsSource = None) -> None:
        """Raises ValueError or OSError if the settings are wrong or their file can't be read."""
        self._ocr = AsyncOcr(settings)
        self._portal: BlockingPortal | None = None
        self._pid = 0

    def __enter__(self) -> Self:
        """Loads the models. Raises as AsyncOcr does, and RuntimeError if this thread runs an event loop."""
        _refuse_event_loop()
        if self._portal is not None:
            raise RuntimeError("This Ocr is open already.")
        started: Future[BlockingPortal] = Future()
        loaded: Future[None] = Future()
        self._pid = os.getpid()
        self._thread = Thread(target=self._run_loop, args=(started, loaded), name="inkgate", daemon=True)
        self._thread.start()
        try:
            self._portal = started.result()
            atexit.register(self._close)
            loaded.result()
        except BaseException:  # Ctrl-C, too
            self._portal = None if started.exception() else started.result()
            self._close(cancel=True)
            raise
        return self

    def _run_loop(self, started: Future[BlockingPortal], loaded: Future[None]) -> None:
        try:
            with single_error():
                anyio.run(self._run, started, loaded)
        except BaseException as error:
            if loaded.done():
                raise
            for future in (started, loaded):  # whoever enters waits for both
                if not future.done():
                    future.set_exception(error)

    async def _run(self, started: Future[BlockingPortal], loaded: Future[None]) -> None:
        async with BlockingPortal() as portal:
            started.set_result(portal)
            try:
                async with self._ocr:
                    loaded.set_result(None)
                    await portal.sleep_until_stopped()
            except Exception as error:
                if loaded.done():
                    raise
                loaded.set_exception(error)
                await portal.sleep_until_stopped()

    def _close(self, *, cancel: bool = False) -> None:
        """Stops the event loop and its thread. Also called at the end of a program that has not left the block."""
        portal, self._portal = self._portal, None
        atexit.unregister(self._close)
        if portal is not None and self._pid == os.getpid():  # a forked process has no such thread
            with suppress(RuntimeError):  # the event loop ended by itself
                portal.call(portal.stop, cancel)
            self._thread.join()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def read(self, document: Source, **arguments: Unpack[ReadArguments]) -> OcrResult:
        """Reads a document like AsyncOcr.read. Ctrl-C cancels the reading."""
        portal, source = self._open_portal(), self.reader.loaded_here(document)
        return call(portal, partial(self._ocr.read, source, **arguments))

    def file(
        self,
        document: Source,
        result: DocumentResult,
        format: FileFormat | str,  # noqa: A002 - the term
        *,
        password: str = "",
    ) -> bytes:
        """Returns a document as a file, like AsyncOcr.file."""
        portal, source = self._open_portal(), self.reader.loaded_here(document)
        return call(portal, partial(self._ocr.file, source, result, format, password=password))

    @overload
    def extract(
        self, document: Source, wanted: type[ModelT], **named: Unpack[ExtractArguments]
    ) -> DocumentFields[ModelT | None]: ...

    @overload
    def extract(
        self,
        document: Source,
        wanted: Wanted = None,
        *,
        data: Mapping[str, object] | str | None = None,
        **named: Unpack[ExtractArguments],
    ) -> DocumentFields[Any]: ...

    def extract(
        self,
        document: Source,
        wanted: Wanted | type[Any] = None,
        *,
        data: Mapping[str, object] | str | None = None,
        **named: Unpack[ExtractArguments],
    ) -> DocumentFields[Any]:
        """Extracts fields like AsyncOcr.extract."""
        portal, source = self._open_portal(), self.reader.loaded_here(document)
        return call(portal, partial(self._ocr.extract, source, wanted, data=data, **named))

    def verify(
        self,
        document: Source,
        data: Mapping[str, object] | str | BaseModel,
        wanted: Wanted = None,
        **named: Unpack[ExtractArguments],
    ) -> DocumentFields[Any]:
        """Verifies values like AsyncOcr.verify."""
        portal, source = self._open_portal(), self.reader.loaded_here(document)
        return call(portal, partial(self._ocr.verify, source, data, wanted, **named))

    def document_types(self) -> Mapping[str, tuple[str, ...]]:
        """Lists document types like AsyncOcr.document_types."""
        return call(self._open_portal(), self._ocr.document_types)

    def read_many(
        self,
        documents: Iterable[Source],
        *,
        concurrency: int = CONCURRENCY,
        in_order: bool = True,
        **arguments: Unpack[ReadArguments],
    ) -> Generator[Outcome[Source, OcrResult], None, None]:
        """Reads many documents like AsyncOcr.read_many: `for outcome in ocr.read_many(paths)`. `documents` is iterated
        by this thread.
        """
        read_arguments("read_many", arguments)
        return self._outcomes(partial(self._ocr.read, **arguments), documents, concurrency, in_order=in_order)

    def extract_many(
        self,
        documents: Iterable[Source],
        wanted: Wanted = None,
        *,
        concurrency: int = CONCURRENCY,
        in_order: bool = True,
        **named: Unpack[ExtractArguments],
    ) -> Generator[Outcome[Source, DocumentFields[Any]], None, None]:
        """Extracts fields from many documents like AsyncOcr.extract_many."""
        asked_fields(wanted, None, named)
        extract_options(named)
        extract: Callable[[Source], Awaitable[DocumentFields[Any]]] = partial(self._ocr.extract, wanted=wanted, **named)
        return self._outcomes(extract, documents, concurrency, in_order=in_order)

    def _outcomes(
        self, read: Callable[[Source], Awaitable[T]], documents: Iterable[Source], concurrency: int, *, in_order: bool
    ) -> Generator[Outcome[Source, T], None, None]:
        check_sources(documents)
        portal = self._open_portal()
        many = portal.call(partial(self._ocr.documents_of, read, concurrency, in_order=in_order))
        return _outcomes_of(many, documents, portal, self._pid, lambda: self._portal is portal)

    @contextmanager
    def stream(self, document: Source, **arguments: Unpack[ReadArguments]) -> Iterator[OcrPages]:
        """Yields pages like AsyncOcr.stream: `for page in pages`."""
        portal, source = self._open_portal(), self.reader.loaded_here(document)
        try:
            with ExitStack() as stack:
                reading = stack.enter_context(portal.wrap_async_context_manager(self._ocr.stream(source, **arguments)))
                try:
                    yield OcrPages(reading, portal, self._pid)
                finally:
                    if self._pid != os.getpid():  # a forked process has nothing to release, and no event loop
                        stack.pop_all()
        except RuntimeError as error:
            if self._portal is portal:
                raise
            raise RuntimeError(CLOSED) from error  # by another thread: what the portal says of it says nothing

    @property
    def portal(self) -> BlockingPortal:
        """The event loop on which it reads. Raises RuntimeError: it is not open in this process."""
        return self._open_portal()

    @property
    def reader(self) -> LocalReader:
        """The reader that `portal` runs."""
        return self._ocr.reader

    def _open_portal(self) -> BlockingPortal:
        check_open(self._pid if self._portal else 0)
        _refuse_event_loop()
        assert self._portal is not None  # noqa: S101 - checked above
        return self._portal


def _refuse_event_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError(_EVENT_LOOP)


async def _next(pages: AsyncIterator[PageResult]) -> PageResult | None:
    return await anext(pages, None)


def _outcomes_of(
    many: ManyDocuments[Source, T],
    documents: Iterable[Source],
    portal: BlockingPortal,
    pid: int,
    is_open: Callable[[], bool],
) -> Generator[Outcome[Source, T], None, None]:
    """The outcomes, with the iterable in this thread. `pid`: the process that has the event loop."""
    try:
        yield from blocking_outcomes(many, documents, portal, partial(check_open, pid))
    except RuntimeError as error:
        if is_open():
            raise
        raise RuntimeError(CLOSED) from error
    finally:
        if pid == os.getpid():
            with suppress(RuntimeError):  # the event loop has ended
                portal.call(many.cancel)
