"""Reads the documents that are put into a folder, until it is stopped."""

from __future__ import annotations

import errno
import json
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from inkgate.cli.interrupts import stop_on_signal
from inkgate.cli.messages import problem_of, say
from inkgate.cli.read_command import task_of
from inkgate.cli.result_names import ERROR_SUFFIX, FIELDS_SUFFIX
from inkgate.cli.watched_folder import FileVersion, WatchedFolder, WatchEntry, WatchJournal, WatchState, version_of
from inkgate.documents.files import AnyFormat, FileFormat
from inkgate_client import ReadOptions, WantedFields
from inkgate_client.codec import encodable
from inkgate_client.concurrency import Threads
from inkgate_client.formats import render
from inkgate_client.reading import DocumentReader
from inkgate_client.types import Document, DocumentResult, ReadError, TaskKind
from inkgate_client.whole_files import write_whole

_TRIES = 3
_PAUSE_S = 10.0
"""Seconds before a second try; four times as long before a third."""
_OF_A_NAME = frozenset({errno.ENAMETOOLONG, errno.EEXIST, errno.ENOTDIR, errno.EISDIR})
"""Errors of one name: it is too long, or what another document made is in its way. Other errors end the run."""
_LONGEST_NAME = 255
"""Maximum length of a file's name, in bytes, on the file systems of Linux."""
_STOPPING = "Finishing the documents that are being read. Ctrl-C again stops at once."


@dataclass(frozen=True, slots=True)
class WatchCommand:
    """What is watched, and what is written.

    Attributes:
        formats: of the results.
        fields: the document type whose fields are found, and written as NAME.fields.json; empty: of the type that is
            found; None: none.
        at_once: how many documents are read at the same time.
        poll_s: seconds between two looks at the folder. A document is read once it did not change between two looks.
        once: end when everything that was there is read.
    """

    watched: WatchedFolder
    formats: tuple[AnyFormat, ...]
    fields: str | None
    at_once: int
    poll_s: float
    once: bool = False


@dataclass(slots=True)
class WatchTally:
    """Counts of the documents of one run."""

    read: int = 0
    failed: int = 0


