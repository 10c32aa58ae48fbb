"""Opens a database of Notion for writing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from inkgate_notion.calls import NotionAccess, NotionCalls, NotionPace, notion_calls
from inkgate_notion.columns import NotionColumns, check_columns, find_data_source, notion_id
from inkgate_notion.rows import NotionRows

_LARGEST_FILE: Final = 5 * 1024**3
"""The largest file of paid workspaces. Notion may not tell the limit of the own one; it then refuses larger files
itself."""


@dataclass(frozen=True, slots=True)
class NotionTarget:
    """The place where rows go.

    Attributes:
        database: its address or ID, or that of one of its data sources.
        columns: column to value; empty: the standard ones, and all fields.
        create_columns: missing ones are made.
    """

    access: NotionAccess
    database: str
    columns: Mapping[str, str] = field(default_factory=dict)
    create_columns: bool = False

    def check(self) -> None:
        """Raises NotionSchemaMismatch: the database or a column is named wrongly."""
        notion_id(self.database)
        check_columns(self.columns)


async def connected(calls: NotionCalls, target: NotionTarget) -> NotionRows:
    """The rows of the target, once token, database and columns are as they must be.

    Raises:
        NotionSchemaMismatch, NotionUnavailable, NotionRefused.
    """
    target.check()
    me = await calls(calls.client.users.me)
    limits = me.get("bot", {}).get("workspace_limits", {})
    source = await find_data_source(calls, target.database)
    columns = NotionColumns(calls, source, target.columns, create=target.create_columns)
    await columns.load()
    return NotionRows(calls, columns, int(limits.get("max_file_upload_size_in_bytes") or _LARGEST_FILE))


@asynccontextmanager
async def notion_rows(target: NotionTarget, pace: NotionPace | None = None) -> AsyncIterator[NotionRows]:
    """The rows of the target. Raises as `connected`."""
    async with notion_calls(target.access, pace) as calls:
        yield await connected(calls, target)
