"""A sink of jobs whose results become rows of a Notion database:

[sinks.notion]
kind = "extension"
make = "notion"
secret = "ntn_..."
options = {database = "https://www.notion.so/acme/1f2e...", create_columns = true}
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Self

import anyio
import structlog
from pydantic import Field, ValidationError

from inkgate.jobs.job import Delivery
from inkgate.jobs.sinks.base import DeliverLater, DeliverNever
from inkgate.settings import Branch, ExtensionSinkSettings
from inkgate.settings.base import PositiveFloat, Url
from inkgate_client.concurrency import Threads
from inkgate_notion.calls import (
    API_URL,
    REQUESTS_PER_S,
    NotionAccess,
    NotionCalls,
    NotionRefused,
    NotionUnavailable,
    notion_calls,
)
from inkgate_notion.columns import NotionSchemaMismatch
from inkgate_notion.connect import NotionTarget, connected
from inkgate_notion.documents import notion_document
from inkgate_notion.rows import NotionRows, RowWritten

log = structlog.get_logger(__name__)

_AT_ONCE = 2
"""Documents. More would share Notion's few requests a second, and many large ones then be too late, all of them."""


class NotionSinkOptions(Branch):
    """`sinks.NAME.options`: see NotionTarget. `url`: of the API."""

    database: str
    columns: dict[str, str] = Field({})
    create_columns: bool = False
    url: Url = API_URL
    requests_per_s: PositiveFloat = REQUESTS_PER_S


class NotionSink:
    """Writes the row of a job's document, and again when a person has corrected its fields. A job without any result
    has no row. While token, database or columns are not as they must be, deliveries wait.
    """

    def __init__(self, name: str, settings: ExtensionSinkSettings) -> None:
        """Created on the event loop. `name`: for messages. Raises ValueError: the settings are incomplete."""
        self._name = name
        self._target = _target(settings)
        self._threads = Threads(f"sink {name}", 1)
        self._stack = AsyncExitStack()
        self._connecting = anyio.Lock()
        self._slots = anyio.Semaphore(_AT_ONCE)
        self._calls: NotionCalls | None = None
        self._rows: NotionRows | None = None

    async def __aenter__(self) -> Self:
        """Sends nothing: Notion may be away."""
        self._calls = await self._stack.enter_async_context(notion_calls(self._target.access))
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._stack.aclose()

    async def deliver(self, delivery: Delivery) -> None:
        """Writes the row. See Sink."""
        async with self._slots:
            await self._deliver(delivery)

    async def _deliver(self, delivery: Delivery) -> None:
        try:
            result = await delivery.load()
        except LookupError:
            log.info("sink_no_result", sink=self._name, job=delivery.job.id)
            return
        fields, original = await delivery.fields(), await delivery.original()
        document = await self._threads.run(notion_document, original, result, fields)
        try:
            written = await (await self._connected()).put(document)
        except NotionUnavailable as error:
            raise DeliverLater(str(error), error.retry_after_s) from error
        except NotionSchemaMismatch as error:
            raise self._mismatch(str(error)) from error
        except NotionRefused as error:
            if error.of_settings:
                raise self._mismatch(str(error)) from error
            raise DeliverNever(str(error)) from error
        self._tell(delivery, written)

    async def _connected(self) -> NotionRows:
        async with self._connecting:
            if self._rows is None:
                if self._calls is None:
                    raise RuntimeError("the sink was not entered")
                self._rows = await connected(self._calls, self._target)
            return self._rows

    def _mismatch(self, why: str) -> DeliverLater:
        """Everything is looked up again at the next delivery, as somebody may have corrected it."""
        self._rows = None
        log.error("sink_schema_mismatch", sink=self._name, why=why)
        return DeliverLater(why)

    def _tell(self, delivery: Delivery, written: RowWritten) -> None:
        if written.notes:
            log.warning("notion_row_not_whole", sink=self._name, job=delivery.job.id, why="; ".join(written.notes))


def _target(settings: ExtensionSinkSettings) -> NotionTarget:
    """Raises ValueError."""
    try:
        options = NotionSinkOptions.model_validate(settings.options)
    except ValidationError as error:
        wrong = (f"`{'.'.join(map(str, each['loc']))}`: {each['msg']}" for each in error.errors(include_input=False))
        raise ValueError(f"options: {'; '.join(wrong)}") from error
    token = settings.secret.get_secret_value().strip()
    if not token:
        raise ValueError("`secret` must be the token of a Notion connection")
    access = NotionAccess(token, options.url, options.requests_per_s)
    target = NotionTarget(access, options.database, options.columns, options.create_columns)
    try:
        target.check()
    except NotionSchemaMismatch as error:
        raise ValueError(str(error)) from error
    return target
