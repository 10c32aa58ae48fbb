"""Models in worker processes: as the engine sees them, the workers they run in, and the program of a worker."""

from __future__ import annotations

import mmap
import os
import pickle
import traceback
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import anyio
import anyio.from_thread

from inkgate.engines.workers.arrays import BlockStore, PackedAt, PackedMessage, read_message
from inkgate.errors import EngineFailed, InkgateError, Overloaded
from inkgate.runtimes.memory import IDLE_S, release_kept_memory, return_free_memory
from inkgate.supervision import Supervisor
from inkgate.workers.pool import ProcessPool
from inkgate.workers.process import LossCause
from inkgate.workers.slot import CallLost, WorkerType
from inkgate.workers.wire import REST_AFTER_S, StartError, run_worker

ItemT = TypeVar("ItemT")
ItemT_contra = TypeVar("ItemT_contra", contravariant=True)
ResultT = TypeVar("ResultT")
Predict = Callable[[Sequence[Any]], list[Any]]
Load = Callable[[str], Mapping[str, Predict]]
"""Opens the models: from a worker's argument to each model's `predict`, by model name."""

_PATIENCE = 4
"""A call waits for a free worker this many times its time limit: each model may have a call before it."""
_RETRY_AFTER_S = 10.0
"""Retry-After once no worker became free for four time limits of a call."""


def model_worker_type(
    command: Sequence[str], arguments: Sequence[str], call_s: float, start_s: float = 120.0
) -> WorkerType:
    """Workers that run `run_models`. `arguments`: one for each worker. `start_s`: time limit for loading its models."""
    return WorkerType(
        name="engine",
        command=command,
        arguments=arguments,
        start_error=_start_error,
        call_s=call_s,
        start_s=start_s,
    )


class ModelWorkers:
    """Runs each call of a model in the next free worker process, whose models are loaded.

    Its background task is `run`, which must be running while calls are made, and may be run again. `start` and `call`
    block; call them from worker threads of the event loop that `run` runs on (concurrency.Threads).
    """

    def __init__(self, worker_type: WorkerType, supervisor: Supervisor | None = None) -> None:
        """`supervisor`: keeps the task of each worker running."""
        self._wait_s = _PATIENCE * worker_type.call_s
        self._processes = ProcessPool(worker_type, supervisor)
        self._blocks = BlockStore(len(worker_type.arguments))
        self._started = False
        self._requested: anyio.Event | None = None
        self._opened = anyio.Event()

    @property
    def pids(self) -> tuple[int, ...]:
        """The worker processes whose models are loaded."""
        return self._processes.pids

    @property
    def lives(self) -> tuple[tuple[int, int], ...]:
        return self._processes.lives

    async def run(self) -> None:
        """Keeps workers running from the first `start` on, until cancelled; then no process is left."""
        self._opened = anyio.Event()
        self._requested = anyio.Event()
        if self._started:
            self._requested.set()
        try:
            await self._requested.wait()
            self._started = True
            async with self._processes:
                self._opened.set()
                await anyio.sleep_forever()
        finally:
            self._opened.set()
            self._blocks.close()

    def start(self) -> None:
        """Starts the workers; returns once the first is ready.

        Raises:
            EngineFailed: "engine_unavailable": stopped.
            Exception: the error of loading the models, or of starting a process.
        """
        try:
            anyio.from_thread.run(self._start)
        except CallLost:
            raise _closed() from None

    async def _start(self) -> None:
        if self._requested is None:
            raise EngineFailed("engine_unavailable", "The service is not running.")
        with anyio.CancelScope(shield=True):  # a thread that waits can't be cancelled
            self._requested.set()
            await self._opened.wait()
            await self._processes.ready()

    def call(self, model: str, items: Sequence[Any]) -> list[Any]:
        """The result of the model `model` for the items.

        Raises:
            EngineFailed: "engine_failed": workers died during the call; "engine_unavailable": stopped, or not started.
            Overloaded: "service_full": none became free.
            OSError: there is no memory to pass the items.
            Exception: what the model raised.
        """
        if not self._processes.running:
            raise _closed()
        message = PackedMessage((model, items))
        block = self._blocks.take(message.size)
        try:
            body = self._processes.call_from_thread(block.write(message), (block.memory,), self._wait_s)
        except CallLost as lost:
            block.close()  # not used again: a worker may still read it
            self._processes.forget_closed_from_thread()
            raise _lost_error(lost.cause) from None
        except BaseException:
            block.close()
            raise
        if self._blocks.give_back(block):
            self._processes.forget_closed_from_thread()
        results, error = _unpack(body)
        if error is not None:
            raise error
        return results


