"""What reads the documents of agents: the engine in this process, or a service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Protocol

from inkgate.extraction.wanted import FieldRequest
from inkgate.fields.as_json import Json, document_fields_to_dict
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


@asynccontextmanager
async def engine_reader(settings: Settings) -> AsyncIterator[EngineToolReader]:
    """Loads the models and frees them. Raises as AsyncOcr."""
    from inkgate.extraction.finder import field_finder

    known = field_finder(settings).types
    types = {
        name: [leaf.path.removeprefix("/").replace("/-/", "[].") for leaf in schema.leaves]
        for name, schema in sorted(known.schemas.items())
    }
    async with AsyncOcr(settings) as ocr:
        yield EngineToolReader(ocr, types)
