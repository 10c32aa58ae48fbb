"""Files of local folders, as objects: read whole, replaced at once, and never outside the folder that was named.

All functions block. Paths are absolute, and their parts are taken as they are.
"""

from __future__ import annotations

import io
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from inkgate.errors import InputRejected
from inkgate.operating_system import lock, open_folder

_TEMPORARY = ".inkgate-"
"""Begins the names of files that are being written."""
_PIECE = 1024 * 1024


def read_file(path: Path, below: Path, etag: str, max_bytes: int) -> bytes:
    """The bytes of a file.

    `below`: a folder above it; symbolic links are followed within it only. The check holds for what is opened: nobody
    who may write into the folder can change a link in between.

    Raises:
        InputRejected: "source_forbidden", "source_missing", "source_replaced" or "body_too_large".
        OSError: it can't be read.
    """
    with _opened(path, below) as opened:
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode):
            raise InputRejected("source_missing", "This is not a file.")
        if etag and etag != file_etag(found):
            raise InputRejected("source_replaced", "The file has another ETag.")
        if found.st_size > max_bytes:
            raise InputRejected(
                "body_too_large", f"The file has {found.st_size} bytes; at most {max_bytes} are allowed."
            )
        whole = io.BytesIO()
        while piece := os.read(opened, _PIECE):
            whole.write(piece)
            if whole.tell() > max_bytes:
                raise InputRejected("body_too_large", f"The file has more than {max_bytes} bytes.")
        return whole.getvalue()


@contextmanager
def _opened(path: Path, below: Path) -> Iterator[int]:
    try:
        folder, target = below.resolve(), path.resolve()
    except RuntimeError as error:  # links in a circle; from Python 3.13 on, opening them fails
        raise InputRejected("source_missing", "There is no such file.") from error
    if not target.is_relative_to(folder) or target == folder:
        raise InputRejected("source_forbidden", "A symbolic link leads out of the folder.")
    *folders, name = target.relative_to(folder).parts
    # Links were resolved, so none is followed from here on. A pipe would block without O_NONBLOCK.
    at = open_folder(folder)
    try:
        for part in folders:
            inner = open_folder(part, below=at, follow=False)
            os.close(at)
            at = inner
        opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=at)
    finally:
        os.close(at)
    try:
        yield opened
    finally:
        os.close(opened)


def write_file(path: Path, data: bytes, *, create_only: bool, private: bool) -> bool:
    """Writes a file at once: readers find the old file, none, or the whole new one. Returns once it is on the disk.

    `create_only`: returns False if there is one. `private`: only this user may read it and folders made for it.

    Raises:
        OSError: it can't be written, for example because the disk is full. Nothing has changed then.
    """
    _make_folders(path.parent, 0o700 if private else 0o777)
    temporary = path.parent / f"{_TEMPORARY}{secrets.token_hex(8)}"
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with io.FileIO(os.open(temporary, flags, 0o600 if private else 0o666), "w") as file:
            left = memoryview(data)
            while left:
                left = left[file.write(left) or 0 :]
            os.fsync(file.fileno())
        with _locked(path.parent, shared=True) as folder:
            if create_only:
                try:
                    os.link(temporary, path)
                except FileExistsError:
                    return False
            else:
                temporary.replace(path)
            os.fsync(folder)
        return True
    finally:
        temporary.unlink(missing_ok=True)


def _make_folders(folder: Path, mode: int) -> None:
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode, exist_ok=True)


@contextmanager
def _locked(folder: Path, *, shared: bool = False) -> Iterator[int]:
    """Holds a lock of the folder that only `write_file` and `delete_older_file` know. Yields its descriptor."""
    opened = open_folder(folder)
    try:
        with suppress(OSError):  # a network file system may not lock folders
            lock(opened, shared=shared)
        yield opened
    finally:
        os.close(opened)


def delete_file(path: Path) -> None:
    """Deletes a file, if it exists."""
    with suppress(FileNotFoundError, NotADirectoryError):
        path.unlink()


def delete_older_file(path: Path, than: float) -> bool:
    """Deletes a file if it was written before `than` (Unix time), and what killed processes left beside it by then.

    A file that is written at the same time, by any process of this machine, stays.
    """
    try:
        with _locked(path.parent):
            for each in path.parent.glob(f"{_TEMPORARY}*"):
                with suppress(FileNotFoundError):
                    if each.lstat().st_mtime < than:
                        each.unlink()
            if path.stat().st_mtime >= than:
                return False
            path.unlink()
            return True
    except (FileNotFoundError, NotADirectoryError):
        return False


def modified_file(path: Path) -> float | None:
    """Unix time at which the file was written; None if there is none."""
    try:
        return path.stat().st_mtime
    except (FileNotFoundError, NotADirectoryError):
        return None


def files_below(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """The files in a folder and its folders, by name; not those being written, and none through a symbolic link."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from files_below(Path(entry.path))
        elif entry.is_file(follow_symlinks=False) and not entry.name.startswith(_TEMPORARY):
            with suppress(FileNotFoundError):
                yield Path(entry.path), entry.stat(follow_symlinks=False)


def file_etag(found: os.stat_result) -> str:
    """Changes when the file is replaced or written."""
    return f"{found.st_ino:x}-{found.st_mtime_ns:x}-{found.st_size:x}"
