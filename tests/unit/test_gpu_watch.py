"""When a GPU's own trouble stops calls, when they begin again, and which readings are kept."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Self

import anyio
import anyio.lowlevel
import pytest
from structlog.testing import capture_logs

from inkgate.serving.breaker import Breaker, BreakerState
from inkgate.serving.gpu_watch import GpuWatch, gpu_watch
from inkgate.settings import EngineSettings, GpuMonitoring, GpuSettings, ServingSettings, Settings, VllmSettings
from inkgate.telemetry.gpu import GpuReader, GpuUnavailable
from inkgate_client.telemetry.state import Gpu
from support.clock import Clock
from support.gpu import RecordedGpu

pytestmark = pytest.mark.anyio

GIB = 1 << 30
WELL = Gpu(0, temperature_c=70.0, memory_used=20 * GIB, memory_total=24 * GIB)
HOT = replace(WELL, temperature_c=91.0)
WARM = replace(WELL, temperature_c=87.0)
THROTTLED = replace(WELL, throttled=("thermal",))
FULL = replace(WELL, memory_used=24 * GIB - 1)
LOST = GpuUnavailable("A GPU does not answer any more.")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker("the engine", clock=clock)


def no_reader() -> AbstractContextManager[GpuReader]:
    raise GpuUnavailable("NVIDIA's driver can't be reached.")


class WatchBench:
    """A breaker and the watch over one GPU, which is read every two seconds."""

    def __init__(
        self, breaker: Breaker, clock: Clock, settings: GpuSettings | None = None, *, own_engine: bool = True
    ) -> None:
        self._clock = clock
        self._breaker = breaker
        self._watch = GpuWatch(no_reader, settings or GpuSettings(), breaker, own_engine=own_engine, clock=clock)

    async def after(self, *readings: Gpu | GpuUnavailable) -> BreakerState:
        """The breaker's state after these readings."""
        reader = RecordedGpu(*(each if isinstance(each, GpuUnavailable) else (each,) for each in readings))
        for _ in readings:
            self._clock.goes_on(2.0)
            await self._watch.look(reader)
        return self._breaker.state


@pytest.fixture
def watched(breaker: Breaker, clock: Clock) -> WatchBench:
    return WatchBench(breaker, clock)


async def test_a_gpu_that_is_well_stops_nothing(watched: WatchBench, breaker: Breaker) -> None:
    assert (
        await watched.after(WELL, replace(WELL, throttled=("power",), utilisation=1.0), Gpu(0)) is BreakerState.CLOSED
    )
    assert breaker.opened == 0


async def test_one_that_is_too_hot_stops_calls_until_it_has_cooled(watched: WatchBench, breaker: Breaker) -> None:
    assert await watched.after(HOT) is BreakerState.OPEN
    assert breaker.why == "a GPU is too hot"
    assert await watched.after(*[WARM] * 30) is BreakerState.OPEN  # not yet 5 °C cooler
    assert await watched.after(WELL, WELL, WELL) is BreakerState.HALF_OPEN
    for _ in range(2):
        async with breaker.guard():
            pass
    assert await watched.after(WELL, WARM) is BreakerState.CLOSED


async def test_heat_during_probes_opens_it_again(watched: WatchBench, breaker: Breaker) -> None:
    await watched.after(HOT, WELL, WELL, WELL)
    assert await watched.after(HOT) is BreakerState.OPEN
    assert breaker.opened == 2


async def test_being_slowed_down_by_heat_counts_once_it_lasts(watched: WatchBench, breaker: Breaker) -> None:
    assert await watched.after(THROTTLED, THROTTLED, THROTTLED, THROTTLED, THROTTLED) is BreakerState.CLOSED
    assert await watched.after(WELL, THROTTLED) is BreakerState.CLOSED  # it starts again
    assert await watched.after(*[THROTTLED] * 5) is BreakerState.OPEN
    assert breaker.why == "a GPU is slowed down by heat"


async def test_memory_that_stays_full_stops_calls_once(watched: WatchBench, breaker: Breaker) -> None:
    """An engine gives nothing of its memory back: it would be stopped for ever."""
    assert await watched.after(FULL) is BreakerState.OPEN
    assert await watched.after(FULL, FULL, FULL) is BreakerState.HALF_OPEN
    assert await watched.after(WELL, FULL) is BreakerState.OPEN
    assert (breaker.opened, breaker.why) == (2, "a GPU is out of memory")


