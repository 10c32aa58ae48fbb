"""Workers that crash, hang or hoard memory cost one page: real processes with injected faults (see support)."""

import os
import signal
import struct
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from anyio.lowlevel import checkpoint

from inkgate.caller import Caller, Priority
from inkgate.documents.pdf.pool import PdfDocument, PdfPool
from inkgate.errors import EngineFailed, InkgateError
from inkgate.settings import PdfSettings, PdfText
from support.faulty_pdf_worker import command
from support.pdf_writer import PdfWriter, image_at, paragraph, text_at, text_pdf
from support.processes import children, is_running, shared_memory

pytestmark = pytest.mark.anyio

ONE_WORKER = PdfSettings(workers=1, worker_memory_mb=200, page_timeout_s=20)
IMPATIENT = PdfSettings(workers=1, page_timeout_s=2.5)


def numbered_pages(count: int = 3) -> bytes:
    return text_pdf(*(text_at(30, 200, f"Page number {n + 1}", 20) + paragraph() for n in range(count)))


def open_files() -> int:
    """How many files this process has open."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def documents_mapped(pid: int) -> int:
    """How many documents a worker has in memory."""
    return Path(f"/proc/{pid}/maps").read_text().count("memfd:inkgate-pdf")


@asynccontextmanager
async def opened(settings: PdfSettings, *faults: str, pages: int = 3) -> AsyncIterator[tuple[PdfPool, PdfDocument]]:
    before, memory_before = children(), shared_memory()
    async with PdfPool(settings, command(*faults)) as pool, pool.open(numbered_pages(pages), PdfText.AUTO) as pdf:
        yield pool, pdf
    assert children() == before
    assert shared_memory() == memory_before


async def outcome(pdf: PdfDocument, index: int) -> str:
    """`ok`, or the code of what a page ends in."""
    try:
        page = await pdf.page(index)
        pixels = await page.pixels(400)
    except InkgateError as error:
        return error.code
    assert pixels.rgb.min() < 100
    assert pixels.rgb.max() == 255
    return "ok"


async def test_deaths_are_counted_where_they_happen() -> None:
    async with opened(ONE_WORKER, "render:1:crash") as (pool, pdf):
        ((first, lives),) = pool.worker_lives
        assert (first, lives) == (pool.worker_pids[0], 1)
        assert [await outcome(pdf, index) for index in range(3)] == ["ok", "page_broken", "ok"]
        ((last, lives),) = pool.worker_lives
    assert last != first
    assert lives == 2 + 1  # a worker that has served before is not held against a page: it is tried in a fresh one


async def test_workers_that_fail_cost_their_pages_and_no_others() -> None:
    faults = {
        "render:1:crash": "page_broken",
        "page:2:crash": "page_broken",
        "page:3:exit": "page_broken",
        "render:4:abort": "page_memory",
        "render:5:memory": "page_memory",
        "page:6:memory": "page_memory",
        "page:7:babble": "page_broken",
        "page:8:nonsense": "page_broken",
        "render:9:bug": "page_broken",
    }
    async with opened(ONE_WORKER, *faults, pages=11) as (_, pdf):
        outcomes = [await outcome(pdf, index) for index in range(11)]
    assert outcomes == ["ok", *faults.values(), "ok"]


async def test_a_worker_that_hangs_is_ended_and_costs_its_page() -> None:
    async with opened(IMPATIENT, "render:1:hang") as (_, pdf):
        assert [await outcome(pdf, index) for index in range(3)] == ["ok", "page_timeout", "ok"]


async def test_memory_that_was_found_in_another_way_fails_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    small_things = text_pdf(text_at(30, 200, "Page number 1", 20) + b"0 0 1 1 re f\n" * 20_000)
    outcomes = []
    for number in range(8):
        monkeypatch.setenv(f"PADDING_{number}", "x" * 111 * number)  # the worker's heap depends on its environment
        async with PdfPool(ONE_WORKER, command("page:0:wall")) as pool, pool.open(small_things, PdfText.NEVER) as pdf:
            outcomes.append(await outcome(pdf, 0))
    assert outcomes == ["ok"] * 8


_HEAP_KEPT = """
from pathlib import Path
from inkgate.documents.pdf import worker

