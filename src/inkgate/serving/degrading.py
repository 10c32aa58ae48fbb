"""Applies degradation levels to pages."""

from __future__ import annotations

from dataclasses import replace

from inkgate.caller import Caller
from inkgate.engines.around import EngineWrapper
from inkgate.engines.base import Engine
from inkgate.serving.degradation import Degradation, DegradationLevel
from inkgate.settings import DegradationSettings
from inkgate.types import Page, PageResult, Task, TaskKind


class Degrading(EngineWrapper):
    """An Engine around an Engine: reduces the task as the level says, and lists it in `PageResult.degraded`."""

    def __init__(
        self, inner: Engine, degradation: Degradation, settings: DegradationSettings, embedded: Engine | None
    ) -> None:
        """`embedded`: reads batch work before it is shed; None if `inner` is the embedded engine."""
        super().__init__(inner)
        self._degradation = degradation
        self._settings = settings
        self._embedded = embedded

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """As Engine.read."""
        levels = self._degradation.levels(caller.priority)
        given_up: list[str] = []
        if DegradationLevel.IMAGE in levels:
            task = replace(task, image_scale=self._settings.image_scale)
            given_up.append(DegradationLevel.IMAGE.value)
        if DegradationLevel.OUTPUT in levels:
            task = replace(task, detect_rotation=False, max_output_tokens=self._settings.max_output_tokens)
            given_up.append(DegradationLevel.OUTPUT.value)
        engine = self._inner
        if DegradationLevel.EMBEDDED in levels and self._embedded is not None and task.kind in _OF_EMBEDDED:
            engine = self._embedded
            given_up.append(DegradationLevel.EMBEDDED.value)
        result = await engine.read(page, task, caller)
        return replace(result, degraded=(*result.degraded, *given_up)) if given_up else result


_OF_EMBEDDED = frozenset({TaskKind.TEXT, TaskKind.PARSE, TaskKind.SPOT})
