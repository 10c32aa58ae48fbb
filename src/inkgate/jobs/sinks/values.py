"""Rows of a table sink: values of a document, by paths such as `fields.total` (docs/guides/pipelines.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from inkgate.jobs.job import Job
from inkgate.jobs.published import public_url
from inkgate_client.formats import Format, render
from inkgate_client.types import DocumentResult, PageResult


@dataclass(frozen=True, slots=True)
class RowSource:
    """The source of a row. `page`: None for a row of the whole document. `extraction`: the fields of the document, as
    published; None: the job finds none.
    """

    job: Job
    document: DocumentResult
    page: PageResult | None
    extraction: Mapping[str, Any] | None = None

    @property
    def label(self) -> str:
        """The prefix of messages: the page's number with a colon, or empty."""
        return "" if self.page is None else f"page {self.page.index + 1}: "


def row_sources(
    job: Job, document: DocumentResult, extraction: Mapping[str, Any] | None = None, *, by_page: bool
) -> list[RowSource]:
    """The rows to make. A page without any result has none."""
    if not by_page:
        return [RowSource(job, document, None, extraction)]
    return [RowSource(job, document, page, extraction) for page in document.pages if not page.lost]


def value_at(path: str, source: RowSource) -> object:
    """The value at a path that the settings allow; None if it is missing.

    Raises:
        ValueError: pages have different values of a field.
    """
    if path.startswith("fields"):
        return _field(path.partition(".")[2], source)
    group, _, name = path.partition(".")
    if group == "job":
        return _JOB[name](source.job)
    if group == "extraction":
        return None if source.extraction is None else source.extraction.get(name)
    if group == "document":
        return _DOCUMENT[name](source.document)
    if group == "source":
        return _SOURCE[name](source.job)
    return None if source.page is None else _PAGE[name](source.page)


def _field(name: str, source: RowSource) -> object:
    """A field's value, or all fields if `name` is empty: of the document, if its fields were found; else of the page,
    or of the only page that has it.
    """
    if source.extraction is not None:
        return _found(name, source.extraction["data"])
    if source.page is not None:
        fields = source.page.fields
        return fields if not name or fields is None else fields.get(name)
    names = {key: None for page in source.document.pages for key in page.fields or ()}
    merged = {key: _only(key, source.document) for key in names if not name or key == name}
    return merged.get(name) if name else merged or None


def _found(name: str, data: Mapping[str, Any]) -> object:
    """The value with this name, or at this path: `seller.name`."""
    if not name or name in data:
        return data[name] if name else data
    value: object = data
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _only(name: str, document: DocumentResult) -> object:
    found = list(_given(name, document))
    filled = [(page, value) for page, value in found if value != ""] or found
    for page, value in filled[1:]:
        if value != filled[0][1]:
            first = filled[0][0].index + 1
            raise ValueError(f"pages {first} and {page.index + 1} have different values of `{name}`")
    return filled[0][1] if filled else None


def _given(name: str, document: DocumentResult) -> Iterator[tuple[PageResult, object]]:
    for page in document.pages:
        value = (page.fields or {}).get(name)
        if value is not None:
            yield page, value


def _time(value: float | None) -> datetime | None:
    return None if value is None else datetime.fromtimestamp(value, UTC)


_JOB: Mapping[str, Callable[[Job], object]] = {
    "id": lambda job: job.id,
    "name": lambda job: job.name,
    "tenant": lambda job: job.tenant,
    "state": lambda job: job.state.value,
    "pipeline": lambda job: job.pipeline or None,
    "priority": lambda job: job.priority.value,
    "created": lambda job: _time(job.created),
    "started": lambda job: _time(job.started),
    "ended": lambda job: _time(job.ended),
    "pages": lambda job: job.pages,
    "saved": lambda job: job.saved,
    "failed": lambda job: job.failed,
    "attempts": lambda job: job.attempts,
}
_DOCUMENT: Mapping[str, Callable[[DocumentResult], object]] = {
    "text": lambda document: render(document, Format.TEXT).decode(),
    "markdown": lambda document: render(document, Format.MARKDOWN).decode(),
    "name": lambda document: document.name,
    "mime_type": lambda document: document.mime_type,
    "byte_count": lambda document: document.byte_count,
    "page_count": lambda document: document.page_count,
    "engine": lambda document: document.engine,
    "status": lambda document: document.status.value,
}
_PAGE: Mapping[str, Callable[[PageResult], object]] = {
    "text": lambda page: page.text,
    "markdown": lambda page: page.markdown,
    "index": lambda page: page.index,
    "number": lambda page: page.index + 1,
    "engine": lambda page: page.engine,
    "confidence": lambda page: page.confidence,
    "rotation": lambda page: page.rotation,
    "error": lambda page: None if page.error is None else page.error.code,
}
_SOURCE: Mapping[str, Callable[[Job], object]] = {
    "url": lambda job: public_url(job.source.url) or None,
    "name": lambda job: public_url(job.source.url).rpartition("/")[2] or None,
    "etag": lambda job: job.source.etag or None,
    "version": lambda job: job.source.version or None,
    "upload": lambda job: job.source.upload or None,
}
PATHS = frozenset(
    f"{group}.{name}"
    for group, names in (("job", _JOB), ("document", _DOCUMENT), ("page", _PAGE), ("source", _SOURCE))
    for name in names
) | {"extraction.document_type", "extraction.status", "extraction.review", "extraction.version"}
"""All, but for `fields` and `fields.NAME`."""
