"""One way to read documents, whoever reads: LocalReader (inkgate.library) with the engine in this process, RemoteReader
by running services, and MemoryReader out of a dictionary, for tests. Users print and decide once.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import PurePath
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

import anyio

from inkgate_client.awaited import AsyncInkgateClient, AsyncPages
from inkgate_client.errors import ServiceError
from inkgate_client.extracted import Fields, fitted
from inkgate_client.fields.asked import WantedFields
from inkgate_client.files import Source
from inkgate_client.format_names import FileFormat
from inkgate_client.requests import PARSE, ReadOptions
from inkgate_client.retries import Retrier, RetryPolicy
from inkgate_client.types import Document, DocumentResult, PageResult

T = TypeVar("T")
Progress = Callable[[int, int], Awaitable[None]]
"""Takes the number of pages that are read, and of all that will be."""


class PageStream(Protocol):
    """The pages of a document as they are read; iterate once."""

    @property
    def count(self) -> int | None:
        """How many there are; None if unknown."""
        ...

    @property
    def page_count(self) -> int | None:
        """How many the whole document has; None if unknown."""
        ...

    def __aiter__(self) -> AsyncIterator[PageResult]: ...


class DocumentReader(Protocol):
    """Reads documents, any number at once. All methods raise ReadError, or OSError if a file can't be read.

    `ReadError.unavailable` tells whether the next document would fail, too; `rejected`, whether the same one would.
    """

    async def read(
        self, source: Source, options: ReadOptions = PARSE, progress: Progress | None = None
    ) -> DocumentResult:
        """All pages. Raises the first page's error if none could be read; if only some failed, they have an `error`."""
        ...

    def stream(self, source: Source, options: ReadOptions = PARSE) -> AbstractAsyncContextManager[PageStream]:
        """The pages, in order, each as soon as it is read. Leaving the block early cancels the others."""
        ...

    async def extract(self, source: Source, wanted: WantedFields, options: ReadOptions = PARSE) -> Fields[Any]:
        """Fields, whose `data` is an instance if a model class is wanted. The task of `options` is ignored."""
        ...

    async def file(
        self,
        source: Source,
        result: DocumentResult,
        kind: FileFormat,
        options: ReadOptions = PARSE,
    ) -> bytes:
        """A file of a document whose `result` was read with `options`: `pdf` (searchable), `docx` or `xlsx`."""
        ...

    async def document_types(self) -> Mapping[str, tuple[str, ...]]:
        """The paths of the fields of each document type."""
        ...

    async def close(self) -> None:
        """Frees what it holds."""
        ...


class RemoteReader:
    """Reads by running services, each document by the one that has the fewest. A document that a service refuses for
    load is sent again after the seconds that it asks for, and one that it did not get. Raises ServiceError.
    """

    def __init__(self, *clients: AsyncInkgateClient, policy: RetryPolicy | None = None) -> None:
        """`clients`: of the services, which belong to the reader from now on."""
        self._clients = clients
        self._reading = [0] * len(clients)
        self._not_before = [0.0] * len(clients)
        self._retrier = Retrier(policy or RetryPolicy())

    @classmethod
    def of(cls, urls: Sequence[str], key: str = "", policy: RetryPolicy | None = None) -> Self:
        """Raises ServiceError: one is not a URL, or the key has a character that HTTP does not allow."""
        return cls(*(AsyncInkgateClient(url, key) for url in urls), policy=policy)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def check(self) -> tuple[Mapping[str, tuple[str, ...]], list[ServiceError]]:
        """The paths of the fields of each document type, and the errors of the services that can't be used: they are
        gone, or want another key. Raises ServiceError if none can be used.
        """
        types: Mapping[str, tuple[str, ...]] | None = None
        gone: list[ServiceError] = []
        for client in self._clients:
            try:
                found = await client.document_types()
            except ServiceError as error:
                if error.unavailable:
                    gone.append(error)
            else:
                types = found if types is None else types
        if len(gone) == len(self._clients):
            raise gone[0]
        return await self.document_types() if types is None else types, gone

    async def read(
        self, source: Source, options: ReadOptions = PARSE, progress: Progress | None = None
    ) -> DocumentResult:
        """Reads a document. `progress` is called once, at the end."""
        sent = _sent(source)
        result = await self._asked(lambda client: client.read(sent, options))
        if progress is not None:
            await progress(len(result.pages), len(result.pages))
        return replace(result, name=source.name) if isinstance(source, Document) else result

    @asynccontextmanager
    async def stream(self, source: Source, options: ReadOptions = PARSE) -> AsyncIterator[AsyncPages]:
        """Yields pages. Once the first page was read, nothing is sent again."""
        sent = _sent(source)
        async with AsyncExitStack() as stack:
            yield await self._asked(lambda client: stack.enter_async_context(client.stream(sent, options)))

    async def extract(self, source: Source, wanted: WantedFields, options: ReadOptions = PARSE) -> Fields[Any]:
        sent = _sent(source)
        found = await self._asked(lambda client: client.find_fields(sent, wanted, read_as=options))
        if isinstance(source, Document):
            about = {**found.answer.get("document", {}), "name": source.name}
            found = replace(found, answer={**found.answer, "document": about})
        return found if wanted.model is None else fitted(found, wanted.model)

    async def file(
        self,
        source: Source,
        result: DocumentResult,  # noqa: ARG002 - of the port
        kind: FileFormat,
        options: ReadOptions = PARSE,
    ) -> bytes:
        """Returns a document as a file. The service gets the document again, and seldom reads it again: it keeps
        results.
        """
        sent = _sent(source)
        return await self._asked(lambda client: client.read_in(sent, kind.value, options))

    async def document_types(self) -> Mapping[str, tuple[str, ...]]:
        return await self._asked(lambda client: client.document_types())

    async def close(self) -> None:
        """Closes the connections."""
        for client in self._clients:
            await client.close()

    async def _asked(self, ask: Callable[[AsyncInkgateClient], Awaitable[T]]) -> T:
        chosen = 0

        async def ask_one() -> T:
            nonlocal chosen
            chosen = await self._free()
            self._reading[chosen] += 1
            try:
                return await ask(self._clients[chosen])
            finally:
                self._reading[chosen] -= 1

        async def leave_alone(pause_s: float) -> None:
            # Not all at the same moment; others may take the document meanwhile.
            self._not_before[chosen] = anyio.current_time() + pause_s * random.uniform(1.0, 1.3)  # noqa: S311

        return await self._retrier.run_awaited(ask_one, leave_alone)

    async def _free(self) -> int:
        """The service with the fewest documents, once one may be asked."""
        while (wait_s := min(self._not_before) - anyio.current_time()) > 0:  # noqa: ASYNC110 - others may set a later time
            await anyio.sleep(wait_s)
        now = anyio.current_time()
        free = [index for index, since in enumerate(self._not_before) if since <= now]
        return min(free, key=lambda index: self._reading[index])


