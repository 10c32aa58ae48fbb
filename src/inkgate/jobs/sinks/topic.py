"""Results as messages of a topic."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Self

import anyio
import structlog

from inkgate.jobs.job import Delivery
from inkgate.jobs.published import public_url
from inkgate.jobs.sinks.base import DeliverLater
from inkgate.jobs.sinks.event import MEDIA_TYPE, event_body
from inkgate.jobs.sinks.publishers import NotPublished, Publisher, TopicMessage, connect
from inkgate.settings import TopicSinkSettings
from inkgate_client.concurrency import Threads

log = structlog.get_logger(__name__)

_PUBLISH_S = 30.0

ConnectTopic = Callable[[TopicSinkSettings], AbstractAsyncContextManager[Publisher]]


class TopicSink:
    """Publishes the event of a delivery (see event.py), with the input's URL as the key, or else the job's ID.

    One connection is kept. It is made at the first delivery, and made again after an error.
    """

    def __init__(
        self, name: str, settings: TopicSinkSettings, threads: Threads, connect: ConnectTopic = connect
    ) -> None:
        """`name`: for messages. `threads`: in which JSON is made."""
        self._name = name
        self._settings = settings
        self._threads = threads
        self._connect = connect
        self._lock = anyio.Lock()
        self._publisher: Publisher | None = None
        self._connection = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._connection.aclose()

    async def deliver(self, delivery: Delivery) -> None:
        """Publishes the event. See Sink."""
        body = await event_body(delivery, self._threads, with_result=self._settings.with_result)
        job = delivery.job
        message = TopicMessage(delivery.id, public_url(job.source.url) or job.id, body, MEDIA_TYPE)
        publisher: Publisher | None = None
        try:
            with anyio.fail_after(_PUBLISH_S):
                publisher = await self._connected()
                await publisher.publish(message)
        except NotPublished as error:
            raise DeliverLater(str(error)) from error
        except Exception as error:
            # Whatever the broker's client raises. Its text may hold the address with a password.
            await self._drop(publisher)
            raise DeliverLater(f"the message was not published ({type(error).__name__})") from error

    async def _connected(self) -> Publisher:
        async with self._lock:
            if self._publisher is None:
                stack = AsyncExitStack()
                self._publisher = await stack.enter_async_context(self._connect(self._settings))
                self._connection = stack
                log.info("sink_connected", sink=self._name, kind=self._settings.broker)
            return self._publisher

    async def _drop(self, publisher: Publisher | None) -> None:
        """Closes the connection, unless another delivery did."""
        async with self._lock:
            if publisher is None or publisher is not self._publisher:
                return
            self._publisher = None
            connection, self._connection = self._connection, AsyncExitStack()
            try:
                await connection.aclose()
            except Exception as error:  # noqa: BLE001 - it is lost anyway
                log.info("sink_not_closed", sink=self._name, error=type(error).__name__)
