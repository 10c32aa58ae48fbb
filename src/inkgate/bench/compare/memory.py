"""Peak memory of a service while it is measured, sampled twice a second."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager

import anyio

from inkgate.concurrency import Threads, single_error
from inkgate.telemetry.gpu import GpuReader, GpuUnavailable, NvmlReader
from inkgate.telemetry.processes import tree_bytes

EVERY_S = 0.5


class MemoryMonitor:
    """Peaks of a process tree and of all GPUs, whoever uses them. Make it before the service starts.

    `memory_mb`, `gpu_memory_mb`: in MB of a million bytes, None where unknown; of GPUs, beyond what was used before.
    """

    def __init__(self, gpus: GpuReader | None, resident: Callable[[int], int] = tree_bytes) -> None:
        self._gpus = gpus
        self._resident = resident
        self._threads = Threads("memory_monitor", 1)
        self._gpu_before = gpu_bytes(gpus) or 0
        self.memory_mb: float | None = None
        self.gpu_memory_mb: float | None = None

    async def sample(self, pid: int | None) -> None:
        """Reads both once."""
        await self._threads.run(self._sample, pid)

    def _sample(self, pid: int | None) -> None:
        resident = 0 if pid is None else self._resident(pid)
        if resident:
            self.memory_mb = max(self.memory_mb or 0.0, resident / 1e6)
        gpu = gpu_bytes(self._gpus)
        if gpu:
            self.gpu_memory_mb = max(self.gpu_memory_mb or 0.0, (gpu - self._gpu_before) / 1e6)

    @asynccontextmanager
    async def running(self, pid: Callable[[], int | None]) -> AsyncIterator[None]:
        """Samples while the block runs."""

        async def run() -> None:
            while True:
                await self.sample(pid())
                await anyio.sleep(EVERY_S)

        with single_error():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run)
                try:
                    yield
                finally:
                    tasks.cancel_scope.cancel()


def gpu_bytes(reader: GpuReader | None) -> int | None:
    """Used memory of all GPUs; None where they don't report it. Blocks for milliseconds."""
    if reader is None:
        return None
    try:
        used = [gpu.memory_used for gpu in reader.read() if gpu.memory_used is not None]
    except GpuUnavailable:
        return None
    return sum(used) if used else None


def gpu_reader(stack: ExitStack) -> GpuReader | None:
    """NVIDIA's GPUs of this machine, until `stack` is left; None where there is none, or no library for them."""
    try:
        return stack.enter_context(NvmlReader())
    except GpuUnavailable:
        return None
