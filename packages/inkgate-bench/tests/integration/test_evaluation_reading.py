"""Candidates on real files: the Reader behind a fake engine, and the tools to compare with."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from inkgate.caller import Caller
from inkgate.documents.open import Opener
from inkgate.page import Page
from inkgate.service.reader import Reader
from inkgate.settings import LimitSettings, PdfSettings
from inkgate_bench.accuracy.candidates import OwnReader
from inkgate_bench.accuracy.manifest import Entry, load_manifest
from inkgate_bench.accuracy.peers import PEERS, PeerMissing, boxed_lines, find_peer, running_peer
from inkgate_bench.accuracy.scores import probe, score
from inkgate_client.types import Line, PageResult, Task, TaskKind
from support.evaluation import draw, write_manifest
from support.gateways import gateway_to

pytestmark = pytest.mark.anyio

BOX = [[0, 0], [90, 0], [90, 20], [0, 20]]


class TextByWidthEngine:
    """An engine that reads of each page the text that belongs to its width."""

    name = "sized"

    def __init__(self, texts: dict[int, str]) -> None:
        self.tasks: list[TaskKind] = []
        self._texts = texts

    async def start(self) -> None:
        """Nothing to do."""

    async def stop(self) -> None:
        """Nothing to do."""

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        self.tasks.append(task.kind)
        text = self._texts[page.size.width]
        quad = ((0.0, 0.0), (90.0, 0.0), (90.0, 20.0), (0.0, 20.0))
        result = PageResult(page.index, page.size.width, page.size.height, lines=(Line(text, quad, 1.0),), text=text)
        return replace(result, markdown=f"**{text}**") if task.kind is TaskKind.PARSE else result


@pytest.fixture
async def opener() -> AsyncIterator[Opener]:
    async with Opener(LimitSettings(), PdfSettings(workers=1)) as opened:
        yield opened


def ignore(_name: str, _entry: Entry) -> None:
    """No progress to show."""


async def test_documents_go_through_the_reader(tmp_path: Path, opener: Opener) -> None:
    manifest = write_manifest(
        tmp_path,
        {"path": "a/right.png", "text": "all of it", "lines": [{"text": "all of it", "box": BOX}]},
        {"path": "a/half.png", "text": "half of it"},
        {"path": "a/tests.pdf", "tests": [{"id": "1", "type": "present", "text": "Title"}]},
        {"path": "b/empty.png", "pillow": {"opens": False}},
        {"path": "b/fine.png"},
    )
    for name, width in (("right", 100), ("half", 110)):
        Image.new("L", (width, 50), 255).save(tmp_path / f"a/{name}.png")
    Image.new("L", (100, 50), 255).save(tmp_path / "b/fine.png")
    Image.new("L", (120, 50), 255).save(tmp_path / "a/tests.pdf", resolution=PdfSettings().dpi)
    engine = TextByWidthEngine({100: "all of it", 110: "half", 120: "Title"})
    own = OwnReader("sized", gateway_to(Reader(opener, engine, LimitSettings())))
    entries = load_manifest(manifest)

    right, half, tests = (await score(own, entries, ignore)).files
    assert right.errors is not None
    assert (right.errors.rate, right.f1, right.line_recall, right.sources) == (0.0, 1.0, 1.0, ("ocr",))
    assert half.errors is not None
    assert (half.errors.edits, half.errors.characters, half.f1) == (4, 8, 0.5)
    assert [outcome.passed for outcome in tests.tests] == [True]
    assert engine.tasks == [TaskKind.TEXT, TaskKind.TEXT, TaskKind.PARSE]

    empty, fine = await probe(own, entries, ignore)
    assert (empty.error, empty.as_expected) == ("document_empty", True)
    assert (fine.error, fine.as_expected, fine.pages) == (None, True, 1)


async def test_rapidocr_reads_images_and_pdfs(tmp_path: Path, opener: Opener) -> None:
    draw(tmp_path / "page.png", "Hello world", "Second line")
    Image.open(tmp_path / "page.png").save(tmp_path / "page.pdf", resolution=200)
    image, pdf = (Entry(name, tmp_path / name, ".", "en", "-") for name in ("page.png", "page.pdf"))
    two = replace(PEERS["rapidocr"], processes=2)
    async with running_peer(two, opener) as rapidocr:
        assert rapidocr.parallel == 2
        assert rapidocr.version.startswith("3.")
        read = await rapidocr.read(image)
        assert read.text.split() == ["Hello", "world", "Second", "line"]
        assert [line.text for line in read.lines] == read.text.split("\n")
        assert (await rapidocr.read(pdf)).text.split() == read.text.split()


@pytest.mark.real
@pytest.mark.skipif(
    shutil.which("tesseract") is None and not os.environ.get("INKGATE_REQUIRE_ALL"), reason="tesseract is not installed"
)
async def test_tesseract_reads_images_and_pdfs(tmp_path: Path, opener: Opener) -> None:
    draw(tmp_path / "page.png", "Hello world", "Second line")
    Image.open(tmp_path / "page.png").save(tmp_path / "page.pdf", resolution=200)
    (tmp_path / "broken.png").write_bytes(b"no image")
    image, pdf, broken = (
        Entry(name, tmp_path / name, ".", "xx", "-") for name in ("page.png", "page.pdf", "broken.png")
    )
    async with running_peer(PEERS["tesseract"], opener) as tesseract:
        read = await tesseract.read(image)
        assert [line.text for line in read.lines] == ["Hello world", "Second line"]
        assert read.text.split() == ["Hello", "world", "Second", "line"]
        assert (await tesseract.read(pdf)).text.split() == read.text.split()
        with pytest.raises(RuntimeError, match="tesseract ended with"):
            await tesseract.read(broken)


def test_an_unknown_tool_is_named_with_those_that_are_known() -> None:
    with pytest.raises(PeerMissing, match=r"'abbyy'; compare with one of rapidocr, .*tesseract"):
        find_peer("abbyy")


def test_tesseract_is_looked_for_before_anything_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PeerMissing, match="tesseract is not installed: apt-get install tesseract-ocr"):
        find_peer("tesseract")


def test_rapidocr_is_looked_for_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "rapidocr", raising=False)
    with pytest.raises(PeerMissing, match="rapidocr is not installed: pip install rapidocr"):
        find_peer("rapidocr-tuned")


def test_lines_of_tesseract_are_words_joined() -> None:
    header = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext"
    rows = [
        "1\t1\t0\t0\t0\t0\t0\t0\t200\t100\t-1\t",
        "4\t1\t1\t1\t1\t0\t10\t20\t100\t12\t-1\t",
        "5\t1\t1\t1\t1\t1\t10\t20\t40\t12\t96\tHello",
        '5\t1\t1\t1\t1\t2\t60\t20\t50\t12\t96\t"world',
        "4\t1\t1\t1\t2\t0\t10\t40\t100\t12\t-1\t",
        "5\t1\t1\t1\t2\t1\t10\t40\t100\t12\t95\t ",
    ]
    (line,) = boxed_lines("\n".join([header, *rows]))
    assert line.text == 'Hello "world'
    assert line.quad == ((10.0, 20.0), (110.0, 20.0), (110.0, 32.0), (10.0, 32.0))
