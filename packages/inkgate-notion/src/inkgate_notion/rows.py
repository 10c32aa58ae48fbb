"""Writes rows: one for each document, however often it is written and wherever writing breaks off.

The column `inkgate` of a row has the document's key and, once all is written, a digest of the properties and one of the
text. A row without digests was left half-written; the next attempt goes on with it. So every attempt begins by looking
the key up, and nothing needs to be known of the one before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final
from weakref import WeakValueDictionary

import anyio
import orjson

from inkgate_client.concurrency import Threads
from inkgate_notion.blocks import batches, is_flat, text_blocks
from inkgate_notion.calls import LONGEST_PAUSE_S, Json, NotionCalls, NotionRefused, NotionUnavailable
from inkgate_notion.cells import rich_text
from inkgate_notion.columns import KEY_COLUMN, NotionColumns, RowCells
from inkgate_notion.documents import NotionDocument

TEXT_TITLE: Final = "Text read by inkgate"
"""The title of the toggle that has a document's text. What people write beside it stays."""
PART_BYTES: Final = 10 * 1024 * 1024
"""The size of a part of a file in several parts; Notion takes 5 to 20 MB."""
SINGLE_PART_BYTES: Final = 20 * 1024 * 1024
_PAUSES_S = (1.0, 5.0)
"""Pauses before a second and a third attempt."""
_DIGEST = 16
_BAD_REQUEST = 400


