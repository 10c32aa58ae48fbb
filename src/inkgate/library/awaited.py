"""Reading in this process, for async code. The blocking Ocr runs it in a thread of its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack, overload

from pydantic import BaseModel

from inkgate.documents.files import FileFormat
from inkgate.library.arguments import (
    ExtractArguments,
    ReadArguments,
    SettingsSource,
    asked_fields,
    extract_options,
    given_values,
    read_arguments,
    settings_of,
)
from inkgate.library.local import LocalReader
from inkgate.library.results import DocumentFields, OcrResult
from inkgate.service.reader import CheckedOptions, Reading
from inkgate_client.fields.asked import ModelT, Wanted
from inkgate_client.files import Source
from inkgate_client.many import CONCURRENCY, ManyDocuments, Outcome, check_sources, outcomes
from inkgate_client.types import DocumentResult

T = TypeVar("T")


class AsyncOcr:
    """The engine in this process, for async code on asyncio: `async with` loads the models and frees them.

    Any number of documents may be read at once; more than `limits.max_in_flight` wait. Leaving the block cancels reads
    that are still running, which raise RuntimeError. Enter and leave it in one task.

    Attributes:
        reader: the same as a DocumentReader.
    """

    def __init__(self, settings: SettingsSource = None) -> None:
        """Raises ValueError or OSError if the settings are wrong or their file can't be read."""
        self.reader = LocalReader(settings_of(settings))

    async def __aenter__(self) -> Self:
        """Loads the models.

        Raises:
            InputRejected: `engine.name` names no engine, or the engine lacks a setting.
            EngineFailed: the engine did not start.
        """
        await self.reader.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.reader.close()

    async def read(self, document: Source, **arguments: Unpack[ReadArguments]) -> OcrResult:
        """All pages of `document`. `arguments`: see ReadArguments.

        Raises:
            OSError: the file can't be read.
            InputRejected: the document or an argument can't be used.
            InkgateError: no page could be read: the first page's error. If only some failed, they have an `error`.
        """
        return await self.reader.read(document, read_arguments("read", arguments))

    def read_many(
        self,
        documents: Iterable[Source],
        *,
        concurrency: int = CONCURRENCY,
        in_order: bool = True,
        **arguments: Unpack[ReadArguments],
    ) -> AsyncGenerator[Outcome[Source, OcrResult], None]:
        """Reads many documents: `async for outcome in ocr.read_many(paths)`. An outcome has the `source`, and the
        `result` or an `error`: a document that can't be read does not end the others.

        No more than `concurrency` are read or wait to be taken; `documents` is iterated as there is room. `in_order`:
        outcomes come in the order of `documents`, else as soon as they are there. Leaving the loop early cancels the
        others.
        """
        check_sources(documents)
        read_arguments("read_many", arguments)
        return outcomes(self.documents_of(partial(self.read, **arguments), concurrency, in_order=in_order), documents)

    def extract_many(
        self,
        documents: Iterable[Source],
        wanted: Wanted = None,
        *,
        concurrency: int = CONCURRENCY,
        in_order: bool = True,
        **named: Unpack[ExtractArguments],
    ) -> AsyncGenerator[Outcome[Source, DocumentFields[Any]], None]:
        """Extracts fields like `extract`, from many documents; `read_many` describes the outcomes."""
        check_sources(documents)
        asked_fields(wanted, None, named)
        extract_options(named)
        extract: Callable[[Source], Awaitable[DocumentFields[Any]]] = partial(self.extract, wanted=wanted, **named)
        return outcomes(self.documents_of(extract, concurrency, in_order=in_order), documents)

    def documents_of(
        self, read: Callable[[Source], Awaitable[T]], concurrency: int, *, in_order: bool
    ) -> ManyDocuments[Source, T]:
        """Returns documents to start and take, for `read_many` and its like, also of the blocking Ocr. Raises
        ValueError.
        """
        return self.reader.many(read, concurrency, in_order=in_order)

    async def file(
        self,
        document: Source,
        result: DocumentResult,
        format: FileFormat | str,  # noqa: A002 - the term
        *,
        password: str = "",
    ) -> bytes:
        """The file of a `document` whose `result` was read: `pdf` (searchable), `docx` or `xlsx`. The last two show
        tables and headings of results of the task `parse`.

        Raises:
            OSError: the file can't be read.
            InputRejected: the document can't be written.
            ValueError: there is no such format.
        """
        return await self.reader.file(document, result, FileFormat(format), CheckedOptions(password=password))

    @asynccontextmanager
    async def stream(self, document: Source, **arguments: Unpack[ReadArguments]) -> AsyncIterator[Reading]:
        """The pages of `document` in order, each as soon as it is read: `async for page in reading`. A page that
        failed has an `error`. Leaving the block early cancels the other pages. Raises as `read`, but for pages. An
        async generator around it has to be closed by the task that iterates it: see contextlib.aclosing.
        """
        async with self.reader.stream(document, read_arguments("stream", arguments)) as reading:
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
        return await self.reader.extract(document, asked_fields(wanted, data, named), extract_options(named))

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
        return await self.reader.extract(document, given_values(data, wanted, named), extract_options(named))

    async def document_types(self) -> Mapping[str, tuple[str, ...]]:
        """The paths of the fields of each document type."""
        return await self.reader.document_types()
