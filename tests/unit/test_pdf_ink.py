"""How often a page is rendered to compare its text with its ink."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from inkgate.documents.pdf.examine import examine
from inkgate.documents.pdf.pdfium import PdfiumDocument, PdfiumPage
from inkgate.documents.pdf.wire import Op, PdfCall
from inkgate_client.types import Size
from support.pdf_writer import paragraph, text_pdf

THIN = ("i.l.i.l.i.l.i.l", "lil, ill; ilk: fill!", "till i'll fill it, jill")


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Size]:
    """The sizes of pages that are rendered, in order."""
    sizes: list[Size] = []
    draw = PdfiumPage.draw

    def counted(
        self: PdfiumPage, on: NDArray[np.uint8], at: tuple[int, int], whole: Size, *, annotations: bool = True
    ) -> None:
        sizes.append(whole)
        draw(self, on, at, whole, annotations=annotations)

    monkeypatch.setattr(PdfiumPage, "draw", counted)
    return sizes


def verdict_of(data: bytes) -> str:
    document = PdfiumDocument(np.frombuffer(data, np.uint8))
    try:
        return examine(document, PdfCall(Op.PAGE, 0, index=0, dpi=200.0, max_side=6000, text="auto")).verdict
    finally:
        document.close()


def test_a_page_of_text_alone_is_rendered_coarsely_and_sharply(drawn: list[Size]) -> None:
    assert verdict_of(text_pdf(paragraph(THIN, size=7))) == "trusted"
    assert len(drawn) == 2


def test_a_page_with_a_rule_is_rendered_without_its_text_too(drawn: list[Size]) -> None:
    assert verdict_of(text_pdf(paragraph(THIN, size=7) + b"20 40 200 1 re f\n")) == "trusted"
    assert len(drawn) == 3