class RowChange(StrEnum):
    """What became of a row."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class RowWritten:
    """A document's row. `url`: of its page. `notes`: what is not in it, and why, without values."""

    url: str
    change: RowChange
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Row:
    """A row as it is found. `digests`: empty if it is half-written. `files`: columns that have some."""

    id: str
    url: str
    created: str
    digests: tuple[str, ...]
    files: frozenset[str]

    @property
    def order(self) -> tuple[bool, str, str]:
        """The sort key: of several rows with one key, the first one stays."""
        return (not self.digests, self.created, self.id)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a row should be."""

    document: NotionDocument
    cells: RowCells
    blocks: Sequence[Json]
    file_problem: str
    digests: tuple[str, str]

    @property
    def notes(self) -> tuple[str, ...]:
        return (*self.cells.mismatches, *([self.file_problem] if self.file_problem else []))


class NotionRows:
    """Writes rows of one data source. May be used by several tasks at once."""

    def __init__(self, calls: NotionCalls, columns: NotionColumns, most_file_bytes: int) -> None:
        """`most_file_bytes`: what the workspace allows."""
        self._calls = calls
        self._columns = columns
        self._most_file_bytes = most_file_bytes
        self._threads = Threads("notion", 1)
        self._locks: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    async def put(self, document: NotionDocument) -> RowWritten:
        """Makes the row of a document as it should be.

        Raises:
            NotionSchemaMismatch: columns are missing or of other types.
            NotionUnavailable: it failed; part of it may be written, which the next call mends.
            NotionRefused: Notion does not take it.
        """
        lock = self._locks.setdefault(document.key, anyio.Lock())
        async with lock:
            for pause_s in _PAUSES_S:
                try:
                    return await self._put(document)
                except (NotionUnavailable, NotionRefused) as error:
                    if not _is_worth_a_try(error) and not await self._has_other_columns(error):
                        raise
                    asked_s = error.retry_after_s if isinstance(error, NotionUnavailable) else None
                await self._calls.pace.pause(max(pause_s, asked_s or 0.0))
            return await self._put(document)

    async def _has_other_columns(self, error: NotionUnavailable | NotionRefused) -> bool:
        """Whether the row may have been refused because somebody has changed the columns meanwhile."""
        return isinstance(error, NotionRefused) and error.status == _BAD_REQUEST and await self._columns.changed()

    async def _put(self, document: NotionDocument) -> RowWritten:
        cells = await self._columns.cells(document)
        wanted = await self._threads.run(_wanted_row, document, cells, self._file_problem(document, cells))
        found = await self._rows(document.key)
        if not found:
            return await self._create(wanted)
        row = found[0]
        if row.digests == wanted.digests:
            return RowWritten(row.url, RowChange.UNCHANGED, wanted.notes)
        properties = dict(cells.properties)
        if cells.file not in row.files:
            wanted, file = await self._with_file(wanted)
            properties |= file
        same_text = row.digests[1:] == wanted.digests[1:]
        mark = _mark(document.key, wanted.digests if same_text else ())
        await self._update(row.id, {**properties, **mark})
        if not same_text:
            await self._write_text(row.id, wanted)
        return RowWritten(row.url, RowChange.UPDATED, wanted.notes)

    async def _create(self, wanted: _Wanted) -> RowWritten:
        wanted, file = await self._with_file(wanted)
        properties = {**wanted.cells.properties, **file, **_mark(wanted.document.key)}
        short = is_flat(wanted.blocks) and len(list(batches(wanted.blocks))) == 1
        page = await self._calls(
            self._calls.client.pages.create,
            parent={"type": "data_source_id", "data_source_id": self._columns.data_source},
            properties=properties,
            **({"children": [_toggle(wanted.blocks)]} if short else {}),
        )
        await self._yield_to_others(wanted.document.key, page["id"])
        if short or not wanted.blocks:
            await self._update(page["id"], _mark(wanted.document.key, wanted.digests))
        else:
            await self._write_text(page["id"], wanted)
        return RowWritten(page["url"], RowChange.CREATED, wanted.notes)

    async def _yield_to_others(self, key: str, own: str) -> None:
        """Lets one of several rows stay, which other processes may have made at the same time. Rows that are whole are
        left alone: somebody has copied them.

        Raises:
            NotionUnavailable: the own one does not stay.
        """
        rows = await self._rows(key)
        stays = rows[0].id if rows else own
        half_written = {row.id for row in rows if not row.digests}
        for row in {own, *half_written} - {stays}:
            await self._calls(self._calls.client.pages.update, row, in_trash=True)
        if stays != own:
            raise NotionUnavailable("another process writes the same row")

    async def _rows(self, key: str) -> list[_Row]:
        """The rows of a document, the one that stays first."""
        answer = await self._calls(
            self._calls.client.data_sources.query,
            self._columns.data_source,
            filter={"property": KEY_COLUMN, "rich_text": {"starts_with": key}},
        )
        rows = [self._row(page) for page in answer["results"] if not page.get("in_trash")]
        return sorted(rows, key=lambda row: row.order)

    def _row(self, page: Json) -> _Row:
        properties = page["properties"]
        marked = "".join(each["plain_text"] for each in properties[KEY_COLUMN]["rich_text"]).split()
        files = frozenset(name for name, each in properties.items() if each["type"] == "files" and each["files"])
        return _Row(page["id"], page["url"], page["created_time"], tuple(marked[1:3]), files)

    async def _update(self, page: str, properties: Json) -> None:
        await self._calls(self._calls.client.pages.update, page, properties=properties)

    async def _write_text(self, page: str, wanted: _Wanted) -> None:
        """Puts the text in the place of what an attempt before has left, and says that the row is whole."""
        append = self._calls.client.blocks.children.append
        for old in await self._toggles(page):
            await self._delete(old)
        if wanted.blocks:
            made = await self._calls(append, page, children=[_toggle(())])
            toggle = made["results"][0]["id"]
            for batch in batches(wanted.blocks):
                await self._calls(append, toggle, children=batch)
            await self._keep_one_text(page, toggle)
        await self._update(page, _mark(wanted.document.key, wanted.digests))

    async def _keep_one_text(self, page: str, own: str) -> None:
        """Raises NotionUnavailable: another process has written the text, too, and that one stays."""
        first, *others = await self._toggles(page) or [own]
        for other in others:
            await self._delete(other)
        if first != own:
            raise NotionUnavailable("another process writes the same row")

    async def _delete(self, block: str) -> None:
        try:
            await self._calls(self._calls.client.blocks.delete, block)
        except NotionRefused as error:
            if not error.of_trash:  # it is where it should be
                raise

    async def _toggles(self, page: str) -> list[str]:
        """The blocks that have the text."""
        found: list[str] = []
        cursor: Json = {}
        while True:
            answer = await self._calls(self._calls.client.blocks.children.list, page, page_size=100, **cursor)
            found += [each["id"] for each in answer["results"] if _is_text(each)]
            if not answer["has_more"]:
                return found
            cursor = {"start_cursor": answer["next_cursor"]}

    def _file_problem(self, document: NotionDocument, cells: RowCells) -> str:
        """Why the row can't have the file; empty if it can."""
        if not cells.file:
            return ""
        if document.file_type is None:
            return "Notion takes no files of this type; the row has no file"
        if len(document.data) > self._most_file_bytes:
            most = self._most_file_bytes / 2**20
            return f"the file is larger than the {most:.0f} MB that the workspace allows; the row has none"
        return ""

    async def _with_file(self, wanted: _Wanted) -> tuple[_Wanted, Json]:
        """The property of the file, if the row is to have it. If Notion refuses it, the row is written without, and the
        next attempt sends it again.
        """
        if not wanted.cells.file or wanted.file_problem:
            return wanted, {}
        try:
            return wanted, {wanted.cells.file: await self._uploaded(wanted.document)}
        except NotionRefused as error:
            if error.of_settings:
                raise
            problem = f"the row has no file: {error}"
            digests = _digest([wanted.digests[0], problem]), wanted.digests[1]
            return replace(wanted, file_problem=problem, digests=digests), {}

    async def _uploaded(self, document: NotionDocument) -> Json:
        """The value of a column of files. An upload that no row takes is removed by Notion after an hour."""
        kind = document.file_type
        if kind is None:
            raise TypeError("a file without a type has a file_problem")
        name, data = document.file_name(kind), document.data
        uploads = self._calls.client.file_uploads
        if len(data) <= SINGLE_PART_BYTES:
            made = await self._calls(uploads.create, mode="single_part", filename=name, content_type=kind.value)
            await self._calls(uploads.send, made["id"], file=(name, data, kind.value))
        else:
            parts = [data[at : at + PART_BYTES] for at in range(0, len(data), PART_BYTES)]
            made = await self._calls(
                uploads.create,
                mode="multi_part",
                filename=name,
                content_type=kind.value,
                number_of_parts=len(parts),
            )
            for number, part in enumerate(parts, 1):
                await self._calls(uploads.send, made["id"], file=(name, part, kind.value), part_number=str(number))
            await self._calls(uploads.complete, made["id"])
        return {"files": [{"type": "file_upload", "file_upload": {"id": made["id"]}, "name": name}]}