async def test_memory_that_others_fill_is_theirs(breaker: Breaker, clock: Clock) -> None:
    assert await WatchBench(breaker, clock, own_engine=False).after(FULL) is BreakerState.CLOSED


async def test_only_the_gpus_that_were_named_count(breaker: Breaker, clock: Clock) -> None:
    watched = WatchBench(breaker, clock, GpuSettings(gpus=(1,)))
    assert await watched.after(HOT) is BreakerState.CLOSED
    assert await watched.after(replace(HOT, index=1)) is BreakerState.OPEN


async def test_the_log_has_one_line_for_a_trouble_and_one_for_its_end(watched: WatchBench) -> None:
    with capture_logs() as lines:
        await watched.after(HOT, HOT, HOT, WELL, WELL)
    said = [line["event"] for line in lines if line["event"].startswith("gpu")]
    assert said == ["gpu_in_trouble", "gpu_well"]


async def test_a_reader_that_fails_costs_one_line_and_what_was_known(watched: WatchBench, breaker: Breaker) -> None:
    with capture_logs() as lines:
        assert await watched.after(THROTTLED, LOST, LOST, LOST, *[THROTTLED] * 3) is BreakerState.CLOSED
    assert [line["event"] for line in lines] == ["gpus_not_read"]
    assert breaker.opened == 0


async def test_without_a_reader_it_says_so_and_ends(breaker: Breaker) -> None:
    with capture_logs() as lines:
        await GpuWatch(no_reader, GpuSettings(), breaker).run()
        await GpuWatch(no_reader, GpuSettings()).run()
    assert [(line["event"], line["log_level"]) for line in lines] == [
        ("gpus_not_watched", "info"),
        ("gpus_not_watched", "debug"),
    ]


class OpenableGpu(RecordedGpu):
    """A reader that is open from `with` to its end."""

    open = False

    def __enter__(self) -> Self:
        self.open = True
        return self

    def __exit__(self, *_: object) -> None:
        self.open = False


async def test_it_reads_until_it_is_cancelled_and_lets_go_then(breaker: Breaker) -> None:
    reader = OpenableGpu((HOT,))
    watch = GpuWatch(lambda: reader, GpuSettings(), breaker)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch.run)
            while not breaker.opened:
                await anyio.lowlevel.checkpoint()
            during = reader.open, watch.readings
            tasks.cancel_scope.cancel()
    assert during == (True, (HOT,))
    assert (reader.open, watch.readings) == (False, ())


async def test_the_last_reading_of_the_chosen_gpus_is_kept_without_a_breaker_too() -> None:
    watch = GpuWatch(no_reader, GpuSettings(gpus=(1,)))
    two, seen = (WELL, replace(HOT, index=1)), [watch.readings]
    for reader in (RecordedGpu(two), RecordedGpu(LOST)):
        await watch.look(reader)
        seen.append(watch.readings)
    assert seen == [(), two[1:], ()]


@pytest.mark.parametrize(
    ("urls", "watches"),
    [
        ((), 1),
        (("http://127.0.0.1:8000/v1", "http://localhost:8001/v1", "http://[::1]:8002/v1"), 1),
        (("http://127.0.0.1:8000/v1", "http://10.0.0.2:8000/v1"), 0),
    ],
)
async def test_gpus_of_this_machine_are_watched_for_servers_on_it(
    breaker: Breaker, urls: tuple[str, ...], watches: int
) -> None:
    settings = Settings(engine=EngineSettings(name="vllm", vllm=VllmSettings(urls=urls)))
    watch = gpu_watch(settings, breaker)
    assert watch is not None
    await watch.look(RecordedGpu((HOT,)))
    assert (breaker.opened, watch.readings) == (watches, (HOT,))


def test_gpus_are_left_alone_where_the_settings_say_so() -> None:
    assert gpu_watch(Settings(), None) is not None
    assert gpu_watch(Settings(serving=ServingSettings(gpu=GpuSettings(enabled=GpuMonitoring.NEVER))), None) is None
