"""An Engine together with the model server that it asks."""

from __future__ import annotations

import anyio

from inkgate.engines.base import Engine
from inkgate.engines.vllm.managed.supervisor import ManagedServer
from inkgate.types import Page, PageResult, Task


class Managed:
    """An Engine: `inner`, whose server is started before it and stopped after it. `server.run` must be running."""

    def __init__(self, server: ManagedServer, inner: Engine) -> None:
        self._server = server
        self._inner = inner

    @property
    def name(self) -> str:
        return self._inner.name

    async def start(self) -> None:
        """Returns when the server answers and `inner` has found its model there.

        Raises:
            EngineFailed: one of the two does not start; nothing runs then.
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

    async def read(self, page: Page, task: Task) -> PageResult:
        """As Engine.read of `inner`, which fails while the server is started anew."""
        return await self._inner.read(page, task)

    async def stop(self) -> None:
        await self._inner.stop()
        await self._server.stop()
