"""Degradation under sustained overload: levels that are raised step by step and lowered when the load falls."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum

import anyio
import structlog

from inkgate.caller import Priority
from inkgate.errors import Overloaded
from inkgate.settings import DegradationSettings

log = structlog.get_logger(__name__)


class DegradationLevel(StrEnum):
    """`image`: smaller images; `output`: shorter answers of a model; `embedded`: batch work goes to the embedded
    engine, if another one is configured; `shed`: batch work is refused.
    """

    IMAGE = "image"
    OUTPUT = "output"
    EMBEDDED = "embedded"
    SHED = "shed"


DEGRADATION_LEVELS = tuple(DegradationLevel)


class Degradation:
    """Raises the level for each `up_s` with the expected wait over its target, and lowers it for each `down_s` with the
    wait under half of it:

        wait / target >= 1 for up_s: level + 1;    wait / target <= 1/2 for down_s: level - 1;    between: as it is

    Interactive work is degraded one level later. There is no background task: the level is updated when it is read.
    Used from one event loop.

    Attributes:
        climbed: number of raises so far.
    """

    def __init__(
        self,
        settings: DegradationSettings,
        wait_s: Callable[[], float | None],
        clock: Callable[[], float] = anyio.current_time,
    ) -> None:
        """`wait_s`: returns the expected wait of new work; None if unknown."""
        self.climbed = 0
        self._settings = settings
        self._wait_s = wait_s
        self._clock = clock
        self._level = 0
        self._pressed_since: float | None = None
        self._easy_since: float | None = None

    @property
    def level(self) -> int:
        """The current level, 0 to 4."""
        if self._settings.enabled:
            self._look()
        return self._level

    @property
    def falls_at(self) -> float:
        """Clock time at which the level falls if the wait stays short; infinity if it is not short now, or at 0."""
        return math.inf if self._easy_since is None or not self._level else self._easy_since + self._settings.down_s

    def levels(self, priority: Priority) -> tuple[DegradationLevel, ...]:
        """The levels in force for work of this priority."""
        level = self.level - (priority is Priority.INTERACTIVE)
        given_up = DEGRADATION_LEVELS[: max(0, level)]
        return given_up if priority is Priority.BATCH else tuple(r for r in given_up if r in _FOR_ALL)

    def check(self, priority: Priority) -> None:
        """Returns unless work of this priority is shed.

        Raises:
            Overloaded: "service_full".
        """
        if DegradationLevel.SHED in self.levels(priority):
            wait_s = self._wait_s() or self._settings.target_wait_s
            raise Overloaded("service_full", "Batch requests are refused under the current load.", wait_s)

    def _look(self) -> None:
        now = self._clock()
        pressure = (self._wait_s() or 0.0) / self._settings.target_wait_s
        self._pressed_since = None if pressure < 1 else now if self._pressed_since is None else self._pressed_since
        self._easy_since = None if pressure > _EASY else now if self._easy_since is None else self._easy_since
        if self._pressed_since is not None and now - self._pressed_since >= self._settings.up_s:
            self._pressed_since = now
            self._move(1)
        elif self._easy_since is not None and now - self._easy_since >= self._settings.down_s:
            # Older time was not observed: no work arrived then.
            steps = int((now - self._easy_since) / self._settings.down_s)
            self._easy_since = now
            self._move(-steps)

    def _move(self, steps: int) -> None:
        level = min(len(DEGRADATION_LEVELS), max(0, self._level + steps))
        if level != self._level:
            self.climbed += level > self._level
            log.warning(
                "degraded",
                level=level,
                given_up=[level.value for level in DEGRADATION_LEVELS[:level]],
                before=self._level,
            )
            self._level = level


_EASY = 0.5
_FOR_ALL = frozenset({DegradationLevel.IMAGE, DegradationLevel.OUTPUT})
