"""The files of MinerU's results, which both versions of its API have."""

from __future__ import annotations

import io
import time
import zipfile
from base64 import b64decode
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

import orjson

from inkgate import __version__
from inkgate.api.jobs.pagewise import PagewiseElements, PagewiseFormat, PagewiseMarkdown
from inkgate.api.jobs.results import ResultReader
from inkgate.api.mineru_document import MineruPage
from inkgate.settings import PdfText
from inkgate_client.image_links import IMAGE_FOLDER
from inkgate_client.types import PageResult

METHODS = {"txt": PdfText.ALWAYS, "ocr": PdfText.NEVER}
"""When the text inside of PDFs is used, by MinerU's methods; `auto` is not there."""
_MIDDLE = '{"pdf_info":[', f'],"_backend":"vlm","_version_name":"{__version__}"}}'
"""What is around the pages. The blocks are as those of MinerU's backend `vlm`."""


def _content(page: PageResult) -> bytes:
    return orjson.dumps(MineruPage(page).content)[1:-1]


def _middle(page: PageResult) -> bytes:
    return orjson.dumps(MineruPage(page).middle)


def content_list() -> PagewiseElements:
    """Renders `content_list.json`."""
    return PagewiseElements(_content)


def middle_json() -> PagewiseElements:
    """Renders `middle.json`."""
    return PagewiseElements(_middle, *_MIDDLE)


async def archive_pieces(
    reader: ResultReader, folder: str, markdown_name: str, others: Mapping[str, PagewiseFormat]
) -> AsyncGenerator[bytes]:
    """A ZIP archive with Markdown, other files of text and images. `folder`: empty, or ends with a slash."""
    markdown = PagewiseMarkdown(embedded=False)
    sent = _SentFile()
    with zipfile.ZipFile(sent, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, renderer in {markdown_name: markdown, **others}.items():
            with archive.open(_entry(folder + file, zipfile.ZIP_DEFLATED), "w") as entry:
                async with aclosing(reader.rendered(renderer)) as pieces:
                    async for piece in pieces:
                        await reader.run(len(piece), entry.write, piece)
            yield sent.taken()
        for image in markdown.images:
            data = b64decode(b"".join([piece async for piece in reader.images.filled(image.base64.encode())]))
            archive.writestr(_entry(f"{folder}{IMAGE_FOLDER}/{image.name}", zipfile.ZIP_STORED), data)
            yield sent.taken()
    yield sent.taken()


def _entry(name: str, compression: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, time.localtime()[:6])
    entry.compress_type = compression
    return entry


class _SentFile(io.BytesIO):
    """A file that is sent while it is written: what was taken is not kept. An archive goes back only within the entry
    that it writes.
    """

    def __init__(self) -> None:
        super().__init__()
        self._sent = 0

    def taken(self) -> bytes:
        """What was written since the last call."""
        data = self.getvalue()
        self._sent += len(data)
        super().seek(0)
        self.truncate()
        return data

    def tell(self) -> int:
        return self._sent + super().tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        at = offset - self._sent if whence == io.SEEK_SET else offset
        return self._sent + super().seek(at, whence)