class FolderWatch:
    """One run. `journal` is the caller's; both are used from one event loop."""

    def __init__(self, reader: DocumentReader, order: WatchCommand, journal: WatchJournal) -> None:
        self._reader = reader
        self._away = False
        self._order = order
        self._journal = journal
        self._threads = Threads("watch", 4)
        self._slots = anyio.Semaphore(order.at_once)
        self._under_way: set[str] = set()
        self._not_before: dict[str, float] = {}
        self._tally = WatchTally()

    async def run(self) -> WatchTally:
        """Reads until a signal, or with `once` until everything is read.

        Raises:
            OSError: results can't be written. A folder that can't be read any more is waited for.
            ReadError: the reader can't be used; only with `once`.
        """
        stop = anyio.Event()
        async with anyio.create_task_group() as tasks:
            await tasks.start(stop_on_signal, stop, _STOPPING, tasks.cancel_scope.cancel)
            if not self._order.once:
                say(f"Watching {self._order.watched.folder}. Ctrl-C stops.")
            await self.run_until(stop)
            tasks.cancel_scope.cancel()
        return self._tally

    async def run_until(self, stop: anyio.Event) -> None:
        """Runs like `run`, until `stop` instead of a signal."""
        async with anyio.create_task_group() as documents:
            await self._look(documents, stop)

    async def _look(self, documents: TaskGroup, stop: anyio.Event) -> None:
        """Looks into the folder, again and again, and starts to read what is new and whole."""
        before: dict[str, FileVersion] = {}
        gone = False
        while not stop.is_set():
            try:
                found = await self._threads.run(self._order.watched.scan)
            except OSError as error:
                if self._order.once:
                    raise
                if not gone:
                    say(f"{self._order.watched.folder}: {error.strerror}. Waiting for it.")
                found, gone = {}, True
            else:
                gone = False
                # A file that was taken away while it waited for another try is not waited for.
                self._not_before = {file: at for file, at in self._not_before.items() if file in found}
            waiting = {file: version for file, version in found.items() if self._is_new(file, version)}
            settled = [file for file, version in waiting.items() if before.get(file) == version]
            for file in settled:
                await self._take_slot(stop)
                if stop.is_set():
                    return
                self._under_way.add(file)
                documents.start_soon(self._read_in_slot, file, found[file])
            if self._order.once and not (waiting or self._under_way or self._not_before):
                return
            before = found
            with anyio.move_on_after(self._order.poll_s):
                await stop.wait()

    def _is_new(self, file: str, version: FileVersion) -> bool:
        entry = self._journal.entry(file)
        if file in self._under_way or anyio.current_time() < self._not_before.get(file, 0.0):
            return False
        return entry is None or entry.version != version or entry.state == WatchState.AGAIN

    async def _take_slot(self, stop: anyio.Event) -> None:
        """Waits for a slot, or until `stop`: then none is taken."""
        async with anyio.create_task_group() as tasks:

            async def give_up() -> None:
                await stop.wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(give_up)
            await self._slots.acquire()
            tasks.cancel_scope.cancel()

    async def _read_in_slot(self, file: str, version: FileVersion) -> None:
        try:
            await self._read(file, version)
        finally:
            self._under_way.discard(file)
            self._slots.release()

    async def _read(self, file: str, version: FileVersion) -> None:
        self._not_before.pop(file, None)
        before = self._journal.entry(file)
        tries = before.tries + 1 if before is not None and before.version == version else 1
        name = self._journal.name_for(file)
        entry = WatchEntry(file, version.size, version.changed, name, WatchState.DONE, tries)
        place = self._order.watched.results / name
        path = self._order.watched.folder / file
        try:
            data = await self._threads.run(path.read_bytes)
        except OSError as error:
            problem, again = f"{file}: {error.strerror}.", True
            if await self._threads.run(version_of, path) is None:
                return  # it was taken away
        else:
            if await self._threads.run(version_of, path) != version:
                return  # it was changed while it was read; the next look finds it
            try:
                results = await self._results(Document(data, encodable(file)))
            except ReadError as error:
                if error.unavailable:
                    self._wait_for_reader(file, error)
                    return
                problem, again = problem_of(encodable(file), error), not error.rejected
            else:
                self._away = False
                if not (reason := await self._threads.run(_write, place, results)):
                    await self._threads.run(self._journal.add, entry)
                    self._tally.read += 1
                    say(f"{file}: wrote {', '.join(place.name + suffix for suffix in results)}")
                    return
                problem, again = f"{file}: its results can't be written: {reason}.", False
        again = again and tries < _TRIES
        say(f"{problem}{' It will be tried again.' if again else ''}")
        if again:
            self._not_before[file] = anyio.current_time() + _PAUSE_S * 4 ** (tries - 1)
        else:
            self._tally.failed += 1
            await self._threads.run(_write, place, {ERROR_SUFFIX: problem.encode() + b"\n"})
        state = WatchState.AGAIN if again else WatchState.FAILED
        await self._threads.run(self._journal.add, replace(entry, state=state))

    async def _results(self, document: Document) -> dict[str, bytes]:
        """The files of a document by their suffixes. Raises ReadError."""
        files: dict[str, bytes] = {}
        order, task = self._order, task_of(self._order.formats)
        result: DocumentResult | None = None
        if order.fields is not None:
            # Fields need blocks: text of the same reading serves, so that the document is read once.
            task = TaskKind.PARSE if task is TaskKind.TEXT else task
            found = await self._reader.extract(document, WantedFields(order.fields))
            files[FIELDS_SUFFIX] = json.dumps(found.answer, ensure_ascii=False, indent=2).encode() + b"\n"
            result = found.document if task is TaskKind.PARSE else None
        options = ReadOptions(task=task.value)
        result = result or await self._reader.read(document, options)
        for kind in order.formats:
            if isinstance(kind, FileFormat):
                files[kind.suffix] = await self._reader.file(document, result, kind, options)
            else:
                files[kind.suffix] = await self._threads.run(render, result, kind)
        return files

    def _wait_for_reader(self, file: str, error: ReadError) -> None:
        """Has the document looked at again later: it is not to blame. Raises `error` with `once`."""
        if self._order.once:
            raise error
        if not self._away:
            say(f"{error} Waiting for it.")
        self._away = True
        self._not_before[file] = anyio.current_time() + _PAUSE_S


def _write(place: Path, files: dict[str, bytes]) -> str:
    """Writes the files of a document; removes what says that it failed before. Blocking.

    Returns why the document's name allows no such files, else an empty string. Raises OSError: they can't be written.
    """
    try:
        for suffix, data in files.items():
            write_whole(place.with_name(place.name + suffix), data, parents=True)
    except OSError as error:
        if error.errno not in _OF_A_NAME:
            raise
        return error.strerror or str(error)
    error_file = place.with_name(place.name + ERROR_SUFFIX)
    if ERROR_SUFFIX not in files and len(os.fsencode(error_file.name)) <= _LONGEST_NAME:
        with suppress(FileNotFoundError):
            error_file.unlink()
    return ""
