"""The virtual clock: it jumps, in order, and says when nothing can happen any more."""

from __future__ import annotations

import anyio
import pytest

from benchmarks.simulate import clock


def test_a_night_of_sleep_passes_in_no_time() -> None:
    async def main() -> float:
        await anyio.sleep(8 * 3600)
        return anyio.current_time()

    assert clock.run(main) == pytest.approx(8 * 3600)


def test_timers_fire_in_the_order_of_their_times() -> None:
    fired: list[tuple[float, str]] = []

    async def fire(after_s: float, name: str) -> None:
        await anyio.sleep(after_s)
        fired.append((round(anyio.current_time(), 6), name))

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            for after_s, name in ((3.0, "c"), (1.0, "a"), (200_000.5, "d"), (2.0, "b")):
                tasks.start_soon(fire, after_s, name)

    clock.run(main)
    assert fired == [(1.0, "a"), (2.0, "b"), (3.0, "c"), (200_000.5, "d")]


def test_a_cancel_scope_ends_at_its_deadline() -> None:
    async def main() -> float:
        with anyio.move_on_after(5) as scope:
            await anyio.sleep(60)
        assert scope.cancelled_caught
        return anyio.current_time()

    assert clock.run(main) == pytest.approx(5)


def test_waiting_for_what_cannot_come_is_an_error() -> None:
    async def main() -> None:
        await anyio.Event().wait()

    with pytest.raises(clock.Deadlock, match="no timer"):
        clock.run(main)
