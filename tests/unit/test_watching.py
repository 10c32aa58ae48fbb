"""`inkgate watch` without an engine: what is read, how often, and what is written down."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import httpx
import pytest

from inkgate.cli import watching
from inkgate.cli.watched_folder import FolderInUse, WatchedFolder, WatchEntry, WatchJournal, WatchState, owned
from inkgate.cli.watching import FolderWatch, WatchCommand
from inkgate.errors import EngineFailed, InputRejected
from inkgate_client import AsyncInkgateClient, Fields, ReadOptions, ServiceError
from inkgate_client.concurrency import single_error
from inkgate_client.fields.values import Extraction, ExtractionStatus
from inkgate_client.files import Source
from inkgate_client.formats import Format
from inkgate_client.reading import DocumentReader, MemoryReader, Progress, RemoteReader
from inkgate_client.requests import PARSE
from inkgate_client.retries import RetryPolicy
from inkgate_client.types import Document, DocumentResult, PageResult

pytestmark = pytest.mark.anyio


class FaultyReader(MemoryReader):
    """Reads every document as its own name; fails as the name says."""

    def __init__(self) -> None:
        super().__init__({})
        self.reads: Counter[str] = Counter()

    async def read(
        self, source: Source, options: ReadOptions = PARSE, progress: Progress | None = None
    ) -> DocumentResult:
        assert isinstance(source, Document)
        self.reads[source.name] += 1
        if "refused" in source.name:
            raise InputRejected("image_corrupt", "It is damaged.")
        if "broken" in source.name or ("once" in source.name and self.reads[source.name] == 1):
            raise EngineFailed("engine_failed", "It broke.")
        page = PageResult(0, text=f"read {source.name} of {len(source.data)}")
        return DocumentResult(source.name, "image/png", len(source.data), 1, "test", (page,))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(watching, "_PAUSE_S", 0.001)
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    return tmp_path


async def watch_once(folder: Path, reader: DocumentReader) -> tuple[int, int]:
    watched = WatchedFolder(folder / "in", folder / "out")
    order = WatchCommand(watched, (Format.TEXT,), None, 2, 0.01, once=True)
    tally = await FolderWatch(reader, order, WatchJournal(folder / "out")).run()
    return tally.read, tally.failed


async def test_each_document_is_read_once_and_again_when_it_is_replaced(folder: Path) -> None:
    for name in ("a.png", "a.pdf", "sub/b.JPG", ".hidden.png", "notes.txt"):
        (folder / "in" / name).write_bytes(b"1")
    reader = FaultyReader()
    assert await watch_once(folder, reader) == (3, 0)
    assert await watch_once(folder, reader) == (0, 0)
    written = {path.relative_to(folder / "out").as_posix() for path in (folder / "out").rglob("*.txt")}
    other = "a.pdf" if (folder / "out" / "a.txt").read_text().startswith("read a.png") else "a.png"
    assert written == {"a.txt", f"{other}.txt", "sub/b.txt"}
    (folder / "in" / "a.png").write_bytes(b"22")
    assert await watch_once(folder, reader) == (1, 0)
    place = "a.txt" if other == "a.pdf" else "a.png.txt"
    assert (folder / "out" / place).read_text() == "read a.png of 2\n"
    assert reader.reads == {"a.png": 2, "a.pdf": 1, "sub/b.JPG": 1}


async def test_a_failure_of_the_engine_is_tried_three_times_and_a_refused_document_once(folder: Path) -> None:
    for name in ("refused.png", "broken.png", "once.png"):
        (folder / "in" / name).write_bytes(b"1")
    reader = FaultyReader()
    assert await watch_once(folder, reader) == (1, 2)
    assert reader.reads == {"refused.png": 1, "broken.png": 3, "once.png": 2}
    assert "It is damaged." in (folder / "out" / "refused.error.txt").read_text()
    assert await watch_once(folder, reader) == (0, 0)
    (folder / "in" / "refused.png").rename(folder / "in" / "fine.png")
    (folder / "in" / "refused.png").write_bytes(b"123")
    assert await watch_once(folder, reader) == (1, 1)


class TakenAway(FaultyReader):
    """Removes the document whose reading fails."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    async def read(
        self, source: Source, options: ReadOptions = PARSE, progress: Progress | None = None
    ) -> DocumentResult:
        assert isinstance(source, Document)
        if "broken" in source.name:
            (self.folder / source.name).unlink()
        return await super().read(source, options, progress)


async def test_a_document_that_is_removed_while_it_waits_for_another_try_is_not_waited_for(folder: Path) -> None:
    (folder / "in" / "broken.png").write_bytes(b"1")
    (folder / "in" / "a.png").write_bytes(b"1")
    with anyio.fail_after(20):
        assert await watch_once(folder, TakenAway(folder / "in")) == (1, 0)


class AwayAtFirst(FaultyReader):
    """A reader that can't be used for the first looks."""

    looks = 0

    async def read(
        self, source: Source, options: ReadOptions = PARSE, progress: Progress | None = None
    ) -> DocumentResult:
        self.looks += 1
        if self.looks <= 4:
            raise ServiceError("The service is away.")
        return await super().read(source, options, progress)


