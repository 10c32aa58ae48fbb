"""What can be given to be read, and its bytes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol, runtime_checkable

from inkgate.client.errors import FileUnreadable


@runtime_checkable
class BinaryFile(Protocol):
    """A file that is open in binary mode; wrappers such as those of tempfile are no IOBase."""

    def read(self, size: int = -1, /) -> bytes:
        """All that is left."""
        ...


File = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryFile
"""A path, the bytes themselves, or a file that is open in binary mode and is read from where it stands."""


def loaded(file: File, name: str) -> tuple[str, bytes]:
    """The name under which `file` is sent (`name`, where one is given), and its bytes. Blocking.

    Raises:
        FileUnreadable: there is no such file, or it can't be read.
        TypeError: `file` is none of the kinds that `File` names.
    """
    if isinstance(file, bytes | bytearray | memoryview):
        return name or "document", bytes(file)
    try:
        if isinstance(file, str | os.PathLike):
            path = Path(file)
            return name or path.name, path.read_bytes()
        if isinstance(file, BinaryFile):
            return name or _name_of(file), _bytes_of(file)
    except (OSError, ValueError) as error:  # ValueError: the file is closed, or the path has a null byte
        raise FileUnreadable(f"{_shown(file)} can't be read: {_reason(error)}.") from error
    raise TypeError(f"A document must be a path, bytes or a file opened in binary mode, not {type(file).__name__}.")


def _bytes_of(file: BinaryFile) -> bytes:
    data: object = file.read()
    if not isinstance(data, bytes):
        raise TypeError('Open the file in binary mode: open(path, "rb").')
    return data


def _name_of(file: BinaryFile) -> str:
    name: object = getattr(file, "name", None)  # io.BytesIO has none; that of a pipe is a number
    return Path(name).name if isinstance(name, str) else "document"


def _shown(file: object) -> str:
    return repr(os.fspath(file)) if isinstance(file, str | os.PathLike) else "The file"


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
