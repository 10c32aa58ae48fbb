"""Pauses between attempts, for the blocking and the asynchronous client."""

from __future__ import annotations

import time

import anyio


async def pause_awaited(seconds: float) -> None:
    """Waits."""
    await anyio.sleep(seconds)


def pause(seconds: float) -> None:
    """Waits. Blocking."""
    time.sleep(seconds)
