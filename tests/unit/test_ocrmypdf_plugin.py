"""The plugin for OCRmyPDF: which way it has pages turned."""

from __future__ import annotations

from pathlib import Path

import pytest

from inkgate.integrations import ocrmypdf
from inkgate.types import DocumentResult, Line, PageResult

LINE = Line("text", ((0, 0), (9, 0), (9, 9), (0, 9)), 0.9)


@pytest.mark.parametrize(("clockwise", "angle"), [(0, 0), (90, 270), (180, 180), (270, 90)])
def test_pages_are_turned_upright(monkeypatch: pytest.MonkeyPatch, clockwise: int, angle: int) -> None:
    """OCRmyPDF's angle is counterclockwise. Its output was looked at: with the other sign, pages stand upside down."""
    page = PageResult(0, rotation=clockwise, lines=(LINE,))
    result = DocumentResult("a.png", "image/png", 1, 1, "ppocr", (page,))
    monkeypatch.setattr(ocrmypdf, "_read", lambda *_: result)
    assert ocrmypdf.InkgateOcrEngine.get_orientation(Path("a.png"), None).angle == angle
