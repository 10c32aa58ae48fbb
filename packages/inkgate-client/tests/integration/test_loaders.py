"""The loaders of LangChain and LlamaIndex, with their real packages, where a service reads."""

from __future__ import annotations

import asyncio
import logging
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import anyio
import pytest
from langchain_core.document_loaders import Blob
from langchain_core.documents import Document
from llama_index.core import SimpleDirectoryReader
from llama_index.core.schema import MetadataMode

from inkgate.caller import Caller
from inkgate.errors import EngineFailed
from inkgate.page import Page
from inkgate_client import File
from inkgate_client.langchain import InkgateLoader, InkgateParser, LoadFailed
from inkgate_client.llamaindex import InkgateReader
from inkgate_client.types import PageResult, Task
from support.api_client import png, tiff
from support.fake_engine import FakeEngine
from support.receipt_engine import ReceiptEngine
from support.served_api import served

pytestmark = pytest.mark.anyio
FAILED = EngineFailed("upstream_failed", "The model server failed.")


@dataclass
class GatedEngine(FakeEngine):
    """Reads the first page of each document at once, and others when `more` is set. `most`: pages read together."""

    more: anyio.Event = field(default_factory=anyio.Event)
    now: int = 0
    most: int = 0

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            if page.index:
                await self.more.wait()
            return await super().read(page, task, caller)
        except anyio.get_cancelled_exc_class():
            self.cancelled += 1
            raise
        finally:
            self.now -= 1


async def in_thread(loader: InkgateLoader) -> list[Document]:
    return await asyncio.to_thread(loader.load)


async def test_langchain_gets_a_document_for_each_page_with_metadata_that_any_store_takes(tmp_path: Path) -> None:
    path = tmp_path / "scan.tiff"
    path.write_bytes(tiff(3))
    async with served() as service:
        loader = InkgateLoader(path, server=service.url)
        documents = await in_thread(loader)
        assert [document async for document in loader.alazy_load()] == documents
        [third] = await in_thread(InkgateLoader(path, server=service.url, pages="3", task="text"))
    assert documents[1].page_content.startswith("# Hello page 1\n\n| a | b |")
    assert third.page_content == "Hello page 2\nGrüße 世界"
    assert third.metadata == {
        "source": str(path),
        "page": 2,
        "page_label": "3",
        "total_pages": 3,
        "task": "text",
        "engine": "fake",
        "needs_review": False,
    }


async def test_the_first_page_comes_before_the_others_are_read_and_leaving_cancels_these() -> None:
    engine = GatedEngine()
    async with served(engine) as service:
        pages = InkgateLoader(tiff(3), server=service.url).alazy_load()
        first = await anext(aiter(pages))
        assert first.metadata["page"] == 0
        assert first.metadata["source"] == "document"
        await pages.aclose()  # type: ignore[attr-defined]  # an async generator
        engine.more.set()
        await service.until_ended()
    assert len(engine.tasks) <= 3


async def test_a_bounded_number_of_files_is_read_ahead_and_documents_keep_their_order() -> None:
    engine, taken = GatedEngine(), 0

    def files() -> Iterator[bytes]:
        nonlocal taken
        for _ in range(6):
            taken += 1
            yield tiff(2)

    async with served(engine) as service:
        pages = InkgateLoader(files(), server=service.url, concurrency=2).alazy_load()
        await anext(aiter(pages))
        assert taken == 2
        engine.more.set()
        rest = [document.metadata["page"] async for document in pages]
    assert rest == [1, *[0, 1] * 5]
    assert engine.most <= 4


async def test_a_file_as_one_document_has_the_text_of_all_pages() -> None:
    async with served() as service:
        [document] = await in_thread(InkgateLoader(tiff(2), server=service.url, mode="single"))
    assert document.page_content.count("# Hello page") == 2
    assert document.metadata["total_pages"] == 2
    assert "page" not in document.metadata


async def test_a_page_that_fails_is_raised_or_skipped_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "inkgate_client.loaders")
    async with served(FakeEngine(failing={1: FAILED})) as service:
        loader = InkgateLoader(tiff(3), server=service.url)
        pages = aiter(loader.alazy_load())
        assert (await anext(pages)).metadata["page"] == 0
        with pytest.raises(LoadFailed, match="page 2") as raised:
            await anext(pages)
        error = pickle.loads(pickle.dumps(raised.value))  # noqa: S301 - our own
        assert (error.source, error.page, error.code) == ("document", 1, "upstream_failed")

        skipping = partial(InkgateLoader, server=service.url, on_error="skip")
        assert [each.metadata["page"] for each in await in_thread(skipping(tiff(3)))] == [0, 2]
        [whole] = await in_thread(skipping(tiff(3), mode="single"))
    assert whole.metadata["pages_with_errors"] == "2"
    assert whole.metadata["error"] == "upstream_failed"
    assert "upstream_failed" not in whole.page_content
    assert [record.levelname for record in caplog.records if "page 2" in record.message] == ["WARNING"] * 2


