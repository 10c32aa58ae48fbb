"""Fields of a page: a model is asked for their values, and a witness reads the lines in which they are looked up."""

from __future__ import annotations

from dataclasses import replace

import anyio
import structlog

from inkgate.caller import Caller
from inkgate.concurrency import single_error
from inkgate.engines.base import Engine, EngineWrapper
from inkgate.errors import Blame, EngineFailed, Overloaded, TaskUnsupported
from inkgate.page import Page
from inkgate.types import PageResult, Task, TaskKind

log = structlog.get_logger(__name__)

UNREAD = "fields_unread"
"""In `PageResult.degraded`: the model could not be asked for the fields of this page."""


class AskedFields(EngineWrapper):
    """An Engine around an Engine: a page to PARSE with `Task.fields` is read by the witness, and the engine is asked
    for the fields meanwhile. Its answer is in `PageResult.fields`; without one, the page is as the witness read it.
    """

    def __init__(self, inner: Engine, witness: Engine | None = None) -> None:
        """`witness`: None: the engine itself."""
        super().__init__(inner)
        self._witness = witness

    async def start(self) -> None:
        """As Engine.start."""
        await self._inner.start()
        if self._witness is not None:
            await self._witness.start()

    async def stop(self) -> None:
        """As Engine.stop."""
        try:
            await self._inner.stop()
        finally:
            if self._witness is not None:
                await self._witness.stop()

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """As Engine.read."""
        if task.kind is not TaskKind.PARSE or not task.fields:
            return await self._inner.read(page, task, caller)
        asked: list[PageResult | None] = []

        async def ask() -> None:
            asked.append(await self._asked(page, task, caller))

        with single_error():
            async with anyio.create_task_group() as group:
                group.start_soon(ask)
                result = await (self._witness or self._inner).read(page, replace(task, fields=()), caller)
        (answer,) = asked
        if answer is None:
            return replace(result, degraded=(*result.degraded, UNREAD))
        return replace(result, fields=answer.fields, attempts=(*result.attempts, *answer.attempts))

    async def _asked(self, page: Page, task: Task, caller: Caller) -> PageResult | None:
        """The engine's answer; None if it fails. Rules then find what they can."""
        try:
            answer = await self._inner.read(page, replace(task, kind=TaskKind.EXTRACT), caller)
        except TaskUnsupported:
            return PageResult(page.index)
        except Overloaded as error:
            if error.blame is not Blame.SERVER:
                raise
            return None
        except EngineFailed as error:
            log.warning("fields_unread", page=page.index, code=error.code)
            return None
        return answer if answer.error is None else None
