"""The most memory that was taken."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from inkgate.telemetry.gpu import GpuUnavailable
from inkgate_bench.compare.run import MemoryMonitor, gpu_bytes
from inkgate_client.telemetry.state import Gpu

MB = 1_000_000


class Gpus:
    """Readings one after the other; None is a driver that has gone."""

    def __init__(self, *taken: Sequence[int | None] | None) -> None:
        self._taken = list(taken)

    def read(self) -> tuple[Gpu, ...]:
        taken = self._taken.pop(0)
        if taken is None:
            raise GpuUnavailable("gone")
        return tuple(Gpu(number, memory_used=used) for number, used in enumerate(taken))


@pytest.mark.anyio
async def test_the_most_that_was_seen_counts_and_of_gpus_what_was_not_there_before() -> None:
    resident = iter([3 * MB, 9 * MB, 4 * MB])
    monitor = MemoryMonitor(Gpus([MB, MB], [5 * MB, MB], None, [2 * MB, 2 * MB]), lambda _: next(resident))
    monitor.begin()
    for _ in range(3):
        await monitor.sample(1)
    assert (monitor.memory_mb, monitor.gpu_memory_mb) == (9.0, 4.0)


@pytest.mark.anyio
async def test_without_a_process_and_gpus_nothing_is_known() -> None:
    monitor = MemoryMonitor(None)
    await monitor.sample(None)
    assert (monitor.memory_mb, monitor.gpu_memory_mb) == (None, None)


def test_gpus_that_do_not_say_are_not_known() -> None:
    assert gpu_bytes(None) is None
    assert gpu_bytes(Gpus([None, None])) is None
    assert gpu_bytes(Gpus([None, MB])) == MB
