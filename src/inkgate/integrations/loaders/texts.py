"""A file as texts with metadata: one for each page, as it is read, or one for all."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from threading import Event

from inkgate.client.errors import FileUnreadable
from inkgate.codec import encodable
from inkgate.documents.formats.markdown import content_of
from inkgate.documents.formats.text import page_text, printable
from inkgate.fields.values import Extraction, ExtractionStatus
from inkgate.integrations.loaders.options import LoadedText, LoaderOptions, LoadFailed, Metadata, flat_fields
from inkgate.integrations.loaders.readers import LoaderReader, ServiceReader
from inkgate.integrations.loaders.sources import SourceFile
from inkgate.types import DocumentResult, PageResult

log = logging.getLogger(__name__)

_CLIENT_ALONE = "inkgate-client has no engine. Give the URL of a service: server='http://127.0.0.1:7860'."


def loaded_texts(file: SourceFile, options: LoaderOptions, left: Event) -> Iterator[LoadedText]:
    """The texts of a file. Blocking; for a thread without an event loop. `left`: set when nobody wants them any more.

    Raises:
        LoadFailed: the file or a page can't be read, and `on_error` is `raise`.
    """
    try:
        yield from _texts(file, options, left)
    except LoadFailed as error:
        if options.on_error == "raise":
            raise
        log.warning("inkgate left out %s", error)


def _texts(file: SourceFile, options: LoaderOptions, left: Event) -> Iterator[LoadedText]:
    try:
        document = file.load()
    except (FileUnreadable, OSError) as error:
        raise LoadFailed(f"{file.source}: {error}", file.source) from error
    reader = _reader(file.source, document, options, left)
    metadata: Metadata = {"source": file.source, "task": options.task}
    result: DocumentResult | None = None
    if options.asked is not None:
        found = reader.fields(options.asked)
        result = found.document
        metadata |= _about_fields(found.extraction)
    if options.mode == "single":
        yield _whole(result or reader.read(), metadata, options)
    elif result is not None:
        yield from _pages(result.pages, result.page_count, metadata, options)
    else:
        with reader.stream() as stream:
            yield from _pages(stream.pages, stream.page_count, metadata, options)


def _reader(source: str, document: tuple[str, bytes], options: LoaderOptions, left: Event) -> LoaderReader:
    if options.server:
        return ServiceReader(source, document, options, left)
    try:
        from inkgate.integrations.loaders.engine import EngineReader
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("inkgate"):
            raise
        raise ImportError(_CLIENT_ALONE) from error
    return EngineReader(source, document, options)


def _pages(
    pages: Iterator[PageResult] | Sequence[PageResult], count: int | None, metadata: Metadata, options: LoaderOptions
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
