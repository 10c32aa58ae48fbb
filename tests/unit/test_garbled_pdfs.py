"""The PDFs with wrong maps that other tests use say what they promise, by pdfium."""

from __future__ import annotations

from collections import Counter

import pypdfium2 as pdfium
import pytest

from support.garbled_pdfs import GarbledPdf, Garbling, garbled_pdfs, sound_pdfs


def _characters(pdf: GarbledPdf) -> Counter[str]:
    document = pdfium.PdfDocument(pdf.data)
    text = document[0].get_textpage().get_text_bounded()
    document.close()
    return Counter(char for char in text if not char.isspace())


@pytest.mark.parametrize("kind", list(Garbling))
def test_layer_is_as_promised_and_differs_from_what_is_printed(kind: Garbling) -> None:
    failures = []
    pdfs = garbled_pdfs(kind)
    for pdf in pdfs:
        promised = Counter(char for line in pdf.layer for char in line if not char.isspace())
        found = _characters(pdf)
        if not pdf.wrong or promised - found:
            failures.append((pdf.name, pdf.wrong, promised - found, found - promised))
    assert not failures
    assert len({pdf.data for pdf in pdfs}) == len(pdfs) == 20


def test_layer_of_sound_pdfs_is_what_is_printed() -> None:
    for pdf in sound_pdfs():
        assert not pdf.wrong
        assert _characters(pdf) == Counter(char for line in pdf.printed for char in line if not char.isspace())
