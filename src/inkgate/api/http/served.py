"""The names of the model servers' models, refreshed now and then."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from inkgate.errors import EngineFailed, InkgateError
from inkgate.model_servers.upstream import Upstream

_FRESH_S = 10.0
_FAILED_S = 2.0
"""How long a failure is cached; requests get it at once."""
_TIMEOUT_S = 5.0


class ServedModels:
    """The models of an Upstream, cached for `fresh_s` seconds. Without an Upstream: none.

    Concurrent callers share one request and its result or failure.
    """

    def __init__(
        self,
        upstream: Upstream | None,
        fresh_s: float = _FRESH_S,
        now: Callable[[], float] = anyio.current_time,
        timeout_s: float = _TIMEOUT_S,
    ) -> None:
        """`timeout_s`: time limit of a server's response."""
        self._upstream = upstream
        self._fresh_s = fresh_s
        self._now = now
        self._timeout_s = timeout_s
        self._requested_at = float("-inf")
        self._names: tuple[str, ...] = ()
        self._failure: InkgateError | None = None
        self._good_until = float("-inf")
        self._requesting = anyio.Lock()

    async def names(self) -> tuple[str, ...]:
        """The names of the models.

        Raises:
            InputRejected, EngineFailed: no server responded in time.
        """
        if self._upstream is None:
            return ()
        async with self._requesting:
            if self._now() >= self._good_until:
                await self._request(self._upstream)
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        return self._names

    async def _request(self, upstream: Upstream) -> None:
        """Requests the names within the remaining time of a cancelled earlier request."""
        if self._now() - self._requested_at >= self._timeout_s:
            self._requested_at = self._now()
        failure: InkgateError | None = None
        try:
            with anyio.move_on_after(self._requested_at + self._timeout_s - self._now()) as scope:
                self._names = await upstream.models()
            if scope.cancelled_caught:
                failure = EngineFailed("upstream_stalled", "The model server did not list its models in time.")
        except InkgateError as error:
            failure = error
        self._failure, self._requested_at = failure, float("-inf")
        self._good_until = self._now() + (self._fresh_s if failure is None else _FAILED_S)

    async def known(self) -> tuple[str, ...]:
        """The names; if no server responds now, the last known ones."""
        try:
            return await self.names()
        except InkgateError:
            return self._names
