"""How long an engine's stages and attempts took, and attempts with another engine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

from inkgate.errors import InkgateError
from inkgate_client.types import Attempt, PageError, PageResult


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
        page_error = error.as_page_error() if isinstance(error, InkgateError) else error
        return Attempt(self._change, page_error, (perf_counter() - self._begun) * 1000)


async def fallback(read: Callable[[], Awaitable[PageResult]], change: str) -> tuple[PageResult | None, Attempt]:
    """What another engine reads instead, None if it raises an error; and the attempt. `change`: see Attempt."""
    attempt = AttemptTimer(change)
    try:
        result = await read()
    except InkgateError as error:
        return None, attempt.ended(error)
    return result, attempt.ended(result.error)
