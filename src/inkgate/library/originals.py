"""The documents that results were read from: a searchable PDF is made from the original."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from inkgate.settings import LimitSettings, PdfSettings
from inkgate_client.codec import encodable
from inkgate_client.files import Source, load
from inkgate_client.types import Document


class Original:
    """The original document of a result. A file is read again when it is needed; bytes are kept. Is not changed.

    No dataclass: `dataclasses.asdict(result)` would take it apart, and show its bytes and its password.

    Attributes:
        path: of a document that was given as a path; absolute.
        digest: of the file's bytes as they were read.
        data: of a document without a path; None after pickling, which leaves out bytes and passwords.
        password: of an encrypted PDF.
        limits, pdf: settings of whoever read it.
    """

    __slots__ = ("data", "digest", "limits", "name", "password", "path", "pdf")

    def __init__(  # noqa: PLR0913 - a record
        self,
        name: str,
        *,
        path: Path | None = None,
        digest: bytes = b"",
        data: bytes | None = None,
        password: str = "",
        limits: LimitSettings | None = None,
        pdf: PdfSettings | None = None,
    ) -> None:
        self.name = name
        self.path = path
        self.digest = digest
        self.data = data
        self.password = password
        self.limits = limits or LimitSettings()
        self.pdf = pdf or PdfSettings()

    def read_with(self, password: str, limits: LimitSettings, pdf: PdfSettings) -> Original:
        """The same document, as it was read."""
        return Original(
            self.name,
            path=self.path,
            digest=self.digest,
            data=self.data,
            password=password,
            limits=limits,
            pdf=pdf,
        )

    def __reduce__(self) -> tuple[Callable[..., Original], tuple[object, ...]]:
        known = partial(Original, self.name, path=self.path, digest=self.digest, limits=self.limits, pdf=self.pdf)
        return known, ()

    def __copy__(self) -> Original:
        return self

    def __deepcopy__(self, memo: Mapping[int, object]) -> Original:
        return self

    def __repr__(self) -> str:
        return f"Original({self.name!r}, path={self.path!r})"

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
        original = Original(name, path=Path(os.path.abspath(source)), digest=_digest(data))  # noqa: PTH100 - the link's own path
    else:
        original = Original(name, data=data)
    return LoadedDocument(data, name, original=original)


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
