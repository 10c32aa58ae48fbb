"""Pages of training/layout printed by Chromium: the truth holds the characters of the PDF, where the PDF has them."""

import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pypdfium2 as pdfium
import pytest
from training.layout.generate import FAMILIES
from training.layout.printer import Printer, chromium

from support.browser import require_chromium

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def printer() -> Iterator[Printer]:
    require_chromium()
    with chromium() as made:
        yield made


def characters(text: str) -> Counter[str]:
    """Visible characters; hyphens at the ends of lines have several codes in PDFs, so none counts."""
    plain = unicodedata.normalize("NFKC", text)
    return Counter(
        c for c in plain if not c.isspace() and c not in "-\u2010\x02\ufffe" and unicodedata.category(c)[0] != "C"
    )


def printed(printer: Printer, family: str, language: str) -> tuple[bytes, dict[str, Any]]:
    for attempt in range(6):
        made = printer.print_page(FAMILIES[family](f"test-{attempt}", language))
        if made:
            return made
    raise AssertionError(f"no page of {family} in {language} fits")


def test_truth_has_the_characters_of_the_pdf(printer: Printer) -> None:
    failures = []
    for family in FAMILIES:
        for language in ("en", "zh") if family in {"paper", "invoice"} else ("de",):
            data, page = printed(printer, family, language)
            with pdfium.PdfDocument(data) as document:
                text = document[0].get_textpage().get_text_range()
                pages = len(document)
            truth = "".join(line["text"] for block in page["blocks"] for line in block["lines"])
            if pages != 1 or characters(text) != characters(truth):
                failures.append(
                    (family, language, characters(text) - characters(truth), characters(truth) - characters(text))
                )
    assert not failures


def test_words_stand_where_the_pdf_has_their_characters(printer: Printer) -> None:
    data, page = printed(printer, "article", "en")
    words = [word["box"] for block in page["blocks"] for line in block["lines"] for word in line["words"]]
    outside = []
    with pdfium.PdfDocument(data) as document:
        text, height = document[0].get_textpage(), document[0].get_height()
        for index in range(text.count_chars()):
            left, bottom, right, top = text.get_charbox(index)
            if right - left < 0.5 or text.get_text_range(index, 1).isspace():
                continue
            x, y = (left + right) / 2, height - (top + bottom) / 2
            if not any(box[0] - 1 <= x <= box[2] + 1 and box[1] - 1 <= y <= box[3] + 1 for box in words):
                outside.append((text.get_text_range(index, 1), x, y))
    assert not outside


def test_columns_of_a_newspaper_are_read_one_after_the_other(printer: Printer) -> None:
    _, page = printed(printer, "newspaper", "en")
    parts = [block for block in page["blocks"] if block.get("goes_on")]
    assert parts, "a newspaper's paragraphs run on in the next column"
    for part in parts:
        before = page["blocks"][page["blocks"].index(part) - 1]
        assert part["box"][0] > before["box"][0]
