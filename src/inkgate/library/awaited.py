"""Reading in this process, for async code. The blocking Ocr runs it in a thread of its own."""

from __future__ import annotations

import math
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack, overload
from weakref import WeakSet

import anyio
from pydantic import BaseModel

from inkgate.bootstrap import Service, running
from inkgate.caller import NO_CALLER
from inkgate.concurrency import Threads
from inkgate.documents.files import FileFormat
from inkgate.documents.files.write import FileRequest
from inkgate.extraction.finder import FieldFinder
from inkgate.fields.asked import FieldsAsked, ModelT, Wanted, instance_of
from inkgate.fields.document_types import DocumentTypes
from inkgate.library.arguments import (
    ExtractArguments,
    ReadArguments,
    SettingsSource,
    asked_fields,
    extract_options,
    given_values,
    read_options,
    request_of,
    settings_of,
    without_server,
)
from inkgate.library.many import CONCURRENCY, ManyDocuments, check_documents, outcomes
from inkgate.library.originals import Original, Source, loaded
from inkgate.library.results import DocumentFields, DocumentOutcome, OcrResult, ocr_result
from inkgate.service.reader import Reading, ReadOptions
from inkgate.telemetry.logs import log_as_library
from inkgate.types import DocumentResult

T = TypeVar("T")

_NOT_OPEN = "This Ocr is not open: read inside its `with` block, where the models are loaded."
CLOSED = "The `with` block of this Ocr ended before the document was read."
_FORKED = "This Ocr was opened by another process, and models do not survive a fork. Open one in this process."


