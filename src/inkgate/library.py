"""Python as a way in: reads documents in this process, without a server.

    inkgate.read("scan.pdf").markdown          # loads the models, reads one document, frees everything

    with inkgate.Ocr() as ocr:                 # keeps the models loaded; several threads may read at once
        results = [ocr.read(path) for path in paths]

    async with inkgate.AsyncOcr() as ocr:      # the same for async code
        result = await ocr.read("scan.pdf")

Documents are admitted and read by the Gateway, as over HTTP, but nothing is refused for load: reads wait for each
other. The command line uses AsyncOcr, too.
"""

from __future__ import annotations

import asyncio
import atexit
import math
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, fields
from functools import partial
from threading import Thread
from types import TracebackType
from typing import Any, Self, TypedDict, TypeVar, Unpack

import anyio
from anyio.from_thread import BlockingPortal
from pydantic import BaseModel

from inkgate.bootstrap import Service, running
from inkgate.caller import NO_CALLER
from inkgate.client.files import File, load
from inkgate.codec import encodable
from inkgate.concurrency import Threads, single_error
from inkgate.coordinates import Coordinates
from inkgate.documents.files import FileFormat
from inkgate.documents.files.write import FileOrder
from inkgate.documents.formats import Format, render
from inkgate.documents.formats.marks import marked_document
from inkgate.documents.pages import PageSelection
from inkgate.extraction.wanted import FieldRequest
from inkgate.fields.asked import instance_of
from inkgate.fields.values import Extraction, FieldValue
from inkgate.library_options import SettingsSource, read_options, settings_of, without_server
from inkgate.reader import Reading, ReadOptions
from inkgate.settings import PdfText
from inkgate.telemetry.logs import log_as_library
from inkgate.types import Document, DocumentResult, PageResult, Task

T = TypeVar("T")

Source = File | Document
"""A path, the bytes, a file open in binary mode, or a Document, which is bytes with a name."""

_NOT_OPEN = "This Ocr is not open: read inside its `with` block, where the models are loaded."
_CLOSED = "The `with` block of this Ocr ended before the document was read."
_FORKED = "This Ocr was opened by another process, and models do not survive a fork. Open one in this process."
_EVENT_LOOP = (
    "This thread runs an event loop, as async code and notebooks do, which a blocking call would stop. "
    "Use `async with inkgate.AsyncOcr() as ocr: result = await ocr.read(...)`."
)


class ReadArguments(TypedDict, total=False):
    """How to read a document; all are optional.

    Attributes:
        task: `parse` (default: text, blocks and Markdown), `text` (lines only, faster on some engines), another
            TaskKind, or a Task with its options.
        pages: such as "1-3,7", a number, or a list of numbers, from 1. Default: all.
        pdf_text: when to use the text layer of PDF pages: `auto`, `never` or `always`. Default: the setting.
        password: of an encrypted PDF.
        images: keep figures as images (`Block.image`), which the Markdown then links to. Default: no.
    """

    task: Task | str
    pages: PageSelection | str | int | Sequence[int] | None
    pdf_text: PdfText | str | None
    password: str
    images: bool | None


class OcrResult(DocumentResult):
    """A document's pages, and the whole document as one text."""

    __slots__ = ()

    @property
    def text(self) -> str:
        r"""The text of all pages, separated by form feeds (`\f`). A failed page is a note."""
        return self.render(Format.TEXT).decode()

    @property
    def markdown(self) -> str:
        """The Markdown of all pages; several are marked by comments `<!-- page 2 -->`. A failed page is a note."""
        return self.render(Format.MARKDOWN).decode()

    def render(
        self,
        format: Format | str,  # noqa: A002 - the term
        coordinates: Coordinates | None = None,
        *,
        marks: bool = False,
    ) -> bytes:
        """The document as a text file: `text`, `markdown`, `json`, `hocr`, `alto` or `csv`. Raises ValueError for
        another; `Ocr.file` makes binary files.

        `marks`: mark doubtful words and blocks in the Markdown.
        """
        return render(marked_document(self) if marks else self, Format(format), coordinates)


def _ocr_result(result: DocumentResult) -> OcrResult:
    return OcrResult(**{each.name: getattr(result, each.name) for each in fields(result)})


