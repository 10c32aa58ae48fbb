"""What runs beside the engine."""

from __future__ import annotations

from collections.abc import Callable, Coroutine

Background = tuple[Callable[[], Coroutine[None, None, None]], ...]
"""Runs from before the engine is started until after it is stopped; ended by cancelling it."""
