"""Calls from a thread to an event loop in another one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from anyio.from_thread import BlockingPortal

T = TypeVar("T")


def call(portal: BlockingPortal, function: Callable[[], Awaitable[T]]) -> T:
    """The result of `function` on the portal's event loop. An exception here, such as Ctrl-C, cancels it."""
    future = portal.start_task_soon(function)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise
