"""PDFs whose fonts map characters wrongly: no wrong line of their layers is trusted, and no right one is doubted."""

from __future__ import annotations

import numpy as np
import pytest

from inkgate.documents.pdf.examine import examine
from inkgate.documents.pdf.pdfium import PdfiumDocument
from inkgate.documents.pdf.wire import Call, Op
from inkgate.page import TextLayer
from support.garbled_pdfs import Garbling, garbled_pdfs, sound_pdfs

BULLETS = "•■◦●"


def layer_of(data: bytes) -> TextLayer:
    document = PdfiumDocument(np.frombuffer(data, np.uint8))
    try:
        call = Call(Op.PAGE, 0, index=0, dpi=200.0, max_side=6000, text="auto")
        return examine(document, call).layer or TextLayer(())
    finally:
        document.close()


@pytest.mark.parametrize("kind", Garbling)
def test_lines_with_wrong_letters_are_never_trusted(kind: Garbling) -> None:
    trusted = {}
    for made in garbled_pdfs(kind):
        layer = layer_of(made.data)
        printed = {_alike(line) for line in made.printed}
        if wrong := [line.text for line in layer.lines if _alike(line.text) not in printed]:
            trusted[made.name] = wrong
    assert trusted == {}


def test_no_line_is_doubted_where_fonts_map_rightly() -> None:
    doubted = {}
    for made in sound_pdfs():
        layer = layer_of(made.data)
        if layer.doubtful or layer.unread or {line.text for line in layer.lines} != set(made.printed):
            doubted[made.name] = [line.text for line in (*layer.lines, *layer.doubtful)]
    assert doubted == {}


def _alike(line: str) -> str:
    """The line with one sign for all kinds of bullets."""
    return "•" + line[1:] if line[:1] in BULLETS else line
