"""The documents that results were read from: a searchable PDF is made from the original."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from inkgate.client.files import File, load
from inkgate.codec import encodable
from inkgate.settings import LimitSettings, PdfSettings
from inkgate.types import Document

Source = File | Document
"""A path, the bytes, a file open in binary mode, or a Document, which is bytes with a name."""


@dataclass(frozen=True, slots=True)
class Original:
    """Where the document of a result is. A file is read again when it is needed; bytes are kept.

    Attributes:
        path: of a document that was given as a path; absolute.
        digest: of the file's bytes as they were read.
        data: of a document without a path; None after pickling, which leaves out bytes and passwords.
        password: of an encrypted PDF.
        limits, pdf: settings of whoever read it.
    """

    name: str
    path: Path | None = None
    digest: bytes = b""
    data: bytes | None = field(default=None, repr=False)
    password: str = field(default="", repr=False)
    limits: LimitSettings = field(default_factory=LimitSettings, repr=False)
    pdf: PdfSettings = field(default_factory=PdfSettings, repr=False)

    def __reduce__(self) -> tuple[Callable[..., Original], tuple[object, ...]]:
        return Original, (self.name, self.path, self.digest, None, "", self.limits, self.pdf)

    def document(self) -> Document:
        """The document as it was read. Blocking.

        Raises:
            OSError: the file can't be read, for example because it is gone.
            ValueError: the file was changed after it was read, or its bytes are not here.
        """
        if self.data is not None:
            return Document(self.data, self.name)
        if self.path is None:
            raise ValueError(f"This result no longer has the bytes of {self.name!r}. Give them: original=...")
        data = self.path.read_bytes()
        if _digest(data) != self.digest:
            raise ValueError(
                f"{self.path} was changed after it was read. Read it again, or give the file: original=..."
            )
        return Document(data, self.name)


@dataclass(frozen=True, slots=True)
class LoadedDocument(Document):
    """A document in memory, and where it came from."""

    original: Original = field(kw_only=True)


def loaded(source: Source) -> LoadedDocument:
    """Blocking. Raises OSError if the file can't be read, ValueError if it is closed, TypeError for another type."""
    if isinstance(source, LoadedDocument):
        return source
    if isinstance(source, Document):
        return LoadedDocument(source.data, source.name, original=Original(source.name, data=source.data))
    name, data = load(source, "")
    name = encodable(name)  # file names are bytes; not all are UTF-8
    if isinstance(source, str | os.PathLike):
        original = Original(name, Path(os.path.abspath(source)), _digest(data))  # noqa: PTH100 - the link's own path
    else:
        original = Original(name, data=data)
    return LoadedDocument(data, name, original=original)


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
