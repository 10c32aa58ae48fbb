"""Whether documents should be sent here: pages get on, or a probe beside the queue was answered."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import anyio
import structlog

from inkgate.engines.around import EngineWrapper
from inkgate.engines.base import Engine
from inkgate.engines.probe import Probe
from inkgate.errors import InkgateError
from inkgate.serving.breaker import OF_THE_PAGE
from inkgate.types import Page, PageResult, Task

log = structlog.get_logger(__name__)

_FRESH_S = 10.0
"""How long a page that was read, or a probe that was answered, says that pages are read."""
_PROBE_S = 30.0
"""A probe passes the queue, but waits for what the engine computes just then, such as a large page."""
_WAIT_S = 0.5
"""How long `reasons` waits for a probe."""


class EngineProgress(EngineWrapper):
    """An Engine around an Engine: knows when it last got on, and what it has.

    Attributes:
        pages: that are at the engine now.
    """

    def __init__(
        self,
        inner: Engine,
        heard_at: Callable[[], float] = lambda: -math.inf,
        clock: Callable[[], float] = anyio.current_time,
    ) -> None:
        """`heard_at`: when a model server last sent part of an answer. `clock` in seconds."""
        super().__init__(inner)
        self.pages = 0
        self._heard_at = heard_at
        self._clock = clock
        self._read_at = -math.inf
        self._since = -math.inf

    @property
    def got_on_at(self) -> float:
        """Clock time in seconds when a page was read, or part of an answer came."""
        return max(self._read_at, self._heard_at())

    @property
    def stuck_s(self) -> float:
        """Seconds for which pages have been at the engine without any getting on; 0 while there are none."""
        return self._clock() - max(self._since, self.got_on_at) if self.pages else 0.0

    async def read(self, page: Page, task: Task) -> PageResult:
        """As Engine.read."""
        if not self.pages:
            self._since = self._clock()
        self.pages += 1
        try:
            result = await self._inner.read(page, task)
            if result.error is None or result.error.code in OF_THE_PAGE:
                self._read_at = self._clock()
            return result
        finally:
            self.pages -= 1


class Readiness:
    """Ready is: a page was read lately, or else a probe was answered. So a busy service stays ready, and one that hangs
    does not. `run` has to run beside it: it sends the probes, one at a time, when somebody asks and no page was read.
    """

    def __init__(
        self,
        progress: EngineProgress,
        probe: Probe,
        faults: Callable[[], Sequence[str]],
        stuck_s: float,
        clock: Callable[[], float] = anyio.current_time,
    ) -> None:
        """`faults`: what is known to keep pages from being read. `stuck_s`: pages that have been at the engine for so
        long, none of them getting on, are not read at all. `clock` in seconds.
        """
        self._progress = progress
        self._probe = probe
        self._faults = faults
        self._stuck_s = stuck_s
        self._clock = clock
        self._answered_at = self._failed_at = -math.inf
        self._probing_since: float | None = None
        self._failure = "has not read its first page yet"
        self._asked = False
        self._started = False
        self._wake = anyio.Event()
        self._landed = anyio.Event()

    async def run(self) -> None:
        """Sends a probe whenever one is asked for, until cancelled."""
        while True:
            self._wake = anyio.Event()
            if not self._asked:
                await self._wake.wait()
            await self._send()
            self._asked = False

    def engine_started(self) -> None:
        """From now on probes may be sent."""
        self._started = True

    def ask(self) -> None:
        """Has a probe sent, unless one is under way."""
        self._asked = self._started
        if self._started:
            self._wake.set()

    async def reasons(self) -> list[str]:
        """Why documents should not be sent here; empty when they should. Answered within half a second or so: while a
        probe takes longer, as the last one ended.
        """
        if not self._faults() and not self._fresh:
            self.ask()
            with anyio.move_on_after(_WAIT_S):
                await self._landed.wait()
        return self.known_reasons()

    def known_reasons(self) -> list[str]:
        """As `reasons`, without waiting for a probe; while the last one failed, another is sent."""
        if faults := list(self._faults()):
            return faults
        name, now = self._progress.name, self._clock()
        if self._progress.stuck_s >= self._stuck_s:
            return [f"engine: {name} has {self._progress.pages} pages, and read none for {self._stuck_s:g} seconds"]
        if self._fresh:
            return []
        if self._probing_since is not None and now - self._probing_since >= _PROBE_S:
            return [f"engine: {name} did not read a test page within {_PROBE_S:g} seconds"]
        if not self._failure or self._progress.got_on_at > self._failed_at:
            return []
        self.ask()
        return [f"engine: {name} {self._failure}"]

    @property
    def _fresh(self) -> bool:
        return self._clock() - max(self._progress.got_on_at, self._answered_at) < _FRESH_S

    async def _send(self) -> None:
        self._probing_since = self._clock()
        try:
            with anyio.fail_after(_PROBE_S):
                await self._probe()
        except TimeoutError:
            self._failure = f"did not read a test page within {_PROBE_S:g} seconds"
        except InkgateError as error:
            self._failure = f"failed on a test page: {error.code}"
        except Exception:  # the border of one probe: whatever an engine raises, the answer is "not ready"
            log.exception("readiness_probe_failed", engine=self._progress.name)
            self._failure = "failed on a test page"
        else:
            self._failure = ""
            self._answered_at = self._clock()
        finally:
            self._probing_since = None
            self._failed_at = self._clock() if self._failure else -math.inf
            landed, self._landed = self._landed, anyio.Event()
            landed.set()
