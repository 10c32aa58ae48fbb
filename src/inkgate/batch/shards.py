"""Reads the documents of shards, a shard after another."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import anyio
import orjson

from inkgate.batch.journal import ShardJournal, ShardTaken
from inkgate.batch.plan import BatchFolder, BatchInvalid, PlannedDocument, Shard
from inkgate.batch.rows import BatchRow, RowFormat, RowStatus, read_row
from inkgate_client import ReadOptions
from inkgate_client.codec import encodable
from inkgate_client.concurrency import Threads
from inkgate_client.formats import Format, render
from inkgate_client.many import read_many
from inkgate_client.reading import DocumentReader
from inkgate_client.types import Document, DocumentResult, ReadError

_DEATHS_ALONE = 2
"""Number of deaths while it was open after which a document is read with no other beside it."""
_MAX_DEATHS = 3
_AS_BATCH = ReadOptions("parse", priority="batch")


@dataclass(frozen=True, slots=True)
class BatchEvent:
    """A document was read, or, with an empty `document`, a shard has ended. `shard`: its index.

    `status`: of the row; of a shard, `done`, or `taken` if another process of this machine reads it.
    """

    shard: int
    document: str = ""
    status: str = ""
    pages: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class ShardWork:
    """How shards are read.

    Attributes:
        folder: of the results.
        rows: the format of the rows.
        scratch: a folder of this machine, for journals.
        at_once: documents that are read at the same time.
        max_bytes: of a document.
        again: read the failed documents of shards that are done, and nothing else.
    """

    folder: BatchFolder
    rows: RowFormat
    scratch: Path
    at_once: int
    max_bytes: int
    again: bool = False

    def journal(self, shard: int) -> Path:
        """Returns the path of a shard's journal."""
        return self.scratch / f"{shard:05}{'.again' if self.again else ''}.jsonl"


class ShardReader:
    """Reads shards. Used from one event loop, for one shard at a time."""

    def __init__(self, reader: DocumentReader, work: ShardWork, tell: Callable[[BatchEvent], None]) -> None:
        self._reader = reader
        self._work = work
        self._tell = tell
        self._threads = Threads("batch", 4)

    async def read_all(self, shards: AsyncIterator[Shard]) -> None:
        """Reads shards and writes their rows; leaves out those that another process of this machine reads.

        Raises:
            ReadError: the reader can't be used any more.
            EngineFailed: the input's or the results' store can't be reached.
            BatchInvalid: what a shard wrote before is damaged.
            OSError: the journal can't be written.
        """
        folder = self._work.folder
        async for shard in shards:
            try:
                with ShardJournal.opened(self._work.journal(shard.index)) as journal:
                    # Another process may have read it since the plan was looked at.
                    if self._work.again or await folder.objects.modified(folder.done_marker(shard.index)) is None:
                        await self._read(shard, journal)
                    await self._threads.run(journal.delete)
            except ShardTaken:
                self._tell(BatchEvent(shard.index, status="taken"))
            else:
                self._tell(BatchEvent(shard.index, status="done"))

    async def _read(self, shard: Shard, journal: ShardJournal) -> None:
        if self._work.again:
            before = await self._rows_before(shard)
            journal.rows = {index: row for index, row in before.items() if _is_read(row)} | journal.rows
        await _OneShard(shard, journal, self._reader, self._work, self._threads, self._tell).read()
        rows = [journal.rows[index] for index in range(len(shard.documents))]
        data = await self._threads.run(self._work.rows.dump, rows)
        folder = self._work.folder
        await folder.objects.put(folder.data(shard.index, self._work.rows.suffix), data)
        failed = [index for index, row in enumerate(rows) if not _is_read(row)]
        pages = sum(row.pages_read for row in rows)
        marker = orjson.dumps({"documents": len(rows), "failed": failed, "pages": pages})
        await folder.objects.put(folder.done_marker(shard.index), marker, create_only=not self._work.again)

    async def _rows_before(self, shard: Shard) -> dict[int, BatchRow]:
        folder = self._work.folder
        data = await folder.objects.get(folder.data(shard.index, self._work.rows.suffix), max_bytes=2**31)
        try:
            return dict(enumerate(await self._threads.run(self._work.rows.load, data)))
        except (ValueError, TypeError) as error:
            raise BatchInvalid(
                f"The rows of shard {shard.index} are damaged. Delete its marker and run again."
            ) from error