class ItemSizes(Protocol[ItemT_contra]):
    """The sizes of a BatchModel's items, computed without the model: see there."""

    def shape_of(self, item: ItemT_contra) -> Hashable: ...

    def cost(self, item: ItemT_contra) -> int: ...

    def content(self, item: ItemT_contra) -> int: ...


class WorkerModel(Generic[ItemT, ResultT]):
    """A BatchModel that calls the model `name` in the workers: as many calls at once as there are workers."""

    def __init__(self, workers: ModelWorkers, name: str, sizes: ItemSizes[ItemT]) -> None:
        """`sizes`: of the model's items, computed in this process."""
        self._workers = workers
        self._name = name
        self.shape_of = sizes.shape_of
        self.cost = sizes.cost
        self.content = sizes.content

    def predict(self, items: Sequence[ItemT]) -> list[ResultT]:
        """Computes results in a worker. Raises what `ModelWorkers.call` raises."""
        return self._workers.call(self._name, items) if items else []


def run_models(load: Load) -> None:
    """The program of a worker that runs models for another process: see `run_worker`."""

    def start(argument: str) -> ModelHandler:
        try:
            return ModelHandler(load(argument))
        except Exception as error:  # noqa: BLE001 - the border of this process
            raise StartError(pack_answer(error)) from None

    run_worker(start)


_RESTS_UNTIL_IDLE = round(IDLE_S / REST_AFTER_S)


class ModelHandler:
    """Handles calls of models (`Handler`)."""

    def __init__(self, models: Mapping[str, Predict]) -> None:
        self._models = models
        self._rests = 0

    def handle(self, call: PackedAt, memories: Sequence[mmap.mmap]) -> bytes:
        """The packed result of one call; its arrays are released on return."""
        self._rests = 0
        try:
            name, items = read_message(memories[0], call)
            return pack_answer(self._models[name](items))
        except Exception as error:  # noqa: BLE001 - the border of one call
            return pack_answer(error)

    def forget(self, number: int) -> None:
        """Nothing: no model keeps arrays of a call."""

    def rest(self) -> None:
        """Returns freed memory to the system, and once in a long rest what models keep."""
        self._rests += 1
        if self._rests == _RESTS_UNTIL_IDLE:
            release_kept_memory()
        else:
            return_free_memory()


def pack_answer(answer: object) -> bytes:
    """Results, which are small, and no exception; or an exception and its traceback as text.

    An exception that can't be pickled is sent as text, too.
    """
    if not isinstance(answer, Exception):
        return pickle.dumps((answer, None, ""), pickle.HIGHEST_PROTOCOL)
    raised = f"In worker {os.getpid()}: " + "".join(traceback.format_exception(answer))
    try:
        frame = pickle.dumps((None, answer, raised), pickle.HIGHEST_PROTOCOL)
        pickle.loads(frame)  # noqa: S301 - our own, a line above
    except Exception:  # noqa: BLE001 - whatever an exception of some library does when it is pickled
        return pickle.dumps((None, RuntimeError(repr(answer)), raised), pickle.HIGHEST_PROTOCOL)
    return frame


def _unpack(body: bytes) -> tuple[list[Any], Exception | None]:
    """What `pack_answer` packed: results, or an exception."""
    results, error, raised = pickle.loads(body)  # noqa: S301 - of our own making
    if error is not None:
        error.add_note(raised)
    return results, error


def _start_error(body: bytes) -> Exception:
    return _unpack(body)[1] or RuntimeError("no reason")


def _closed() -> EngineFailed:
    return EngineFailed("engine_unavailable", "The engine's workers have stopped.")


def _lost_error(cause: LossCause) -> InkgateError:
    match cause:
        case LossCause.STOPPED:
            return _closed()
        case LossCause.NO_WORKER:
            return Overloaded("service_full", "No engine worker became free in time.", _RETRY_AFTER_S)
        case LossCause.NOT_STARTED:
            return EngineFailed("engine_unavailable", "No engine worker could be started in time.")
        case _:
            return EngineFailed("engine_failed", "The engine's workers crashed on this page.")
