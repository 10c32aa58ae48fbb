"""What holds for every DocumentReader: the engine in this process, a service, and results in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from inkgate.errors import InputRejected
from inkgate.library import LocalReader
from inkgate.settings import load_settings
from inkgate_client import AsyncInkgateClient, Fields, ReadOptions, WantedFields
from inkgate_client.fields.as_json import document_fields_to_dict
from inkgate_client.fields.values import Extraction, ExtractionStatus
from inkgate_client.format_names import FileFormat
from inkgate_client.many import read_many
from inkgate_client.reading import DocumentReader, MemoryReader, RemoteReader
from inkgate_client.types import Document, DocumentResult, PageResult, ReadError
from support.api_client import running_api, tiff

pytestmark = pytest.mark.anyio
GOOD, BAD = Document(tiff(2), "sub/good.tiff"), Document(b"no document", "bad.png")


@asynccontextmanager
async def local() -> AsyncIterator[DocumentReader]:
    async with LocalReader(load_settings(None)) as reader:
        yield reader


@asynccontextmanager
async def remote() -> AsyncIterator[DocumentReader]:
    async with running_api() as api:
        client = AsyncInkgateClient("http://inkgate.localhost", transport=httpx.ASGITransport(api.app))
        async with RemoteReader(client) as reader:
            yield reader


@asynccontextmanager
async def memory() -> AsyncIterator[DocumentReader]:
    pages = (PageResult(0, text="one"), PageResult(1, text="two"))
    result = DocumentResult(GOOD.name, "image/tiff", len(GOOD.data), 2, "none", pages)
    extraction = Extraction("", {"total": None}, {}, (), ExtractionStatus.COMPLETE)
    fields = Fields(extraction, extraction.data, answer=document_fields_to_dict(extraction, result))
    rejected = InputRejected("type_unsupported", "It is no image.")
    yield MemoryReader(
        {GOOD.name: result, BAD.name: rejected},
        {GOOD.name: fields, BAD.name: rejected},
        {FileFormat.DOCX: b"PK..."},
        {"receipt": ("/total",)},
    )


@pytest.mark.parametrize("opened", [local, remote, memory])
async def test_a_reader_reads_extracts_and_says_what_is_wrong_with_a_document(opened: object) -> None:
    told: list[tuple[int, int]] = []

    async def progress(done: int, total: int) -> None:
        told.append((done, total))

    options, wanted = ReadOptions("parse"), WantedFields(names=("total",))
    async with opened() as reader:  # type: ignore[operator]
        result = await reader.read(GOOD, options, progress)
        assert (result.name, [page.index for page in result.pages], told[-1]) == (GOOD.name, [0, 1], (2, 2))
        async with reader.stream(GOOD, options) as stream:
            assert (stream.count, stream.page_count) == (2, 2)
            assert [page.index async for page in stream] == [0, 1]
        found = await reader.extract(GOOD, wanted)
        assert list(found.data) == ["total"]
        assert (found.answer["document"]["name"], found.answer["data"]) == (GOOD.name, found.data)
        assert (await reader.file(GOOD, result, FileFormat.DOCX, options))[:2] == b"PK"
        assert "/total" in (await reader.document_types())["receipt"]
        for refused in (reader.read(BAD, options), reader.extract(BAD, wanted)):
            with pytest.raises(ReadError) as error:
                await refused
            assert (error.value.code, error.value.rejected, error.value.unavailable) == (
                "type_unsupported",
                True,
                False,
            )
            assert error.value.title
        async with read_many(lambda source: reader.read(source, options), [BAD, GOOD, BAD], 2) as outcomes:
            assert [(each.index, each.error is None) async for each in outcomes] == [(0, False), (1, True), (2, False)]
