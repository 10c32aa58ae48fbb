"""Readiness: pages make progress, or a probe that bypasses the queue succeeded."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import anyio
import numpy as np
import structlog

from inkgate.caller import NO_CALLER
from inkgate.engines.base import Engine
from inkgate.errors import InkgateError, from_page_error
from inkgate.page import Pixels, TextLayer
from inkgate_client.types import Size, Task

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ServiceWarning:
    """What a service that is ready does worse than it could. `code`: as of the doctor's finding."""

    code: str
    detail: str
    remedy: str


class EngineProgress:
    """The time of the engine's last progress, and the number of pages in it.

    Attributes:
        pages: number of pages at the engine.
    """

    def __init__(
        self,
        responded_at: Callable[[], float] = lambda: -math.inf,
        clock: Callable[[], float] = anyio.current_time,
    ) -> None:
        """`responded_at`: when a model server last sent part of a response. `clock` in seconds."""
        self.pages = 0
        self._responded_at = responded_at
        self._clock = clock
        self._read_at = -math.inf
        self._since = -math.inf

    @property
    def progressed_at(self) -> float:
        """Clock time in seconds when a page was last read or part of a response arrived."""
        return max(self._read_at, self._responded_at())

    @property
    def stuck_s(self) -> float:
        """Seconds without progress while pages are at the engine; 0 without pages."""
        return self._clock() - max(self._since, self.progressed_at) if self.pages else 0.0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Context of one page at the engine."""
        if not self.pages:
            self._since = self._clock()
        self.pages += 1
        try:
            yield
        finally:
            self.pages -= 1

    def page_read(self) -> None:
        """Records that the engine has read a page."""
        self._read_at = self._clock()


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

    def retain(self) -> AbstractContextManager[None]:
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


def either_probe(first: Probe, second: Probe) -> Probe:
    """A probe that succeeds if `first` does, or else `second`."""

    async def probe() -> None:
        try:
            await first()
        except InkgateError:
            await second()

    return probe


_FRESH_S = 10.0
"""A page that was read or a probe that succeeded proves readiness for this long."""
_PROBE_S = 30.0
"""Timeout of a probe. It bypasses the queue, but waits for the engine's current work, such as a large page."""
_WAIT_S = 0.5
"""How long `reasons` waits for a probe."""


class Readiness:
    """Ready means: a page was read recently, or the last probe succeeded. So a busy service stays ready, and one that
    hangs does not. Its background task is `run`: it sends probes, one at a time, while no pages are read.
    """

    def __init__(
        self,
        engine: str,
        progress: EngineProgress,
        probe: Probe,
        faults: Callable[[], Sequence[str]],
        stuck_s: float,
        clock: Callable[[], float] = anyio.current_time,
    ) -> None:
        """`engine`: its name. `faults`: known reasons why no page can be read. `stuck_s`: not ready once pages have
        been at the engine for this long without progress. `clock` in seconds.
        """
        self._engine = engine
        self._progress = progress
        self._probe = probe
        self._faults = faults
        self._stuck_s = stuck_s
        self._clock = clock
        self._answered_at = self._failed_at = -math.inf
        self._probing_since: float | None = None
        self._failure = "has not read its first page yet"
        self._requested = False
        self._started = False
        self._wake = anyio.Event()
        self._probe_ended = anyio.Event()

    async def run(self) -> None:
        """Sends a probe whenever one is requested, until cancelled."""
        while True:
            self._wake = anyio.Event()
            if not self._requested:
                await self._wake.wait()
            await self._send()
            self._requested = False

    def engine_started(self) -> None:
        """Allows probes from now on."""
        self._started = True

    def ask(self) -> None:
        """Requests a probe, unless one is running."""
        self._requested = self._started
        if self._started:
            self._wake.set()

    async def reasons(self) -> list[str]:
        """Why the service is not ready; empty if it is. Returns within about half a second: if a probe takes longer,
        the result of the last one counts.
        """
        if not self._faults() and not self._fresh:
            self.ask()
            with anyio.move_on_after(_WAIT_S):
                await self._probe_ended.wait()
        return self.known_reasons()

    def known_reasons(self) -> list[str]:
        """Returns what `reasons` returns, without waiting for a probe. If the last probe failed, requests another."""
        if faults := list(self._faults()):
            return faults
        name, now = self._engine, self._clock()
        if self._progress.stuck_s >= self._stuck_s:
            return [f"engine: {name} has {self._progress.pages} pages and read none for {self._stuck_s:g} seconds"]
        if self._fresh:
            return []
        if self._probing_since is not None and now - self._probing_since >= _PROBE_S:
            return [f"engine: {name} did not read a test page within {_PROBE_S:g} seconds"]
        if not self._failure or self._progress.progressed_at > self._failed_at:
            return []
        self.ask()
        return [f"engine: {name} {self._failure}"]

    @property
    def _fresh(self) -> bool:
        return self._clock() - max(self._progress.progressed_at, self._answered_at) < _FRESH_S

    async def _send(self) -> None:
        self._probing_since = self._clock()
        try:
            with anyio.fail_after(_PROBE_S):
                await self._probe()
        except TimeoutError:
            self._failure = f"did not read a test page within {_PROBE_S:g} seconds"
        except InkgateError as error:
            self._failure = f"failed on a test page: {error.code}"
        except Exception:  # whatever an engine raises, a failed probe means "not ready"
            log.exception("readiness_probe_failed", engine=self._engine)
            self._failure = "failed on a test page"
        else:
            self._failure = ""
            self._answered_at = self._clock()
        finally:
            self._probing_since = None
            self._failed_at = self._clock() if self._failure else -math.inf
            ended, self._probe_ended = self._probe_ended, anyio.Event()
            ended.set()
