"""Pages that are read with less care, because many wait."""

from __future__ import annotations

from dataclasses import replace

from inkgate.engines.around import Around
from inkgate.engines.base import Engine
from inkgate.serving.ladder import Ladder, Rung
from inkgate.serving.work import current_caller
from inkgate.settings import LadderSettings
from inkgate.types import Page, PageResult, Task, TaskKind


class Degrading(Around):
    """An Engine around an Engine: asks less of it, as the ladder says; `PageResult.degraded` says what."""

    def __init__(self, inner: Engine, ladder: Ladder, settings: LadderSettings, embedded: Engine | None) -> None:
        """`embedded`: who reads batches before they are refused; None where `inner` is that one."""
        super().__init__(inner)
        self._ladder = ladder
        self._settings = settings
        self._embedded = embedded

    async def read(self, page: Page, task: Task) -> PageResult:
        """As Engine.read."""
        rungs = self._ladder.rungs(current_caller().priority)
        given_up: list[str] = []
        if Rung.IMAGE in rungs:
            task = replace(task, image_scale=self._settings.image_scale)
            given_up.append(Rung.IMAGE.value)
        if Rung.OUTPUT in rungs:
            task = replace(task, detect_rotation=False, max_output_tokens=self._settings.max_output_tokens)
            given_up.append(Rung.OUTPUT.value)
        engine = self._inner
        if Rung.EMBEDDED in rungs and self._embedded is not None and task.kind in _OF_EMBEDDED:
            engine = self._embedded
            given_up.append(Rung.EMBEDDED.value)
        result = await engine.read(page, task)
        return replace(result, degraded=(*result.degraded, *given_up)) if given_up else result


_OF_EMBEDDED = frozenset({TaskKind.TEXT, TaskKind.PARSE, TaskKind.SPOT})
