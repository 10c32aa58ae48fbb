"""The last reading of GPUs is kept, whichever reader made it, and refreshed if there is no other reader."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import anyio
import anyio.lowlevel
import pytest

from inkgate.serving.gpu_watch import LastRead, gpu_background
from inkgate.settings import Settings
from inkgate.telemetry.gpu import GpuReader, GpuUnavailable
from inkgate.telemetry.state import Gpu
from support.gpu import RecordedGpu

pytestmark = pytest.mark.anyio

TWO = (Gpu(0, temperature_c=61.0), Gpu(1, temperature_c=40.0))
LOST = GpuUnavailable("A GPU does not answer any more.")


def opening(*recorded: tuple[Gpu, ...] | GpuUnavailable) -> Callable[[], AbstractContextManager[GpuReader]]:
    reader = RecordedGpu(*recorded)
    return lambda: nullcontext(reader)


def test_the_last_reading_is_kept_until_the_reader_is_closed() -> None:
    last = LastRead(opening(TWO))
    with last.open() as reader:
        before = last.readings
        assert reader.read() == TWO
        assert (before, last.readings) == ((), TWO)
    assert last.readings == ()


def test_nothing_is_kept_of_gpus_that_are_gone() -> None:
    last = LastRead(opening(TWO, LOST))
    with last.open() as reader:
        reader.read()
        with pytest.raises(GpuUnavailable):
            reader.read()
        assert last.readings == ()


def test_only_those_are_kept_that_count() -> None:
    last = LastRead(opening(TWO), only=(1,))
    with last.open() as reader:
        assert reader.read() == TWO
        assert [reading.index for reading in last.readings] == [1]


async def test_it_reads_until_cancelled() -> None:
    last = LastRead(opening(TWO))
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(last.run)
            while last.readings != TWO:
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
    assert last.readings == ()


async def test_a_driver_that_fails_at_first_is_no_error() -> None:
    last = LastRead(opening(LOST, TWO))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(last.run)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert last.readings == ()


async def test_without_a_driver_it_ends() -> None:
    def no_driver() -> AbstractContextManager[GpuReader]:
        raise GpuUnavailable("There is no driver.")

    last = LastRead(no_driver)
    await last.run()
    assert last.readings == ()


def test_without_model_servers_they_are_read_all_the_same() -> None:
    last = LastRead(opening(TWO))
    assert [task.run for task in gpu_background(Settings(), last, None)] == [last.run]
    assert gpu_background(Settings(), None, None) == ()
