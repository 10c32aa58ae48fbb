"""A plugin of OCRmyPDF that reads pages with inkgate: the engine in this process, or a service by URL.

    ocrmypdf --plugin inkgate.integrations.ocrmypdf scan.pdf out.pdf
    ocrmypdf --plugin inkgate.integrations.ocrmypdf --inkgate-server http://localhost:8000 scan.pdf out.pdf

OCRmyPDF calls it in several threads or worker processes. Each process loads the models once, at its first page.
"""

from __future__ import annotations

import logging
from argparse import ArgumentParser
from functools import partial
from pathlib import Path
from typing import Any

from ocrmypdf import hookimpl
from ocrmypdf.exceptions import BadArgsError, ExitCodeException
from ocrmypdf.models.ocr_element import Baseline, BoundingBox, OcrClass, OcrElement
from ocrmypdf.pluginspec import OcrEngine, OrientationConfidence
from pydantic import BaseModel, SecretStr

from inkgate import __version__
from inkgate_client import ReadOptions
from inkgate_client.coordinates import Coordinates
from inkgate_client.formats import Format, render
from inkgate_client.formats.areas import LineArea, PixelBox, page_in
from inkgate_client.formats.text import page_text
from inkgate_client.loaders.options import LoaderOptions
from inkgate_client.loaders.readers import portal_reader
from inkgate_client.many import call
from inkgate_client.types import Document, DocumentResult, PageResult, ReadError

NAME = "inkgate"
_log = logging.getLogger(__name__)
_SURE = 15.0
"""Confidence of an orientation, in OCRmyPDF's scale, where 14 is enough by default."""


class InkgateOptions(BaseModel):
    """Options of the plugin: `inkgate_server` and `inkgate_key` from Python, `--inkgate-server` and `--inkgate-key`."""

    server: str = ""
    key: SecretStr = SecretStr("")


@hookimpl
def register_options() -> dict[str, type[BaseModel]]:
    """Registers the options under the plugin's name."""
    return {NAME: InkgateOptions}


@hookimpl
def add_options(parser: ArgumentParser) -> None:
    """Adds the options to the command line."""
    group = parser.add_argument_group("inkgate", "Where inkgate reads pages")
    group.add_argument("--inkgate-server", metavar="URL", help="A running service. Default: in this process.")
    group.add_argument("--inkgate-key", metavar="KEY", help="API key of the service.")


@hookimpl
def check_options(options: Any) -> None:  # noqa: ANN401 - OCRmyPDF's
    """Takes OCRmyPDF's own renderer where programs for Tesseract, such as Stirling-PDF, ask for `sandwich`."""
    if options.pdf_renderer == "sandwich" and options.ocr_engine in {"auto", NAME}:
        _log.warning("inkgate makes no PDF itself: --pdf-renderer fpdf2 is used in place of sandwich.")
        options.pdf_renderer = "fpdf2"


@hookimpl
def get_ocr_engine(options: Any) -> OcrEngine | None:  # noqa: ANN401 - OCRmyPDF's, or None
    """inkgate, unless the command names another engine."""
    chosen = "auto" if options is None else options.ocr_engine
    return InkgateOcrEngine() if chosen in {"auto", NAME} else None


class InkgateOcrEngine(OcrEngine):
    """Reads page images for OCRmyPDF. All methods raise ExitCodeException if inkgate can't read."""

    @staticmethod
    def version() -> str:
        return __version__

    @staticmethod
    def creator_tag(options: Any) -> str:  # noqa: ANN401, ARG004 - OCRmyPDF's
        return f"inkgate {__version__}"

    def __str__(self) -> str:
        return f"inkgate {__version__}"

    @staticmethod
    def languages(options: Any) -> set[str]:  # noqa: ANN401 - OCRmyPDF's
        """Returns the requested languages: inkgate needs no choice of a language."""
        return set(options.languages)

    @staticmethod
    def get_orientation(input_file: Path, options: Any) -> OrientationConfidence:  # noqa: ANN401 - OCRmyPDF's
        """Returns by how much the page must be turned, from the page as it was read."""
        page = _read(input_file, options).pages[0]
        if not page.lines:
            return OrientationConfidence(angle=0, confidence=0.0)
        # Theirs is counterclockwise.
        return OrientationConfidence(angle=-page.rotation % 360, confidence=_SURE)

    @staticmethod
    def supports_generate_ocr() -> bool:
        return True

    @staticmethod
    def generate_ocr(input_file: Path, options: Any, page_number: int = 0) -> tuple[OcrElement, str]:  # noqa: ANN401 - OCRmyPDF's
        """The page's lines and words, and its text."""
        page = _read(input_file, options).pages[0]
        placed = page_in(page, Coordinates.SENT)
        lines = [_line(row) for area in placed.areas for row in area.rows]
        element = OcrElement(
            OcrClass.PAGE, bbox=_box(placed.box), dpi=page.dpi or 72.0, page_number=page_number, children=lines
        )
        return element, page_text(page)

    @staticmethod
    def generate_hocr(input_file: Path, output_hocr: Path, output_text: Path, options: Any) -> None:  # noqa: ANN401 - OCRmyPDF's
        """Writes the page as hOCR and as text."""
        result = _read(input_file, options)
        output_hocr.write_bytes(render(result, Format.HOCR))
        output_text.write_text(page_text(result.pages[0]), encoding="utf-8")

    @staticmethod
    def generate_pdf(input_file: Path, output_pdf: Path, output_text: Path, options: Any) -> None:  # noqa: ANN401, ARG004 - OCRmyPDF's
        """Refuses: OCRmyPDF makes the text's PDF itself; check_options sees to it."""
        raise BadArgsError("inkgate works with --pdf-renderer auto or fpdf2, not with sandwich.")


def _read(image: Path, options: Any) -> DocumentResult:  # noqa: ANN401 - OCRmyPDF's
    """The page of an image file.

    Raises:
        ExitCodeException: it could not be read; the message says what to do.
    """
    asked: InkgateOptions = options.inkgate
    document = Document(image.read_bytes(), image.name)
    try:
        with portal_reader(LoaderOptions(asked.server, asked.key.get_secret_value())) as found:
            return _whole(call(found.portal, partial(found.reader.read, document, ReadOptions("text"))))
    except ReadError as error:
        raise ExitCodeException(f"inkgate could not read the page: {error}") from error


def _whole(result: DocumentResult) -> DocumentResult:
    """The result. Raises ExitCodeException if its page could not be read, or only in part."""
    page: PageResult = result.pages[0]
    if page.error is not None:
        raise ExitCodeException(f"inkgate could not read the page: {page.error.detail} {page.error.remedy}")
    return result


def _line(row: LineArea) -> OcrElement:
    words = [
        OcrElement(OcrClass.WORD, bbox=_box(word.box), text=word.text, confidence=word.confidence) for word in row.words
    ]
    angle = round(row.angle / 90) * 90 % 360
    (x0, y0), (x1, y1) = row.quad[3], row.quad[2]
    slope = (y1 - y0) / (x1 - x0) if angle == 0 and abs(x1 - x0) > 1 else 0.0
    return OcrElement(
        OcrClass.LINE,
        bbox=_box(row.box),
        text=row.text,
        baseline=Baseline(slope=slope, intercept=y0 - row.box[3] if angle == 0 else 0.0),
        textangle=float(angle) if angle else None,
        children=words,
    )


def _box(box: PixelBox) -> BoundingBox:
    """A box of at least one pixel, as OCRmyPDF wants."""
    left, top, right, bottom = box
    return BoundingBox(left, top, max(right, left + 1), max(bottom, top + 1))
