"""The row of a document, and files of rows."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib.util import find_spec

import orjson

from inkgate.batch.plan import BatchInvalid
from inkgate.installation import install_extra
from inkgate_client.codec import encodable
from inkgate_client.types import DocumentResult


class RowStatus(StrEnum):
    """`complete`; `partial`: some pages failed; `failed`: none could be read; `quarantined`: it ended the process that
    read it, more than once.
    """

    COMPLETE = "complete"
    PARTIAL = "partial"
    FAILED = "failed"
    QUARANTINED = "quarantined"


@dataclass(frozen=True, slots=True)
class BatchRow:
    """What became of a document.

    Attributes:
        document: its path below the input.
        url: of the object.
        sha256: of its bytes; empty if it could not be loaded.
        size: in bytes.
        status: a RowStatus.
        error_code, error: of a document that was not read, or of its first failed page; else empty.
        page_count: of the document; 0 if it could not be opened. `pages_read`: without failed ones.
        text, markdown: of all pages, as `inkgate read` writes them.
        review: numbers of the pages that a person should look at, from 1.
        confidence: the mean of the pages'; None without any.
        engine: that read it.
        duplicate_of: an earlier document of the shard with the same bytes, whose result this is; else empty.
    """

    document: str
    url: str
    sha256: str
    size: int
    status: str
    error_code: str = ""
    error: str = ""
    page_count: int = 0
    pages_read: int = 0
    text: str = ""
    markdown: str = ""
    review: tuple[int, ...] = ()
    confidence: float | None = None
    engine: str = ""
    duplicate_of: str = ""


def read_row(name: str, url: str, sha256: str, result: DocumentResult, text: str, markdown: str) -> BatchRow:
    """The row of a document that was read, whole or in part."""
    failed = [page.error for page in result.pages if page.error is not None]
    sure = [page.confidence for page in result.pages if page.confidence is not None]
    return BatchRow(
        document=encodable(name),
        url=encodable(url),
        sha256=sha256,
        size=result.byte_count,
        status=RowStatus(result.status.value).value,
        error_code=failed[0].code if failed else "",
        error=encodable(failed[0].detail) if failed else "",
        page_count=result.page_count,
        pages_read=len(result.pages) - len(failed),
        text=encodable(text),
        markdown=encodable(markdown),
        review=tuple(index + 1 for index in result.needs_review),
        confidence=round(sum(sure) / len(sure), 4) if sure else None,
        engine=result.engine,
    )


def to_jsonl(rows: Sequence[BatchRow]) -> bytes:
    """One JSON object a line."""
    return b"".join(orjson.dumps(asdict(row)) + b"\n" for row in rows)


def from_jsonl(data: bytes) -> list[BatchRow]:
    """The rows of whole lines; the last one may be cut off. Raises ValueError, TypeError."""
    lines = data.splitlines(keepends=True)
    found: list[dict[str, object]] = [orjson.loads(line) for line in lines if line.endswith(b"\n")]
    return [row_of(each) for each in found]


def row_of(values: Mapping[str, object]) -> BatchRow:
    """A row out of the values of its JSON. Raises TypeError."""
    review = values.get("review")
    return BatchRow(**{**values, "review": tuple(review) if isinstance(review, list) else ()})  # type: ignore[arg-type]


def to_parquet(rows: Sequence[BatchRow]) -> bytes:
    """A Parquet file, compressed by Zstandard. Needs pyarrow."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, number = pa.string(), pa.int64()
    kinds = {"size": number, "page_count": number, "pages_read": number, "review": pa.list_(number)}
    kinds["confidence"] = pa.float64()
    schema = pa.schema([(name, kinds.get(name, text)) for name in BatchRow.__dataclass_fields__])
    target = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([asdict(row) for row in rows], schema=schema), target, compression="zstd")
    return target.getvalue()


def from_parquet(data: bytes) -> list[BatchRow]:
    """The rows of such a file. Raises ValueError, TypeError."""
    import pyarrow.parquet as pq

    return [row_of(each) for each in pq.read_table(io.BytesIO(data)).to_pylist()]


class RowFormat(StrEnum):
    """How rows are written; `markdown` writes a file a document, beside the rows as JSON."""

    JSONL = "jsonl"
    PARQUET = "parquet"
    MARKDOWN = "markdown"

    @property
    def suffix(self) -> str:
        """The suffix of the files of rows."""
        return ".parquet" if self is RowFormat.PARQUET else ".jsonl"

    @property
    def dump(self) -> Callable[[Sequence[BatchRow]], bytes]:
        """Makes a file of rows. Blocking."""
        return to_parquet if self is RowFormat.PARQUET else to_jsonl

    @property
    def load(self) -> Callable[[bytes], list[BatchRow]]:
        """The rows of a file. Blocking. Raises ValueError or TypeError if it is damaged."""
        return from_parquet if self is RowFormat.PARQUET else from_jsonl


def check_format(wanted: RowFormat) -> None:
    """Raises BatchInvalid: the package for the format is not installed."""
    if wanted is RowFormat.PARQUET and find_spec("pyarrow") is None:
        raise BatchInvalid(f"Parquet needs pyarrow: {install_extra('batch')}; or write `jsonl`.")
