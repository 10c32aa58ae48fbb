"""`inkgate watch` without an engine: what is read, how often, and what is written down."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import anyio
import anyio.lowlevel
import httpx
import pytest

from inkgate.cli import watching
from inkgate.cli.watch_here import EngineReader
from inkgate.cli.watch_remote import ServiceReader
from inkgate.cli.watched_folder import FolderInUse, WatchedFolder, WatchEntry, WatchJournal, WatchState, owned
from inkgate.cli.watching import FolderWatch, ReaderAway, WatchCommand
from inkgate.client import AsyncInkgateClient
from inkgate.concurrency import single_error
from inkgate.documents.formats import Format
from inkgate.errors import EngineFailed, InputRejected
from inkgate.library import AsyncOcr, OcrResult, ReadArguments, Source
from inkgate.types import Document, PageResult

pytestmark = pytest.mark.anyio


class FaultyOcr(AsyncOcr):
    """Reads every document as its own name; fails as the name says."""

    def __init__(self) -> None:
        super().__init__({})
        self.reads: Counter[str] = Counter()

    async def read(self, document: Source, **arguments: Unpack[ReadArguments]) -> OcrResult:
        assert isinstance(document, Document)
        self.reads[document.name] += 1
        if "refused" in document.name:
            raise InputRejected("image_corrupt", "It is damaged.")
        if "broken" in document.name or ("once" in document.name and self.reads[document.name] == 1):
            raise EngineFailed("engine_failed", "It broke.")
        page = PageResult(0, text=f"read {document.name} of {len(document.data)}")
        return OcrResult(document.name, "image/png", len(document.data), 1, "test", (page,))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(watching, "_PAUSE_S", 0.001)
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    return tmp_path


async def watch_once(folder: Path, ocr: AsyncOcr) -> tuple[int, int]:
    watched = WatchedFolder(folder / "in", folder / "out")
    order = WatchCommand(watched, (Format.TEXT,), None, 2, 0.01, once=True)
    tally = await FolderWatch(EngineReader(ocr), order, WatchJournal(folder / "out")).run()
    return tally.read, tally.failed


async def test_each_document_is_read_once_and_again_when_it_is_replaced(folder: Path) -> None:
    for name in ("a.png", "a.pdf", "sub/b.JPG", ".hidden.png", "notes.txt"):
        (folder / "in" / name).write_bytes(b"1")
    ocr = FaultyOcr()
    assert await watch_once(folder, ocr) == (3, 0)
    assert await watch_once(folder, ocr) == (0, 0)
    written = {path.relative_to(folder / "out").as_posix() for path in (folder / "out").rglob("*.txt")}
    other = "a.pdf" if (folder / "out" / "a.txt").read_text().startswith("read a.png") else "a.png"
    assert written == {"a.txt", f"{other}.txt", "sub/b.txt"}
    (folder / "in" / "a.png").write_bytes(b"22")
    assert await watch_once(folder, ocr) == (1, 0)
    place = "a.txt" if other == "a.pdf" else "a.png.txt"
    assert (folder / "out" / place).read_text() == "read a.png of 2\n"
    assert ocr.reads == {"a.png": 2, "a.pdf": 1, "sub/b.JPG": 1}


async def test_a_failure_of_the_engine_is_tried_three_times_and_a_refused_document_once(folder: Path) -> None:
    for name in ("refused.png", "broken.png", "once.png"):
        (folder / "in" / name).write_bytes(b"1")
    ocr = FaultyOcr()
    assert await watch_once(folder, ocr) == (1, 2)
    assert ocr.reads == {"refused.png": 1, "broken.png": 3, "once.png": 2}
    assert "It is damaged." in (folder / "out" / "refused.error.txt").read_text()
    assert await watch_once(folder, ocr) == (0, 0)
    (folder / "in" / "refused.png").rename(folder / "in" / "fine.png")
    (folder / "in" / "refused.png").write_bytes(b"123")
    assert await watch_once(folder, ocr) == (1, 1)


class TakenAway(FaultyOcr):
    """Removes the document whose reading fails."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    async def read(self, document: Source, **arguments: Unpack[ReadArguments]) -> OcrResult:
        assert isinstance(document, Document)
        if "broken" in document.name:
            (self.folder / document.name).unlink()
        return await super().read(document, **arguments)


async def test_a_document_that_is_removed_while_it_waits_for_another_try_is_not_waited_for(folder: Path) -> None:
    (folder / "in" / "broken.png").write_bytes(b"1")
    (folder / "in" / "a.png").write_bytes(b"1")
    with anyio.fail_after(20):
        assert await watch_once(folder, TakenAway(folder / "in")) == (1, 0)


class AwayAtFirst(EngineReader):
    """A reader that can't be used for the first looks."""

    looks = 0

    async def results(self, document: Document, order: WatchCommand) -> dict[str, bytes]:
        self.looks += 1
        if self.looks <= 4:
            raise ReaderAway("The service is away.")
        return await super().results(document, order)


async def test_a_reader_that_is_away_is_waited_for_and_no_document_is_to_blame(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "in" / "a.png").write_bytes(b"1")
    ocr, stop = FaultyOcr(), anyio.Event()
    order = WatchCommand(WatchedFolder(folder / "in", folder / "out"), (Format.TEXT,), None, 2, 0.01)
    watch = FolderWatch(reader := AwayAtFirst(ocr), order, WatchJournal(folder / "out"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch.run_until, stop)
        while not (folder / "out" / "a.txt").exists():
            await anyio.lowlevel.checkpoint()
        stop.set()
    assert (reader.looks, ocr.reads["a.png"]) == (5, 1)
    assert capsys.readouterr().err.count("Waiting for it.") == 1
    once = FolderWatch(AwayAtFirst(ocr), replace(order, once=True), WatchJournal(folder / "out"))
    (folder / "in" / "b.png").write_bytes(b"1")
    with pytest.raises(ReaderAway), single_error():
        await once.run()


async def test_a_name_that_no_result_can_have_fails_alone(folder: Path) -> None:
    (folder / "in" / "a.txt").mkdir()
    (folder / "out" / "a.txt").write_text("in the way of the folder")
    for name in ("a.txt/b.png", "b" * 249 + ".png", "b" * 251 + ".png", "refused" + "b" * 242 + ".png", "c.png"):
        (folder / "in" / name).write_bytes(b"1")
    ocr = FaultyOcr()
    assert await watch_once(folder, ocr) == (3, 2)
    assert (folder / "out" / "c.txt").exists()
    assert await watch_once(folder, ocr) == (0, 0)


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
    async with AsyncInkgateClient("http://service", transport=httpx.MockTransport(gone)) as client:
        with pytest.raises(ReaderAway):
            await ServiceReader(client).results(Document(b"1", "a.png"), order)
