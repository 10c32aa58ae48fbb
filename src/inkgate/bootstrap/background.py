"""What runs beside the engine."""

from __future__ import annotations

from inkgate.supervision import BackgroundTask

Background = tuple[BackgroundTask, ...]
"""Tasks that run from before the engine is started until after it is stopped; ended by cancelling them."""
