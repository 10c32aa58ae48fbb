"""Pages that take the engine down are found among others, and refused."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress

import anyio
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import given
from hypothesis import strategies as st

from inkgate.errors import EngineFailed, InputRejected
from inkgate.serving.quarantine import Quarantine, Quarantined, QuarantineSettings
from inkgate.types import Page, PageResult, Task
from support.scripted_engine import KeyedPage

pytestmark = pytest.mark.anyio

SETTINGS = QuarantineSettings(deaths=2.0, for_s=600.0, grace_s=5.0, most=8)
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
        quarantine.died()
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


async def test_those_read_together_share_the_blame(quarantine: Quarantine) -> None:
    await fatal_read(quarantine, b"a", b"b")
    await fatal_read(quarantine, b"c", b"d")
    quarantine.blamed(b"a")
    quarantine.blamed(b"a", 0.4)
    assert refused(quarantine, [b"a"]) == []
    quarantine.blamed(b"a", 0.1)
    assert refused(quarantine, [b"a", b"b", b"c", b"d"]) == [b"a"]


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


@pytest.mark.parametrize(("noticed_after_s", "blamed"), [(0.0, True), (5.0, True), (5.1, False)])
async def test_a_death_may_be_noticed_after_its_reads_failed(
    quarantine: Quarantine, clock: Clock, noticed_after_s: float, blamed: bool
) -> None:
    for _ in range(2):
        with suppress(EngineFailed):
            async with quarantine.reading(b"a"):
                raise DEATH
        clock.now += noticed_after_s
        quarantine.died()
    assert refused(quarantine, [b"a"]) == [b"a"] * blamed


async def test_one_death_is_one_death_for_each(quarantine: Quarantine) -> None:
    await fatal_read(quarantine, b"a")
    quarantine.died()  # at once again, of something else
    assert refused(quarantine, [b"a"]) == []


async def test_who_left_before_and_who_was_broken_is_not_to_blame(quarantine: Quarantine) -> None:
    for _ in range(2):
        with anyio.CancelScope() as scope:
            async with quarantine.reading(b"left"):
                scope.cancel()
                await checkpoint()
        with suppress(InputRejected):
            async with quarantine.reading(b"broken"):
                raise InputRejected("page_broken", "It is broken.")
        quarantine.died()
    assert refused(quarantine, [b"left", b"broken"]) == []


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=1), st.sampled_from(["died", "failed", "read"])), max_size=60))
async def test_it_remembers_no_more_than_it_may(events: list[tuple[bytes, str]]) -> None:
    quarantine = Quarantine(SETTINGS, Clock())
    for key, event in events:
        with suppress(EngineFailed, InputRejected):
            async with quarantine.reading(key):
                if event == "died":
                    quarantine.died()
                if event != "read":
                    raise DEATH
    assert max(len(quarantine._blame), len(quarantine._failed)) <= SETTINGS.most
    assert not quarantine._reading


class Mortal:
    """An Engine that one page takes down: all reads fail with it, and its death is noticed afterwards."""

    name = "mortal"

    def __init__(self, quarantine: Quarantine, fatal: bytes) -> None:
        self.deaths = 0
        self._quarantine = quarantine
        self._fatal = fatal
        self._dead = anyio.Event()

    async def start(self) -> None:
        """Is ready."""

    async def stop(self) -> None:
        """Holds nothing."""

    async def read(self, page: Page, task: Task) -> PageResult:
        dead = self._dead
        for _ in range(3):
            await checkpoint()
            if dead.is_set():
                raise DEATH
        if page.content_key == self._fatal:
            self._dead = anyio.Event()
            self.deaths += 1
            dead.set()
            for _ in range(3):
                await checkpoint()
            self._quarantine.died()
            raise DEATH
        return PageResult(page.index)


@pytest.mark.parametrize("count", [1, 2, 16, 64])
async def test_one_fatal_page_among_many_that_are_tried_again_is_found_after_three_deaths(count: int) -> None:
    quarantine = Quarantine(QuarantineSettings(), Clock())
    mortal = Mortal(quarantine, b"0")
    engine = Quarantined(mortal, quarantine)
    outcomes: dict[bytes, str] = {}

    async def read(key: bytes) -> None:
        while key not in outcomes:
            try:
                await engine.read(KeyedPage(key), Task())
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
