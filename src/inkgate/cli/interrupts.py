"""Stops a command cleanly at SIGINT and SIGTERM."""

from __future__ import annotations

import signal

import anyio
from anyio.abc import TaskStatus

from inkgate.cli.messages import say


async def stop_on_signal(stop: anyio.Event, said: str = "", *, task_status: TaskStatus[None]) -> None:
    """Sets `stop` at SIGINT or SIGTERM, and prints `said` the first time. Further signals have no effect.

    For `await tasks.start(stop_on_signal, stop)`, which returns once the signal handlers are installed.
    """
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            if said and not stop.is_set():
                say(said)
            stop.set()
