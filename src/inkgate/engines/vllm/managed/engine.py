"""An Engine together with its own model server."""

from __future__ import annotations

import anyio

from inkgate.engines.base import Engine, EngineWrapper
from inkgate.engines.vllm.managed.supervisor import ManagedServer


class ManagedEngine(EngineWrapper):
    """An Engine: `inner` and its server, which starts before and stops after it. `server.run` must be running."""

    def __init__(self, server: ManagedServer, inner: Engine) -> None:
        self._server = server
        super().__init__(inner)

    async def start(self) -> None:
        """Returns when the server responds and `inner` has found its model there.

        Raises:
            EngineFailed: one of the two does not start; both are then stopped.
        """
        started = False
        try:
            await self._server.start()
            await self._inner.start()
            started = True
        finally:
            if not started:
                with anyio.CancelScope(shield=True):  # bounded by `engine.vllm.managed.stop_s`
                    await self._server.stop()

    async def stop(self) -> None:
        await self._inner.stop()
        await self._server.stop()
