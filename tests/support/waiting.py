"""Waiting for something to happen in another thread or process."""

from __future__ import annotations

import time
from collections.abc import Callable

AT_MOST_S = 60.0
"""Generous: it only ends a test that would hang; it is no performance requirement."""


def until(happened: Callable[[], bool], what: Callable[[], object] | str, at_most_s: float = AT_MOST_S) -> None:
    """Returns once it has happened; otherwise an AssertionError names `what` was awaited."""
    give_up = time.monotonic() + at_most_s
    while not happened():
        if time.monotonic() > give_up:
            raise AssertionError(f"not within {at_most_s:g} s: {what if isinstance(what, str) else what()}")
        time.sleep(0.02)