class AsyncOcr:
    """The engine in this process, for async code on asyncio: `async with` loads the models and frees them.

    Any number of documents may be read at once; more than `limits.max_in_flight` wait. Leaving the block cancels reads
    that are still running, which raise RuntimeError. Enter and leave it in one task.
    """

    def __init__(self, settings: SettingsSource = None) -> None:
        """Raises ValueError or OSError if the settings are wrong or their file can't be read."""
        self._settings = without_server(settings_of(settings))
        self._stack = AsyncExitStack()
        self._service: Service | None = None
        self._pid = 0
        self._reads: dict[anyio.CancelScope, anyio.Event] = {}
        self._many: WeakSet[ManyDocuments[Any]] = WeakSet()

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

    async def read(self, document: Source, **arguments: Unpack[ReadArguments]) -> OcrResult:
        """All pages of `document`. `arguments`: see ReadArguments.

        Raises:
            OSError: the file can't be read.
            InputRejected: the document or an argument can't be used.
            InkgateError: no page could be read: the first page's error. If only some failed, they have an `error`.
        """
        check_open(self._pid if self._service else 0)
        async with self._reading(document, read_options(**arguments)) as (reading, original):
            result = await reading.all()
            if reading.failure is not None:
                raise reading.failure
            return ocr_result(result, original)

    def read_many(
        self,
        documents: Iterable[Source],
        *,
        concurrency: int = CONCURRENCY,
        in_order: bool = True,
        **arguments: Unpack[ReadArguments],
    ) -> AsyncGenerator[DocumentOutcome[OcrResult], None]:
        """Reads many documents: `async for outcome in ocr.read_many(paths)`. An outcome has the `source`, and the
        `result` or an `error`: a document that can't be read does not end the others.

        No more than `concurrency` are read or wait to be taken; `documents` is iterated as there is room. `in_order`:
        outcomes come in the order of `documents`, else as soon as they are there. Leaving the loop early cancels the
        others.
        """
        check_documents(documents)
        read_options(**arguments)
        return outcomes(self.documents_of(partial(self.read, **arguments), concurrency, in_order), documents)

    def extract_many(
        self,
        documents: Iterable[Source],
        wanted: Wanted = None,
        *,
        concurrency: int = CONCURRENCY,
        in_order: bool = True,
        **named: Unpack[ExtractArguments],
    ) -> AsyncGenerator[DocumentOutcome[DocumentFields[Any]], None]:
        """As `extract` for many documents; see `read_many`."""
        check_documents(documents)
        asked_fields(wanted, None, named)
        extract_options(named)
        extract: Callable[[Source], Awaitable[DocumentFields[Any]]] = partial(self.extract, wanted=wanted, **named)
        return outcomes(self.documents_of(extract, concurrency, in_order), documents)

    def documents_of(
        self,
        read: Callable[[Source], Awaitable[T]],
        concurrency: int,
        in_order: bool,
    ) -> ManyDocuments[T]:
        """For `read_many` and its like, also of the blocking Ocr: documents to start and take. Raises ValueError."""
        check_open(self._pid if self._service else 0)
        many = ManyDocuments(read, self._tasks, concurrency, in_order)
        self._many.add(many)
        return many

    async def file(
        self,
        document: Source,
        result: DocumentResult,
        format: FileFormat | str,  # noqa: A002 - the term
        *,
        password: str = "",
    ) -> bytes:
        """The file of a `document` whose `result` was read: `pdf` (searchable), `docx` or `xlsx`. The last two show
        tables and headings of results of the task `parse`. Needs `inkgate[files]`.

        Raises:
            OSError: the file can't be read.
            InputRejected: the document can't be written, or "format_unavailable": `inkgate[files]` is not installed.
            ValueError: there is no such format.
        """
        check_open(self._pid if self._service else 0)
        kind = FileFormat(format)
        with self._cancelled_at_close():
            async with self._slots:
                source = await self._threads.run(loaded, document)
                if (service := self._service) is None:
                    raise RuntimeError(CLOSED)
                order = FileRequest(source, result, kind, password)
                return await service.gateway.reader.file(order, NO_CALLER)
        raise RuntimeError(CLOSED)

    @asynccontextmanager
    async def stream(self, document: Source, **arguments: Unpack[ReadArguments]) -> AsyncIterator[Reading]:
        """The pages of `document` in order, each as soon as it is read: `async for page in reading`. A page that
        failed has an `error`. Leaving the block early cancels the other pages. Raises as `read`, but for pages. An
        async generator around it has to be closed by the task that iterates it: see contextlib.aclosing.
        """
        check_open(self._pid if self._service else 0)
        options = read_options(**arguments)
        async with self._reading(document, options) as (reading, _):
            yield reading

    @overload
    async def extract(
        self, document: Source, wanted: type[ModelT], **named: Unpack[ExtractArguments]
    ) -> DocumentFields[ModelT | None]: ...

    @overload
    async def extract(
        self,
        document: Source,
        wanted: Wanted = None,
        *,
        data: Mapping[str, object] | str | None = None,
        **named: Unpack[ExtractArguments],
    ) -> DocumentFields[Any]: ...

    async def extract(
        self,
        document: Source,
        wanted: Wanted | type[Any] = None,
        *,
        data: Mapping[str, object] | str | None = None,
        **named: Unpack[ExtractArguments],
    ) -> DocumentFields[Any]:
        """Fields of `document`. `wanted`: a pydantic class, whose instance is the result's `data`, the name of a
        document type, a JSON Schema, or a list of names; without any, the type is found. `named`: see ExtractArguments.
        `data`: as in `verify`.

        Raises:
            OSError: the file can't be read.
            InputRejected: the document, the type or the schema can't be used.
            InkgateError: no page could be read: the first page's error.
        """
        return await self._find(document, asked_fields(wanted, data, named), extract_options(named))

    async def verify(
        self,
        document: Source,
        data: Mapping[str, object] | str | BaseModel,
        wanted: Wanted = None,
        **named: Unpack[ExtractArguments],
    ) -> DocumentFields[Any]:
        """Looks up values of somebody else, such as a language model: those that stand in the document are kept, others
        are null. `data`: an object of a pydantic class, or values by name; `wanted` as in `extract`. Without it, they
        are those of the class, or the names of `data`. Raises as `extract`.
        """
        return await self._find(document, given_values(data, wanted, named), extract_options(named))

    def document_types(self) -> dict[str, tuple[str, ...]]:
        """The paths of the fields of each document type."""
        check_open(self._pid if self._service else 0)
        return fields_by_type(self._finder().types)

    async def _find(self, document: Source, asked: FieldsAsked, options: ReadOptions) -> DocumentFields[Any]:
        check_open(self._pid if self._service else 0)
        finder = self._finder()
        checked = await finder.wanted(request_of(asked), NO_CALLER)
        async with self._reading(document, finder.read_options(checked, options)) as (reading, original):
            result = await reading.all()
            if reading.failure is not None:
                raise reading.failure
            found = await finder.find(result, checked, NO_CALLER)
            model = asked.schema
            typed, errors = (
                (found.data, ())
                if model is None or isinstance(model, str | Mapping)
                else instance_of(model, found.data)
            )
            return DocumentFields(found, ocr_result(result, original), typed, errors)

    def _finder(self) -> FieldFinder:
        if self._service is None:
            raise RuntimeError(CLOSED)
        return self._service.fields

    @asynccontextmanager
    async def _reading(self, document: Source, options: ReadOptions) -> AsyncIterator[tuple[Reading, Original]]:
        with self._cancelled_at_close():
            async with self._slots:
                source = await self._threads.run(loaded, document)
                if (service := self._service) is None:
                    raise RuntimeError(CLOSED)
                admission = service.gateway.admit(NO_CALLER, len(source.data), wait_s=math.inf)
                async with admission as admitted, admitted.read(source, options) as reading:
                    yield reading, self._kept(source.original, options)

    def _kept(self, original: Original, options: ReadOptions) -> Original:
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
