"""JSON of documents whose pages are rendered one by one is that of the whole document, and needs less memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import orjson
import pytest
from starlette.requests import Request
from starlette.types import Message

from inkgate.api.http.page_list import PageList, PageListForm, PiecesResponse, PublishedForm, ShowPages
from inkgate.api.mistral_response import MistralAnswer, MistralOptions
from inkgate.api.ocr import SimpleForm
from inkgate.api.paddlex import Envelope, PaddlexOcrOptions, PaddlexPages, ocr_page
from inkgate.api.paddlex_layout import LayoutParsingOptions, layout_page
from inkgate.layout.text.markdown import page_markdown
from inkgate.layout.whole_document import finished
from inkgate_client.coordinates import Coordinates
from inkgate_client.formats import Format, render
from inkgate_client.formats.marks import marked, marked_document
from inkgate_client.types import Block, BlockType, DocumentResult, Line, PageError, PageResult, ReviewReason, Word
from support import sample_results

pytestmark = pytest.mark.anyio


@dataclass
class About:
    mime_type: str = "application/pdf"
    page_count: int = 90


def page(index: int, kind: str) -> PageResult:
    """A page of lines, of blocks with a running title, or that failed."""
    if kind == "failed":
        return PageResult(index, error=PageError("engine_failed", f'No "luck" on {index}.', "Try again."))
    words = tuple(
        Word(f"{index}w{n}", ((n, 0), (n + 1, 0), (n + 1, 9), (n, 9)), 0.5) for n in range(index % 7 * 40 + 1)
    )
    lines = (Line(f'"{index}" \\ \u4e16\u754c \U0001f388', ((0, 0), (90, 0), (90, 9), (0, 9)), 0.9, words),)
    review = (ReviewReason.UNCERTAIN_TEXT,) if index % 5 == 0 else ()
    read = PageResult(index, 200, 300, 72.0, lines=lines, text=lines[0].text, engine="fake", review=review)
    if kind == "lines":
        return read
    blocks = (
        Block(BlockType.TEXT, (10, 2, 190, 12), (), "Quarterly report", "Quarterly report"),
        Block(BlockType.TITLE, (10, 40, 190, 60), (), f"Part {index}", f"# Part {index}", level=1),
        Block(BlockType.TEXT, (10, 80, 190, 100), (0,), read.text, read.text),
    )
    return replace(read, blocks=blocks, markdown=page_markdown(blocks))


def document(*kinds: str) -> DocumentResult:
    pages = tuple(page(index, kind) for index, kind in enumerate(kinds))
    return DocumentResult("a.pdf", "application/pdf", 1234, 90, "fake", pages, ("A note.",))


DOCUMENTS = {
    "one page": document("lines"),
    "one with blocks": document("blocks"),
    "lines": document(*["lines"] * 15),
    "blocks": document(*["blocks"] * 15),
    "mixed": document(*["lines", "blocks", "blocks", "failed", "lines"] * 4),
    "all failed": document("failed", "failed"),
    "sample": sample_results.DOCUMENT,
}
FORMS: dict[str, PageListForm] = {
    "json": PublishedForm(),
    "sent": PublishedForm(Coordinates.SENT),
    "simple": SimpleForm(),
    "multipart": SimpleForm(names=("result", "text")),
    "mistral": MistralAnswer(MistralOptions(include_blocks=True, confidence_scores_granularity="word")),
    "paddlex": PaddlexPages(Envelope(), "ocrResults", partial(ocr_page, PaddlexOcrOptions(returnWordBox=True))),
    "layout": PaddlexPages(Envelope(), "layoutParsingResults", partial(layout_page, LayoutParsingOptions())),
}


def same(found: PageResult) -> PageResult:
    return found


async def sent(form: PageListForm, result: DocumentResult, mark: Callable[[PageResult], PageResult]) -> bytes:
    """The response to `result`, whose length it announces."""
    about = About(result.mime_type, result.page_count)
    pages = PageList(form, about, mark)
    for found in result.pages:
        pages.add(found)
    shown = replace(result, pages=pages.finish())
    assert shown.status is result.status
    response = pages.response(shown, {"X-Inkgate-Status": shown.status.value}, b"")
    messages: list[Message] = []

    async def send(message: Message) -> None:
        messages.append(message)

    await response({"type": "http"}, Request({"type": "http"}).receive, send)
    body = b"".join(message.get("body", b"") for message in messages)
    headers = dict(messages[0]["headers"])
    assert int(headers[b"content-length"]) == len(body)
    assert headers[b"content-type"] == b"application/json"
    assert headers[b"x-inkgate-status"] == result.status.value.encode()
    return bytes(body)


@pytest.mark.parametrize("of", FORMS)
async def test_the_bytes_are_those_of_the_whole_document(of: str) -> None:
    form, wrong = FORMS[of], []
    for name, read in DOCUMENTS.items():
        whole = finished(read)
        if await sent(form, read, same) != orjson.dumps(ShowPages(form)(whole)):
            wrong.append(name)
        if await sent(form, read, marked) != orjson.dumps(ShowPages(form)(marked_document(whole))):
            wrong.append(f"{name}, marked")
    assert wrong == []


async def test_the_published_form_is_the_format_json() -> None:
    for name, read in DOCUMENTS.items():
        assert await sent(PublishedForm(), read, same) + b"\n" == render(finished(read), Format.JSON), name


async def test_pages_without_blocks_are_held_compressed_and_others_until_the_last_is_read() -> None:
    held = {}
    for kind in ("lines", "blocks"):
        pages = PageList(PublishedForm(), About(), same)
        for found in document(*[kind] * 160).pages:
            pages.add(found)
        held[kind] = pages.held_bytes
        shown = replace(document(kind), pages=pages.finish())
        assert all(not found.lines and not found.blocks for found in shown.pages)
        response = pages.response(shown, {}, b"")
        assert isinstance(response, PiecesResponse)
        assert response.held_bytes < int(response.headers["content-length"]) / 2
    assert held["lines"] < held["blocks"] / 4
