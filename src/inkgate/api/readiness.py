"""Whether the engine reads pages at this moment: it is asked to read one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import anyio
import numpy as np
import structlog

from inkgate.api.drain import Drain
from inkgate.engines.base import Engine
from inkgate.errors import InkgateError
from inkgate.types import Pixels, Size, Task, TextLayer

log = structlog.get_logger(__name__)

_SIDE = 64
_DRAINING = "draining: this instance is about to stop"
_KNOWN_S = 30.0
"""How long a failed probe counts where nobody has asked again; those who ask do so every few seconds."""
_TASK = Task(detect_rotation=False, line_orientation=False)


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


class Readiness:
    """Asks the engine to read a blank page; a good answer holds for `fresh_s`, so that probes cost next to nothing.

    `timeout_s` is long enough for the pages that are in the engine before the probe.
    """

    def __init__(
        self,
        engine: Engine,
        drain: Drain,
        timeout_s: float = 10.0,
        fresh_s: float = 10.0,
        now: Callable[[], float] = anyio.current_time,
    ) -> None:
        self._engine = engine
        self._drain = drain
        self._timeout_s = timeout_s
        self._fresh_s = fresh_s
        self._now = now
        self._good_until = float("-inf")
        self._asking = anyio.Lock()
        self._failure: tuple[float, str] | None = None

    async def reasons(self) -> list[str]:
        """Why the service is not ready; empty when it is."""
        if self._drain.draining:
            return [_DRAINING]
        async with self._asking:
            if self._now() < self._good_until:
                return []
            if reason := await self._engine_reason():
                self._failure = (self._now() + _KNOWN_S, reason)
                return [reason]
            self._failure = None
            self._good_until = self._now() + self._fresh_s
        return []

    def known_reasons(self) -> list[str]:
        """As `reasons`, without asking the engine: what it said the last time, if that was lately."""
        if self._drain.draining:
            return [_DRAINING]
        return [self._failure[1]] if self._failure is not None and self._now() < self._failure[0] else []

    async def _engine_reason(self) -> str:
        try:
            with anyio.fail_after(self._timeout_s):
                result = await self._engine.read(BlankPage(), _TASK)
        except TimeoutError:
            return f"engine: {self._engine.name} did not read a blank page within {self._timeout_s:g} seconds"
        except InkgateError as error:
            return f"engine: {self._engine.name}: {error.code}"
        except Exception:  # the border of one probe: whatever an engine raises, the answer is "not ready"
            log.exception("readiness_check_failed", engine=self._engine.name)
            return f"engine: {self._engine.name} failed on a blank page"
        return f"engine: {self._engine.name}: {result.error.code}" if result.error else ""
