"""Pages that take the engine down are found among others, and refused."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress

import anyio
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import given
from hypothesis import strategies as st

from inkgate.caller import NO_CALLER, Caller
from inkgate.errors import EngineFailed, InputRejected
from inkgate.page import Page
from inkgate.service.page import NO_SERVER
from inkgate.serving.quarantine import Quarantine, QuarantineSettings
from inkgate_client.types import PageResult, Task
from support.page_readers import engine_queue, page_reader
from support.scheduling import SchedulerBench
from support.scripted_engine import KeyedPage, ScriptedEngine

pytestmark = pytest.mark.anyio

SETTINGS = QuarantineSettings(deaths=2.0, for_s=600.0, most=8)
DEATH = EngineFailed("upstream_cut_off", "It died.")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def quarantine(clock: Clock) -> Quarantine:
    return Quarantine(SETTINGS, clock)


def refused(quarantine: Quarantine, keys: Sequence[bytes]) -> list[bytes]:
    found = []
    for key in keys:
        try:
            quarantine.check(key)
        except InputRejected as error:
            found.append(key)
            if error.code != "content_quarantined":
                raise
    return found


async def fatal_read(quarantine: Quarantine, *keys: bytes) -> None:
    """The engine dies while it reads `keys`."""
    async with AsyncExitStack() as stack:
        stack.enter_context(suppress(EngineFailed))
        for key in keys:
            await stack.enter_async_context(quarantine.reading(key))
        quarantine.died(keys)
        raise DEATH


async def test_what_took_it_down_twice_is_refused_for_a_while(quarantine: Quarantine, clock: Clock) -> None:
    await fatal_read(quarantine, b"a")
    assert refused(quarantine, [b"a"]) == []
    await fatal_read(quarantine, b"a")
    assert refused(quarantine, [b"a", b"b"]) == [b"a"]
    with pytest.raises(InputRejected, match="content_quarantined"):
        async with quarantine.reading(b"a"):
            pytest.fail("it was let in")
    clock.now += SETTINGS.for_s
    assert refused(quarantine, [b"a"]) == []


async def test_suspects_that_die_together_share_the_blame(quarantine: Quarantine) -> None:
    for _ in range(4):
        quarantine.died([b"a", b"b"])
    assert refused(quarantine, [b"a", b"b"]) == []
    quarantine.died([b"a", b"b", b"c"])
    assert refused(quarantine, [b"a", b"b", b"c"]) == [b"a", b"b"]


async def test_a_suspect_among_others_has_all_the_blame(quarantine: Quarantine) -> None:
    await fatal_read(quarantine, b"a")
    await fatal_read(quarantine, b"a", b"b", b"c", b"d")
    assert refused(quarantine, [b"a", b"b", b"c", b"d"]) == [b"a"]


async def test_a_read_that_goes_well_acquits(quarantine: Quarantine) -> None:
    await fatal_read(quarantine, b"a")
    async with quarantine.reading(b"a"):
        pass
    await fatal_read(quarantine, b"a")
    assert refused(quarantine, [b"a"]) == []


async def test_who_was_not_in_the_server_that_died_is_no_suspect(quarantine: Quarantine) -> None:
    for _ in range(3):
        async with quarantine.reading(b"elsewhere"):
            quarantine.died([b"fatal", b"other", b""])
    assert quarantine._blame_of(b"elsewhere") is None


async def test_a_page_beside_a_chat_is_a_suspect_and_not_blamed(quarantine: Quarantine) -> None:
    quarantine.died([b"a", b""])
    assert quarantine._blame_of(b"a") == 0.0
    quarantine.died([b"a", b""])
    assert refused(quarantine, [b"a"]) == []
    quarantine.died([b"a", b""])
    assert refused(quarantine, [b"a"]) == [b"a"]


async def test_innocent_pages_are_not_blamed_for_one_death(quarantine: Quarantine) -> None:
    for number in range(20):
        quarantine.died([b"%d" % number, b"other %d" % number])
    assert {blame for blame, _ in quarantine._blame.values()} == {0.0}


async def test_a_death_while_a_page_is_read_in_part_is_not_forgiven(quarantine: Quarantine) -> None:
    for _ in range(2):
        async with quarantine.reading(b"a"):
            quarantine.died([b"a"])
    assert refused(quarantine, [b"a"]) == [b"a"]


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=1), st.sampled_from(["died", "failed", "read"])), max_size=60))
async def test_it_remembers_no_more_than_it_may(events: list[tuple[bytes, str]]) -> None:
    quarantine = Quarantine(SETTINGS, Clock())
    for key, event in events:
        with suppress(EngineFailed, InputRejected):
            async with quarantine.reading(key):
                if event == "died":
                    quarantine.died([key])
                if event != "read":
                    raise DEATH
    assert len(quarantine._blame) <= SETTINGS.most


class MortalEngine:
    """An Engine that one page takes down: all reads fail with it."""

    name = "mortal"

    def __init__(self, quarantine: Quarantine, fatal: bytes) -> None:
        self.deaths = 0
        self._quarantine = quarantine
        self._fatal = fatal
        self._dead = anyio.Event()
        self._reading: list[bytes] = []

    async def start(self) -> None:
        """Is ready."""

    async def stop(self) -> None:
        """Holds nothing."""

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        dead = self._dead
        self._reading.append(page.content_key)
        try:
            return await self._read(page, dead)
        finally:
            self._reading.remove(page.content_key)

    async def _read(self, page: Page, dead: anyio.Event) -> PageResult:
        for _ in range(3):
            await checkpoint()
            if dead.is_set():
                raise DEATH
        if page.content_key == self._fatal:
            self._dead = anyio.Event()
            self.deaths += 1
            dead.set()
            self._quarantine.died(self._reading)
            raise DEATH
        return PageResult(page.index)


@pytest.mark.parametrize("count", [1, 2, 16, 64])
async def test_one_fatal_page_among_many_that_are_tried_again_is_found_after_three_deaths(count: int) -> None:
    quarantine = Quarantine(QuarantineSettings(), Clock())
    mortal = MortalEngine(quarantine, b"0")
    engine = page_reader(mortal, quarantine=quarantine)
    outcomes: dict[bytes, str] = {}

    async def read(key: bytes) -> None:
        while key not in outcomes:
            try:
                await engine.read(KeyedPage(key), Task(), NO_CALLER)
                outcomes[key] = "read"
            except InputRejected as error:
                outcomes[key] = error.code
            except EngineFailed:
                await checkpoint()

    keys = [b"%d" % number for number in range(count)]
    async with anyio.create_task_group() as tasks:
        for key in keys:
            tasks.start_soon(read, key)
    assert outcomes == dict.fromkeys(keys, "read") | {b"0": "content_quarantined"}
    assert mortal.deaths <= 3


async def test_suspects_wait_without_a_place_at_the_engine() -> None:
    quarantine = Quarantine(SETTINGS)
    quarantine.died([b"0", b"1", b"2"])
    go = anyio.Event()
    read: list[int] = []

    async def script(index: int) -> None:
        if index == 0:
            await go.wait()
        read.append(index)

    house = SchedulerBench(places=2)
    engine = page_reader(ScriptedEngine(script), queue=engine_queue(house.work_queue), quarantine=quarantine)
    async with anyio.create_task_group() as tasks:
        for index in (0, 1, 2, 7):
            tasks.start_soon(engine.read, KeyedPage(b"%d" % index, index), Task(), NO_CALLER)
            await anyio.wait_all_tasks_blocked()
        assert (read, house.work_queue.in_flight) == ([7], 1)
        go.set()
    assert read == [7, 0, 1, 2]


async def test_a_page_that_another_engine_read_stays_a_suspect() -> None:
    quarantine = Quarantine(SETTINGS)

    async def gone(_: int) -> None:
        raise EngineFailed("upstream_unreachable", "It is being restarted.")

    engine = page_reader(ScriptedEngine(gone), embedded=ScriptedEngine(), quarantine=quarantine)
    quarantine.died([b"a"])
    result = await engine.read(KeyedPage(b"a"), Task(), NO_CALLER)
    assert result.degraded == (NO_SERVER,)
    quarantine.died([b"a"])
    assert refused(quarantine, [b"a"]) == [b"a"]
