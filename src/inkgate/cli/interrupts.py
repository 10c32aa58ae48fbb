"""Ctrl-C, and being told to end: the work stops, what is there is kept, and children are stopped."""

from __future__ import annotations

import signal

import anyio
from anyio.abc import TaskStatus

from inkgate.cli.messages import say


async def stop_when_told(stop: anyio.Event, said: str = "", *, task_status: TaskStatus[None]) -> None:
    """Sets `stop` at SIGINT or SIGTERM, and prints `said` the first time. Told again, we are still about to.

    For `await tasks.start(stop_when_told, stop)`, which returns once signals are heard.
    """
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            if said and not stop.is_set():
                say(said)
            stop.set()
