import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path

import anyio
import anyio.from_thread
import numpy as np
import pytest

from inkgate.runtimes.memory import MemoryReturn, add_keeper, release_kept_memory, return_free_memory


def resident_mb() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def fill_and_free() -> None:
    """Blocks below glibc's threshold for mapping, freed but for one at the top: the heap can't shrink by itself."""
    blocks = [np.ones(12_000) for _ in range(2_000)]
    del blocks[:-1]


def test_freed_memory_goes_back_to_the_system() -> None:
    return_free_memory()
    before = resident_mb()
    fill_and_free()
    return_free_memory()
    assert resident_mb() < before + 40


@pytest.mark.anyio
async def test_memory_is_returned_once_for_all_work_that_ended_meanwhile_and_again_after_the_next() -> None:
    trims: list[int] = []
    trimmed = anyio.Semaphore(0)

    def trim() -> None:
        trims.append(len(trims))
        anyio.from_thread.run_sync(trimmed.release)

    memory = MemoryReturn(trim, pause_s=0)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(memory.run)
            memory.work_ended()
            memory.work_ended()
            await trimmed.acquire()
            await anyio.wait_all_tasks_blocked()
            assert trims == [0]
            memory.work_ended()
            await trimmed.acquire()
            tasks.cancel_scope.cancel()
    assert trims == [0, 1]


@pytest.mark.anyio
async def test_models_release_memory_when_no_work_ends_for_a_while() -> None:
    events: list[str] = []
    released = anyio.Semaphore(0)

    def release() -> None:
        events.append("release")
        anyio.from_thread.run_sync(released.release)

    memory = MemoryReturn(lambda: events.append("trim"), release, pause_s=0, idle_s=0.01)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(memory.run)
            for _ in range(2):
                memory.work_ended()
                await released.acquire()
            tasks.cancel_scope.cancel()
    assert events == ["trim", "release", "trim", "release"]


def test_a_model_that_lives_is_asked_to_release() -> None:
    class Model:
        asked = 0

        def release_memory(self) -> None:
            self.asked += 1

    model = Model()
    add_keeper(model)
    release_kept_memory()
    assert model.asked == 1


@pytest.mark.anyio
async def test_what_cancelled_work_held_is_freed_soon_after_it_ended() -> None:
    class Large:
        pass

    held: list[weakref.ref[Large]] = []
    trimmed = anyio.Event()

    async def work() -> None:
        large = Large()
        held.append(weakref.ref(large))
        await anyio.sleep_forever()

    memory = MemoryReturn(lambda: anyio.from_thread.run_sync(trimmed.set), pause_s=0)
    gc.disable()
    try:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(memory.run)
                async with anyio.create_task_group() as working:
                    working.start_soon(work)
                    await anyio.wait_all_tasks_blocked()
                    working.cancel_scope.cancel()
                memory.work_ended()
                await trimmed.wait()
                tasks.cancel_scope.cancel()
    finally:
        gc.enable()
    assert [large() for large in held] == [None]


ARENAS = """
import ctypes, threading
from inkgate.runtimes.memory import limit_arenas
limit_arenas(8)
together = threading.Barrier(8)
def work():
    together.wait()
    kept = [bytearray(20_000) for _ in range(100)]
    together.wait()
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
libc = ctypes.CDLL(None)
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
"""


@pytest.mark.parametrize(("variables", "arenas"), [({}, [2]), ({"MALLOC_ARENA_MAX": "5"}, [3, 4, 5])])
def test_threads_share_few_arenas_unless_the_environment_says_how_many(
    variables: dict[str, str], arenas: list[int]
) -> None:
    """Eight threads on eight cores; glibc itself would make one for each."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)} | variables
    told = subprocess.run([sys.executable, "-c", ARENAS], env=environment, capture_output=True, text=True, check=True)
    assert told.stdout.count("<heap nr=") in arenas
