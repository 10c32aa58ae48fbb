"""Concurrency limit of the embedded engine."""

from __future__ import annotations

import anyio

from inkgate.bootstrap.background import Background
from inkgate.concurrency import Threads
from inkgate.serving.aimd import AimdLimit
from inkgate.serving.limits import Limit
from inkgate.supervision import BackgroundTask
from inkgate.telemetry.processors import Processors

_EVERY_S = 1.0


def embedded_places(most: int) -> tuple[Limit, Background]:
    """A limit of at most `most` pages, and the background task that measures processor utilization for it."""
    processors = Processors()

    async def look() -> None:
        threads = Threads("processors", 1)
        while True:
            await anyio.sleep(_EVERY_S)
            await threads.run(processors.look)

    return AimdLimit(most, lambda: processors.busy), (BackgroundTask("processors", look),)
