"""A service of a trial while it is under load: its memory, its model server, and whether that died."""

from __future__ import annotations

from dataclasses import replace

import anyio

from inkgate.bench.load.readings import COMPUTING, Reading, of_state, restarts_of, summed_up
from inkgate.bench.load.results import ServerSide
from inkgate.client import InkgateClient, ServiceError
from inkgate.concurrency import Threads
from inkgate.telemetry.processes import tree_bytes
from inkgate.telemetry.state import State

LOOKED_EVERY_S = 0.5


def memory_of(pid: int) -> float | None:
    """Resident MB of a process and of all below it; None where it is gone."""
    return tree_bytes(pid) / 1e6 or None


class Watched:
    """All that was seen of one service from `first` on. `died` is set when something that computes has died."""

    def __init__(self, first: State) -> None:
        self._before = restarts_of(first)
        self._restarts = 0
        self._readings: list[Reading] = []
        self.died = anyio.Event()

    def add(self, state: State | None, memory_mb: float | None) -> None:
        """One look: what it said of itself (None where it did not answer), and the memory of all its processes."""
        reading = Reading() if state is None else of_state(state)
        self._readings.append(replace(reading, memory_mb=memory_mb))
        if state is None:
            return
        gone = sum(process.kind in COMPUTING and not process.pid for process in state.processes)
        self._restarts = max(self._restarts, restarts_of(state) + gone - self._before)
        if self._restarts:
            self.died.set()

    def summary(self) -> ServerSide:
        """Everything together. Restarts: of what was there, or is gone; a process that was first needed is none."""
        return replace(summed_up(self._readings), restarts=self._restarts)


class Watcher:
    """Looks at the service behind `client`, whose process is `pid`, and tells `watched`."""

    def __init__(self, client: InkgateClient, pid: int | None, watched: Watched) -> None:
        self._client = client
        self._pid = pid
        self._watched = watched
        # Not on the load's thread: what that spends on this would be lateness of the load.
        self._threads = Threads("watch", 1)

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await self.look()
            await anyio.sleep(LOOKED_EVERY_S)

    async def look(self) -> None:
        """Once."""
        state, memory_mb = await self._threads.run(self._seen)
        self._watched.add(state, memory_mb)

    def _seen(self) -> tuple[State | None, float | None]:
        memory_mb = None if self._pid is None else memory_of(self._pid)
        try:
            return self._client.state(), memory_mb
        except ServiceError:  # too busy to say it, or gone: its process tells which
            return None, memory_mb
