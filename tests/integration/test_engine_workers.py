"""Engine workers that are killed, hang or fail cost a retry at most: real processes, real signals."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from numpy.typing import NDArray

from inkgate.engines.workers.model import ModelWorkers, model_worker_type
from inkgate.errors import EngineFailed, InputRejected, Overloaded
from support.engine_worker import OddError, command, ramp, running, running_workers
from support.processes import all_ended, children, is_running, mapped_memory, shared_memory

pytestmark = pytest.mark.anyio

HUNG_S = 3.0
"""What a call may take where one hangs. Four times that is the time for another worker to start."""


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """The loop that the service runs on: it leaves descriptors that it watched non-blocking."""
    return "asyncio", {"use_uvloop": True}


async def test_calls_from_many_threads_get_their_own_answers() -> None:
    before, memory_before = children(), shared_memory()
    answers: dict[int, list[float]] = {}
    async with running_workers(workers=2) as pool:

        async def ask(number: int) -> None:
            arrays: list[NDArray[Any]] = [
                ramp(1 + number * 997),
                np.full((number, 3), 2, np.float32),
                ramp(number * 31)[::-2],
            ]
            assert await pool.ask(*arrays) == [float(array.sum()) for array in arrays]
            answers[number] = [0.0]

        async with anyio.create_task_group() as tasks:
            for number in range(40):
                tasks.start_soon(ask, number)
        assert len(set(await pool.ask("pid"))) == 1
    assert len(answers) == 40
    assert children() == before
    assert shared_memory() == memory_before


async def test_two_workers_work_at_once() -> None:
    async with running_workers(workers=2) as pool:
        await pool.alive(2)
        seen: set[int] = set()

        async def ask() -> None:
            seen.update((await pool.ask("pid", ("sleep", 0.2)))[:1])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            tasks.start_soon(ask)
        assert seen == set(pool.pool.pids)


async def test_workers_are_counted_place_by_place() -> None:
    async with running_workers(workers=2) as pool:
        await pool.alive(2)
        before = pool.pool.lives
        os.kill(before[0][0], signal.SIGKILL)
        with anyio.fail_after(60):
            while pool.pool.lives[0][1] == 1 or len(pool.pool.pids) < 2:  # noqa: ASYNC110 - it happens in the pool
                await anyio.sleep(0.01)
        after = pool.pool.lives
    assert [started for _, started in before] == [1, 1]
    assert [started for _, started in after] == [2, 1]
    assert after[1] == before[1]
    assert {pid for pid, _ in pool.pool.lives} == {0}


async def test_a_call_whose_worker_is_killed_is_tried_again(tmp_path: Path) -> None:
    async with running_workers() as pool:
        (first,) = await pool.ask("pid")
        order = ("once", str(tmp_path / "died"))
        assert await pool.ask(ramp(1000), order) == [float(ramp(1000).sum()), order]
        (second,) = await pool.ask("pid")
        assert first != second
        assert not is_running(first)


async def test_a_call_that_kills_workers_fails_and_the_next_is_answered() -> None:
    async with running_workers() as pool:
        with pytest.raises(EngineFailed, match="engine_failed"):
            await pool.ask("crash")
        assert await pool.ask("and on") == ["and on"]


async def test_a_worker_that_is_killed_while_idle_costs_nobody_a_try() -> None:
    async with running_workers(workers=2) as pool:
        await pool.alive(2)
        for pid in pool.pool.pids:
            os.kill(pid, signal.SIGKILL)
        assert all_ended(pool.pool.pids)
        assert await pool.ask("still here") == ["still here"]
        await pool.alive(2)


async def test_a_worker_that_hangs_is_killed_and_its_call_fails_at_the_second() -> None:
    async with running_workers(timeout_s=HUNG_S) as pool:
        (pid,) = await pool.ask("pid")
        with pytest.raises(EngineFailed, match="engine_failed"):
            await pool.ask("hang")
        assert not is_running(pid)
        assert await pool.ask("and on") == ["and on"]


async def test_a_call_for_which_no_worker_becomes_free_is_refused_with_a_time_to_return() -> None:
    refused: list[Overloaded] = []
    async with running_workers(timeout_s=1.0) as pool:
        await pool.ask("ready")

        async def ask() -> None:
            try:
                await pool.ask(("sleep", 0.7))
            except Overloaded as error:
                refused.append(error)

        async with anyio.create_task_group() as tasks:
            for _ in range(12):
                tasks.start_soon(ask)
    assert 0 < len(refused) < 12
    assert {(error.code, error.status, error.retry_after_s) for error in refused} == {("service_full", 503, 10.0)}


async def test_a_stopped_worker_is_replaced() -> None:
    async with running_workers(timeout_s=HUNG_S) as pool:
        (pid,) = await pool.ask("pid")
        os.kill(pid, signal.SIGSTOP)
        (other,) = await pool.ask("pid")
        assert other != pid
        assert not is_running(pid)


async def test_what_a_model_raises_reaches_the_caller_and_the_worker_lives() -> None:
    async with running_workers() as pool:
        (pid,) = await pool.ask("pid")
        with pytest.raises(InputRejected, match="no such luck") as rejected:
            await pool.ask("reject")
        assert "in _obey" in "".join(rejected.value.__notes__)
        with pytest.raises(RuntimeError, match=OddError.__name__):
            await pool.ask("odd")
        with pytest.raises(AttributeError):  # what can't be pickled is never sent
            await pool.ask(lambda: None)
        assert await pool.ask("pid") == [pid]


async def test_signals_to_all_processes_of_a_service_do_not_end_workers() -> None:
    async with running_workers() as pool:
        (pid,) = await pool.ask("pid")
        assert os.getsid(pid) != os.getsid(0)
        for number in (signal.SIGTERM, signal.SIGINT):
            os.kill(pid, number)
        assert await pool.ask("pid") == [pid]


async def test_shared_memory_does_not_grow_and_a_large_page_does_not_stay() -> None:
    page = np.zeros((100 << 20,), np.uint8)
    async with running_workers() as pool:
        await pool.ask(ramp(1000))
        after_one = shared_memory()
        await pool.ask(page)
        for _ in range(200):
            await pool.ask(ramp(30_000), ramp(5))
        (pid,) = await pool.ask("pid")
        assert len(shared_memory()) == len(after_one)
        (mapped,) = mapped_memory(pid)
        assert mapped <= 1 << 20


@pytest.mark.parametrize(("argument", "error"), [("broken", FileNotFoundError), ("dead", Exception)])
async def test_models_that_can_not_be_loaded_are_told_at_the_start(argument: str, error: type[Exception]) -> None:
    before = children()
    async with running(ModelWorkers(replace(model_worker_type(command(), (argument,), 60.0), pause_s=0.01))) as pool:
        with pytest.raises(error):
            await pool.start()
    assert children() == before


async def test_a_worker_that_can_not_be_watched_is_ended_and_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    before, memory_before = children(), shared_memory()
    watched: list[int] = []
    pidfd_open = os.pidfd_open

    def no_more_files_at_first(pid: int) -> int:
        watched.append(pid)
        if len(watched) == 1:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return pidfd_open(pid)

    monkeypatch.setattr(os, "pidfd_open", no_more_files_at_first)  # Popen needs more files: no limit does this
    async with running(ModelWorkers(replace(model_worker_type(command(), ("",), 60.0), pause_s=0.01))) as pool:
        with pytest.raises(OSError, match="Too many open files"):
            await pool.start()
        await pool.alive(1)
        _, second = watched
        assert children() == before | {second}
        assert pool.pool.pids == (second,)
    assert children() == before
    assert shared_memory() == memory_before


async def test_a_pool_that_does_not_run_or_has_stopped_says_so() -> None:
    async with running_workers() as pool:
        stopped = pool
    for started in (stopped.pool, ModelWorkers(model_worker_type(command(), ("",), 60.0))):
        with pytest.raises(EngineFailed, match="engine_unavailable"):
            started.call("obey", ["pid"])


async def test_a_caller_that_leaves_costs_no_worker_no_memory_and_nobodys_answer() -> None:
    async with running_workers() as pool:
        (pid,) = await pool.ask("pid")
        after_one = shared_memory()
        for step in range(12):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(pool.ask, ("sleep", 0.02), ramp(10), "left")
                await anyio.sleep(step * 0.002)
                tasks.cancel_scope.cancel()
            assert await pool.ask(ramp(step), "mine") == [float(ramp(step).sum()), "mine"]
        assert await pool.ask("pid") == [pid]
        assert len(shared_memory()) == len(after_one)


async def test_a_call_under_way_does_not_hold_up_the_end() -> None:
    async def ask() -> None:
        with pytest.raises(EngineFailed, match="engine_unavailable"):
            await pool.ask(("sleep", 60.0))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks, running_workers() as pool:
            tasks.start_soon(ask)
            await anyio.sleep(0.1)


def test_workers_end_with_a_parent_that_is_killed_even_when_stopped(tmp_path: Path) -> None:
    program = textwrap.dedent("""
        import os, signal, anyio
        from support.engine_worker import running_workers

        async def main():
            async with running_workers(workers=2) as pool:
                await pool.alive(2)
                os.kill(pool.pool.pids[0], signal.SIGSTOP)
                print(*pool.pool.pids, flush=True)
                await anyio.sleep_forever()

        anyio.run(main)
    """)
    paths = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}
    ) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 2
        assert all(is_running(pid) for pid in pids)
        parent.kill()
    assert all_ended(pids)
