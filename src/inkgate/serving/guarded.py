"""A circuit breaker in front of an engine."""

from __future__ import annotations

import anyio

from inkgate.caller import Caller
from inkgate.engines.around import EngineWrapper
from inkgate.engines.base import Engine
from inkgate.serving.breaker import Breaker
from inkgate.types import Page, PageResult, Task


class Guarded(EngineWrapper):
    """An Engine around an Engine, behind a breaker."""

    def __init__(self, inner: Engine, breaker: Breaker) -> None:
        super().__init__(inner)
        self._breaker = breaker

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """As Engine.read.

        Raises:
            Overloaded: "engine_breaker_open".
        """
        begun = anyio.current_time()

        def timed_out() -> bool:
            """Whether the engine used most of the service's time limit and did not finish: it hangs or is too slow.

            A client's own timeout says nothing about the engine, nor does a page that started late.
            """
            now = anyio.current_time()
            return not caller.deadline_given and now >= caller.deadline and now - begun >= caller.patience_s / 2

        async with self._breaker.guard(timed_out):
            return await self._inner.read(page, task, caller)
