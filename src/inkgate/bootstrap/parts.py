"""What the modules of this package hand to each other."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass

from inkgate.engines.base import Engine
from inkgate.engines.vllm.upstream import Upstream
from inkgate.serving.limiter import Limiter

Background = tuple[Callable[[], Coroutine[None, None, None]], ...]
"""Runs from before the engine is started until after it is stopped; ended by cancelling it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """An engine without policies.

    Attributes:
        upstream: the model servers behind it, for chat requests that are passed through; None where it has none.
    """

    engine: Engine
    upstream: Upstream | None = None
    background: Background = ()


@dataclass(frozen=True, slots=True)
class Parts:
    """What reads, and who may have something read: built and not started yet."""

    engine: Engine
    limiter: Limiter
    upstream: Upstream | None
    background: Background
