"""A file as texts with metadata: one for each page, as it is read, or one for all."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import partial
from queue import SimpleQueue

from inkgate_client.codec import encodable
from inkgate_client.fields.values import Extraction, ExtractionStatus
from inkgate_client.formats.markdown import content_of
from inkgate_client.formats.text import page_text, printable
from inkgate_client.loaders.options import LoadedText, LoaderOptions, LoadFailed, Metadata, flat_fields
from inkgate_client.loaders.readers import Calls, PortalReader, portal_reader
from inkgate_client.loaders.sources import SourceFile
from inkgate_client.types import Document, DocumentResult, PageResult, ReadError

log = logging.getLogger(__name__)


def loaded_texts(file: SourceFile, options: LoaderOptions, calls: Calls) -> Iterator[LoadedText]:
    """The texts of a file. Blocking; for a thread without an event loop.

    Raises:
        LoadFailed: the file or a page can't be read, and `on_error` is `raise`.
    """
    try:
        yield from _texts(file, options, calls)
    except LoadFailed as error:
        if options.on_error == "raise":
            raise
        log.warning("inkgate left out %s", error)


def _texts(file: SourceFile, options: LoaderOptions, calls: Calls) -> Iterator[LoadedText]:
    try:
        name, data = file.load()
        document = Document(data, name)
        with portal_reader(options) as found:
            yield from _read(file.source, document, found, options, calls)
    except (ReadError, OSError) as error:
        code = error.code if isinstance(error, ReadError) else ""
        said = f"{error.detail} {error.remedy}" if isinstance(error, ReadError) and code else str(error)
        raise LoadFailed(f"{file.source}: {said}", file.source, code=code) from error


def _read(
    source: str, document: Document, found: PortalReader, options: LoaderOptions, calls: Calls
) -> Iterator[LoadedText]:
    portal, reader = found.portal, found.reader
    metadata: Metadata = {"source": source, "task": options.task}
    result: DocumentResult | None = None
    if options.asked is not None:
        fields = calls.run(portal, partial(reader.extract, document, options.asked, options.read))
        result = fields.document if options.task == "parse" else None
        metadata |= _about_fields(fields.extraction)
    if options.mode == "single":
        whole = result or calls.run(portal, partial(reader.read, document, options.read))
        yield _whole(whole, metadata, options)
    elif result is not None:
        yield from _pages(result.pages, result.page_count, metadata, options)
    else:
        yield from _streamed(document, found, metadata, options, calls)


def _streamed(
    document: Document, found: PortalReader, metadata: Metadata, options: LoaderOptions, calls: Calls
) -> Iterator[LoadedText]:
    """The pages as they are read."""
    pages: SimpleQueue[PageResult | None] = SimpleQueue()
    counts: list[int | None] = []

    async def read() -> None:
        try:
            async with found.reader.stream(document, options.read) as stream:
                counts.append(stream.page_count)
                async for page in stream:
                    pages.put(page)
        finally:
            pages.put(None)

    reading = calls.start(found.portal, read)
    try:
        for page in iter(pages.get, None):
            yield from _pages([page], counts[0], metadata, options)
    except BaseException:  # nobody wants the other pages
        reading.cancel()
        raise
    reading.result()  # after the last page, the stream still has to be closed


def _pages(
    pages: Sequence[PageResult], count: int | None, metadata: Metadata, options: LoaderOptions
) -> Iterator[LoadedText]:
    counted: Metadata = {} if count is None else {"total_pages": count}
    for page in pages:
        kept = _kept(page, metadata, options)
        if not kept:
            continue
        number: Metadata = {"page": page.index, "page_label": str(page.index + 1)}
        own = number | counted | _about([page])
        if page.error is not None:
            own["error"] = page.error.code
        yield LoadedText(_text(page), metadata | own)


def _whole(result: DocumentResult, metadata: Metadata, options: LoaderOptions) -> LoadedText:
    pages = [page for page in result.pages if _kept(page, metadata, options)]
    own: Metadata = {"total_pages": result.page_count} | _about(pages)
    failed = [page for page in result.pages if page.error is not None]
    if failed:
        own["error"] = ", ".join(sorted({page.error.code for page in failed if page.error is not None}))
        own["pages_with_errors"] = ",".join(str(page.index + 1) for page in failed)
    return LoadedText("\n\n".join(text for page in pages if (text := _text(page))), metadata | own)


def _kept(page: PageResult, metadata: Metadata, options: LoaderOptions) -> bool:
    """Whether there is something of a page. Raises LoadFailed if it has an error and is not to be skipped."""
    if page.error is None:
        return True
    source = str(metadata["source"])
    said = f"{source}: page {page.index + 1}: {page.error.detail} {page.error.remedy}"
    error = LoadFailed(said, source, page.index, page.error.code)
    if options.on_error == "raise":
        raise error
    log.warning("inkgate left out %s%s", "" if page.lost else "a part of ", error)
    return not page.lost


def _text(page: PageResult) -> str:
    """Markdown, if the page has some, else lines."""
    text = page_text(page) if page.markdown is None else printable(content_of(page))
    return encodable(text).strip()


def _about_fields(extraction: Extraction) -> Metadata:
    kind: Metadata = {"document_type": extraction.document_type} if extraction.document_type else {}
    review = extraction.status is ExtractionStatus.NEEDS_REVIEW
    return kind | flat_fields(extraction.data) | {"fields_need_review": review}


def _about(pages: Sequence[PageResult]) -> Metadata:
    """What is known of pages together: the least of their confidences."""
    known = [page.confidence for page in pages if page.confidence is not None]
    about: Metadata = {"needs_review": any(page.review for page in pages)}
    if known:
        about["confidence"] = round(min(known), 4)
    if pages:
        about["engine"] = pages[0].engine
    return about