class ExtractArguments(TypedDict, total=False):
    """What to find in a document, and how to read it; without `type`, `schema` and `fields`, its type is found.

    Attributes:
        type: a document type, such as `receipt`.
        schema: a JSON Schema as an object or as text, or a pydantic model class.
        fields: names.
        pages, pdf_text, password: as ReadArguments.
    """

    type: str
    schema: Mapping[str, object] | str | type[BaseModel]
    fields: Sequence[str]
    pages: PageSelection | str | int | Sequence[int] | None
    pdf_text: PdfText | str | None
    password: str


@dataclass(frozen=True, slots=True)
class DocumentFields:
    """The fields of a document, and its pages as they were read.

    Attributes:
        data: the values: an object of the pydantic class that was asked for, else as `values`. None if the values don't
            fit the class, such as null for a text that must be there; `errors` says why.
        errors: why there is no `data`: the place and what is wrong, without values.
    """

    extraction: Extraction
    document: OcrResult
    data: Any
    errors: tuple[str, ...] = ()

    @property
    def values(self) -> Mapping[str, object]:
        """The values, as the schema has them; null where nothing was found."""
        return self.extraction.data

    @property
    def fields(self) -> Mapping[str, FieldValue]:
        """What is known of each field, by its path, such as `/total`."""
        return self.extraction.fields


def field_request(data: Mapping[str, object] | str | None, wanted: ExtractArguments) -> FieldRequest:
    """What is asked for."""
    schema = wanted.get("schema")
    if isinstance(schema, type):
        schema = schema.model_json_schema()
    return FieldRequest(wanted.get("type", ""), schema, tuple(wanted.get("fields", ())), data)


def read(document: Source, *, settings: SettingsSource = None, **arguments: Unpack[ReadArguments]) -> OcrResult:
    """Reads one document. Loads the models for it: use Ocr for several. `arguments`: see ReadArguments.

    Raises:
        OSError: the file can't be read.
        InputRejected: the document or an argument can't be used.
        EngineFailed: the engine did not start, or read no page. A failed page among others has an `error` instead.
        ValueError: a setting is wrong.
        RuntimeError: this thread runs an event loop.
    """
    loaded, _ = _loaded(document), read_options(**arguments)  # before the models
    with Ocr(settings) as ocr:
        return ocr.read(loaded, **arguments)


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
            await self._stack.__aexit__(None, None, None)

    async def read(self, document: Source, **arguments: Unpack[ReadArguments]) -> OcrResult:
        """All pages of `document`. `arguments`: see ReadArguments.

        Raises:
            OSError: the file can't be read.
            InputRejected: the document or an argument can't be used.
            InkgateError: no page could be read: the first page's error. If only some failed, they have an `error`.
        """
        async with self.stream(document, **arguments) as reading:
            result = await reading.all()
            if reading.failure is not None:
                raise reading.failure
            return _ocr_result(result)

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
        _check_open(self._pid if self._service else 0)
        kind = FileFormat(format)
        with self._cancelled_at_close():
            async with self._slots:
                loaded = await self._threads.run(_loaded, document)
                if (service := self._service) is None:
                    raise RuntimeError(_CLOSED)
                order = FileOrder(loaded, result, kind, password)
                return await service.gateway.reader.file(order, NO_CALLER)
        raise RuntimeError(_CLOSED)

    @asynccontextmanager
    async def stream(self, document: Source, **arguments: Unpack[ReadArguments]) -> AsyncIterator[Reading]:
        """The pages of `document` in order, each as soon as it is read: `async for page in reading`. A page that
        failed has an `error`. Leaving the block early cancels the other pages. Raises as `read`, but for pages. An
        async generator around it has to be closed by the task that iterates it: see contextlib.aclosing.
        """
        _check_open(self._pid if self._service else 0)
        options = read_options(**arguments)
        async with self._reading(document, options) as reading:
            yield reading

    async def extract(
        self, document: Source, *, data: Mapping[str, object] | str | None = None, **wanted: Unpack[ExtractArguments]
    ) -> DocumentFields:
        """Fields of `document`. `wanted`: see ExtractArguments. `data`: values to look up instead of finding some, as
        the schema has them.

        Raises:
            OSError: the file can't be read.
            InputRejected: the document, the type or the schema can't be used.
            InkgateError: no page could be read: the first page's error.
        """
        _check_open(self._pid if self._service else 0)
        finder = self._service.fields if self._service else None
        if finder is None:
            raise RuntimeError(_CLOSED)
        asked = await finder.wanted(field_request(data, wanted))
        options = read_options(
            pages=wanted.get("pages"), pdf_text=wanted.get("pdf_text"), password=wanted.get("password", "")
        )
        options = finder.read_options(asked, options)
        async with self._reading(document, options) as reading:
            result = await reading.all()
            if reading.failure is not None:
                raise reading.failure
            found = await finder.find(result, asked, NO_CALLER)
            model = wanted.get("schema")
            typed, errors = instance_of(model, found.data) if isinstance(model, type) else (found.data, ())
            return DocumentFields(found, _ocr_result(result), typed, errors)

    @asynccontextmanager
    async def _reading(self, document: Source, options: ReadOptions) -> AsyncIterator[Reading]:
        with self._cancelled_at_close():
            async with self._slots:
                loaded = await self._threads.run(_loaded, document)
                if (service := self._service) is None:
                    raise RuntimeError(_CLOSED)
                admission = service.gateway.admit(NO_CALLER, len(loaded.data), wait_s=math.inf)
                async with admission as admitted, admitted.read(loaded, options) as reading:
                    yield reading

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
            raise RuntimeError(_CLOSED)


