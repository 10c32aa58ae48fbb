"""Probes an engine with a small white page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from inkgate.caller import NO_CALLER
from inkgate.engines.base import Engine
from inkgate.errors import from_page_error
from inkgate.types import Pixels, Size, Task, TextLayer

_SIDE = 64
_TASK = Task(detect_rotation=False, line_orientation=False)

Probe = Callable[[], Awaitable[None]]
"""Returns once the engine has done real work; raises its error. Bypasses all queues of pages."""


class BlankPage:
    """A small white page."""

    index = 0
    size = Size(_SIDE, _SIDE)
    dpi: float | None = None
    text_layer: TextLayer | None = None
    content_key = b""  # never cached: each probe must be read

    def hold(self) -> AbstractContextManager[None]:
        return nullcontext()

    async def pixels(self, longest_side: int | None = None) -> Pixels:  # noqa: ARG002 - the port's signature
        return Pixels(np.full((_SIDE, _SIDE, 3), 255, np.uint8))


def blank_page_probe(engine: Engine) -> Probe:
    """A probe that has `engine`, without its wrappers, read a blank page."""

    async def probe() -> None:
        result = await engine.read(BlankPage(), _TASK, NO_CALLER)
        if result.error is not None:
            raise from_page_error(result.error)

    return probe