def _is_read(row: BatchRow) -> bool:
    return row.status in {RowStatus.COMPLETE, RowStatus.PARTIAL}


@dataclass(slots=True)
class _OneShard:
    """One reading of a shard. `originals`: by hash, set once the first document with it has a row."""

    shard: Shard
    journal: ShardJournal
    reader: DocumentReader
    work: ShardWork
    threads: Threads
    tell: Callable[[BatchEvent], None]
    originals: dict[str, tuple[int, anyio.Event]] = field(default_factory=dict)

    async def read(self) -> None:
        """Reads what has no row yet: suspects last, one after another."""
        for index, row in self.journal.rows.items():
            if row.sha256 and _is_read(row) and not row.duplicate_of:
                event = anyio.Event()
                event.set()
                self.originals.setdefault(row.sha256, (index, event))
        left = [index for index in range(len(self.shard.documents)) if index not in self.journal.rows]
        suspects = [index for index in left if self.journal.deaths[index] >= _DEATHS_ALONE]
        await self._read_some([index for index in left if index not in suspects], self.work.at_once)
        await self._read_some(suspects, 1)

    async def _read_some(self, indexes: Sequence[int], at_once: int) -> None:
        async with read_many(self._read_one, indexes, at_once, in_order=False) as outcomes:
            async for outcome in outcomes:
                _ = outcome.result  # what is no row ends the run

    async def _read_one(self, index: int) -> None:
        planned = self.shard.documents[index]
        if self.journal.deaths[index] >= _MAX_DEATHS:
            row = _failure(planned, "", "quarantined", "It ended the process that read it.", RowStatus.QUARANTINED)
        else:
            await self.threads.run(self.journal.open, index)
            row = await self._row(index, planned)
        await self.threads.run(self.journal.add, index, row)
        if row.sha256 in self.originals:
            self.originals[row.sha256][1].set()
        self.tell(BatchEvent(self.shard.index, row.document, row.status, row.pages_read, row.size))

    async def _row(self, index: int, planned: PlannedDocument) -> BatchRow:
        digest = ""
        try:
            data = await self.work.folder.objects.get(planned.url, etag=planned.etag, max_bytes=self.work.max_bytes)
            digest = await self.threads.run(lambda: sha256(data).hexdigest())
            first, ready = self.originals.setdefault(digest, (index, anyio.Event()))
            if first != index:
                await ready.wait()
                copied = self.journal.rows[first]
                if _is_read(copied):
                    await self._put_markdown(planned, copied.markdown)
                return replace(
                    copied, document=encodable(planned.name), url=encodable(planned.url), duplicate_of=copied.document
                )
            result = await self.reader.read(Document(data, encodable(planned.name)), _AS_BATCH)
            return await self._rendered(planned, digest, result)
        except ReadError as error:
            if error.unavailable:  # documents would fail one after another
                raise
            return _failure(planned, digest, error.code or "upstream_failed", error.detail or str(error))

    async def _rendered(self, planned: PlannedDocument, digest: str, result: DocumentResult) -> BatchRow:
        text = (await self.threads.run(render, result, Format.TEXT)).decode()
        markdown = (await self.threads.run(render, result, Format.MARKDOWN)).decode()
        await self._put_markdown(planned, markdown)
        return read_row(planned.name, planned.url, digest, result, text, markdown)

    async def _put_markdown(self, planned: PlannedDocument, markdown: str) -> None:
        """Writes the document's own file, if the format has one."""
        if self.work.rows is RowFormat.MARKDOWN:
            folder = self.work.folder
            await folder.objects.put(folder.place("markdown", f"{planned.name}.md"), markdown.encode())


def _failure(
    planned: PlannedDocument, digest: str, code: str, detail: str, status: RowStatus = RowStatus.FAILED
) -> BatchRow:
    name, url = encodable(planned.name), encodable(planned.url)
    return BatchRow(name, url, digest, planned.size, status.value, error_code=code, error=encodable(detail))


def event_line(event: BatchEvent) -> bytes:
    """An event as a line of JSON."""
    return orjson.dumps(asdict(event)) + b"\n"
