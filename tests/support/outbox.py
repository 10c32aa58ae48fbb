"""An outbox in memory, with the contract of the job store's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from inkgate.jobs.store import DeliveryLane, Due
from support.jobs import job


class MemoryOutbox:
    """Attributes: `taken`: all rows that were taken, in order; `errors`: last error by ID."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._due: dict[str, float] = {}
        self.rows: dict[str, Due] = {}
        self.taken: list[Due] = []
        self.done: list[str] = []
        self.gone: list[str] = []
        self.errors: dict[str, str] = {}
        self.broken = False
        self.queries = 0

    def add(self, key: str, sink: str = "sink", **changes: object) -> None:
        self.rows[key] = Due(key, sink, job(**changes), 0, "")
        self._due[key] = self._clock()

    @property
    def pauses(self) -> dict[str, float]:
        """Seconds until each is due."""
        return {key: due - self._clock() for key, due in self._due.items()}

    def _lane(self, key: str) -> DeliveryLane:
        row = self.rows[key]
        return DeliveryLane.of(row.sink, row.job.tenant, row.job.webhook)

    async def due_lanes(self) -> Sequence[DeliveryLane]:
        if self.broken:
            raise OSError("broken")
        self.queries += 1
        return list(dict.fromkeys(self._lane(key) for key, at in self._due.items() if at <= self._clock()))

    async def take_due(self, room: Mapping[DeliveryLane, int], lease_s: float) -> Sequence[Due]:
        if self.broken:
            raise OSError("broken")
        now, left = self._clock(), dict(room)
        taken = []
        for key, at in self._due.items():
            lane = self._lane(key)
            if at <= now and left.get(lane):
                left[lane] -= 1
                taken.append(key)
        for key in taken:
            self._due[key] = now + lease_s
            self.rows[key] = replace(self.rows[key], attempt=self.rows[key].attempt + 1)
            self.taken.append(self.rows[key])
        return [self.rows[key] for key in taken]

    async def put_back(self, due: Due, after_s: float) -> None:
        self._due[due.id] = self._clock() + after_s
        self.rows[due.id] = replace(self.rows[due.id], attempt=due.attempt - 1)

    async def delivered(self, due: Due) -> None:
        self._end(due)
        self.done.append(due.id)

    async def later(self, due: Due, after_s: float, error: str) -> None:
        if self.broken:
            raise OSError("broken")
        self._due[due.id] = self._clock() + after_s
        self.errors[due.id] = error

    async def dead(self, due: Due, error: str) -> None:
        self._end(due)
        self.gone.append(due.id)
        self.errors[due.id] = error

    def _end(self, due: Due) -> None:
        if self.broken:
            raise OSError("broken")
        del self._due[due.id]
