"""Background tasks that fail: none ends what runs beside it."""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import anyio.lowlevel
import pytest
from structlog.testing import capture_logs

from inkgate.supervision import BackgroundTask, Pauses, Supervisor
from support.clock import Clock
from support.virtual_time import VIRTUAL_TIME, Backend

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> Backend:
    return VIRTUAL_TIME


def no_pauses() -> Pauses:
    return Pauses(0.0, 0.0, 60.0)


class FlakyTask:
    """A task that raises the given errors, one per run, and then works until it is cancelled."""

    def __init__(self, *failures: Exception) -> None:
        self.failures: Iterator[Exception] = iter(failures)
        self.works = anyio.Event()
        self.runs = 0

    async def run(self) -> None:
        self.runs += 1
        await anyio.lowlevel.checkpoint()
        for failure in self.failures:
            raise failure
        self.works.set()
        await anyio.sleep_forever()


async def test_a_task_that_fails_is_logged_counted_and_started_again() -> None:
    supervisor, flaky = Supervisor(pauses=no_pauses), FlakyTask(OSError(24, "Too many open files"), KeyError("x"))
    with capture_logs() as logs:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(supervisor.keep, BackgroundTask("history", flaky.run))
            with anyio.fail_after(60):
                await flaky.works.wait()
            (task,) = supervisor.tasks
            assert (task.name, task.failures, task.error, task.running) == ("history", 2, "KeyError", True)
            assert task.next_try_at is None
            tasks.cancel_scope.cancel()
    told = [(line["event"], line["task"], line["log_level"]) for line in logs]
    assert told == [("background_task_failed", "history", "error")] * 2
    assert not task.running


async def test_of_a_group_the_first_error_is_told() -> None:
    supervisor = Supervisor(pauses=no_pauses)
    flaky = FlakyTask(ExceptionGroup("of a task group", [ExceptionGroup("of another", [ValueError("deep")])]))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(supervisor.keep, BackgroundTask("history", flaky.run))
        with anyio.fail_after(60):
            await flaky.works.wait()
        assert supervisor.tasks[0].error == "ValueError"
        tasks.cancel_scope.cancel()


async def test_a_task_that_fails_at_once_and_for_good_waits_longer_each_time() -> None:
    clock = Clock()
    supervisor = Supervisor(clock)

    async def run() -> None:
        raise RuntimeError

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(supervisor.keep, BackgroundTask("history", run))
        with anyio.fail_after(60):
            while not supervisor.tasks or supervisor.tasks[0].failures < 3:  # noqa: ASYNC110 - two pauses, 0.3 s
                await anyio.sleep(0.01)
        (task,) = supervisor.tasks
        assert task.next_try_at == pytest.approx(clock() + 0.4)
        tasks.cancel_scope.cancel()


async def test_one_that_keeps_failing_is_complained_of_until_it_has_worked_for_a_minute() -> None:
    clock = Clock()
    supervisor = Supervisor(clock, no_pauses)
    flaky, needed = FlakyTask(*[OSError()] * 3), FlakyTask(*[OSError()] * 2)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(supervisor.keep, BackgroundTask("flaky", flaky.run))
        tasks.start_soon(supervisor.keep, BackgroundTask("needed", needed.run, needed=True))
        with anyio.fail_after(60):
            await flaky.works.wait()
            await needed.works.wait()
        assert supervisor.complaints(needed=False) == ["background: flaky keeps failing"]
        assert supervisor.complaints(needed=True) == []
        clock.goes_on(60.0)
        assert supervisor.complaints(needed=False) == []
        tasks.cancel_scope.cancel()


async def test_a_task_that_is_over_is_not_started_again() -> None:
    runs: list[int] = []

    async def run() -> None:
        runs.append(1)

    supervisor = Supervisor(pauses=no_pauses)
    await supervisor.keep(BackgroundTask("gpu_readings", run))
    (task,) = supervisor.tasks
    assert (len(runs), task.running, task.failures) == (1, False, 0)


async def test_a_log_that_cannot_be_written_ends_nothing() -> None:
    supervisor, flaky = Supervisor(pauses=no_pauses), FlakyTask(OSError())

    def full(*_: object) -> str:
        raise OSError(28, "No space left on device")

    with capture_logs(processors=[full]):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(supervisor.keep, BackgroundTask("history", flaky.run))
            with anyio.fail_after(60):
                await flaky.works.wait()
            tasks.cancel_scope.cancel()
