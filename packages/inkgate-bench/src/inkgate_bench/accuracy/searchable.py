"""Checks searchable PDFs: poppler finds every line that was read, and the images of the pages are unchanged."""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from inkgate.caller import NO_CALLER
from inkgate.documents.files.write import FileRequest
from inkgate.errors import InkgateError
from inkgate.service.gateway import Gateway
from inkgate.service.reader import CheckedOptions
from inkgate.settings import PdfText
from inkgate_bench.accuracy.manifest import Entry
from inkgate_client.concurrency import Threads
from inkgate_client.coordinates import Coordinates
from inkgate_client.format_names import FileFormat
from inkgate_client.formats.areas import page_in
from inkgate_client.types import Document, PageResult

_TIMEOUT_S = 120.0


class ToolMissing(Exception):
    """pdftotext is not installed."""


@dataclass(frozen=True, slots=True)
class SearchableCheck:
    """One document. `missing`: of `lines`, those that pdftotext does not find. `images_kept`: all images of a PDF have
    the same bytes; None for image files. `error`: code of why there is no PDF; empty if there is one.
    """

    path: str
    lines: int = 0
    missing: int = 0
    images_kept: bool | None = None
    error: str = ""


async def check_searchable(
    gateway: Gateway, entries: Sequence[Entry], pdf_text: PdfText | None, advance: Callable[[Entry], None]
) -> list[SearchableCheck]:
    """Reads each document, makes its searchable PDF and checks it.

    Raises:
        ToolMissing: it can't be checked here.
    """
    if shutil.which("pdftotext") is None:
        raise ToolMissing("pdftotext is not installed: it is in the package poppler-utils.")
    threads = Threads("searchable_checks", 1)
    checks = []
    for entry in entries:
        document = Document(await threads.run(entry.file.read_bytes), entry.path)
        try:
            async with gateway.admit(NO_CALLER, len(document.data)) as admitted:
                async with admitted.read(document, CheckedOptions(pdf_text=pdf_text)) as reading:
                    result = await reading.all()
                made = await admitted.file(FileRequest(document, result, FileFormat.PDF))
            checks.append(await threads.run(_checked, document, made, result.pages))
        except InkgateError as error:
            checks.append(SearchableCheck(entry.path, error=error.code))
        advance(entry)
    return checks


def searchable_table(checks: Sequence[SearchableCheck]) -> Table:
    """The checks that failed, and the sums."""
    table = Table("document", "lines", "found", "images kept", "error", title="Searchable PDF")
    for check in checks:
        if check.missing or check.images_kept is False or check.error:
            found, kept = str(check.lines - check.missing), {True: "yes", False: "no", None: ""}[check.images_kept]
            table.add_row(check.path, str(check.lines), found, kept, check.error)
    lines, missing = sum(check.lines for check in checks), sum(check.missing for check in checks)
    pdfs = [check for check in checks if check.images_kept is not None]
    share = f"{lines - missing} ({(lines - missing) / lines:.2%})" if lines else "0"
    kept = f"{sum(check.images_kept is True for check in pdfs)} of {len(pdfs)} PDFs"
    table.add_section()
    table.add_row(f"all {len(checks)}", str(lines), share, kept, str(sum(bool(check.error) for check in checks)))
    return table


def _checked(document: Document, made: bytes, pages: Sequence[PageResult]) -> SearchableCheck:
    """Blocking."""
    lines = missing = 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "made.pdf")
        file.write_bytes(made)
        for page in pages:
            if page.source == "text_layer":  # left as it is
                continue
            rows = [row.text for area in page_in(page, Coordinates.SENT).areas for row in area.rows]
            found = _text(file, page.index + 1) if rows else ""
            lines += len(rows)
            missing += sum(row not in found for row in rows)
    same = _images(document.data) == _images(made) if document.data.startswith(b"%PDF") else None
    return SearchableCheck(document.name, lines, missing, same)


def _text(file: Path, number: int) -> str:
    """The text of a page in one line, in the order of its content."""
    pages = ("-f", str(number), "-l", str(number))
    command = ("pdftotext", "-raw", *pages, str(file), "-")
    done = subprocess.run(command, capture_output=True, check=False, timeout=_TIMEOUT_S)  # noqa: S603 - our own file
    return " ".join(done.stdout.decode("utf-8", "replace").split())


def _images(pdf: bytes) -> list[str]:
    """Digests of the images' stored bytes, sorted."""
    import pikepdf

    with pikepdf.open(io.BytesIO(pdf)) as document:
        images = [each for each in document.objects if isinstance(each, pikepdf.Stream)]
        images = [each for each in images if each.get("/Subtype") == pikepdf.Name.Image]
        return sorted(hashlib.sha256(each.read_raw_bytes()).hexdigest() for each in images)
