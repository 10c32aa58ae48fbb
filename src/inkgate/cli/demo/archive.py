"""`inkgate demo archive`: scans are dropped into a watched folder; out come searchable PDFs, text, and an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Final

import anyio

from inkgate.cli.demo.folder import INTO, DemoFolder, sample_bytes
from inkgate.cli.demo.index import PageHit, PageIndex
from inkgate.cli.demo.service import (
    DemoRun,
    RunningDemo,
    jobs_settings,
    print_commands,
    print_heading,
    print_removal,
    run_demo,
    write_settings,
)
from inkgate.cli.plain_tables import add_row, plain_table, wide_console
from inkgate.cli.watched_folder import WatchedFolder, WatchJournal, WatchState, owned
from inkgate.cli.watching import FolderWatch, WatchCommand
from inkgate.documents.files import AnyFormat, FileFormat
from inkgate_client.concurrency import Threads
from inkgate_client.formats import Format
from inkgate_client.reading import RemoteReader

SCANS = (
    ("archive", "owners-meeting.pdf"),
    ("archive", "warranty.jpg"),
    ("archive", "notice.png"),
    ("receipts", "two-bridges-cafe.jpg"),
    ("contracts", "lease-signed.pdf"),
    ("contracts", "lease-zh.pdf"),
)
"""Folder and name of the samples, in the order in which they are dropped."""
SEARCHES = ("lamp", "notice period", "押金")
_SQL = "\"SELECT document, page FROM pages WHERE pages MATCH 'lamp'\""
_POLL_S = 0.5
_FIRST = 2
"""Scans that are there when the watch begins. The others follow while it runs."""


@dataclass(frozen=True, slots=True)
class Archive:
    """The folders of the demo. `documents` of other demos are `scans` here."""

    folder: DemoFolder

    @property
    def scans(self) -> Path:
        return self.folder.path / "scans"

    @property
    def results(self) -> Path:
        return self.folder.path / "read"

    @property
    def index(self) -> PageIndex:
        return PageIndex(self.folder.path / "index.db")

    def drop(self, kind: str, name: str) -> None:
        """Puts a sample into the watched folder, as a scanner does, if it is not there. Raises OSError."""
        if not (self.scans / name).exists():
            self.folder.write(f"scans/{name}", sample_bytes(kind, name))


def run_archive(run: DemoRun) -> None:
    """Raises typer.Exit, OSError."""
    archive = Archive(run.folder)
    for folder in (archive.scans, archive.results):
        folder.mkdir(exist_ok=True)
    settings = write_settings(run, f"\n{jobs_settings(run.folder)}")

    async def show(demo: RunningDemo) -> None:
        await _show(demo, archive)

    with owned(archive.results):
        run_demo(run, settings, show)


_FORMATS: Final = (FileFormat.PDF, Format.TEXT, Format.JSON)
"""What is written for each scan."""


async def _show(demo: RunningDemo, archive: Archive) -> None:
    threads, journal, formats = Threads("demo_archive", 2), WatchJournal(archive.results), _FORMATS
    order = WatchCommand(WatchedFolder(archive.scans, archive.results), formats, None, 2, _POLL_S)
    watch = FolderWatch(RemoteReader(demo.client), order, journal)
    lines = wide_console()
    lines.print(f"Web page: {demo.url}/\nWatching {archive.folder.said('scans')}:\n")
    for kind, name in SCANS[:_FIRST]:
        await threads.run(archive.drop, kind, name)
    demo.background.start_soon(watch.run_until, anyio.Event())
    demo.background.start_soon(_keep_index, archive)
    for kind, name in SCANS[_FIRST:]:
        await anyio.sleep(_POLL_S)
        await threads.run(archive.drop, kind, name)
        lines.print(f"  dropped {name} into the folder", markup=False)
    while await threads.run(_going_on, archive, journal):  # noqa: ASYNC110 - files, which tell nobody
        await anyio.sleep(0.1)
    await threads.run(archive.index.update, archive.results)
    await _print_archive(archive, threads)
    _print_next_steps(demo, formats)


def _going_on(archive: Archive, journal: WatchJournal) -> bool:
    """Whether a scan is still to be read. One that somebody took away is not. Blocking."""
    entries = {name: journal.entry(name) for _, name in SCANS if (archive.scans / name).exists()}
    return any(entry is None or entry.state == WatchState.AGAIN for entry in entries.values())


async def _keep_index(archive: Archive) -> None:
    """Takes results into the index as they appear, until it is cancelled."""
    threads = Threads("demo_index", 1)
    while True:
        await threads.run(archive.index.update, archive.results)
        await anyio.sleep(_POLL_S)


async def _print_archive(archive: Archive, threads: Threads) -> None:
    documents = await threads.run(archive.index.documents)
    print_heading(f"The archive has {len(documents)} documents, {sum(each.pages for each in documents)} pages")
    table = plain_table("FILE", "PAGES", "BEGINS WITH")
    for document in documents:
        add_row(table, document.name, str(document.pages), document.beginning)
    wide_console().print(table)
    for words in SEARCHES:
        print_heading(f"inkgate demo search {words}")
        print_hits(await threads.run(archive.index.search, words))


def print_hits(hits: Sequence[PageHit]) -> None:
    """The pages that were found."""
    table = plain_table("FILE", "PAGE", "TEXT")
    for hit in hits:
        add_row(table, hit.document, str(hit.page), hit.text)
    wide_console().print(table)


def _print_next_steps(demo: RunningDemo, formats: Sequence[AnyFormat]) -> None:
    folder = demo.folder
    kinds = ",".join(each.value for each in formats)
    into = Path(folder.shown).parent
    where = "" if into == INTO else f" --into {quote(str(into))}"
    print_heading("What to try next")
    wide_console().print(
        f"  Drop your own scans into {folder.said('scans')}: they are read as they come.", soft_wrap=True
    )
    print_commands(
        f"inkgate demo search{where} WORDS",
        f"inkgate watch SCANS RESULTS -f {kinds} --server {demo.url}   # the same, with your folders",
        f"sqlite3 {folder.said('index.db')} {_SQL}",
        f"inkgate serve --config {folder.said('inkgate.toml')}   # the same service",
    )
    print_removal(folder)
