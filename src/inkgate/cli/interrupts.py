"""Stops a command cleanly at SIGINT and SIGTERM."""

from __future__ import annotations

import signal
from collections.abc import Callable

import anyio
from anyio.abc import TaskStatus

from inkgate.cli.messages import say
from inkgate.operating_system import CAN_AWAIT_SIGNALS


async def stop_on_signal(
    stop: anyio.Event, said: str = "", again: Callable[[], object] | None = None, *, task_status: TaskStatus[None]
) -> None:
    """Sets `stop` at SIGINT or SIGTERM, and prints `said` the first time. Further signals call `again`, if given.

    For `await tasks.start(stop_on_signal, stop)`, which returns once the signal handlers are installed. Without such
    handlers, nothing is set.
    """
    if not CAN_AWAIT_SIGNALS:
        task_status.started()
        return
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            if stop.is_set():
                if again is not None:
                    again()
                continue
            if said:
                say(said)
            stop.set()
