"""What the pool of worker processes does when the machine, a worker, or its own service fails it at a bad moment."""

import errno
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from io import FileIO
from pathlib import Path

import anyio
import pytest

from inkgate.documents.pdf.pool import PdfPage, PdfPool
from inkgate.engines.workers.model import ModelWorkers, model_worker_type
from inkgate.errors import EngineFailed
from inkgate.settings import PdfSettings, PdfText
from inkgate.workers.process import LossCause, WorkerDied, WorkerProcess
from inkgate.workers.slot import WorkerCall, WorkerSlot
from inkgate_client.concurrency import Threads
from support import engine_worker
from support.engine_worker import running
from support.faulty_pdf_worker import command
from support.pdf_writer import paragraph, text_at, text_pdf
from support.processes import all_ended, children, is_running

pytestmark = pytest.mark.anyio

ONE_WORKER = PdfSettings(workers=1, worker_memory_mb=200, page_timeout_s=20)
IMPATIENT = PdfSettings(workers=1, page_timeout_s=1.0)
PAGES = text_pdf(*(text_at(30, 200, f"Page number {n + 1}", 20) + paragraph() for n in range(3)))


async def test_a_worker_that_can_not_be_watched_ends_neither_the_pool_nor_the_service(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wait_readable = anyio.wait_readable

    async def too_many_watched(file: FileIO | socket.socket) -> None:
        if not isinstance(file, socket.socket):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        await wait_readable(file)

    monkeypatch.setattr(anyio, "wait_readable", too_many_watched)
    before = children()
    async with PdfPool(ONE_WORKER) as pool:
        for _ in range(2):
            async with pool.open(PAGES, PdfText.NEVER) as pdf:
                await (await pdf.page(0)).pixels(100)
    assert children() == before


async def test_a_worker_that_ends_as_soon_as_it_is_ready_is_replaced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wait_readable = anyio.wait_readable

    async def channels_last(file: FileIO | socket.socket) -> None:
        await wait_readable(file)
        if isinstance(file, socket.socket):
            await anyio.sleep(0.3)

    died = tmp_path / "died"
    end_first = f"""import os, pathlib
from inkgate.workers import wire as processes_wire
died, serve = pathlib.Path({str(died)!r}), processes_wire._serve
def end_first(channel, handler):
    if died.exists():
        return serve(channel, handler)
    died.touch()
    channel.sendall(processes_wire.encode_reply(processes_wire.WorkerReply(b"")))
    os._exit(0)
processes_wire._serve = end_first
"""
    *python, program = engine_worker.command()
    paths, _, rest = program.partition("; from ")
    kind = model_worker_type((*python, f"{paths}\n{end_first}\nfrom {rest}"), ("",), 20.0)
    async with running(ModelWorkers(replace(kind, pause_s=0.01))) as pool:
        monkeypatch.setattr(anyio, "wait_readable", channels_last)
        with suppress(WorkerDied):
            await pool.start()
        assert died.exists()
        with anyio.fail_after(20):
            while not all(map(is_running, pool.pool.pids)) or not pool.pool.pids:  # noqa: ASYNC110 - processes set no event
                await anyio.sleep(0.05)
        (pid,) = pool.pool.pids
        assert await pool.ask("pid") == [pid]


async def test_a_reply_that_nobody_asked_for_is_no_reply_to_the_next_call() -> None:
    async with PdfPool(ONE_WORKER, command("page:0:unasked")) as pool, pool.open(PAGES, PdfText.AUTO) as pdf:
        await pdf.page(0)
        await anyio.sleep(0.5)
        page = await pdf.page(1)
        assert page.text_layer is not None
        assert page.text_layer.lines[0].text == "Page number 2"
        assert pool.worker_lives == ((pool.worker_pids[0], 2),)


async def test_a_start_error_that_can_not_be_decoded_is_told_to_those_who_wait() -> None:
    def undecodable(_: bytes) -> Exception:
        raise ImportError("no such module here")

    kind = replace(model_worker_type(engine_worker.command(), ("broken",), 20.0), start_error=undecodable)
    async with running(ModelWorkers(kind)) as pool:
        with anyio.fail_after(20), pytest.raises(ImportError):
            await anyio.wait_all_tasks_blocked()
            await pool.start()


@pytest.mark.parametrize("waiting", [0, 2])
async def test_a_caller_that_is_not_cancelled_does_not_wait_for_cancelled_workers(waiting: int) -> None:
    told: list[str] = []

    async def ask(page: Awaitable[PdfPage]) -> None:
        try:
            await page
        except EngineFailed as error:
            told.append(error.code)

    with anyio.fail_after(10):
        with anyio.CancelScope() as outer:
            async with PdfPool(ONE_WORKER, command("page:0:hang")) as pool, pool.open(PAGES, PdfText.NEVER) as pdf:
                with anyio.CancelScope(shield=True):
                    async with anyio.create_task_group() as tasks:
                        for index in range(1 + waiting):
                            tasks.start_soon(ask, pdf.page(index))
                        await anyio.sleep(0.3)
                        outer.cancel()
    assert told == ["engine_unavailable"] * (1 + waiting)


async def test_a_worker_that_hangs_is_killed_even_if_no_thread_can_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_thread(_: WorkerProcess, __: float) -> LossCause:
        raise RuntimeError("can't start new thread")

    async with PdfPool(IMPATIENT, command("page:0:hang")) as pool, pool.open(PAGES, PdfText.NEVER) as pdf:
        (pid,) = pool.worker_pids
        monkeypatch.setattr(WorkerProcess, "_collect", no_thread)
        with pytest.raises(EngineFailed):
            await pdf.page(0)
        monkeypatch.undo()
        assert all_ended([pid])
        await pdf.page(1)


class Owner:
    """A pool of one slot."""

    def __init__(self) -> None:
        self.running = True
        self.threads = Threads("owner", 2)
        self.idle: list[WorkerSlot] = []
        self.rested = anyio.Event()

    def rest(self, slot: WorkerSlot) -> None:
        self.idle.append(slot)
        self.rested.set()

    def withdraw(self, slot: WorkerSlot) -> bool:
        was_idle = slot in self.idle
        if was_idle:
            self.idle.remove(slot)
        return was_idle

    def put_back(self, call: WorkerCall) -> None:
        raise AssertionError("there was no call")

    def report_start(self, error: Exception | None) -> None:
        assert error is None

    def watch(self, process: WorkerProcess, on_end: Callable[[WorkerProcess], None]) -> None:
        process.pid_file.close()


async def test_a_worker_whose_process_is_being_ended_gets_no_call(monkeypatch: pytest.MonkeyPatch) -> None:
    stop, ending, may_end = WorkerProcess.stop, anyio.Event(), anyio.Event()

    async def slow_stop(process: WorkerProcess) -> None:
        with anyio.CancelScope(shield=True):
            ending.set()
            await may_end.wait()
            await stop(process)

    monkeypatch.setattr(WorkerProcess, "stop", slow_stop)
    owner = Owner()
    slot = WorkerSlot(model_worker_type(engine_worker.command(), ("",), 20.0), "", owner)
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(slot.run, True)
            await owner.rested.wait()
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await ending.wait()
                given = tuple(owner.idle)
                may_end.set()
    assert given == ()
