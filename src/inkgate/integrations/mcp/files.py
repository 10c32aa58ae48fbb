"""Which files an agent may name, and documents that come as `data:` URLs."""

from __future__ import annotations

import binascii
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pybase64

from inkgate.operating_system import place_of
from inkgate_client.codec import encodable
from inkgate_client.types import Document


class FileRefused(Exception):
    """The file can't be used; the text says why, and goes to the agent."""


@dataclass(frozen=True, slots=True)
class AllowedFiles:
    """Files below `folders`, links resolved; every file if `anywhere`. `max_bytes`: of a document."""

    folders: tuple[Path, ...]
    max_bytes: int
    anywhere: bool = False

    @classmethod
    def below(cls, folders: Sequence[Path], max_bytes: int, *, anywhere: bool) -> AllowedFiles:
        """Blocking."""
        return cls(tuple(folder.resolve() for folder in folders), max_bytes, anywhere and not folders)

    def load(self, document: str) -> Document:
        """The document that `document` names: a path, a `file:` URL, or its bytes as a `data:` URL. Blocking.

        Raises:
            FileRefused: there is no such file, it is outside of the folders, too large, or the URL is of another kind.
        """
        if document[:5].lower() == "data:":
            return Document(self._decoded(document), "document")
        path = self._path(document)
        try:
            # Not through the path again after the checks: it may name another file by then.
            with open(path, "rb", opener=_without_waiting) as file:
                if not self._is_allowed(place_of(file.fileno(), path)):
                    raise FileRefused(f"{document} is outside of what this server may read.")
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise FileRefused(f"{document} is not a file.")
                data = file.read(self.max_bytes + 1)
        except OSError as error:
            raise FileRefused(f"{document}: {error.strerror}.") from error
        if len(data) > self.max_bytes:
            raise self._too_large()
        return Document(data, encodable(path.name))

    def _path(self, document: str) -> Path:
        if "://" in document:
            url = urlsplit(document)
            if url.scheme != "file" or url.netloc not in {"", "localhost"}:
                raise FileRefused("Only paths, file: URLs and data: URLs are read. Download the document first.")
            document = unquote(url.path)
        try:
            path = Path(document).expanduser().resolve()
        except (OSError, ValueError, RuntimeError) as error:  # a null byte, a loop of links, no home folder
            raise FileRefused(f"{document!r} is not the name of a file.") from error
        if not self._is_allowed(path):
            allowed = ", ".join(map(str, self.folders)) or "no folder: send the document as a data: URL"
            raise FileRefused(f"{document} is outside of what this server may read: {allowed}.")
        return path

    def _is_allowed(self, path: Path) -> bool:
        return self.anywhere or any(path.is_relative_to(folder) for folder in self.folders)

    def _decoded(self, url: str) -> bytes:
        head, comma, body = url.partition(",")
        if not comma or not head.lower().endswith(";base64"):
            raise FileRefused("A data: URL must have the form data:TYPE;base64,DATA.")
        if len(body) * 3 // 4 > self.max_bytes + 2:
            raise self._too_large()
        try:
            return pybase64.b64decode(body, validate=True)
        except (binascii.Error, ValueError) as error:
            raise FileRefused("The data of the data: URL is not base64.") from error

    def _too_large(self) -> FileRefused:
        return FileRefused(f"The document is larger than {self.max_bytes // 1_000_000} MB (limits.max_body_mb).")


def _without_waiting(path: str, flags: int) -> int:
    """Opens a file; a pipe without a writer would block for ever."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
