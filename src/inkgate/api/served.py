"""The models of the model servers by name, asked for now and then."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from inkgate.engines.vllm.upstream import Upstream
from inkgate.errors import EngineFailed, InkgateError

_FRESH_S = 10.0
_PATIENCE_S = 5.0


class ServedModels:
    """What an Upstream serves, remembered for `fresh_s` seconds. Without an Upstream: nothing."""

    def __init__(
        self, upstream: Upstream | None, fresh_s: float = _FRESH_S, now: Callable[[], float] = anyio.current_time
    ) -> None:
        self._upstream = upstream
        self._fresh_s = fresh_s
        self._now = now
        self._names: tuple[str, ...] = ()
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
                with anyio.move_on_after(_PATIENCE_S) as scope:
                    self._names = await self._upstream.models()
                if scope.cancelled_caught:
                    raise EngineFailed("upstream_stalled", "The model server does not say which models it has.")
                self._good_until = self._now() + self._fresh_s
        return self._names

    async def known(self) -> tuple[str, ...]:
        """The same; where no server says so now, what one said last."""
        try:
            return await self.names()
        except InkgateError:
            return self._names