def heap():
    (line,) = [line for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith("[heap]")]
    start, end = line.split()[0].split("-")
    return int(end, 16) - int(start, 16)

before = heap()
worker._reserve_heap()
print(heap() - before)
"""


def test_memory_that_a_retry_reserves_stays_in_the_heap() -> None:
    kept = subprocess.run([sys.executable, "-c", _HEAP_KEPT], check=True, capture_output=True, text=True)
    assert int(kept.stdout) > 12_000_000


async def test_an_image_that_is_too_large_for_the_memory_is_an_error_and_not_a_blank_page() -> None:
    writer = PdfWriter()
    side = 35_000
    page_information = struct.pack("!IBBBI", 0, 48, 0, 1, 19) + struct.pack("!IIIIBH", side, side, 0, 0, 0, 0)
    entries = b"/Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray /BitsPerComponent 1"
    head = b"<< /Length %d /Filter /JBIG2Decode " + entries + b" >>\nstream\n"
    image = writer.add(head % (len(page_information), side, side) + page_information + b"\nendstream")
    writer.add_page(image_at(0, 0, 0, 300, 400) + text_at(30, 200, "beside it", 20), images=(image,))
    settings = PdfSettings(workers=1, worker_memory_mb=128)
    async with PdfPool(settings) as pool, pool.open(writer.build(), PdfText.NEVER) as pdf:
        assert await outcome(pdf, 0) == "page_memory"


async def test_pages_asked_for_at_once_fail_alone() -> None:
    outcomes: dict[int, str] = {}

    async def ask(index: int) -> None:
        outcomes[index] = await outcome(pdf, index)

    settings = PdfSettings(workers=2)
    async with opened(settings, "page:1:crash") as (_, pdf), anyio.create_task_group() as tasks:
        for index in range(3):
            tasks.start_soon(ask, index)
    assert outcomes == {0: "ok", 1: "page_broken", 2: "ok"}


@pytest.mark.smoke
@pytest.mark.parametrize("fault", ["page:1:crash-if-used", "page:1:memory-if-used"])
async def test_a_page_is_not_blamed_for_what_earlier_ones_left_in_the_worker(fault: str) -> None:
    async with opened(ONE_WORKER, fault) as (pool, pdf):
        assert await outcome(pdf, 0) == "ok"
        (first,) = pool.worker_pids
        assert await outcome(pdf, 1) == "ok"
        assert pool.worker_pids != (first,)


@pytest.mark.parametrize(
    ("settings", "fault", "code"),
    [
        (ONE_WORKER, "open:0:crash", "pdf_corrupt"),
        (ONE_WORKER, "open:0:memory", "page_memory"),
        (IMPATIENT, "open:0:hang", "page_timeout"),
    ],
)
async def test_a_document_that_takes_the_worker_down_is_refused(settings: PdfSettings, fault: str, code: str) -> None:
    before = children()
    async with PdfPool(settings, command(fault)) as pool:
        with pytest.raises(InkgateError) as refusal:
            async with pool.open(numbered_pages(), PdfText.AUTO):
                pass
        assert refusal.value.code == code
    assert children() == before


async def test_a_worker_killed_while_idle_is_replaced_unnoticed() -> None:
    async with opened(ONE_WORKER) as (pool, pdf):
        assert await outcome(pdf, 0) == "ok"
        (pid,) = pool.worker_pids
        os.kill(pid, signal.SIGKILL)
        assert await outcome(pdf, 1) == "ok"
        assert pid not in pool.worker_pids


async def test_a_worker_that_is_killed_before_its_first_call_costs_no_page() -> None:
    async with PdfPool(ONE_WORKER) as pool:
        with anyio.fail_after(60):
            while pool.jobs != (1, 0, 0):  # noqa: ASYNC110 - nothing tells that it waits for its first call
                await anyio.sleep(0.01)
        (pid,) = pool.worker_pids
        os.kill(pid, signal.SIGKILL)
        with anyio.fail_after(60):
            while is_running(pid):  # noqa: ASYNC110 - another process's end gives no event
                await anyio.sleep(0.01)
        async with pool.open(numbered_pages(), PdfText.NEVER) as pdf:
            assert await outcome(pdf, 0) == "ok"


async def test_a_caller_that_leaves_does_not_confuse_the_next() -> None:
    async with opened(ONE_WORKER) as (_, pdf):
        sizes = []
        for _ in range(5):
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(outcome, pdf, 0)
                    await anyio.wait_all_tasks_blocked()
                    scope.cancel()
            page = await pdf.page(2)
            assert page.text_layer is not None
            sizes.append([line.text for line in page.text_layer.lines if "number" in line.text])
        assert sizes == [["Page number 3"]] * 5


async def test_a_caller_that_leaves_a_hanging_page_goes_at_once_and_the_next_is_served_in_time() -> None:
    async with opened(IMPATIENT, "page:0:hang") as (_, pdf):
        with anyio.move_on_after(0.2) as scope:
            await pdf.page(0)
        assert scope.cancelled_caught
        assert await outcome(pdf, 1) == "ok"


async def test_callers_that_leave_at_any_moment_leak_nothing() -> None:
    async with opened(ONE_WORKER) as (pool, pdf):
        assert await outcome(pdf, 0) == "ok"
        pids, memory, descriptors = pool.worker_pids, shared_memory(), open_files()
        for step in range(20):
            with anyio.move_on_after(step * 0.002):
                await (await pdf.page(step % 3)).pixels(400)
            with anyio.move_on_after(step * 0.001):
                async with pool.open(numbered_pages(), PdfText.AUTO) as other:
                    await other.page(0)
        assert await outcome(pdf, 1) == "ok"
        assert pool.jobs == (1, 0, 0)
        assert (pool.worker_pids, shared_memory()) == (pids, memory)
        # Fewer: other tests' are collected. A few more: threads of libraries that other tests have started. A leak at
        # each step would be 20.
        assert open_files() <= descriptors + 3


async def test_calls_that_wait_are_served_in_the_order_they_came() -> None:
    order: list[str] = []

    async def ask(pdf: PdfDocument, name: str, index: int) -> None:
        await pdf.page(index)
        order.append(name)

    async with (
        PdfPool(ONE_WORKER) as pool,
        pool.open(numbered_pages(), PdfText.NEVER) as large,
        pool.open(numbered_pages(), PdfText.NEVER) as small,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(ask, large, "large 0", 0)
        tasks.start_soon(ask, large, "large 1", 1)
        tasks.start_soon(ask, small, "small 0", 0)
        tasks.start_soon(ask, large, "large 2", 2)
        await checkpoint()  # each has asked then, and none has been answered
        assert pool.jobs == (1, 1, 3)
    assert order == ["large 0", "large 1", "small 0", "large 2"]


async def test_an_interactive_pdf_does_not_wait_behind_the_jobs_of_batches() -> None:
    interactive, batch = Caller(priority=Priority.INTERACTIVE), Caller(priority=Priority.BATCH)
    order: list[str] = []

    async def ask(pdf: PdfDocument, index: int) -> None:
        await pdf.page(index, batch)
        order.append("batch")

    async def open_and_render(pool: PdfPool) -> None:
        async with pool.open(numbered_pages(), PdfText.NEVER, caller=interactive) as small:
            await (await small.page(0, interactive)).pixels(100)
        order.append("interactive")

    async with (
        PdfPool(ONE_WORKER) as pool,
        pool.open(numbered_pages(4), PdfText.NEVER) as large,
        anyio.create_task_group() as tasks,
    ):
        for number in range(256):
            tasks.start_soon(ask, large, number % 4)
        await checkpoint()
        assert pool.jobs == (1, 1, 255)
        tasks.start_soon(open_and_render, pool)
    assert len(order) == 257
    assert order.index("interactive") < 128  # three jobs, and what was done while its bytes were copied


async def test_a_tenants_pdf_does_not_wait_behind_another_tenants() -> None:
    order: list[str] = []

    async def read(pool: PdfPool, tenant: str, number: int) -> None:
        caller = Caller(tenant, flow=str(number))
        async with pool.open(numbered_pages(), PdfText.NEVER, caller=caller) as pdf:
            for index in range(pdf.page_count):
                await pdf.page(index, caller)
        order.append(tenant)

    async with PdfPool(ONE_WORKER) as pool, anyio.create_task_group() as tasks:
        for number in range(40):
            tasks.start_soon(read, pool, "A", number)
        while pool.jobs[2] < 30:  # noqa: ASYNC110 - their bytes are copied in threads
            await anyio.sleep(0.001)
        tasks.start_soon(read, pool, "B", 0)
    assert order.index("B") < 10  # of 40; without turns, after all


async def test_batches_get_on_while_urgent_jobs_keep_coming() -> None:
    order: list[Priority] = []

    async def ask(pdf: PdfDocument, priority: Priority) -> None:
        await pdf.page(0, Caller(priority=priority))
        order.append(priority)

    async with (
        PdfPool(ONE_WORKER) as pool,
        pool.open(numbered_pages(), PdfText.NEVER) as pdf,
    ):
        await pdf.page(0)  # the first page of a worker takes longer
        async with anyio.create_task_group() as tasks:
            for priority in [Priority.BATCH] * 4 + [Priority.INTERACTIVE] * 400:
                tasks.start_soon(ask, pdf, priority)
    # By the time of the calls, which differ, a sixteenth: every 17th call in the mean.
    assert max(place for place, priority in enumerate(order) if priority is Priority.BATCH) <= 3 * 4 * 17


async def test_workers_start_when_needed_and_prefer_documents_they_know() -> None:
    async with PdfPool(PdfSettings(workers=3, warm_workers=0)) as pool:
        assert pool.worker_pids == ()
        await anyio.wait_all_tasks_blocked()
        assert pool.jobs == (3, 0, 0)
        async with pool.open(numbered_pages(), PdfText.NEVER) as pdf:
            for index in (0, 1, 2):
                await pdf.page(index)
            assert len(pool.worker_pids) == 1


@pytest.mark.parametrize(("warm", "there"), [(1, 1), (2, 2), (5, 3)])
async def test_warm_workers_are_there_before_the_first_document(warm: int, there: int) -> None:
    async with PdfPool(PdfSettings(workers=3, warm_workers=warm)) as pool:
        with anyio.fail_after(60):
            while len(pool.worker_pids) < there:  # noqa: ASYNC110 - nothing tells of it
                await anyio.sleep(0.01)
        pids = pool.worker_pids
        async with pool.open(numbered_pages(), PdfText.NEVER) as pdf:
            await pdf.page(0)
        assert pool.worker_pids == pids


async def test_a_worker_gives_back_the_documents_nobody_uses() -> None:
    async with PdfPool(ONE_WORKER) as pool:
        pids: set[int] = set()
        for _ in range(30):
            async with pool.open(numbered_pages(), PdfText.NEVER) as pdf:
                await pdf.page(0)
                pids.update(pool.worker_pids)
        async with pool.open(numbered_pages(), PdfText.NEVER):
            (pid,) = pids
            assert documents_mapped(pid) == 1


async def test_more_documents_than_a_worker_keeps_open_are_opened_again() -> None:
    async with PdfPool(ONE_WORKER) as pool, anyio.create_task_group() as tasks:
        done: list[int] = []

        async def read(number: int) -> None:
            async with pool.open(text_pdf(text_at(30, 200, f"document {number}")), PdfText.ALWAYS) as pdf:
                for _ in range(3):
                    page = await pdf.page(0)
                    assert page.text_layer is not None
                    assert page.text_layer.lines[0].text == f"document {number}"
            done.append(number)

        for number in range(20):
            tasks.start_soon(read, number)
    assert sorted(done) == list(range(20))


async def test_workers_die_with_a_service_that_is_killed(tmp_path: Path) -> None:
    program = tmp_path / "service.py"
    program.write_text(
        "import anyio, sys\n"
        "from inkgate.documents.pdf.pool import PdfPool\n"
        "from inkgate.settings import PdfSettings, PdfText\n"
        "async def main():\n"
        "    async with PdfPool(PdfSettings(workers=1)) as pool:\n"
        "        async with pool.open(sys.stdin.buffer.read(), PdfText.NEVER):\n"
        "            print(*pool.worker_pids, flush=True)\n"
        "            await anyio.sleep_forever()\n"
        "anyio.run(main)\n"
    )
    async with await anyio.open_process([sys.executable, str(program)], stderr=None) as service:
        assert service.stdin is not None
        assert service.stdout is not None
        await service.stdin.send(numbered_pages())
        await service.stdin.aclose()
        pid = int(await service.stdout.receive())
        os.kill(pid, 0)
        service.kill()
    with anyio.fail_after(60):
        while is_running(pid):  # noqa: ASYNC110 - another process's end gives no event
            await anyio.sleep(0.01)


async def test_a_worker_that_is_killed_while_it_starts_costs_no_page(tmp_path: Path) -> None:
    kill_first = f"import os, pathlib\ndied = pathlib.Path({str(tmp_path / 'died')!r})\n"
    kill_first += "if not died.exists():\n    died.touch()\n    os.kill(os.getpid(), 9)\n"
    *python, program = command()
    async with PdfPool(ONE_WORKER, (*python, kill_first + program)) as pool:
        async with pool.open(numbered_pages(), PdfText.NEVER) as pdf:
            assert await outcome(pdf, 0) == "ok"
        assert [lives for _, lives in pool.worker_lives] == [2]


async def test_a_worker_that_does_not_start_is_the_services_fault() -> None:
    with pytest.raises(EngineFailed, match="engine_unavailable"):
        async with PdfPool(ONE_WORKER, (sys.executable, "-c", "pass")) as pool, pool.open(b"%PDF-", PdfText.NEVER):
            pass
    with pytest.raises(EngineFailed):
        async with PdfPool(ONE_WORKER, ("/nonexistent/python",)) as pool, pool.open(b"%PDF-", PdfText.NEVER):
            pass


async def test_calls_on_a_pool_that_has_ended_are_refused() -> None:
    async with PdfPool(ONE_WORKER) as pool, pool.open(numbered_pages(), PdfText.NEVER) as pdf:
        page = await pdf.page(0)
    with pytest.raises(EngineFailed):
        await page.pixels()


NO_MORE_FILES = """
import os, resource, sys
import anyio
from inkgate.documents.pdf.pool import PdfPool
from inkgate.errors import InkgateError
from inkgate.settings import PdfSettings, PdfText

