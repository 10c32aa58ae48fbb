"""Text that a model gave without places is in every form, whether or not marks such as bar codes are beside it."""

from __future__ import annotations

import io
from collections.abc import Callable

import docx
import orjson
import pytest

from inkgate.api.azure_content import AzureForm
from inkgate.api.azure_document import AnalyzedPart
from inkgate.api.docling_document import docling_document
from inkgate.api.mineru_document import MineruPage
from inkgate.api.paddlex_layout import LayoutParsingOptions, layout_page
from inkgate.documents.files.word import render as render_word
from inkgate_client.formats import Format, render
from inkgate_client.formats.marks import marked
from inkgate_client.types import Barcode, Block, BlockType, DocumentResult, PageResult, TextWord

QUAD = ((0, 0), (9, 0), (9, 9), (0, 9))
CODE = Block(BlockType.BARCODE, (0, 0, 9, 9), (), "", "", barcode=Barcode("QRCode", "code", QUAD))
WORDS = (TextWord("Heading", 0, 1.0), TextWord("first", 9, 1.0), TextWord("second", 15, 0.1))


def document_of(page: PageResult) -> DocumentResult:
    return DocumentResult("a.png", "image/png", 10, 1, "vlm", (page,))


def azure(page: PageResult, *, markdown: bool) -> str:
    return AnalyzedPart("content", AzureForm(layout=True, markdown=markdown)).page(page).decode()


def paddlex(page: PageResult) -> str:
    found = layout_page(LayoutParsingOptions(), page, document_of(page))["prunedResult"]
    blocks = found["parsing_res_list"]
    assert [block["block_id"] for block in blocks] == list(range(len(page.blocks or ()) + 1))
    return str(blocks[0]["block_content"])


def word(page: PageResult) -> str:
    return "\n".join(each.text for each in docx.Document(io.BytesIO(render_word(document_of(page)))).paragraphs)


FORMS: dict[str, Callable[[PageResult], str]] = {
    "docling": lambda page: orjson.dumps(docling_document("a", document_of(page))).decode(),
    "mineru, content": lambda page: str(MineruPage(page).content),
    "mineru, middle": lambda page: str(MineruPage(page).middle["para_blocks"]),
    "azure, text": lambda page: azure(page, markdown=False),
    "azure, markdown": lambda page: azure(page, markdown=True),
    "paddlex": paddlex,
    "word": word,
    "hocr": lambda page: render(document_of(page), Format.HOCR).decode(),
    "alto": lambda page: render(document_of(page), Format.ALTO).decode(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("marks", [(), (CODE,)], ids=["alone", "beside a bar code"])
def test_it_is_there(form: Callable[[PageResult], str], marks: tuple[Block, ...]) -> None:
    page = PageResult(
        0, 200, 100, blocks=marks, text="Heading\n\nfirst second", markdown="# Heading\n\nfirst second", words=WORDS
    )
    shown = form(page)
    assert all(word.text in shown for word in WORDS), shown
    assert marked(page).markdown == "# Heading\n\nfirst <mark>second</mark>"
