"""Reading in this process: the DocumentReader on which AsyncOcr and the command line stand."""

from __future__ import annotations

import math
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar
from weakref import WeakSet

import anyio

from inkgate.bootstrap import Service, running
from inkgate.caller import NO_CALLER
from inkgate.documents.files import FileFormat
from inkgate.documents.files.write import FileRequest
from inkgate.errors import InputRejected
from inkgate.extraction.finder import FieldFinder
from inkgate.fields.document_types import DocumentTypes
from inkgate.library.arguments import checked_options, without_server
from inkgate.library.originals import LoadedDocument, Original, loaded
from inkgate.library.results import DocumentFields, OcrResult, ocr_result
from inkgate.service.reader import CheckedOptions, Reading
from inkgate.settings import Settings
from inkgate.storage.fetch import Fetcher
from inkgate.telemetry.logs import log_as_library
from inkgate_client.codec import encodable
from inkgate_client.concurrency import Threads
from inkgate_client.fields.as_json import document_fields_to_dict
from inkgate_client.fields.asked import WantedFields, instance_of
from inkgate_client.files import Source, is_url, url_name
from inkgate_client.many import ManyDocuments
from inkgate_client.reading import Progress
from inkgate_client.requests import PARSE, ReadOptions
from inkgate_client.types import Document, DocumentResult

T = TypeVar("T")
SourceT = TypeVar("SourceT")
_NOT_OPEN = "This Ocr is not open: read inside its `with` block, where the models are loaded."
CLOSED = "The `with` block of this Ocr ended before the document was read."
_FORKED = "This Ocr was opened by another process, and models do not survive a fork. Open one in this process."


