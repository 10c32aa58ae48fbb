"""Documents of the asynchronous client. scripts/write_blocking_client.py writes those of the blocking one from it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from hashlib import sha256

from inkgate_client import requests
from inkgate_client.awaited_calls import AsyncCalls
from inkgate_client.errors import FileUnreadable
from inkgate_client.files import Source
from inkgate_client.format_names import Format, format_for, format_named
from inkgate_client.formats import render
from inkgate_client.image_links import with_all_images_embedded
from inkgate_client.rendered import RenderedDocument
from inkgate_client.requests import READ_S, ReadOptions

_MADE_HERE = (Format.TEXT, Format.MARKDOWN, Format.JSON, Format.CSV, Format.MERMAID, Format.CHUNKS)


@dataclass(frozen=True, slots=True)
class AsyncSourceOf:
    """The origin of a document, and how it was read. `file`: its path or its bytes. `digest`: their SHA-256."""

    calls: AsyncCalls
    file: Source
    digest: bytes
    read_as: ReadOptions
    wait_s: float = READ_S


@dataclass(frozen=True, slots=True)
class AsyncClientDocument(RenderedDocument):
    """A document that the service read. Text, Markdown, JSON, CSV, Mermaid and chunks are made here; the service makes
    other formats out of the file. `render` of hOCR and ALTO needs NumPy, which inkgate-client does not install.
    """

    source: AsyncSourceOf = field(kw_only=True, repr=False, compare=False)

    async def file(self, format: str) -> bytes:  # noqa: A002 - the option's name
        """The document in any format, such as `pdf` (searchable) or `docx`, made by the service: it gets the file
        again, and keeps recent results, so it seldom reads it again.

        Raises:
            ServiceError: the service can't make it.
            FileUnreadable: the file is gone, or is another one now.
            ValueError: there is no such format.
        """
        kind, source = format_named(format), self.source
        loaded = await source.calls.loaded(source.file, self.name)
        if sha256(loaded[1]).digest() != source.digest:
            raise FileUnreadable(f"{self.name} was changed since it was read. Read it again.")
        ask = requests.reading(loaded, source.read_as, kind.value, source.wait_s)
        answer = await source.calls.answer(ask)
        return requests.content(answer, source.calls.url, kind)

    async def save(self, path: str | os.PathLike[str], format: str = "") -> None:  # noqa: A002 - the option's name
        """Writes the document to `path`, in the format that its suffix tells: `.txt`, `.md`, `.json`, `.hocr`,
        `.alto.xml`, `.csv`, `.mmd`, `.chunks.jsonl`, `.pdf` (searchable), `.docx` or `.xlsx`. An existing file is
        replaced. Markdown has the images of figures inside, if they were asked for.

        Raises:
            OSError: it can't be written.
            ValueError: neither `format` nor the suffix names a format.
            ServiceError: as `file`.
        """
        wanted = format_for(os.fspath(path), format)
        if wanted is Format.MARKDOWN:
            data = render(with_all_images_embedded(self), wanted)
        else:
            data = self.render(wanted) if wanted in _MADE_HERE else await self.file(wanted)
        await self.source.calls.store(path, data)
