"""Background tasks of the engine."""

from __future__ import annotations

from inkgate.supervision import BackgroundTask

Background = tuple[BackgroundTask, ...]
"""Tasks that run from before the engine starts until after it stops, and end by cancellation."""
