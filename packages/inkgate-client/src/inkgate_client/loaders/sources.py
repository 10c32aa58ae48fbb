"""Files as loaders are given them: paths, URLs, bytes and open files, one or many."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial

import httpx

from inkgate_client.blocking_calls import Calls
from inkgate_client.codec import encodable
from inkgate_client.errors import file_errors
from inkgate_client.files import BinaryFile, File, Pixels, is_url, load

Files = File | Iterable[File]
"""A path, a URL, the bytes, a file open in binary mode, or several of these."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to load.

    Attributes:
        source: what the metadata call it.
        load: its name and bytes. Blocking. Raises FileUnreadable, or OSError.
    """

    source: str
    load: Callable[[], tuple[str, bytes]]


def each_file(files: Files) -> Iterable[File]:
    """One file is a list of one."""
    return (
        [files]
        if isinstance(files, str | os.PathLike | bytes | bytearray | memoryview | BinaryFile | Pixels)
        else files
    )


def source_files(files: Files) -> Iterator[SourceFile]:
    """`files`, one after the other; an iterable is advanced as they are taken."""
    for file in each_file(files):
        yield SourceFile(_source_of(file), partial(_loaded, file))


def _source_of(file: File) -> str:
    if is_url(file):
        return re.sub(r"//[^/?#]*@", "//", file)  # without a user's password
    if isinstance(file, str | os.PathLike):
        return encodable(os.fsdecode(file))
    name = getattr(file, "name", None)  # io.BytesIO and bytes have none; a pipe's is a number
    return encodable(name) if isinstance(name, str) else "document"


def _loaded(file: File) -> tuple[str, bytes]:
    if is_url(file):
        with closing(Calls("", httpx.Client())) as calls:
            return calls.loaded(file, "")
    with file_errors(file):
        name, data = load(file, "")
    return encodable(name), data
