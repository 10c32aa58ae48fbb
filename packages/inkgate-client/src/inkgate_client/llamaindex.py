"""Documents for LlamaIndex, read by inkgate.

reader = InkgateReader(server="http://127.0.0.1:7860")
documents = reader.load_data("scan.pdf")
documents = SimpleDirectoryReader("scans", file_extractor={".pdf": reader, ".png": reader}).load_data()
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import aclosing
from functools import partial
from pathlib import PurePath
from typing import Any, Protocol, Unpack
from weakref import WeakKeyDictionary

from inkgate_client.codec import encodable
from inkgate_client.loaders.ahead import load, load_awaited
from inkgate_client.loaders.options import LoadedText, LoaderKeywords, LoaderOptions, LoadFailed
from inkgate_client.loaders.sources import Files, SourceFile, each_file, source_files

try:
    from llama_index.core.readers.base import BaseReader
    from llama_index.core.schema import Document
except ModuleNotFoundError as error:
    raise ImportError(
        f"{error.name} is not installed, which inkgate_client.llamaindex needs. Install llama-index-core, or "
        "inkgate with its extra `llamaindex`."
    ) from error

__all__ = ["InkgateReader", "LoadFailed"]

_FOR_PROGRAMS = ("page", "total_pages", "confidence", "needs_review", "engine", "task", "error", "fields_need_review")
"""Metadata that says nothing about the content: neither embedded nor shown to a language model."""


class FileSystem(Protocol):
    """What is needed of fsspec's file systems."""

    def cat_file(self, path: str) -> bytes:
        """The bytes of a file. Blocking. Raises OSError."""
        ...


class InkgateReader(BaseReader):
    """Reads documents: images and PDFs, scanned or not. Can be pickled, for SimpleDirectoryReader's `num_workers`.

    Metadata: `source`, `page` (its index, from 0), `page_label` (from 1, as of LlamaIndex's other readers),
    `total_pages`, `confidence`, `needs_review`, `engine`, `task`, and fields, if some are asked for. With
    `mode="single"` there is no page, and `confidence` is that of the least sure page. Only `source`, `page_label`,
    `document_type` and fields are embedded and shown to language models.
    """

    def __init__(self, **options: Unpack[LoaderKeywords]) -> None:
        """`options`: `server`, `mode`, `on_error` and others of LoaderOptions. Raises ValueError."""
        self._options = LoaderOptions(**options)
        self._slots = _Slots(self._options.concurrency)

    def lazy_load_data(
        self,
        file_path: Files,
        extra_info: Mapping[str, Any] | None = None,
        fs: FileSystem | None = None,
    ) -> Iterable[Document]:
        """Documents in order, as they are read.

        `file_path`: a path, a URL, bytes, an open file, or several of these. `extra_info`: more metadata. `fs`: where
        the paths are, if not in the local file system.

        Raises:
            LoadFailed: a document or a page can't be read.
        """
        for text in load(_sources(file_path, fs), self._options):
            yield _document(text, extra_info)

    def load_data(
        self,
        file_path: Files,
        extra_info: Mapping[str, Any] | None = None,
        fs: FileSystem | None = None,
    ) -> list[Document]:
        """All documents; see `lazy_load_data`."""
        return list(self.lazy_load_data(file_path, extra_info, fs))

    async def aload_data(
        self,
        file_path: Files,
        extra_info: Mapping[str, Any] | None = None,
        fs: FileSystem | None = None,
    ) -> list[Document]:
        """Loads data like `load_data`, without blocking the event loop. At most `concurrency` calls read at once,
        others wait: SimpleDirectoryReader calls it for all of its files together.
        """
        async with self._slots.here(), aclosing(load_awaited(_sources(file_path, fs), self._options)) as texts:
            return [_document(text, extra_info) async for text in texts]


class _Slots:
    """A semaphore for each event loop. Pickled without them."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    def here(self) -> asyncio.Semaphore:
        return self._by_loop.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self._count))

    def __reduce__(self) -> tuple[type[_Slots], tuple[int]]:
        return _Slots, (self._count,)


def _sources(files: Files, fs: FileSystem | None) -> Iterator[SourceFile]:
    if fs is None:
        yield from source_files(files)
        return
    for path in each_file(files):
        if not isinstance(path, str | os.PathLike):
            raise TypeError(f"In another file system, a file must be a path, not {type(path).__name__}.")
        name = os.fspath(path)
        yield SourceFile(encodable(name), partial(_loaded, fs, name))


def _loaded(fs: FileSystem, path: str) -> tuple[str, bytes]:
    return encodable(PurePath(path).name), fs.cat_file(path)


def _document(text: LoadedText, extra_info: Mapping[str, Any] | None) -> Document:
    return Document(
        text=text.text,
        metadata={**text.metadata, **(extra_info or {})},
        excluded_embed_metadata_keys=[*_FOR_PROGRAMS],
        excluded_llm_metadata_keys=[*_FOR_PROGRAMS],
    )
