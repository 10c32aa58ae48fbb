"""The most memory that a service took while it was measured, looked at twice a second."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager

import anyio

from inkgate.concurrency import Threads, single_error
from inkgate.telemetry.gpu import GpuReader, GpuUnavailable, NvmlReader
from inkgate.telemetry.processes import tree_bytes

EVERY_S = 0.5
MB = 1e6


def gpu_bytes(reader: GpuReader | None) -> int | None:
    """Memory taken of all GPUs together, whoever took it; None where they don't say. Blocking, for milliseconds."""
    if reader is None:
        return None
    try:
        taken = [gpu.memory_used for gpu in reader.read()]
    except GpuUnavailable:
        return None
    known = [used for used in taken if used is not None]
    return sum(known) if known else None


class Peak:
    """The highest of what was looked at; None before the first look."""

    def __init__(self) -> None:
        self.most: int | None = None

    def see(self, taken: int | None) -> None:
        """One look. None, and nothing at all, are what is not known."""
        if taken:
            self.most = max(self.most or 0, taken)

    def megabytes(self, before: int = 0) -> float | None:
        """Beyond `before` bytes."""
        return None if self.most is None else max(0, self.most - before) / MB


class MemoryWatch:
    """Looks at a process tree and at the GPUs; from the moment it is made, which is to be before the start."""

    def __init__(self, gpus: GpuReader | None, resident: Callable[[int], int] = tree_bytes) -> None:
        self._gpus = gpus
        self._resident = resident
        self._threads = Threads("memory_watch", 1)
        self._before = gpu_bytes(gpus)
        self._tree, self._gpu = Peak(), Peak()

    @property
    def memory_mb(self) -> float | None:
        return self._tree.megabytes()

    @property
    def gpu_memory_mb(self) -> float | None:
        return self._gpu.megabytes(self._before or 0)

    async def look(self, pid: int | None) -> None:
        """Once."""
        await self._threads.run(self._look, pid)

    def _look(self, pid: int | None) -> None:
        self._tree.see(None if pid is None else self._resident(pid))
        self._gpu.see(gpu_bytes(self._gpus))

    @asynccontextmanager
    async def watching(self, pid: Callable[[], int | None]) -> AsyncIterator[None]:
        """Looks again and again while the block runs."""

        async def run() -> None:
            while True:
                await self.look(pid())
                await anyio.sleep(EVERY_S)

        with single_error():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run)
                try:
                    yield
                finally:
                    tasks.cancel_scope.cancel()


def gpu_reader(stack: ExitStack) -> GpuReader | None:
    """NVIDIA's GPUs of this machine, until `stack` is left; None where there is none, or nothing to read them with."""
    try:
        return stack.enter_context(NvmlReader())
    except GpuUnavailable:
        return None
