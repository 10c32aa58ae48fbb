"""The columns of a Notion database: which value goes where, and whether they are there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

import anyio

from inkgate_notion.calls import Json, NotionCalls, NotionRefused
from inkgate_notion.cells import COLUMN_FOR, RowValue, ValueKind, can_hold, cell, empty_cell, type_for
from inkgate_notion.documents import FIELDS, NotionDocument

KEY_COLUMN: Final = "inkgate"
"""Has the document's key, and what of it was written."""
FILE: Final = "file"
STANDARD: Final[Mapping[str, str]] = {
    "File": FILE,
    "Document type": "type",
    "Pages": "pages",
    "Confidence": "confidence",
    "Needs review": "needs_review",
}
"""Columns and their values, where nothing else is said. Fields have columns of their own names beside them."""
_STANDARD_KINDS: Final[Mapping[str, ValueKind]] = {
    FILE: ValueKind.FILE,
    "type": ValueKind.CHOICE,
    "pages": ValueKind.NUMBER,
    "confidence": ValueKind.SHARE,
    "needs_review": ValueKind.TRUTH,
}
_ID = re.compile(r"([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})$")


class NotionSchemaMismatch(Exception):
    """The database, or its columns, are not as they must be; the message says what to do."""


def notion_id(text: str) -> str:
    """The ID in a text, which may be the address of a database. Raises NotionSchemaMismatch."""
    path = urlsplit(text.strip()).path if "://" in text else text.strip()
    found = _ID.search(path.lower())
    if found is None:
        raise NotionSchemaMismatch(f"{text!r} is neither the address nor the ID of a Notion database.")
    return "-".join(found.groups())


def check_columns(columns: Mapping[str, str]) -> None:
    """Raises NotionSchemaMismatch: a column is to have a value that there is not."""
    for column, path in columns.items():
        if column == KEY_COLUMN:
            raise NotionSchemaMismatch(f"Column `{column}`: inkgate recognises documents by it. Choose another name.")
        if path not in _STANDARD_KINDS and not (path.startswith(FIELDS) and len(path) > len(FIELDS)):
            known = ", ".join([*_STANDARD_KINDS, "fields.NAME"])
            raise NotionSchemaMismatch(f"Column `{column}`: there is no value `{path}`. There are {known}.")


@dataclass(frozen=True, slots=True)
class RowCells:
    """The properties of a row, without its file and key. `mismatches`: columns whose values they can't hold, and why.
    `file`: the column of the file; empty: none.
    """

    properties: Json
    file: str = ""
    mismatches: tuple[str, ...] = ()


