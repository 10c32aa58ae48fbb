"""How long an engine's stages and attempts took, and attempts with another engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

from inkgate.caller import Caller
from inkgate.engines.base import Engine
from inkgate.errors import InkgateError
from inkgate.page import Page
from inkgate.types import Attempt, PageError, PageResult, Task


@dataclass(frozen=True, slots=True)
class StageTimes:
    """Wall time by stage, in milliseconds; summed over work done in parallel."""

    spent_ms: dict[str, float] = field(default_factory=dict)

    def add(self, stage: str, spent_ms: float) -> None:
        """Adds to the stage's time."""
        self.spent_ms[stage] = self.spent_ms.get(stage, 0.0) + spent_ms

    @contextmanager
    def of(self, stage: str) -> Iterator[None]:
        """Adds the time of the `with` block, even if it fails."""
        started = perf_counter()
        try:
            yield
        finally:
            self.add(stage, (perf_counter() - started) * 1000)


class AttemptTimer:
    """Measures an attempt from its beginning, which is now. `change`: see Attempt."""

    def __init__(self, change: str) -> None:
        self._change = change
        self._begun = perf_counter()

    def ended(self, error: InkgateError | PageError | None) -> Attempt:
        """The attempt, which ended now."""
        told = error.as_page_error() if isinstance(error, InkgateError) else error
        return Attempt(self._change, told, (perf_counter() - self._begun) * 1000)


async def take_over(
    engine: Engine, page: Page, task: Task, caller: Caller, part: str = ""
) -> tuple[PageResult | None, Attempt]:
    """The page as read by `engine`, None if that raised an error; and the attempt. `part`: which part of a page `page`
    is, for the attempt.
    """
    attempt = AttemptTimer(", ".join(filter(None, (part, f"engine {engine.name}"))))
    try:
        result = await engine.read(page, task, caller)
    except InkgateError as error:
        return None, attempt.ended(error)
    return result, attempt.ended(result.error)