class LocalReader:
    """The engine in this process: `async with` loads the models and frees them.

    Any number of documents may be read at once; more than `limits.max_in_flight` wait. Leaving the block cancels reads
    that are still running, which raise RuntimeError. Enter and leave it in one task.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = without_server(settings)
        self._stack = AsyncExitStack()
        self._service: Service | None = None
        self._pid = 0
        self._reads: dict[anyio.CancelScope, anyio.Event] = {}
        self._many: WeakSet[ManyDocuments[Any, Any]] = WeakSet()

    async def __aenter__(self) -> Self:
        """Loads the models.

        Raises:
            InputRejected: `engine.name` names no engine, or the engine lacks a setting.
            EngineFailed: the engine did not start.
        """
        if self._service is not None:
            raise RuntimeError("This Ocr is open already.")
        log_as_library()
        self._threads = Threads("library_files", 4)
        # no CapacityLimiter, whose slots belong to tasks: a generator that was left early ends in another one
        self._slots = anyio.Semaphore(self._settings.limits.max_in_flight)
        self._service = await self._stack.enter_async_context(running(self._settings))
        self._tasks = await self._stack.enter_async_context(anyio.create_task_group())
        self._pid = os.getpid()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Frees the models. In the task that entered it."""
        self._service = None
        try:
            for scope, ended in tuple(self._reads.items()):
                scope.cancel()
                await ended.wait()
        finally:  # without the error, which is the block's own: `running` would take it for one of its tasks
            try:
                await self._stack.__aexit__(None, None, None)
            finally:
                for many in tuple(self._many):
                    many.close(RuntimeError(CLOSED))

    async def read(
        self, source: Source, options: ReadOptions | CheckedOptions = PARSE, progress: Progress | None = None
    ) -> OcrResult:
        """Reads a document. Raises InputRejected, too, if an option can't be used."""
        self.check_open()
        async with self._reading(source, checked_options(options)) as (reading, original):
            result = await reading.all(progress=progress)
            if reading.failure is not None:
                raise reading.failure
            return ocr_result(result, original)

    @asynccontextmanager
    async def stream(self, source: Source, options: ReadOptions | CheckedOptions = PARSE) -> AsyncIterator[Reading]:
        """Yields pages as they are read. An async generator around it has to be closed by the task that iterates it:
        see contextlib.aclosing.
        """
        self.check_open()
        async with self._reading(source, checked_options(options)) as (reading, _):
            yield reading

    async def extract(
        self, source: Source, wanted: WantedFields, options: ReadOptions | CheckedOptions = PARSE
    ) -> DocumentFields[Any]:
        """Extracts fields. Raises InputRejected, too, if the type or the schema can't be used."""
        self.check_open()
        finder = self._finder()
        checked = await finder.wanted(wanted, NO_CALLER)
        read_options = finder.read_options(checked, checked_options(options))
        async with self._reading(source, read_options) as (reading, original):
            result = await reading.all()
            if reading.failure is not None:
                raise reading.failure
            found = await finder.find(result, checked, NO_CALLER)
            typed, errors = (found.data, ()) if wanted.model is None else instance_of(wanted.model, found.data)
            answer = document_fields_to_dict(found, result)
            return DocumentFields(found, typed, errors, answer, document=ocr_result(result, original))

    async def file(
        self,
        source: Source,
        result: DocumentResult,
        kind: FileFormat,
        options: ReadOptions | CheckedOptions = PARSE,
    ) -> bytes:
        """Returns a document as a file. The last two formats show tables and headings of results of the task `parse`.

        Raises:
            OSError: the file can't be read.
            InputRejected: the document can't be written.
        """
        self.check_open()
        with self._cancelled_at_close():
            async with self._slots:
                document = await self._loaded(source)
                if (service := self._service) is None:
                    raise RuntimeError(CLOSED)
                request = FileRequest(document, result, kind, options.password)
                return await service.gateway.reader.file(request, NO_CALLER)
        raise RuntimeError(CLOSED)

    async def document_types(self) -> Mapping[str, tuple[str, ...]]:
        self.check_open()
        return fields_by_type(self._finder().types)

    def many(
        self, read: Callable[[SourceT], Awaitable[T]], concurrency: int, *, in_order: bool
    ) -> ManyDocuments[SourceT, T]:
        """Documents to start and take, whose tasks belong to this reader. Raises ValueError."""
        self.check_open()
        many = ManyDocuments(read, self._tasks, concurrency, in_order=in_order)
        self._many.add(many)
        return many

    def check_open(self) -> None:
        """Raises RuntimeError unless the models are loaded in this process."""
        check_open(self._pid if self._service else 0)

    def loaded_here(self, source: Source) -> Source:
        """Loads a document like `loaded`, in this thread, before anything else is begun; not a URL, which is fetched
        later. Raises InputRejected("url_forbidden"), too, for a URL that may not be fetched.
        """
        if not is_url(source):
            return loaded(source)
        if not self._settings.fetch.enabled:
            how = 'settings={"fetch": {"enabled": True}}, or INKGATE_FETCH__ENABLED=true'
            raise InputRejected("url_forbidden", f"URLs are fetched only if the settings allow it: {how}.")
        return source

    async def _loaded(self, source: Source) -> LoadedDocument:
        if not is_url(source):
            return await self._threads.run(loaded, source)
        self.loaded_here(source)
        fetcher = Fetcher(self._settings.fetch, int(self._settings.limits.max_body_mb * 1_000_000))
        return loaded(Document(await fetcher.fetch(source), encodable(url_name(source))))

    def _finder(self) -> FieldFinder:
        if self._service is None:
            raise RuntimeError(CLOSED)
        return self._service.fields

    @asynccontextmanager
    async def _reading(self, document: Source, options: CheckedOptions) -> AsyncIterator[tuple[Reading, Original]]:
        with self._cancelled_at_close():
            async with self._slots:
                source = await self._loaded(document)
                if (service := self._service) is None:
                    raise RuntimeError(CLOSED)
                admission = service.gateway.admit(NO_CALLER, len(source.data), wait_s=math.inf)
                async with admission as admitted, admitted.read(source, options) as reading:
                    yield reading, self._kept(source.original, options)

    def _kept(self, original: Original, options: CheckedOptions) -> Original:
        return original.read_with(options.password, self._settings.limits, self._settings.pdf)

    @contextmanager
    def _cancelled_at_close(self) -> Iterator[None]:
        with anyio.CancelScope() as scope:
            ended = self._reads[scope] = anyio.Event()
            try:
                yield
            finally:
                del self._reads[scope]
                ended.set()
        if scope.cancelled_caught:
            raise RuntimeError(CLOSED)


def fields_by_type(types: DocumentTypes) -> dict[str, tuple[str, ...]]:
    """The paths of the fields of each document type."""
    return {name: tuple(leaf.path for leaf in schema.leaves) for name, schema in sorted(types.schemas.items())}


def check_open(pid: int) -> None:
    """Raises RuntimeError unless `pid` is this process. 0: not open."""
    if pid != os.getpid():
        raise RuntimeError(_FORKED if pid else _NOT_OPEN)
