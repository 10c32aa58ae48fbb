"""`import inkgate`: documents read in this process, with the embedded engine."""

from __future__ import annotations

import asyncio
import io
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest
import structlog
from PIL import Image

import inkgate
from inkgate.caller import Caller
from inkgate.cli.configure import configured
from inkgate.library.arguments import without_server
from inkgate.page import Page
from inkgate.settings import Settings, load_settings
from inkgate_client.types import PageResult, Task
from support.api_client import tiff
from support.fake_engine import FakeEngine
from support.pdf_writer import paragraph, text_pdf
from support.processes import all_ended, children, children_of
from support.server import clean_environment

ROOT = Path(__file__).parents[2]
PDF = text_pdf(paragraph(), paragraph(), paragraph())
NEVER_S = 600.0
anyio_test = pytest.mark.anyio


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first paragraphs of the sample page."""
    path = tmp_path_factory.mktemp("small") / "small.png"
    with Image.open(ROOT / "examples" / "report.png") as page:
        page.crop((0, 120, page.width, 360)).save(path)
    return path


@pytest.fixture(scope="module")
def ocr() -> Iterator[inkgate.Ocr]:
    with inkgate.Ocr() as opened:
        yield opened
    structlog.reset_defaults()


def run(program: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = ["env", "--default-signal=INT", sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=clean_environment(), check=False)


@pytest.mark.smoke
def test_a_document_is_a_path_bytes_an_open_file_or_bytes_with_a_name(ocr: inkgate.Ocr, small: Path) -> None:
    data = small.read_bytes()
    with small.open("rb") as file:
        results = [ocr.read(each) for each in (str(small), small, file, data, inkgate.Document(data, "other.png"))]
    assert [result.name for result in results] == ["small.png"] * 3 + ["document", "other.png"]
    assert {result.text for result in results} == {results[0].text}
    assert "technical assistance" in results[0].text
    assert results[0].pages[0].blocks


def test_a_result_is_rendered_as_the_command_line_does(ocr: inkgate.Ocr) -> None:
    result = ocr.read(PDF, pages="2-3")
    assert [page.index for page in result.pages] == [1, 2]
    assert result.text.count("\f") == 1
    assert "<!-- page 2 -->" in result.markdown
    assert result.render("alto").startswith(b"<?xml")
    assert pickle.loads(pickle.dumps(result)) == result  # noqa: S301 - our own
    assert [page.index for page in ocr.read(PDF, pages=[3, 1]).pages] == [2, 0]


def test_several_threads_read_at_once(ocr: inkgate.Ocr) -> None:
    with ThreadPoolExecutor(12) as threads:
        results = list(threads.map(lambda pages: ocr.read(PDF, pages=pages), [1, 2, 3] * 30))
    assert [result.pages[0].index for result in results] == [0, 1, 2] * 30


def test_pages_are_streamed_and_the_loop_may_be_left_early(ocr: inkgate.Ocr) -> None:
    with ocr.stream(PDF) as pages:
        assert pages.count == 3
        assert [page.index for page in pages] == [0, 1, 2]
    with ocr.stream(PDF) as pages:
        assert next(iter(pages)).index == 0
    assert ocr.read(PDF).status == "complete"


def test_failures_are_the_errors_of_the_package_and_of_files(ocr: inkgate.Ocr, tmp_path: Path) -> None:
    (tmp_path / "broken.png").write_bytes((ROOT / "examples" / "report.png").read_bytes()[:200])
    with pytest.raises(inkgate.InputRejected, match="image_corrupt"):
        ocr.read(tmp_path / "broken.png")
    with pytest.raises(inkgate.InkgateError, match="task_unsupported"):  # of the page: no page was read
        ocr.read(ROOT / "examples" / "report.png", task="translate")
    with pytest.raises(inkgate.InputRejected, match="options_invalid"):
        ocr.read(PDF, task="guess")
    with pytest.raises(inkgate.InputRejected, match="pages_invalid"):
        ocr.read(PDF, pages="9")
    with pytest.raises(FileNotFoundError):
        ocr.read(tmp_path / "nowhere.pdf")
    with pytest.raises(FileNotFoundError):
        inkgate.read(tmp_path / "nowhere.pdf")
    with pytest.raises(TypeError, match="binary mode"):
        ocr.read(io.StringIO("text"))  # type: ignore[arg-type]


@anyio_test
async def test_blocking_calls_in_async_code_name_the_other_class(ocr: inkgate.Ocr) -> None:
    for blocking in (inkgate.read, ocr.read):
        with pytest.raises(RuntimeError, match=r"async with inkgate\.AsyncOcr"):
            blocking(PDF)


def test_an_ocr_reads_only_inside_its_block_and_can_be_opened_again() -> None:
    closed = inkgate.Ocr()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="not open"):
            closed.read(PDF)
        with closed, pytest.raises(RuntimeError, match="open already"):
            closed.__enter__()


def test_an_error_in_the_block_is_raised_as_it_is_and_frees_everything() -> None:
    before = children()
    error = ExceptionGroup("mine", [ValueError("a"), TypeError("b")])
    with pytest.raises(ExceptionGroup) as caught, inkgate.Ocr() as own:
        own.read(PDF)
        raise error
    assert caught.value is error
    assert all_ended(children() - before)


def test_an_engine_that_does_not_start_fails_the_block() -> None:
    with pytest.raises(inkgate.InputRejected, match="engine_unknown"), inkgate.Ocr({"engine": {"name": "none"}}):
        pytest.fail("there is no such engine")


@anyio_test
async def test_async_code_reads_at_once_and_page_by_page(small: Path) -> None:
    async with inkgate.AsyncOcr({"limits": {"max_in_flight": 2}}) as own:
        results = await asyncio.gather(*(own.read(PDF, pages=1 + n % 3) for n in range(20)), own.read(small))
        assert {result.status for result in results} == {"complete"}
        async with own.stream(PDF) as reading:
            assert [page.index async for page in reading] == [0, 1, 2]
        task = asyncio.ensure_future(_held(own))
        await asyncio.sleep(0.2)
    with pytest.raises(RuntimeError, match="block of this Ocr ended"):
        await task
    with pytest.raises(RuntimeError, match="not open"):
        await own.read(PDF)


def test_a_generator_that_was_left_early_gives_its_slot_back() -> None:
    asyncio.run(_left_early())
    structlog.reset_defaults()


async def _left_early() -> None:
    async with inkgate.AsyncOcr({"limits": {"max_in_flight": 1}, **own_engine("hanging")}) as own:

        async def pages() -> AsyncIterator[int]:
            async with own.stream(tiff(2)) as reading:
                async for page in reading:
                    yield page.index

        async def first() -> int:
            return await anext(aiter(pages()))  # and closes it in another task, which anyio's scopes refuse

        assert await asyncio.create_task(first()) == 0
        with anyio.fail_after(20):
            assert (await own.read(tiff(1))).status == "complete"


async def _held(own: inkgate.AsyncOcr) -> None:
    async with own.stream(PDF):
        await asyncio.sleep(60)


class Hanging(FakeEngine):
    """Reads the first page, and no other."""

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        await anyio.sleep(NEVER_S if page.index else 0)
        return PageResult(page.index, engine=self.name)


class Leaving(FakeEngine):
    """Ends the program, as code of others may."""

    async def start(self) -> None:
        sys.exit(3)


def own_engine(name: str) -> dict[str, dict[str, object]]:
    return {"engine": {"name": f"{__name__}:{name}"}, "pdf": {"warm_workers": 0}}


def hanging(_: Settings) -> Hanging:
    return Hanging()


def leaving(_: Settings) -> Leaving:
    return Leaving()


def left(_: Settings) -> None:
    sys.exit(4)


def test_a_thread_that_streams_is_told_when_another_closes() -> None:
    own = inkgate.Ocr(own_engine("hanging")).__enter__()
    first = Future[int]()

    def stream() -> None:
        with own.stream(tiff(3)) as pages:
            for page in pages:
                first.set_result(page.index)

    with ThreadPoolExecutor(2) as threads:
        streaming = threads.submit(stream)
        assert first.result(20) == 0
        threads.submit(own._close).result(20)
        with pytest.raises(RuntimeError, match="block of this Ocr ended"):
            streaming.result(20)
    structlog.reset_defaults()


def test_a_loop_over_pages_that_was_interrupted_does_not_end_as_if_it_were_done() -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with inkgate.Ocr(own_engine("hanging")) as own, own.stream(tiff(2)) as pages:
            assert next(iter(pages)).index == 0
            signal.setitimer(signal.ITIMER_REAL, 0.5)
            with pytest.raises(KeyboardInterrupt):
                next(iter(pages))
            with pytest.raises(RuntimeError, match="before all pages"):
                list(pages)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        structlog.reset_defaults()


@pytest.mark.parametrize(("name", "status"), [("leaving", 3), ("left", 4)])
def test_an_engine_that_ends_the_program_does_not_hang_it(name: str, status: int) -> None:
    with ThreadPoolExecutor(1) as threads, pytest.raises(SystemExit) as ended:
        threads.submit(inkgate.read, PDF, settings=own_engine(name)).result(20)
    assert ended.value.code == status
    structlog.reset_defaults()


def test_an_event_loop_that_can_not_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError("Too many open files")

    monkeypatch.setattr("inkgate.library.blocking.anyio.run", refused)
    with ThreadPoolExecutor(1) as threads, pytest.raises(OSError, match="open files"):
        threads.submit(inkgate.Ocr().__enter__).result(20)


def test_a_forked_process_is_told_and_ends(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(PDF)
    ended = run(
        "import inkgate, os, sys\n"
        "with inkgate.Ocr() as ocr, ocr.stream(sys.argv[1]) as pages:\n"
        "    page, many = iter(pages), ocr.read_many([b''] * 9, concurrency=2)\n"
        "    next(page), next(many)\n"
        "    if pid := os.fork():\n"
        "        os.waitpid(pid, 0)\n"
        "        print(next(page).index, next(many).error.code)\n"
        "        ocr.read(b'%PDF-1.4')\n"
        "    for read in (lambda: next(page), lambda: next(many), lambda: next(ocr.read_many([b'']))):\n"
        "        try: read()\n"
        "        except RuntimeError as error: print(error, flush=True)\n"
        "    ocr.read(b'')\n",
        tmp_path / "a.pdf",
    )
    *told, parent = ended.stdout.splitlines()
    assert [text.partition(",")[0] for text in told] == ["This Ocr was opened by another process"] * 3
    assert parent == "1 document_empty"
    assert "opened by another process" in ended.stderr
    assert "pdf_corrupt" in ended.stderr


def test_a_program_that_never_leaves_the_block_ends_with_its_workers(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(PDF)
    program = (
        "import inkgate, os, sys; sys.path.append(sys.argv[2])\n"
        "from support.processes import children\n"
        "ocr = inkgate.Ocr().__enter__()\n"
        "print(ocr.read(sys.argv[1]).status, *children(), flush=True)\n"
    )
    for end in ("", "os.kill(os.getpid(), 9)"):
        ended = run(program + end, tmp_path / "a.pdf", ROOT / "tests")
        status, *pids = ended.stdout.split()
        assert (status, ended.stderr, ended.returncode) == ("complete", "", -9 if end else 0)
        assert pids
        assert all_ended(map(int, pids))


def test_ctrl_c_ends_a_program_that_reads(tmp_path: Path) -> None:
    (tmp_path / "long.pdf").write_bytes(text_pdf(*[paragraph()] * 400))
    program = (
        "import inkgate, sys\n"
        "with inkgate.Ocr() as ocr:\n"
        "    print('open', flush=True)\n"
        "    ocr.read(sys.argv[1], pdf_text='never')\n"
    )
    command = ["env", "--default-signal=INT", sys.executable, "-c", program, str(tmp_path / "long.pdf")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment()
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        time.sleep(1)
        workers = children_of(process.pid)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert all_ended(workers)


def test_settings_are_those_of_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "inkgate.toml"
    file.write_text("[limits]\npage_window = 7\n")
    monkeypatch.setenv("INKGATE_CONFIG", str(file))
    assert inkgate.Ocr()._ocr.reader._settings.limits.page_window == 7
    monkeypatch.delenv("INKGATE_CONFIG")
    for source in (file, str(file), {"limits": {"page_window": 7}}, load_settings(file)):
        own = inkgate.Ocr(source)._ocr.reader._settings
        assert own.model_dump() == without_server(configured(file)).model_dump()
    with pytest.raises(ValueError, match="page_windo"):
        inkgate.Ocr({"limits": {"page_windo": 7}})
    with pytest.raises(FileNotFoundError):
        inkgate.Ocr("nowhere.toml")


def test_nothing_is_late_or_degraded_unless_set() -> None:
    for settings in (Settings(), load_settings(limits={"max_pages": 9})):
        free = without_server(settings)
        assert (free.limits.time_s > 1e6, free.serving.degradation.enabled) == (True, False)
    strict = without_server(load_settings(limits={"time_s": 5}, serving={"degradation": {"up_s": 1}}))
    assert (strict.limits.time_s, strict.serving.degradation.enabled) == (5, True)


def test_importing_is_fast_and_all_names_exist() -> None:
    ended = run("import sys, inkgate; print(*sys.modules)")
    heavy = {"anyio", "asyncio", "fastapi", "numpy", "onnxruntime", "openvino", "pydantic", "structlog"}
    assert heavy & set(ended.stdout.split()) == set()
    named = run("from inkgate import *; print(read.__module__, Task); import sys; print(*sys.modules)").stdout
    assert named.startswith("inkgate.library")
    assert {"fastapi", "sqlalchemy"} & set(named.split()) == set()
    assert {getattr(inkgate, name) for name in inkgate.__all__}
    assert set(inkgate.__all__) <= set(dir(inkgate))
