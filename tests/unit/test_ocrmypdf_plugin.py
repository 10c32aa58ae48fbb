"""The plugin for OCRmyPDF: which way it has pages turned, and options of programs that only know Tesseract."""

from __future__ import annotations

from pathlib import Path

import pytest
from ocrmypdf._options import OcrOptions

from inkgate.integrations import ocrmypdf
from inkgate_client.types import DocumentResult, Line, PageResult

LINE = Line("text", ((0, 0), (9, 0), (9, 9), (0, 9)), 0.9)


@pytest.mark.parametrize(("clockwise", "angle"), [(0, 0), (90, 270), (180, 180), (270, 90)])
def test_pages_are_turned_upright(monkeypatch: pytest.MonkeyPatch, clockwise: int, angle: int) -> None:
    """OCRmyPDF's angle is counterclockwise. Its output was looked at: with the other sign, pages stand upside down."""
    page = PageResult(0, rotation=clockwise, lines=(LINE,))
    result = DocumentResult("a.png", "image/png", 1, 1, "ppocr", (page,))
    monkeypatch.setattr(ocrmypdf, "_read", lambda *_: result)
    assert ocrmypdf.InkgateOcrEngine.get_orientation(Path("a.png"), None).angle == angle


@pytest.mark.parametrize(
    ("engine", "asked", "used"),
    [
        ("auto", "sandwich", "fpdf2"),
        ("inkgate", "sandwich", "fpdf2"),
        ("tesseract", "sandwich", "sandwich"),
        ("auto", "auto", "auto"),
    ],
)
def test_the_renderer_of_tesseract_gives_way_to_ocrmypdfs_own(engine: str, asked: str, used: str) -> None:
    options = OcrOptions(input_file=Path("a.pdf"), output_file=Path("b.pdf"), pdf_renderer=asked, ocr_engine=engine)
    ocrmypdf.check_options(options)
    assert options.pdf_renderer == used