class OcrPages:
    """The pages of a document as they are read; iterate once. `count`: their number. `notes`: see DocumentResult."""

    def __init__(self, reading: Reading, portal: BlockingPortal) -> None:
        self.count = len(reading.selected)
        self.notes = reading.notes
        self._reading = reading
        self._pages = aiter(reading)
        self._portal = portal

    def __iter__(self) -> Iterator[PageResult]:
        while (page := _call(self._portal, partial(_next, self._pages))) is not None:
            yield page
        if self._reading.answered < self.count:
            raise RuntimeError("Ctrl-C or a signal ended the reading before all pages were read.")


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
        """See AsyncOcr.read. Ctrl-C cancels the reading."""
        portal, loaded = self._open_portal(), _loaded(document)
        return _call(portal, partial(self._ocr.read, loaded, **arguments))

    def file(
        self,
        document: Source,
        result: DocumentResult,
        format: FileFormat | str,  # noqa: A002 - the term
        *,
        password: str = "",
    ) -> bytes:
        """See AsyncOcr.file."""
        portal, loaded = self._open_portal(), _loaded(document)
        return _call(portal, partial(self._ocr.file, loaded, result, format, password=password))

    def extract(
        self, document: Source, *, data: Mapping[str, object] | str | None = None, **wanted: Unpack[ExtractArguments]
    ) -> DocumentFields:
        """See AsyncOcr.extract."""
        portal, loaded = self._open_portal(), _loaded(document)
        return _call(portal, partial(self._ocr.extract, loaded, data=data, **wanted))

    @contextmanager
    def stream(self, document: Source, **arguments: Unpack[ReadArguments]) -> Iterator[OcrPages]:
        """See AsyncOcr.stream: `for page in pages`."""
        portal, loaded = self._open_portal(), _loaded(document)
        try:
            with portal.wrap_async_context_manager(self._ocr.stream(loaded, **arguments)) as reading:
                yield OcrPages(reading, portal)
        except RuntimeError as error:
            if self._portal is portal:
                raise
            raise RuntimeError(_CLOSED) from error  # by another thread: what the portal says of it says nothing

    def _open_portal(self) -> BlockingPortal:
        _check_open(self._pid if self._portal else 0)
        _refuse_event_loop()
        assert self._portal is not None  # noqa: S101 - checked above
        return self._portal


def _loaded(source: Source) -> Document:
    """Blocking. Raises OSError if the file can't be read, ValueError if it is closed, TypeError for another type."""
    if isinstance(source, Document):
        return source
    name, data = load(source, "")
    return Document(data, encodable(name))  # file names are bytes; not all are UTF-8


def _check_open(pid: int) -> None:
    """Raises RuntimeError unless `pid` is this process. 0: not open."""
    if pid != os.getpid():
        raise RuntimeError(_FORKED if pid else _NOT_OPEN)


def _refuse_event_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError(_EVENT_LOOP)


def _call(portal: BlockingPortal, function: Callable[[], Awaitable[T]]) -> T:
    """The result of `function` on the portal's event loop. An exception here, such as Ctrl-C, cancels it."""
    future = portal.start_task_soon(function)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


async def _next(pages: AsyncIterator[PageResult]) -> PageResult | None:
    return await anext(pages, None)
