"""Circuit breaker: stops calls to a failing engine, and probes it after a while (Nygard, Release It!, 2007)."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum

import anyio
import structlog

from inkgate.errors import Blame, EngineFailed, InkgateError, Overloaded

log = structlog.get_logger(__name__)

_BUCKETS = 10


class BreakerState(StrEnum):
    """`closed`: calls pass; `open`: no calls pass; `half_open`: a few calls pass as probes."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True)
class BreakerSettings:
    """Thresholds at which the breaker opens, and for how long. Times in seconds, rates in [0, 1].

    Attributes:
        window_s: calls of the last `window_s` count.
        min_calls: minimum number of calls in the window.
        failed_rate: share of failed calls from which it opens.
        target_s: a call that takes longer is slow; None: no call is slow.
        slow_rate: share of slow calls from which it opens.
        open_s, max_open_s: how long it stays open at first and at most; doubled each time it reopens.
        probes: concurrent calls while half-open.
        good: this many successful probes in a row close it.
        unread: this many different pages in a row that the engine failed on open it, whatever their errors say. Pages
            that are read since before the first of them are waited for: bad pages often fail faster than good ones
            are read.
    """

    window_s: float = 30.0
    min_calls: int = 10
    failed_rate: float = 0.5
    target_s: float | None = None
    slow_rate: float = 0.8
    open_s: float = 5.0
    max_open_s: float = 120.0
    probes: int = 1
    good: int = 2
    unread: int = 5


class Breaker:
    """Closed, it lets calls pass and counts how they end. It opens when, of the last `window_s`,

        calls >= min_calls  and  (failed / calls >= failed_rate  or  slow / calls >= slow_rate),

    or when the last `unread` different pages failed, or when it is tripped. It stays open for
    min(max_open_s, open_s * 2^n), where n is how often it opened without having been closed for `window_s` since, or
    until `recovered`. Then it is half-open: a failed or slow probe opens it again.

    Calls that began before the last change of state are ignored. Used from one event loop.

    Attributes:
        why: reason for the last opening. If a probe failed, it also names the reason before the probes.
        opened: number of openings.
    """

    def __init__(
        self, name: str, settings: BreakerSettings | None = None, clock: Callable[[], float] = anyio.current_time
    ) -> None:
        """`name`: what it guards, for messages. `clock` in seconds."""
        self.name = name
        self.why = self._cause = ""
        self.opened = 0
        self._settings = settings or BreakerSettings()
        self._clock = clock
        self._counts = _Window(self._settings.window_s)
        self._half_open_at: float | None = None
        self._closed_at = float("-inf")
        self._reopened = 0
        self._era = 0
        self._probing = 0
        self._successes = 0
        self._unread: dict[bytes, float] = {}
        self._running: dict[_Call, None] = {}
        self._tripped = False

    @property
    def state(self) -> BreakerState:
        if self._half_open_at is None:
            return BreakerState.CLOSED
        return BreakerState.OPEN if self._clock() < self._half_open_at else BreakerState.HALF_OPEN

    def trip(self, why: str) -> None:
        """Opens it for an external reason, such as an overheated GPU. If it is open already, it stays open longer.
        Called by GpuWatch, which bootstrap/stack.py gives the engine's breaker.
        """
        if self.state is BreakerState.OPEN:
            self.why = self._cause = why
            self._half_open_at = self._clock() + self._open_s
        else:
            self._open(why)
        self._tripped = True

    def recovered(self) -> None:
        """Makes it half-open if it is open: what it guards says that it works again. Not if it was tripped.
        Called by the load balancer when a model server is back: bootstrap/stack.py sets it as ReplicaEvents.on_back.
        """
        if self.state is BreakerState.OPEN and not self._tripped:
            self._half_open_at = self._clock()

    @asynccontextmanager
    async def guard(self, timed_out: Callable[[], bool] = lambda: False, content: bytes = b"") -> AsyncIterator[None]:
        """Context of one call. `content`: identifies the page that it reads, if it reads one.

        An error that blames the server, and any foreign exception, count as failures. An EngineFailed that blames the
        page does not, but no probe succeeds with it, and `unread` different pages in a row are a failure of the engine.
        Other errors are ignored. A cancelled call is a failure if it `timed_out`, slow if it lasted longer than the
        target, and ignored otherwise.

        Raises:
            Overloaded: "engine_breaker_open".
        """
        state = self.state
        if state is BreakerState.OPEN or (state is BreakerState.HALF_OPEN and self._probing >= self._settings.probes):
            raise self._refusal()
        era, call = self._era, _Call(self._clock(), content)
        self._running[call] = None
        probe = state is BreakerState.HALF_OPEN
        self._probing += probe
        failed: bool | None = None
        judged_by_time = True
        unread: bytes | None = None
        try:
            yield
            failed = False
        except Exception as error:
            failed = self._is_failure(error)
            judged_by_time = failed is not None
            unread = content if judged_by_time else None
            raise
        except anyio.get_cancelled_exc_class():
            failed = True if timed_out() else None
            raise
        finally:
            self._probing -= probe and era == self._era
            self._running.pop(call, None)
            slow = judged_by_time and self._is_slow(self._clock() - call.began)
            if era == self._era and (failed is not None or slow):
                self._ended(failed=bool(failed), slow=slow, unread=unread)

    def _is_failure(self, error: Exception) -> bool | None:
        """Whether the call failed; None if it is ignored."""
        if not isinstance(error, InkgateError):
            return True
        if isinstance(error, EngineFailed) and error.blame in (Blame.PAGE, Blame.SERVER):
            return error.blame is Blame.SERVER
        return None

    def _is_slow(self, spent_s: float) -> bool:
        return self._settings.target_s is not None and spent_s > self._settings.target_s

    @property
    def _open_s(self) -> float:
        return min(self._settings.max_open_s, self._settings.open_s * 2.0 ** min(self._reopened, 60))

    def _ended(self, *, failed: bool, slow: bool, unread: bytes | None) -> None:
        """`unread`: the page that the engine failed on, empty if it has no key; None if it failed on none."""
        if self._half_open_at is not None:
            if failed or slow or unread is not None:
                only_slow = slow and not failed and unread is None
                self._open(self._cause, "; then a probe was slow" if only_slow else "; then a probe failed")
            else:
                self._successes += 1
                if self._successes >= self._settings.good:
                    self._close()
            return
        now = self._clock()
        calls, failures, slow_ones = self._counts.add(now, failed=failed, slow=slow)
        if unread:
            self._unread.setdefault(unread, now)
        elif unread is None and not failed:
            self._unread.clear()
        if (
            unread_in_a_row(self._unread, ((each.began, each.content) for each in self._running))
            >= self._settings.unread
        ):
            self._open(f"the last {len(self._unread)} pages could not be read")
        elif calls >= self._settings.min_calls:
            if failures >= self._settings.failed_rate * calls and failures:
                self._open(f"{failures} of {calls} calls failed")
            elif slow_ones >= self._settings.slow_rate * calls and slow_ones:
                self._open(f"{slow_ones} of {calls} calls took more than {self._settings.target_s:g} s")

    def _open(self, cause: str, after_probe: str = "") -> None:
        now = self._clock()
        helped = self._half_open_at is None and now - self._closed_at >= self._settings.window_s
        self._reopened = 0 if helped else self._reopened + 1
        self._half_open_at = now + self._open_s
        self._cause, self.why = cause, cause + after_probe
        self.opened += 1
        self._reset()
        log.warning("breaker_open", breaker=self.name, why=self.why, for_s=self._open_s)

    def _close(self) -> None:
        self._half_open_at = None
        self._closed_at = self._clock()
        self._reset()
        log.info("breaker_closed", breaker=self.name)

    def _reset(self) -> None:
        self._era += 1
        self._probing = self._successes = 0
        self._unread.clear()
        self._running.clear()
        self._tripped = False
        self._counts = _Window(self._settings.window_s)

    def _refusal(self) -> Overloaded:
        left_s = (self._half_open_at or 0.0) - self._clock()
        retry_after_s = left_s if left_s > 0 else self._settings.open_s
        return Overloaded("engine_breaker_open", f"Calls to {self.name} are stopped: {self.why}.", retry_after_s)


