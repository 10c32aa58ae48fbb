"""Sends requests again that a service did not take, for the blocking and the asynchronous client."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from threading import Event
from typing import TypeVar

import anyio

from inkgate_client.errors import FileUnreadable, ServiceError, StreamBroken

T = TypeVar("T")

RETRY_S = 300.0
"""How long one of many documents is offered to a service that refuses it for load or can't be reached."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Which requests are sent again, and for how long: after the seconds of Retry-After, or a pause that doubles.

    Attributes:
        limit_s: after the first of the failures, until which one is sent again; 0: none is.
        outlast_load: a service that responds is waited for as long as it is full; `limit_s` is for one that is gone.
        repeatable: the request may be sent again after the service took it, because it does no work twice.
    """

    limit_s: float = RETRY_S
    outlast_load: bool = False
    repeatable: bool = False
    first_pause_s: float = 0.5
    max_pause_s: float = 10.0

    def covers(self, error: ServiceError) -> bool:
        """Whether the request may succeed later."""
        if isinstance(error, FileUnreadable):
            return False
        lost = error.unreachable or isinstance(error, StreamBroken)
        return error.untaken or lost or (self.repeatable and (error.late or error.status in {502, 504}))


JOB_REQUESTS = RetryPolicy(60.0, repeatable=True)
"""The policy for requests about jobs: they outlast a restart of the service."""


class Retries:
    """The attempts at one request."""

    def __init__(self, policy: RetryPolicy, clock: Callable[[], float] = time.monotonic) -> None:
        self._policy = policy
        self._clock = clock
        self.restore()

    def restore(self) -> None:
        """Begins to count again, because there was progress."""
        self._failing_since: float | None = None
        self._next_s = self._policy.first_pause_s

    def pause_s(self, error: ServiceError) -> float:
        """Seconds to wait before the next attempt. Raises `error` if there should be none."""
        now = self._clock()
        pause_s = max(self._next_s, error.retry_after_s or 0.0)
        outlasted = self._policy.outlast_load and error.busy
        if self._failing_since is None or outlasted:
            self._failing_since = now
        in_time = outlasted or now + pause_s - self._failing_since <= self._policy.limit_s
        if not (in_time and self._policy.covers(error)):
            raise error
        self._next_s = min(self._next_s * 2, self._policy.max_pause_s)
        return pause_s


class Retrier:
    """Sends the requests of several documents again as a policy says. Once one was given up because the service can't
    be reached, the following ones don't wait for it either, until it responds.
    """

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._gone = False
        self._stopped = Event()

    async def run_awaited(
        self, ask: Callable[[], Awaitable[T]], pause: Callable[[float], Awaitable[None]] | None = None
    ) -> T:
        """The result of `ask`, which is called again after `pause`. Raises ServiceError."""
        attempts = Retries(self._policy)
        while True:
            try:
                result = await ask()
            except ServiceError as error:
                pause_s = self._pause_s(attempts, error)
            else:
                self._gone = False
                return result
            await (pause or pause_awaited)(pause_s)

    def run(self, ask: Callable[[], T]) -> T:
        """Runs a call like `run_awaited`. Blocking; after `stop`, raises ServiceError instead of waiting."""
        attempts = Retries(self._policy)
        while True:
            try:
                result = ask()
            except ServiceError as error:
                if self._stopped.wait(self._pause_s(attempts, error)):
                    raise
            else:
                self._gone = False
                return result

    def stop(self) -> None:
        """Nobody wants the results any more: ends the pauses of `run`."""
        self._stopped.set()

    def _pause_s(self, attempts: Retries, error: ServiceError) -> float:
        if self._gone and error.unreachable:
            raise error
        try:
            return attempts.pause_s(error)
        except ServiceError:
            if not isinstance(error, FileUnreadable):
                self._gone = error.unreachable
            raise


async def pause_awaited(seconds: float) -> None:
    """Waits."""
    await anyio.sleep(seconds)


def pause(seconds: float) -> None:
    """Waits. Blocking."""
    time.sleep(seconds)