@dataclass(slots=True)
class NotionColumns:
    """The columns of one data source.

    Attributes:
        wanted: column to path of the value; empty: STANDARD, and all fields.
        create: missing columns are made.
        types: of the columns there are, by name.
    """

    calls: NotionCalls
    data_source: str
    wanted: Mapping[str, str] = field(default_factory=dict)
    create: bool = False
    types: dict[str, str] = field(default_factory=dict)
    _making: anyio.Lock = field(default_factory=anyio.Lock)

    @property
    def title(self) -> str:
        """The column of titles, which every database has."""
        return next(name for name, kind in self.types.items() if kind == "title")

    async def load(self) -> None:
        """Learns which columns there are, and makes or checks those that every row needs.

        Raises:
            NotionSchemaMismatch: some are missing.
            NotionUnavailable, NotionRefused.
        """
        await self.changed()
        fixed = {column: path for column, path in (self.wanted or STANDARD).items() if path in _STANDARD_KINDS}
        await self._ensure({column: _STANDARD_KINDS[path] for column, path in fixed.items()})

    async def changed(self) -> bool:
        """Looks the columns up. Returns whether they are others than before. Raises NotionUnavailable,
        NotionRefused.
        """
        before = self.types
        self._learn(await self.calls(self.calls.client.data_sources.retrieve, self.data_source))
        return self.types != before

    async def cells(self, document: NotionDocument) -> RowCells:
        """The row of a document. Raises as `load`."""
        values = dict(self._values(document))
        needed = {column: value.kind for column, value in values.items()}
        if self._lacks(needed):  # somebody may have added them meanwhile
            await self.changed()
        await self._ensure(needed)
        properties: Json = {self.title: cell("title", RowValue(ValueKind.TEXT, document.name))}
        file, mismatches = "", list[str]()
        for column, value in values.items():
            if value.kind is ValueKind.FILE:
                file = column
                continue
            try:
                properties[column] = cell(self.types[column], value)
            except ValueError as error:
                mismatches.append(f"column `{column}`: the value {error}")
                properties[column] = empty_cell(self.types[column])
        return RowCells(properties, file, tuple(mismatches))

    def _values(self, document: NotionDocument) -> Iterator[tuple[str, RowValue]]:
        fields = {
            self._field_column(path.removeprefix(FIELDS)): path for path in document.values if path.startswith(FIELDS)
        }
        # A field may have the name of a standard column: then the field's value is in it, as in a table of one's own.
        for column, path in (self.wanted or {**STANDARD, **fields}).items():
            if path == FILE:
                yield column, RowValue(ValueKind.FILE)
            else:
                yield column, document.values.get(path, RowValue(ValueKind.TEXT))

    def _field_column(self, name: str) -> str:
        """The column of a field, which is not one that has something else."""
        others = {KEY_COLUMN, self.title, *(column for column, path in STANDARD.items() if path == FILE)}
        return f"{name} (field)" if name in others else name

    def _lacks(self, needed: Mapping[str, ValueKind]) -> bool:
        return any(column not in self.types for column in needed)

    async def _ensure(self, needed: Mapping[str, ValueKind]) -> None:
        """One task at a time: documents may need a column for values of different kinds. Raises
        NotionSchemaMismatch.
        """
        async with self._making:
            await self._ensure_alone(needed)

    async def _ensure_alone(self, needed: Mapping[str, ValueKind]) -> None:
        needed = {KEY_COLUMN: ValueKind.TEXT, **needed}
        missing = {column: kind for column, kind in needed.items() if column not in self.types}
        if missing and not self.create:
            listed = ", ".join(f"`{column}` ({type_for(kind)})" for column, kind in missing.items())
            raise NotionSchemaMismatch(
                f"The database has no columns {listed}. Add them, or let inkgate do so "
                "(--create-columns, or create_columns of a sink)."
            )
        if missing:
            properties = {column: COLUMN_FOR[kind] for column, kind in missing.items()}
            update = self.calls.client.data_sources.update
            self._learn(await self.calls(update, self.data_source, properties=properties))
        for column, kind in needed.items():
            found = self.types.get(column, "missing")
            if column == KEY_COLUMN and found != "rich_text":
                raise NotionSchemaMismatch(f"The column `{KEY_COLUMN}` must be of the type rich_text, not {found}.")
            if not can_hold(found, kind) or found == "title":
                raise NotionSchemaMismatch(
                    f"The column `{column}` is of the type {found}, which inkgate can't write a {kind.value} into. "
                    f"Make it {type_for(kind)}."
                )

    def _learn(self, data_source: Json) -> None:
        self.types = {name: each["type"] for name, each in data_source["properties"].items()}


async def find_data_source(calls: NotionCalls, text: str) -> str:
    """The ID of the data source that `text` names, by its ID or as the only one of a database.

    Raises:
        NotionSchemaMismatch: there is none, or several.
        NotionUnavailable, NotionRefused.
    """
    found = notion_id(text)
    try:
        await calls(calls.client.data_sources.retrieve, found)
    except NotionRefused as error:
        if error.status != 404:
            raise
    else:
        return found
    try:
        database = await calls(calls.client.databases.retrieve, found)
    except NotionRefused as error:
        if error.status != 404:
            raise
        raise NotionSchemaMismatch(
            f"There is no database {found} that the connection may see. Open it in Notion, and add the connection "
            "under ••• > Connections."
        ) from error
    sources = database["data_sources"]
    if len(sources) != 1:
        listed = ", ".join(f"{each['name']} ({each['id']})" for each in sources)
        raise NotionSchemaMismatch(f"The database has several data sources: {listed}. Name one by its ID.")
    return str(sources[0]["id"])