async def test_a_reader_that_is_away_is_waited_for_and_no_document_is_to_blame(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "in" / "a.png").write_bytes(b"1")
    stop = anyio.Event()
    order = WatchCommand(WatchedFolder(folder / "in", folder / "out"), (Format.TEXT,), None, 2, 0.01)
    watch = FolderWatch(reader := AwayAtFirst(), order, WatchJournal(folder / "out"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch.run_until, stop)
        while not (folder / "out" / "a.txt").exists():
            await anyio.lowlevel.checkpoint()
        stop.set()
    assert (reader.looks, reader.reads["a.png"]) == (5, 1)
    assert capsys.readouterr().err.count("Waiting for it.") == 1
    once = FolderWatch(AwayAtFirst(), replace(order, once=True), WatchJournal(folder / "out"))
    (folder / "in" / "b.png").write_bytes(b"1")
    with pytest.raises(ServiceError), single_error():
        await once.run()


async def test_a_name_that_no_result_can_have_fails_alone(folder: Path) -> None:
    (folder / "in" / "a.txt").mkdir()
    (folder / "out" / "a.txt").write_text("in the way of the folder")
    for name in ("a.txt/b.png", "b" * 249 + ".png", "b" * 251 + ".png", "refused" + "b" * 242 + ".png", "c.png"):
        (folder / "in" / name).write_bytes(b"1")
    reader = FaultyReader()
    assert await watch_once(folder, reader) == (3, 2)
    assert (folder / "out" / "c.txt").exists()
    assert await watch_once(folder, reader) == (0, 0)


async def test_a_journal_cut_off_by_a_kill_loses_its_last_entry_only(folder: Path) -> None:
    journal = WatchJournal(folder / "out")
    entry = WatchEntry("a.png", 1, 2, "a", WatchState.DONE, 1)
    journal.add(entry)
    with (folder / "out" / ".inkgate-watch.jsonl").open("ab") as file:
        file.write(b'{"file": "b.p')
    again = WatchJournal(folder / "out")
    assert again.entry("a.png") == entry
    assert again.entry("b.png") is None
    again.add(WatchEntry("b.png", 1, 2, "b", WatchState.DONE, 1))
    assert WatchJournal(folder / "out").entry("b.png") is not None


async def test_two_watchers_do_not_write_into_one_folder(folder: Path) -> None:
    with owned(folder / "out"), pytest.raises(FolderInUse), owned(folder / "out"):
        pass


async def test_results_inside_of_the_watched_folder_are_not_read(folder: Path) -> None:
    results = folder / "in" / "results"
    results.mkdir()
    (results / "a.png").write_bytes(b"1")
    (folder / "in" / "b.png").write_bytes(b"1")
    os.mkfifo(folder / "in" / "c.png")
    assert list(WatchedFolder(folder / "in", results).scan()) == ["b.png"]
    with pytest.raises(OSError, match="No such"):
        WatchedFolder(folder / "gone", results).scan()


async def test_an_error_of_a_proxy_before_the_service_is_no_fault_of_the_document(folder: Path) -> None:
    def gone(_: httpx.Request) -> httpx.Response:
        return httpx.Response(502, text="Bad Gateway")

    order = WatchCommand(WatchedFolder(folder / "in", folder / "out"), (Format.TEXT,), None, 2, 0.01)
    (folder / "in" / "a.png").write_bytes(b"1")
    client = AsyncInkgateClient("http://service", transport=httpx.MockTransport(gone))
    async with RemoteReader(client, policy=RetryPolicy(0.0)) as reader:
        with pytest.raises(ServiceError), single_error():
            await FolderWatch(reader, replace(order, once=True), WatchJournal(folder / "out")).run()


async def test_files_of_a_chart_are_of_a_reading_for_charts_and_others_of_the_one_for_fields(folder: Path) -> None:
    def result(text: str) -> DocumentResult:
        return DocumentResult("a.png", "image/png", 1, 1, "test", (PageResult(0, text=text),))

    (folder / "in" / "a.png").write_bytes(b"1")
    extraction = Extraction("receipt", {}, {}, (), ExtractionStatus.COMPLETE)
    here: Fields[dict[str, object]] = Fields(
        extraction, {}, document=result("for fields")
    )  # a service sends no document
    for kind, task in ((Format.MERMAID, "chart"), (Format.TEXT, "parse"), (Format.MARKDOWN, "parse")):
        for fields, task_read in ((here, None if task == "parse" else task), (replace(here, document=None), task)):
            reader = MemoryReader({"a.png": result("read")}, {"a.png": fields})
            out = folder / f"{kind}-{fields.document is None}"
            order = WatchCommand(WatchedFolder(folder / "in", out), (kind,), "receipt", 2, 0.01, once=True)
            out.mkdir()
            await FolderWatch(reader, order, WatchJournal(out)).run()
            asked = [requested.task for _, requested in reader.requests if isinstance(requested, ReadOptions)]
            assert asked == ([] if task_read is None else [task_read]), (kind, fields.document is None)
