"""The images and documents that are sent, held in memory during a load test."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from pathlib import Path

import pypdfium2
from PIL import Image
from PIL.TiffImagePlugin import TiffImageFile

from inkgate.documents.sniff import FileType, sniff
from inkgate.errors import InputRejected
from inkgate_bench.load import LoadImpossible


@dataclass(frozen=True, slots=True)
class LoadPage:
    """A file that is sent, usually one page. `pages`: how many it has; None where that is unknown."""

    name: str
    content: bytes
    media_type: str
    pages: int | None = None


def load_pages(source: Path) -> tuple[LoadPage, ...]:
    """The images and PDFs of a folder and its subfolders, sorted by name; or the one file.

    In a folder other files, such as ground truth, are skipped.

    Raises:
        LoadImpossible: `source` doesn't exist, can't be read, or holds no image and no PDF.
    """
    if not source.exists():
        raise LoadImpossible(f"There is no file or folder {source}.")
    single = source.is_file()
    files = [source] if single else sorted(file for file in source.rglob("*") if file.is_file())
    try:
        pages = [page for file in files if (page := _page(file, source.parent if single else source)) is not None]
    except OSError as error:
        raise LoadImpossible(f"{error.filename} can't be read: {error.strerror}.") from error
    if not pages:
        raise LoadImpossible(f"{source} is not an image or PDF." if single else f"{source} holds no image or PDF.")
    return tuple(pages)


def _page(file: Path, folder: Path) -> LoadPage | None:
    content = file.read_bytes()
    try:
        kind = sniff(content)
    except InputRejected:
        return None
    return LoadPage(file.relative_to(folder).as_posix(), content, kind.value, _count(content, kind))


def _count(content: bytes, kind: FileType) -> int | None:
    """Pages of a file; None where it is broken, which may be intended: it is sent anyway."""
    if kind is not FileType.PDF and kind is not FileType.TIFF:
        return 1
    try:
        if kind is FileType.PDF:
            with pypdfium2.PdfDocument(content) as document:
                return len(document)
        with warnings.catch_warnings(action="ignore"), Image.open(io.BytesIO(content)) as image:
            return image.n_frames if isinstance(image, TiffImageFile) else 1
    except (pypdfium2.PdfiumError, OSError, ValueError):
        return None