async def test_a_file_that_cannot_be_read_is_raised_or_skipped(tmp_path: Path) -> None:
    files: list[File] = [tmp_path / "gone.pdf", b"no document", png()]
    async with served() as service:
        with pytest.raises(LoadFailed, match=r"gone\.pdf"):
            await in_thread(InkgateLoader(files, server=service.url))
        with pytest.raises(LoadFailed) as raised:
            await in_thread(InkgateLoader(files[1:], server=service.url))
        assert raised.value.code == "type_unsupported"
        [only] = await in_thread(InkgateLoader(files, server=service.url, on_error="skip"))
    assert only.metadata["page"] == 0
    with pytest.raises(LoadFailed, match="can't be reached"):
        InkgateLoader(png(), server="http://127.0.0.1:9", retry_s=0).load()


async def test_fields_are_metadata_of_every_page() -> None:
    async with served(ReceiptEngine()) as service:
        documents = await in_thread(InkgateLoader(tiff(2), server=service.url, type="receipt"))
    assert [document.metadata["fields.total"] for document in documents] == ["30.20", "30.20"]
    assert documents[0].metadata["document_type"] == "receipt"
    assert {type(value) for document in documents for value in document.metadata.values()} <= {str, int, float, bool}


async def test_blobs_and_urls_are_read(tmp_path: Path) -> None:
    (tmp_path / "page.png").write_bytes(png())
    website = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(tmp_path)))
    Thread(target=website.serve_forever, daemon=True).start()
    host = f"127.0.0.1:{website.server_port}"
    try:
        async with served() as service:
            [of_url] = await in_thread(InkgateLoader(f"http://me:secret@{host}/page.png", server=service.url))
            parser = InkgateParser(server=service.url)
            blob = Blob.from_path(tmp_path / "page.png", metadata={"shelf": "7"})
            [of_path] = await asyncio.to_thread(parser.parse, blob)
            [of_data] = await asyncio.to_thread(parser.parse, Blob.from_data(png(), path="s3://bucket/a.png"))
    finally:
        website.shutdown()
        website.server_close()
    assert of_url.metadata["source"] == f"http://{host}/page.png"
    assert (of_path.metadata["source"], of_path.metadata["shelf"]) == (str(tmp_path / "page.png"), "7")
    assert of_data.metadata["source"] == "s3://bucket/a.png"


async def test_llamaindex_reads_folders_and_embeds_no_numbers_of_pages(tmp_path: Path) -> None:
    for name in ("a.tiff", "b.tiff", "c.tiff"):
        (tmp_path / name).write_bytes(tiff(2))
    engine = GatedEngine()
    engine.more.set()
    async with served(engine) as service:
        reader = InkgateReader(server=service.url, concurrency=2)
        copied = pickle.loads(pickle.dumps(reader))  # noqa: S301 - our own
        folder = SimpleDirectoryReader(tmp_path, file_extractor={".tiff": copied}, raise_on_error=True)
        documents = await asyncio.to_thread(folder.load_data)
        awaited = await folder.aload_data()
        lazy = await asyncio.to_thread(lambda: list(reader.lazy_load_data(tiff(2), extra_info={"shelf": "7"})))
    assert [each.text for each in awaited] == [each.text for each in documents]
    assert [(each.metadata["file_name"], each.metadata["page_label"]) for each in documents] == [
        (name, label) for name in ("a.tiff", "b.tiff", "c.tiff") for label in ("1", "2")
    ]
    assert engine.most <= 4  # two documents of two pages
    assert lazy[1].metadata["shelf"] == "7"
    shown = lazy[1].get_content(MetadataMode.EMBED)
    assert "Hello page 1" in shown
    assert "page_label: 2" in shown
    assert "confidence" not in shown
    assert "total_pages" not in shown


async def test_llamaindex_reads_from_other_file_systems() -> None:
    from fsspec.implementations.memory import MemoryFileSystem

    files = MemoryFileSystem()
    files.pipe_file("/scans/page.png", png())
    async with served() as service:
        reader = InkgateReader(server=service.url)
        [document] = await asyncio.to_thread(reader.load_data, "/scans/page.png", fs=files)
    assert document.metadata["source"] == "/scans/page.png"


async def test_options_that_do_not_exist_are_refused_at_once() -> None:
    for options in ({"mode": "pages"}, {"on_error": "ignore"}, {"concurrency": 0}, {"type": "a", "fields": ["b"]}):
        with pytest.raises(ValueError, match=f"{next(iter(options))}|one of"):
            InkgateLoader(b"", **options)
    with pytest.raises(ValueError, match="server or settings"):
        InkgateReader(server="http://127.0.0.1:9", settings={})


def test_an_error_does_not_show_the_query_of_a_url() -> None:
    loader = InkgateLoader("http://127.0.0.1:9/a.png?signature=SECRET", server="http://127.0.0.1:9")
    with pytest.raises(LoadFailed) as failed:
        list(loader.lazy_load())
    assert "SECRET" not in str(failed.value)
    assert failed.value.source.endswith("?signature=SECRET")
