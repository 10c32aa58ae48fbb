"""Watches a service under load: its memory, its model server, and whether one of its processes died."""

from __future__ import annotations

from dataclasses import replace

import anyio

from inkgate.bench.load.readings import COMPUTING, of_state, restarts_of, summarize_readings
from inkgate.bench.load.results import ServerSide
from inkgate.client import InkgateClient, ServiceError
from inkgate.concurrency import Threads
from inkgate.telemetry.processes import tree_bytes
from inkgate.telemetry.state import State

_INTERVAL_S = 0.5


def memory_of(pid: int) -> float | None:
    """Resident MB of a process and of all below it; None if it is gone."""
    return tree_bytes(pid) / 1e6 or None


class ServiceWatch:
    """Readings of one service from its state `first` on. `died` is set when a process of its engine has died."""

    def __init__(self, client: InkgateClient, pid: int | None, first: State) -> None:
        self._client = client
        self._pid = pid
        self._restarts_before = restarts_of(first)
        self._restarts = 0
        self._readings: list[ServerSide] = []
        self.died = anyio.Event()
        # Not on the thread of the load: that would delay requests.
        self._threads = Threads("watch", 1)

    async def run(self) -> None:
        """Looks twice a second until it is cancelled."""
        while True:
            await self.look()
            await anyio.sleep(_INTERVAL_S)

    async def look(self) -> None:
        """Adds one reading."""
        self.add(*await self._threads.run(self._read))

    def add(self, state: State | None, memory_mb: float | None) -> None:
        """A reading: the service's state (None if it did not answer), and the memory of all its processes."""
        reading = ServerSide() if state is None else of_state(state)
        self._readings.append(replace(reading, memory_mb=memory_mb))
        if state is None:
            return
        gone = sum(process.kind in COMPUTING and not process.pid for process in state.processes)
        self._restarts = max(self._restarts, restarts_of(state) + gone - self._restarts_before)
        if self._restarts:
            self.died.set()

    def summary(self) -> ServerSide:
        """All readings together. A process that was first needed under load is no restart."""
        return replace(summarize_readings(self._readings), restarts=self._restarts)

    def _read(self) -> tuple[State | None, float | None]:
        memory_mb = None if self._pid is None else memory_of(self._pid)
        try:
            return self._client.state(), memory_mb
        except ServiceError:  # too busy to answer, or gone: its process tells which
            return None, memory_mb
