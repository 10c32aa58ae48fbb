"""The port of sinks."""

from __future__ import annotations

from typing import Protocol

from inkgate.jobs.job import Delivery


class DeliverLater(Exception):
    """The sink can't take it now. `retry_after_s`: None for the usual pause."""

    def __init__(self, reason: str, retry_after_s: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after_s = retry_after_s


class DeliverNever(Exception):
    """The sink will not take it, however often it is tried: it becomes a dead letter with this reason."""


class Sink(Protocol):
    """Takes results. Entered once, before the first delivery; several deliveries may run at once on one event loop."""

    async def __aenter__(self) -> object: ...

    async def __aexit__(self, *exception: object) -> None: ...

    async def deliver(self, delivery: Delivery) -> None:
        """Delivers it. Delivering it twice has the effect of delivering it once.

        Raises:
            DeliverLater, DeliverNever: it was not delivered; the message says why, without secrets.
        """
        ...
