"""The models of the model servers by name, asked for now and then."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from inkgate.engines.vllm.upstream import Upstream
from inkgate.errors import EngineFailed, InkgateError

_FRESH_S = 10.0
_FAILED_S = 2.0
"""How long a failure is remembered: all who ask meanwhile hear of it at once."""
_PATIENCE_S = 5.0


class ServedModels:
    """What an Upstream serves, remembered for `fresh_s` seconds. Without an Upstream: nothing.

    One asks at a time; who comes meanwhile waits for that answer, or failure, and asks no more itself.
    """

    def __init__(
        self,
        upstream: Upstream | None,
        fresh_s: float = _FRESH_S,
        now: Callable[[], float] = anyio.current_time,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        """`patience_s`: how long a server may take to say so."""
        self._upstream = upstream
        self._fresh_s = fresh_s
        self._now = now
        self._patience_s = patience_s
        self._asked_at = float("-inf")
        self._names: tuple[str, ...] = ()
        self._failure: InkgateError | None = None
        self._good_until = float("-inf")
        self._asking = anyio.Lock()

    async def names(self) -> tuple[str, ...]:
        """The names of the models.

        Raises:
            InputRejected, EngineFailed: no server says so, or not in time.
        """
        if self._upstream is None:
            return ()
        async with self._asking:
            if self._now() >= self._good_until:
                await self._ask(self._upstream)
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        return self._names

    async def _ask(self, upstream: Upstream) -> None:
        """Asks, in what is left of the time of whoever asked before and has left meanwhile."""
        if self._now() - self._asked_at >= self._patience_s:
            self._asked_at = self._now()
        failure: InkgateError | None = None
        try:
            with anyio.move_on_after(self._asked_at + self._patience_s - self._now()) as scope:
                self._names = await upstream.models()
            if scope.cancelled_caught:
                failure = EngineFailed("upstream_stalled", "The model server does not say which models it has.")
        except InkgateError as error:
            failure = error
        self._failure, self._asked_at = failure, float("-inf")
        self._good_until = self._now() + (self._fresh_s if failure is None else _FAILED_S)

    async def known(self) -> tuple[str, ...]:
        """The same; where no server says so now, what one said last."""
        try:
            return await self.names()
        except InkgateError:
            return self._names
