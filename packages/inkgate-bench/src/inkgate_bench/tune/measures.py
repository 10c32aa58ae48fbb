"""What a trial measures beside the load: processor time of other programs, and accuracy."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any

import psutil

from inkgate import __version__
from inkgate.engines.workers.shares import usable_cpus
from inkgate.telemetry.processes import used_s
from inkgate_bench.accuracy.candidates import Transcript, transcript
from inkgate_bench.accuracy.manifest import Entry
from inkgate_bench.accuracy.scores import score
from inkgate_bench.tune.parameters import QUALITY
from inkgate_bench.tune.results import Settings, Value
from inkgate_client import AsyncInkgateClient, ReadOptions

MAX_DOCUMENTS = 40
"""Chosen evenly among more: to read all of them would take the time of the search."""
_AT_ONCE = 4


class OtherLoad:
    """Processor time that other programs take from its creation on: the settings are not to blame for it.

    This process and all below it, such as the service of a trial, are not others.
    """

    def __init__(
        self, times: Callable[[], Any] = psutil.cpu_times, usable: Callable[[], Sequence[int]] = usable_cpus
    ) -> None:
        """`times`: of the machine's processors, as psutil has them; `usable`: those that this process may use."""
        self._times = times
        self._whole_machine = len(usable()) == os.cpu_count()
        self._began, self._machine_s, self._ours = perf_counter(), used_s(times()), _our_processor_time()

    def cores(self) -> float | None:
        """Processor cores that others took since then, on average; other guests of a hypervisor too, if it tells.

        None if we may use only a part of the machine: load on the rest of it disturbs nobody. The time of our processes
        that have ended since is unknown and counts as other load. Blocking, some milliseconds.
        """
        if not self._whole_machine:
            return None
        seconds, machine_s = perf_counter() - self._began, used_s(self._times()) - self._machine_s
        ours = sum(spent - self._ours.get(process, 0.0) for process, spent in _our_processor_time().items())
        return max(0.0, machine_s - ours) / max(seconds, 1e-9)


def _our_processor_time() -> dict[tuple[int, float], float]:
    """Seconds of each of our processes, by its pid and start."""
    found = {}
    root = psutil.Process(os.getpid())
    for process in (root, *root.children(recursive=True)):
        with suppress(psutil.Error), process.oneshot():  # it has ended
            spent = process.cpu_times()
            found[process.pid, process.create_time()] = spent.user + spent.system
    return found


class AccuracyCheck:
    """Shares of characters read correctly, measured once for all settings that read alike."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        """`entries`: those without a true text are left out."""
        scored = [entry for entry in entries if entry.text is not None]
        step = max(1.0, len(scored) / MAX_DOCUMENTS)
        self.entries = tuple(scored[int(number * step)] for number in range(min(len(scored), MAX_DOCUMENTS)))
        self._known: dict[tuple[tuple[str, Value], ...], float] = {}

    async def of(self, url: str, settings: Settings) -> float:
        """1 minus the character error rate of all documents together, as the service at `url` reads them."""
        alike = tuple((path, settings[path]) for path in sorted(QUALITY & settings.keys()))
        if alike not in self._known:
            self._known[alike] = await self._measure(url)
        return self._known[alike]

    async def _measure(self, url: str) -> float:
        async with AsyncInkgateClient(url) as client:
            scores = await score(_ServiceCandidate(client), self.entries, lambda _name, _entry: None)
        errors = [file.errors for file in scores.files if file.errors is not None]
        characters = sum(each.characters for each in errors)
        return 1 - sum(each.edits for each in errors) / characters if characters else 1.0


class _ServiceCandidate:
    """The service as a Candidate."""

    name = "service"
    version = __version__
    parallel = _AT_ONCE

    def __init__(self, client: AsyncInkgateClient) -> None:
        self._client = client

    async def read(self, entry: Entry) -> Transcript:
        """Reads it as text. Raises ServiceError."""
        return transcript(await self._client.read(entry.file, ReadOptions()))