def unread_in_a_row(unread: Mapping[bytes, float], running: Iterable[tuple[float, bytes]]) -> int:
    """How many different pages in a row were not read; 0 while a page is read that began before the first of them
    failed: bad pages often fail faster than good ones are read.

    `unread`: the contents of the pages that were not read since the last one that was, and when each failed first.
    `running`: when each call that runs began, and the content of its page; empty if it reads none.
    """
    since = next(iter(unread.values()), -math.inf)
    return 0 if any(content and content not in unread and began <= since for began, content in running) else len(unread)


@dataclass(eq=False, frozen=True, slots=True)
class _Call:
    """A call that was let through. `began`: clock time. `content`: of its page."""

    began: float
    content: bytes


class _Window:
    """Counts of calls in the last `window_s`, in ten steps: constant memory at any rate."""

    def __init__(self, window_s: float) -> None:
        self._step_s = window_s / _BUCKETS
        self._steps: deque[tuple[int, list[int]]] = deque(maxlen=_BUCKETS)

    def add(self, now: float, *, failed: bool, slow: bool) -> tuple[int, int, int]:
        """Counts one call. Returns all, failed and slow calls in the window."""
        step = int(now // self._step_s)
        if not self._steps or self._steps[-1][0] != step:
            self._steps.append((step, [0, 0, 0]))
        for place, counted in enumerate((True, failed, slow)):
            self._steps[-1][1][place] += counted
        while self._steps[0][0] <= step - _BUCKETS:
            self._steps.popleft()
        calls, failures, slow_ones = (sum(counts[place] for _, counts in self._steps) for place in range(3))
        return calls, failures, slow_ones
