"""A folder into which documents are put, and the journal of what became of each."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path, PurePath

from inkgate.cli.inputs import SUFFIXES
from inkgate.cli.result_names import bare_name
from inkgate.operating_system import lock
from inkgate_client.whole_files import write_whole

JOURNAL = ".inkgate-watch.jsonl"
LOCK = ".inkgate-watch.lock"


class FolderInUse(Exception):
    """Another process watches for the same folder of results."""


class WatchState(StrEnum):
    """`done`: the results are written. `failed`: the document can't be read. `again`: it is tried once more."""

    DONE = "done"
    FAILED = "failed"
    AGAIN = "again"


@dataclass(frozen=True, slots=True)
class FileVersion:
    """A file as it was at some time: `size` in bytes, `changed` in nanoseconds since the epoch."""

    size: int
    changed: int


@dataclass(frozen=True, slots=True)
class WatchEntry:
    """What became of a file.

    Attributes:
        file: its path below the watched folder, with slashes.
        name: of its results, below the folder of results, without a format's suffix.
        tries: how often it was read.
    """

    file: str
    size: int
    changed: int
    name: str
    state: str
    tries: int

    @property
    def version(self) -> FileVersion:
        return FileVersion(self.size, self.changed)


class WatchJournal:
    """The entries of all files, the last of each counts. Blocking; used from one thread at a time."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError: it can't be read or written."""
        self._path = folder / JOURNAL
        self._entries: dict[str, WatchEntry] = {}
        data = self._path.read_bytes() if self._path.exists() else b""
        lines = data.splitlines()
        for line in lines:
            if (entry := _parsed(line)) is not None:
                self._entries[entry.file] = entry
        cut_off = not data.endswith(b"\n") and bool(data)
        if cut_off or len(lines) > 2 * len(self._entries) + 100:
            write_whole(self._path, b"".join(map(_line, self._entries.values())), parents=True)
        self._names = {entry.name: entry.file for entry in self._entries.values()}

    def entry(self, file: str) -> WatchEntry | None:
        """None for a file that was not seen."""
        return self._entries.get(file)

    def name_for(self, file: str) -> str:
        """The name of a file's results: its own without suffix, unless another file has that one. It stays the same."""
        if (entry := self._entries.get(file)) is not None:
            return entry.name
        bare = bare_name(PurePath(file)).as_posix()
        name = bare if self._names.get(bare, file) == file else file
        self._names[name] = file
        return name

    def add(self, entry: WatchEntry) -> None:
        """Appends an entry, so that it outlives the process. Raises OSError."""
        with self._path.open("ab") as journal:
            journal.write(_line(entry))
            journal.flush()
            os.fsync(journal.fileno())
        self._entries[entry.file] = entry


def _line(entry: WatchEntry) -> bytes:
    return json.dumps(asdict(entry)).encode() + b"\n"


def _parsed(line: bytes) -> WatchEntry | None:
    """None for a line that was cut off when the process was killed."""
    try:
        entry = WatchEntry(**json.loads(line))
    except (ValueError, TypeError):
        return None
    return entry if entry.state in WatchState.__members__.values() else None


@contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Context in which no other process writes results into `folder`. Raises FolderInUse, OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("ab") as file:
        try:
            lock(file.fileno(), wait=False)
        except BlockingIOError as error:
            raise FolderInUse from error
        yield


@dataclass(frozen=True, slots=True)
class WatchedFolder:
    """The documents in `folder` and its sub-folders, without hidden ones. What is in `results` is left out."""

    folder: Path
    results: Path

    def scan(self) -> dict[str, FileVersion]:
        """The documents there are, by their path below the folder, the one changed longest ago first. Blocking.

        Raises:
            OSError: the folder can't be read.
        """
        found: dict[str, FileVersion] = {}
        results = self.results.resolve()
        with os.scandir(self.folder):
            pass  # os.walk would take a folder that is gone for an empty one
        for place, folders, files in os.walk(self.folder):
            at = Path(place)
            folders[:] = [name for name in folders if name[0] != "." and (at / name).resolve() != results]
            for name in files:
                if name[0] == "." or PurePath(name).suffix.lower() not in SUFFIXES:
                    continue
                if (version := version_of(at / name)) is not None:
                    found[(at / name).relative_to(self.folder).as_posix()] = version
        return dict(sorted(found.items(), key=lambda item: (item[1].changed, item[0])))


def version_of(path: Path) -> FileVersion | None:
    """None if it is gone or no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return FileVersion(status.st_size, status.st_mtime_ns) if path.is_file() else None
