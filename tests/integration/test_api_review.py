"""Doubt is shown: marks on request, and the pages to review in every answer."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

import pytest

from inkgate.caller import Caller
from inkgate.cli.inputs import InputDocument
from inkgate.cli.outputs import to_folder
from inkgate.cli.read_command import review_line
from inkgate.layout.confidence import judged
from inkgate.page import Page
from inkgate_client.formats import Format
from inkgate_client.types import Block, BlockType, DocumentResult, PageResult, Task, Word
from support.api_client import running_api, tiff
from support.fake_engine import FakeEngine, line

pytestmark = pytest.mark.anyio


@dataclass
class DoubtfulEngine(FakeEngine):
    """Reads page 0 well, and "Hello wrold again" badly on every other page."""

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        await page.pixels()
        return read_page(page.index)


def read_page(index: int) -> PageResult:
    """What the engine reads."""
    found = line("Hello wrold again", 10, 0.999)
    if index:
        words = tuple(Word(word.text, word.quad, 0.3 if word.text == "wrold" else 0.9) for word in found.words)
        found = replace(found, confidence=0.7, words=words)
    block = Block(BlockType.TEXT, (10, 10, 180, 30), (0,), found.text, found.text)
    return judged(PageResult(index, 200, 200, lines=(found,), blocks=(block,), text=found.text, markdown=found.text))


async def test_marks_are_made_on_request_and_all_answers_list_pages_to_review() -> None:
    async with running_api(DoubtfulEngine()) as api:
        plain = await api.client.post("/ocr?format=markdown", files={"file": tiff(2)})
        marked = await api.client.post("/ocr?format=markdown&marks=true", files={"file": tiff(2)})
        document = await api.client.post("/ocr", files={"file": tiff(2)}, data={"task": "parse", "marks": "true"})
        stream = await api.client.post("/ocr?format=ndjson&marks=true&task=parse", files={"file": tiff(2)})
    assert "<mark>" not in plain.text
    assert marked.text.count("Hello <mark>wrold</mark> again") == 1
    assert "<!-- doubtful: confidence 0." in marked.text
    assert document.json()["needs_review"] == [1]
    assert document.json()["pages"][1]["review"] == ["uncertain_text"]
    assert "<mark>wrold</mark>" in document.json()["pages"][1]["markdown"]
    *pages, last = map(json.loads, stream.text.splitlines())
    assert [page["review"] for page in pages] == [[], ["uncertain_text"]]
    assert "<mark>wrold</mark>" in pages[1]["markdown"]
    assert last["needs_review"] == [1]


def test_the_command_says_which_pages_to_review() -> None:
    pages = tuple(read_page(index) for index in range(3))
    assert review_line("a.pdf", DocumentResult("a.pdf", "application/pdf", 1, 3, "fake", pages)) == (
        "a.pdf needs review: uncertain text on page 2, 3."
    )
    assert review_line("a.pdf", DocumentResult("a.pdf", "application/pdf", 1, 1, "fake", pages[:1])) is None


def test_the_command_writes_marks_on_request(tmp_path: Path) -> None:
    pages = tuple(read_page(index) for index in range(2))
    result = DocumentResult("a.pdf", "application/pdf", 1, 2, "fake", pages)
    source = InputDocument(Path("a.pdf"), PurePath("a.pdf"))
    for marks, count in ((False, 0), (True, 1)):
        to = replace(to_folder(tmp_path / str(marks), (Format.MARKDOWN,), [source]), marks=marks)
        to.write(source, result)
        assert to.files(source)[0].read_text("utf-8").count("<mark>wrold</mark>") == count