def _wanted_row(document: NotionDocument, cells: RowCells, file_problem: str) -> _Wanted:
    """Blocking: a document may have a thousand pages."""
    blocks = text_blocks(document.result)
    digests = _digest([cells.properties, cells.file, file_problem]), _digest(blocks)
    return _Wanted(document, cells, blocks, file_problem, digests)


def _is_worth_a_try(error: NotionUnavailable | NotionRefused) -> bool:
    if isinstance(error, NotionRefused):
        return error.of_trash
    return (error.retry_after_s or 0.0) <= LONGEST_PAUSE_S


def _mark(key: str, digests: Sequence[str] = ()) -> Json:
    """What the column `inkgate` has."""
    return {KEY_COLUMN: {"rich_text": rich_text(" ".join([key, *digests]))}}


def _toggle(children: Sequence[Json]) -> Json:
    inside: Json = {"rich_text": rich_text(TEXT_TITLE)}
    if children:
        inside["children"] = list(children)
    return {"object": "block", "type": "toggle", "toggle": inside}


def _is_text(block: Json) -> bool:
    if block["type"] != "toggle":
        return False
    return "".join(each["plain_text"] for each in block["toggle"]["rich_text"]) == TEXT_TITLE


def _digest(value: object) -> str:
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()[:_DIGEST]