async def opened(pool, data):
    try:
        async with pool.open(data, PdfText.NEVER):
            return "ok"
    except InkgateError as error:
        return error.code

async def main():
    data = sys.stdin.buffer.read()
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    for free in range(12):
        async with PdfPool(PdfSettings(workers=1, warm_workers=0)) as pool:
            await anyio.to_thread.run_sync(int)
            before = len(os.listdir("/proc/self/fd"))
            held = []
            try:
                while True:
                    held.append(os.open("/dev/null", os.O_RDONLY))
            except OSError:
                pass
            for _ in range(free):
                os.close(held.pop())
            scarce = await opened(pool, data)
            for file in held:
                os.close(file)
            left = 0 if scarce == "ok" else len(os.listdir("/proc/self/fd")) - before
            print("told:", scarce, left, await opened(pool, data))

anyio.run(main)
"""


async def test_a_service_that_is_out_of_files_says_so_and_reads_again_when_there_are_some() -> None:
    told = await anyio.run_process([sys.executable, "-c", NO_MORE_FILES], input=numbered_pages(), stderr=None)
    outcomes = [line.split()[1:] for line in told.stdout.decode().splitlines() if line.startswith("told:")]
    assert {scarce for scarce, _, _ in outcomes} == {"service_full", "engine_unavailable", "ok"}
    assert {(left, later) for _, left, later in outcomes} == {("0", "ok")}
