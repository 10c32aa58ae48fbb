"""Files that clients send: paths, URLs, bytes, and open files."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import Protocol, TypeGuard, runtime_checkable
from urllib.parse import unquote, urlsplit

from inkgate_client.types import Document
from inkgate_client.whole_files import write_whole


@runtime_checkable
class BinaryFile(Protocol):
    """A file open in binary mode. Not IOBase, because wrappers such as tempfile's are not."""

    def read(self, size: int = -1, /) -> bytes:
        """Reads the rest of the file."""
        ...


File = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryFile
"""A path, a URL (`str`, http or https), which is fetched here and not by the service, the bytes, or a file open in
binary mode, which is read from its current position.
"""
Source = File | Document
"""A document to read: a File, or a Document, which is bytes with a name."""

MAX_FETCHED_BYTES = 512 * 1024 * 1024
"""Maximum bytes fetched from a URL. Services take less."""
FETCH_S = 600.0
"""Time limit for a URL, for a website that sends a byte now and then."""


def is_url(file: Source) -> TypeGuard[str]:
    """Whether `file` is to be fetched."""
    return isinstance(file, str) and file[:8].lower().startswith(("http://", "https://"))


def url_name(url: str) -> str:
    """The last part of a URL's path, for the document's name."""
    return PurePosixPath(unquote(urlsplit(url).path)).name or "document"


def store(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes a file, whole or not at all. Blocking. Raises OSError."""
    write_whole(Path(path), data)


def load(file: Source, name: str) -> tuple[str, bytes]:
    """The name for `file` (`name` if given), and its bytes. Blocking.

    Raises:
        OSError: the file does not exist or can't be read.
        ValueError: the file is closed, or the path has a null byte.
        TypeError: `file` is not a `File`.
    """
    if isinstance(file, Document):
        return name or file.name, file.data
    if isinstance(file, bytes | bytearray | memoryview):
        return name or "document", bytes(file)
    if isinstance(file, str | os.PathLike):
        path = Path(file)
        return name or path.name, path.read_bytes()
    if isinstance(file, BinaryFile):
        return name or _name_of(file), _bytes_of(file)
    raise TypeError(f"A document must be a path, bytes or a file opened in binary mode, not {type(file).__name__}.")


def _bytes_of(file: BinaryFile) -> bytes:
    data: object = file.read()
    if not isinstance(data, bytes):
        raise TypeError('Open the file in binary mode: open(path, "rb").')
    return data


def _name_of(file: BinaryFile) -> str:
    name: object = getattr(file, "name", None)  # io.BytesIO has none; a pipe's is a number
    return Path(os.fsdecode(name)).name if isinstance(name, str | bytes) else "document"
