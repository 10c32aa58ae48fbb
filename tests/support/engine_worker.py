"""An engine worker whose model does what its items say, in a real process behind the real protocol."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import anyio
import numpy as np
from numpy.typing import NDArray

from inkgate.engines.workers.model import ModelWorkers, Predict, model_worker_type, run_models
from inkgate.errors import InputRejected
from inkgate.workers.process import python_command
from inkgate_client.concurrency import Threads

P = ParamSpec("P")
T = TypeVar("T")


class OddError(Exception):
    """An exception that pickle can write but not read."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(first + second)


def obey(items: Sequence[Any]) -> list[Any]:
    return [_obey(item) for item in items]


def _obey(item: Any) -> object:  # noqa: ANN401 - an order, or an array
    match item:
        case np.ndarray():
            return float(item.sum())
        case "pid":
            return os.getpid()
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "hang":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "reject":
            raise InputRejected("image_corrupt", "no such luck")
        case "odd":
            raise OddError("one", "two")
        case "cpus":
            return sorted(os.sched_getaffinity(0))
        case ("once", str(path)):
            if not Path(path).exists():
                Path(path).touch()
                os.kill(os.getpid(), signal.SIGKILL)
        case ("sleep", float(seconds)):
            time.sleep(seconds)
    return item


def load(asked: str) -> Mapping[str, Predict]:
    """`asked`: `broken` fails to load its models, `dead` dies while loading."""
    if asked == "broken":
        raise FileNotFoundError("no model here")
    if asked == "dead":
        os._exit(3)
    return {"obey": obey}


def main() -> None:
    run_models(load)


def command() -> tuple[str, ...]:
    return python_command("support.engine_worker", Path(__file__).parents[1])


class RunningPool:
    """A running pool, and threads to call it from."""

    def __init__(self, pool: ModelWorkers) -> None:
        self.pool = pool
        self._threads = Threads("test", 64)

    async def start(self) -> None:
        await self.run(self.pool.start)

    async def ask(self, *items: object) -> list[Any]:
        return await self.run(self.pool.call, "obey", items)

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._threads.run(function, *args, **kwargs)

    async def alive(self, count: int) -> None:
        """Returns once this many workers are running."""
        with anyio.fail_after(60):
            while len(self.pool.pids) < count:  # noqa: ASYNC110 - processes set no event
                await anyio.sleep(0.01)


@asynccontextmanager
async def running(pool: ModelWorkers) -> AsyncIterator[RunningPool]:
    async with anyio.create_task_group() as background:
        background.start_soon(pool.run)
        await anyio.wait_all_tasks_blocked()
        try:
            yield RunningPool(pool)
        finally:
            background.cancel_scope.cancel()


@asynccontextmanager
async def running_workers(
    workers: int = 1, timeout_s: float = 20.0, start_s: float = 60.0
) -> AsyncIterator[RunningPool]:
    """A started pool of such workers, with short pauses before replacements."""
    worker_type = model_worker_type(command(), ("",) * workers, timeout_s, start_s)
    async with running(ModelWorkers(replace(worker_type, pause_s=0.01, max_pause_s=0.1))) as pool:
        await pool.start()
        yield pool


def ramp(size: int) -> NDArray[np.uint8]:
    return np.arange(size, dtype=np.uint32).astype(np.uint8)
