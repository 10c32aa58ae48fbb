"""What reads the documents of agents: the engine in this process, or a service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Protocol

from inkgate.client import AsyncInkgateClient, ReadAs
from inkgate.extraction.wanted import FieldRequest
from inkgate.fields.as_json import Json, document_fields_to_dict, extraction_to_dict
from inkgate.fields.asked import FieldsAsked
from inkgate.library import AsyncOcr, ExtractArguments, ReadArguments
from inkgate.settings import Settings
from inkgate.types import Document, DocumentResult

Progress = Callable[[float, float | None], Awaitable[None]]
"""Takes the number of pages read, and of all that are read."""


class ToolReader(Protocol):
    """Reads documents. All raise InkgateError."""

    async def read(self, document: Document, pages: str, progress: Progress) -> DocumentResult:
        """The pages of `document`, with blocks. `pages`: such as "1-3,7"; empty: all."""
        ...

    async def extract(self, document: Document, wanted: FieldRequest) -> Json:
        """Fields as POST /extract answers them; values of `wanted.data` are looked up, as POST /verify does."""
        ...

    async def document_types(self) -> dict[str, list[str]]:
        """The names of the fields of each document type."""
        ...


class EngineToolReader:
    """Reads with the engine in this process."""

    def __init__(self, ocr: AsyncOcr, types: dict[str, list[str]]) -> None:
        self._ocr = ocr
        self._types = types

    async def read(self, document: Document, pages: str, progress: Progress) -> DocumentResult:
        arguments: ReadArguments = {"pages": pages or None}
        async with self._ocr.stream(document, **arguments) as reading:
            read = []
            async for page in reading:
                read.append(page)
                await progress(len(read), len(reading.selected))
            if reading.failure is not None:
                raise reading.failure
            return reading.result(read)

    async def extract(self, document: Document, wanted: FieldRequest) -> Json:
        arguments: ExtractArguments = {"type": wanted.type, "fields": wanted.names}
        if wanted.schema is not None:
            arguments["schema"] = wanted.schema
        found = await self._ocr.extract(document, data=wanted.data, **arguments)
        return document_fields_to_dict(found.extraction, found.document)

    async def document_types(self) -> dict[str, list[str]]:
        return self._types


class ServiceToolReader:
    """Reads by a running service. Raises ServiceError, too."""

    def __init__(self, client: AsyncInkgateClient) -> None:
        self._client = client

    async def read(self, document: Document, pages: str, progress: Progress) -> DocumentResult:
        result = await self._client.read(document.data, ReadAs(task="parse", pages=pages), document.name)
        await progress(len(result.pages), len(result.pages))
        return result

    async def extract(self, document: Document, wanted: FieldRequest) -> Json:
        asked = FieldsAsked(wanted.type, wanted.schema, wanted.names, wanted.data)
        return extraction_to_dict((await self._client.find_fields(document.data, asked, document.name)).extraction)

    async def document_types(self) -> dict[str, list[str]]:
        types = await self._client.document_types()
        return {name: [_field_name(path) for path in paths] for name, paths in types.items()}


@asynccontextmanager
async def engine_reader(settings: Settings) -> AsyncIterator[EngineToolReader]:
    """Loads the models and frees them. Raises as AsyncOcr."""
    from inkgate.extraction.finder import field_finder

    known = field_finder(settings).types
    types = {name: [_field_name(leaf.path) for leaf in schema.leaves] for name, schema in sorted(known.schemas.items())}
    async with AsyncOcr(settings) as ocr:
        yield EngineToolReader(ocr, types)


@asynccontextmanager
async def service_reader(url: str, key: str) -> AsyncIterator[ServiceToolReader]:
    """Raises ServiceError: the URL or the key can't be used."""
    async with AsyncInkgateClient(url, key) as client:
        yield ServiceToolReader(client)


def _field_name(path: str) -> str:
    return path.removeprefix("/").replace("/-/", "[].")
