"""Whether an engine reads: it is asked to read a small white page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from inkgate.engines.base import Engine
from inkgate.errors import from_page_error
from inkgate.types import Pixels, Size, Task, TextLayer

_SIDE = 64
_TASK = Task(detect_rotation=False, line_orientation=False)

Probe = Callable[[], Awaitable[None]]
"""Returns when the engine does real work; raises what it failed with. It waits in no queue of pages."""


class BlankPage:
    """A small white page."""

    index = 0
    size = Size(_SIDE, _SIDE)
    dpi: float | None = None
    text_layer: TextLayer | None = None
    content_key = b""  # it is to be read each time, and never answered from the cache

    def hold(self) -> AbstractContextManager[None]:
        return nullcontext()

    async def pixels(self, longest_side: int | None = None) -> Pixels:  # noqa: ARG002 - the port's signature
        return Pixels(np.full((_SIDE, _SIDE, 3), 255, np.uint8))


def blank_page_probe(engine: Engine) -> Probe:
    """Has `engine`, without any policy around it, read a blank page."""

    async def probe() -> None:
        result = await engine.read(BlankPage(), _TASK)
        if result.error is not None:
            raise from_page_error(result.error)

    return probe
