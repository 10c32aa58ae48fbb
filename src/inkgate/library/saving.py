"""Results as files of any format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from inkgate.documents.files import AnyFormat, FileFormat
from inkgate.documents.files.write import FileRequest, office_file
from inkgate.documents.open import Opener
from inkgate.settings import LimitSettings, PdfSettings
from inkgate_client.concurrency import Threads
from inkgate_client.format_names import Format
from inkgate_client.formats import render
from inkgate_client.image_links import with_all_images_embedded
from inkgate_client.types import Document, DocumentResult
from inkgate_client.whole_files import write_whole

_SHOW_TABLES = (Format.CSV, FileFormat.XLSX)


@dataclass(frozen=True, slots=True)
class SaveOrder:
    """A file to write.

    Attributes:
        original: gives the document, which a searchable PDF is made from; blocking.
        password: of an encrypted PDF.
    """

    result: DocumentResult
    format: AnyFormat
    path: Path
    original: Callable[[], Document]
    password: str
    limits: LimitSettings
    pdf: PdfSettings

    def check(self) -> None:
        """Raises ValueError if the result has nothing that the format shows."""
        read = [page for page in self.result.pages if page.error is None]
        if self.format in _SHOW_TABLES and read and all(page.blocks is None for page in read):
            raise ValueError(f"{self.format.value} shows tables, and this result has none. Read with task='parse'.")


async def save(order: SaveOrder) -> Path:
    """Writes the file. A worker process, which is started for it, makes a searchable PDF; threads the other formats.

    Raises:
        OSError, ValueError: see `Original.document`; or the file can't be written.
        InkgateError: the document can't be written; see SearchablePdfs.make.
    """
    order.check()
    threads = Threads("save", 1)
    if order.format is FileFormat.PDF:
        document = await threads.run(order.original)
        async with Opener(order.limits, order.pdf.model_copy(update={"warm_workers": 0})) as opener:
            data = await opener.searchable_pdf(document, order.result.pages, order.password)
        await threads.run(write_whole, order.path, data)
    else:
        await threads.run(_save, order)
    return order.path


def save_here(order: SaveOrder, run: Callable[[Callable[[], object]], object]) -> Path:
    """Saves a result like `save`, blocking; `run` runs an async function on an event loop of its own."""
    order.check()
    if order.format is FileFormat.PDF:
        run(partial(save, order))
    else:
        _save(order)
    return order.path


def _save(order: SaveOrder) -> None:
    """Blocking."""
    if order.format is Format.MARKDOWN:
        data = render(with_all_images_embedded(order.result), order.format)
    elif isinstance(order.format, Format):
        data = render(order.result, order.format)
    else:
        data = office_file(FileRequest(Document(b""), order.result, order.format))
    write_whole(order.path, data)
