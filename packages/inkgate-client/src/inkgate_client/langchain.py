"""Documents for LangChain, read by inkgate: a loader of files, and a parser for blob loaders.

for document in InkgateLoader("scan.pdf", server="http://127.0.0.1:7860").lazy_load():
    print(document.metadata["page"], document.page_content)
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import PurePath
from typing import Unpack

from inkgate_client.codec import encodable
from inkgate_client.loaders.ahead import load, load_awaited
from inkgate_client.loaders.options import LoadedText, LoaderKeywords, LoaderOptions, LoadFailed
from inkgate_client.loaders.sources import Files, SourceFile, source_files

try:
    from langchain_core.document_loaders import BaseBlobParser, BaseLoader
    from langchain_core.documents import Document
    from langchain_core.documents.base import Blob
except ModuleNotFoundError as error:
    raise ImportError(
        f"{error.name} is not installed, which inkgate_client.langchain needs. Install langchain-core, or "
        "inkgate with its extra `langchain`."
    ) from error

__all__ = ["InkgateLoader", "InkgateParser", "LoadFailed"]


class InkgateLoader(BaseLoader):
    """Loads documents: images and PDFs, scanned or not.

    Metadata: `source`, `page` (its index, from 0, as of LangChain's other loaders), `page_label` (from 1),
    `total_pages`, `confidence`, `needs_review`, `engine`, `task`, and fields, if some are asked for. With
    `mode="single"` there is no page, and `confidence` is that of the least sure page.
    """

    def __init__(self, file_path: Files, **options: Unpack[LoaderKeywords]) -> None:
        """`file_path`: a path, a URL, bytes, an open file, or several of these; a generator can be loaded once.
        `options`: `server`, `mode`, `on_error` and others of LoaderOptions. Raises ValueError.
        """
        self._files = file_path
        self._options = LoaderOptions(**options)

    def lazy_load(self) -> Iterator[Document]:
        """Documents in order, as they are read. Raises LoadFailed."""
        return map(_document, load(source_files(self._files), self._options))

    async def alazy_load(self) -> AsyncIterator[Document]:
        """Loads documents like `lazy_load`, without blocking the event loop."""
        async with aclosing(load_awaited(source_files(self._files), self._options)) as texts:
            async for text in texts:
                yield _document(text)


class InkgateParser(BaseBlobParser):
    """Parses blobs, wherever a blob loader has them from. Metadata as of InkgateLoader, and that of the blob."""

    def __init__(self, **options: Unpack[LoaderKeywords]) -> None:
        """`options`: see LoaderOptions. Raises ValueError."""
        self._options = LoaderOptions(**options)

    def lazy_parse(self, blob: Blob) -> Iterator[Document]:
        """Documents of a blob, as they are read. Raises LoadFailed."""
        source = encodable(blob.source or "document")

        def data() -> tuple[str, bytes]:
            return encodable(PurePath(blob.path or source).name or "document"), blob.as_bytes()

        for text in load([SourceFile(source, data)], self._options):
            yield Document(text.text, metadata={**blob.metadata, **text.metadata})


def _document(text: LoadedText) -> Document:
    return Document(text.text, metadata={**text.metadata})