def _sent(source: Source) -> Source:
    """A document whose name is a path is sent with its last part."""
    return replace(source, name=PurePath(source.name).name) if isinstance(source, Document) else source


class MemoryReader:
    """Reads nothing: has the results of documents by their names, for tests of programs that read documents.

    Attributes:
        requests: the names of the documents that were requested, and what was requested of each.
    """

    def __init__(
        self,
        results: Mapping[str, DocumentResult | Exception],
        fields: Mapping[str, Fields[Any] | Exception] | None = None,
        files: Mapping[FileFormat, bytes] | None = None,
        types: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        """Exceptions are raised. `files`: by formats."""
        self.requests: list[tuple[str, ReadOptions | WantedFields | FileFormat]] = []
        self._results = results
        self._fields = fields or {}
        self._files = files or {}
        self._types = types or {}

    async def read(
        self, source: Source, options: ReadOptions = PARSE, progress: Progress | None = None
    ) -> DocumentResult:
        result = self._found(self._results, source, options)
        if progress is not None:
            await progress(len(result.pages), len(result.pages))
        return result

    @asynccontextmanager
    async def stream(self, source: Source, options: ReadOptions = PARSE) -> AsyncIterator[PageStream]:
        yield _MemoryPages(self._found(self._results, source, options))

    async def extract(self, source: Source, wanted: WantedFields, options: ReadOptions = PARSE) -> Fields[Any]:  # noqa: ARG002 - of the port
        return self._found(self._fields, source, wanted)

    async def file(
        self,
        source: Source,
        result: DocumentResult,  # noqa: ARG002 - of the port
        kind: FileFormat,
        options: ReadOptions = PARSE,  # noqa: ARG002 - of the port
    ) -> bytes:
        return self._found({_name(source): self._files[kind]}, source, kind)

    async def document_types(self) -> Mapping[str, tuple[str, ...]]:
        return self._types

    async def close(self) -> None:
        """Holds nothing."""

    def _found(
        self, known: Mapping[str, T | Exception], source: Source, requested: ReadOptions | WantedFields | FileFormat
    ) -> T:
        name = _name(source)
        self.requests.append((name, requested))
        found = known[name]
        if isinstance(found, Exception):
            raise found
        return found


def _name(source: Source) -> str:
    return source.name if isinstance(source, Document) else PurePath(str(source)).name


class _MemoryPages:
    def __init__(self, result: DocumentResult) -> None:
        self.count = len(result.pages)
        self.page_count = result.page_count
        self._pages = result.pages

    async def __aiter__(self) -> AsyncIterator[PageResult]:
        for page in self._pages:
            yield page
