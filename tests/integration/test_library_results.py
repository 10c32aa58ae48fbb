"""Results of the library: files, tables, places of texts, many documents, and fields in one call."""

from __future__ import annotations

import copy
import csv
import dataclasses
import io
import pickle
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pypdfium2
import pytest
import structlog
from PIL import Image
from pydantic import BaseModel

import inkgate
from inkgate.layout.regions.figure_links import with_images
from inkgate.settings import Settings
from inkgate_client.block_image import BlockImage
from inkgate_client.types import Block, BlockType, Box, Line, PageResult
from support.fake_engine import FakeEngine
from support.pdf_writer import paragraph, text_pdf

ROOT = Path(__file__).parents[2]
PDF = text_pdf(paragraph(), paragraph())
REPORT = ROOT / "examples" / "report.png"
NO_MODELS: dict[str, dict[str, object]] = {"engine": {"name": f"{__name__}:fake_engine"}, "pdf": {"warm_workers": 0}}
PNG = (ROOT / "tests" / "data" / "images" / "l_trns.png").read_bytes()


def fake_engine(_: Settings) -> FakeEngine:
    return FakeEngine()


@pytest.fixture(scope="module")
def ocr() -> Iterator[inkgate.Ocr]:
    with inkgate.Ocr() as opened:
        yield opened
    structlog.reset_defaults()


@pytest.fixture(scope="module")
def report(ocr: inkgate.Ocr) -> inkgate.OcrResult:
    return ocr.read(REPORT)


def test_a_result_is_saved_in_every_format(report: inkgate.OcrResult, tmp_path: Path) -> None:
    begins = {"a.md": b"Technical", "a.txt": b"Technical", "a.json": b"{", "a.hocr": b"<", "a.alto.xml": b"<?xml"}
    begins |= {"a.docx": b"PK", "a.xlsx": b"PK", "a.pdf": b"%PDF"}
    for name, first in begins.items():
        assert report.save(tmp_path / name) == tmp_path / name
        assert (tmp_path / name).read_bytes().startswith(first), name
    report.save(tmp_path / "other.bin", format="md")
    assert (tmp_path / "other.bin").read_text() == report.markdown
    with pypdfium2.PdfDocument(tmp_path / "a.pdf") as pdf:
        assert "FEMIP" in pdf[0].get_textpage().get_text_range()
    assert {path.name for path in tmp_path.iterdir()} == {*begins, "other.bin"}


def test_images_in_memory_are_read_as_their_file_is(ocr: inkgate.Ocr) -> None:
    with Image.open(REPORT) as page:
        part = page.crop((0, 120, page.width, 240))
        out = io.BytesIO()
        part.save(out, "PNG")
        texts = [ocr.read(each).text for each in (out.getvalue(), part, np.asarray(part.convert("RGB")))]
    assert texts == [texts[0]] * 3
    assert len(texts[0]) > 40
    results = [each.result.text for each in ocr.read_many([part, np.asarray(part.convert("RGB"))], task="text")]
    assert results[0] == results[1]


def test_urls_are_read_only_if_the_settings_allow_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    url = "http://127.0.0.1:9/scan.png?key=1"
    with pytest.raises(inkgate.InputRejected, match=r'url_forbidden: .*settings=\{"fetch": \{"enabled": True\}\}'):
        inkgate.read(url)
    allowing: dict[str, dict[str, object]] = {**NO_MODELS, "fetch": {"enabled": True}}
    with inkgate.Ocr(allowing) as own, pytest.raises(inkgate.InputRejected, match="not public"):
        own.read(url)
    monkeypatch.setattr("inkgate.storage.fetch.is_public", lambda _: True)
    (tmp_path / "scan.png").write_bytes(PNG)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(tmp_path))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with inkgate.Ocr(allowing) as own:
            result = own.read(f"http://127.0.0.1:{server.server_port}/scan.png?key=1")
        server.shutdown()
    assert (result.name, result.byte_count) == ("scan.png", len(PNG))


def test_wrong_keywords_name_the_function_and_its_own(ocr: inkgate.Ocr) -> None:
    with pytest.raises(
        TypeError, match=r"^read\(\) has no argument 'lang'. Text is read in all .*Options: task, pages"
    ):
        inkgate.read(REPORT, lang="en")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^read_many\(\) has no argument 'page'. Did you mean 'pages'\?"):
        ocr.read_many([REPORT], page=1)  # type: ignore[call-arg]
    with pytest.raises(inkgate.InputRejected, match="no task 'markdown': text, parse"):
        ocr.read(REPORT, task="markdown")
    with pytest.raises(TypeError, match=r"has no argument 'engine'. Options: .*, settings"):
        inkgate.read(REPORT, engine="hunyuanocr")  # type: ignore[call-arg]


def test_wrong_settings_say_what_settings_are() -> None:
    with pytest.raises(TypeError, match=r'such as \{"engine": \{"name": .*TOML file, not list'):
        inkgate.Ocr(["en"])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="settings of 'engine' must have names"):
        inkgate.Ocr({"engine": "hunyuanocr"})  # type: ignore[dict-item]
    with pytest.raises(FileNotFoundError, match="no such settings file: 'hunyuanocr'"):
        inkgate.Ocr("hunyuanocr")


def test_saved_markdown_has_its_images_inside(tmp_path: Path) -> None:
    block = Block(BlockType.FIGURE, (0, 0, 1, 1), (), "", "> [Figure]")
    plain = PageResult(0, blocks=(block,), markdown="> [Figure]")
    page = with_images(plain, {0: BlockImage("page-1-1.png", "image/png", 1, 1, "AAAA")})
    result = inkgate.OcrResult("a", "image/png", 1, 1, "x", (page,))
    assert "base64,AAAA" in result.save(tmp_path / "a.md").read_text()


def test_what_can_not_be_saved_says_why(report: inkgate.OcrResult, ocr: inkgate.Ocr, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"Suffixes: \.txt, \.md.*docx"):
        report.save(tmp_path / "a.odt")
    with pytest.raises(FileNotFoundError):
        report.save(tmp_path / "nowhere" / "a.md")
    with pytest.raises(ValueError, match="task='parse'"):
        ocr.read(PDF, task="text").save(tmp_path / "a.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_searchable_pdf_is_made_from_the_document_that_was_read(ocr: inkgate.Ocr, tmp_path: Path) -> None:
    scan = tmp_path / "scan.pdf"
    scan.write_bytes(PDF)
    by_path, by_bytes = ocr.read(scan), ocr.read(PDF)
    assert by_path.save(tmp_path / "a.pdf").read_bytes() == PDF  # its pages had their text
    scan.write_bytes(PDF + b"\n")
    with pytest.raises(ValueError, match="was changed"):
        by_path.save(tmp_path / "b.pdf")
    scan.unlink()
    with pytest.raises(FileNotFoundError):
        by_path.save(tmp_path / "b.pdf")
    assert not (tmp_path / "b.pdf").exists()
    unpickled = pickle.loads(pickle.dumps(by_bytes))  # noqa: S301 - our own
    with pytest.raises(ValueError, match="original="):
        unpickled.save(tmp_path / "b.pdf")
    assert unpickled.save(tmp_path / "b.pdf", original=PDF).read_bytes() == PDF
    assert by_bytes.save(tmp_path / "c.pdf").read_bytes() == PDF


def test_copies_keep_the_document_and_no_dict_or_pickle_has_its_password(ocr: inkgate.Ocr, tmp_path: Path) -> None:
    result = ocr.read(PDF, password="secret-7")  # noqa: S106 - of no use
    shown = dataclasses.asdict(result)
    assert shown["name"] == result.name
    assert "secret-7" not in repr(shown)
    assert PDF not in shown.values()
    assert b"secret-7" not in pickle.dumps(result)
    for number, copied in enumerate((copy.copy(result), copy.deepcopy(result), dataclasses.replace(result, name="b"))):
        assert copied.save(tmp_path / f"{number}.pdf").read_bytes() == PDF


@pytest.mark.anyio
async def test_async_code_and_notebooks_save_too(report: inkgate.OcrResult, tmp_path: Path) -> None:
    assert (await report.asave(tmp_path / "a.md")).read_text() == report.markdown
    assert (await report.asave(tmp_path / "a.pdf")).read_bytes().startswith(b"%PDF")
    assert report.save(tmp_path / "b.pdf").read_bytes().startswith(b"%PDF")


def test_tables_are_rows_and_csv(report: inkgate.OcrResult) -> None:
    (table,) = report.tables
    assert ["Algeria", "6.19"] in table.rows
    assert table.page == 0
    assert list(csv.reader(io.StringIO(table.to_csv()))) == table.rows


def test_a_text_is_found_with_its_box(report: inkgate.OcrResult) -> None:
    (found,) = report.find("ALGERIA")
    (line,) = [line for line in report.pages[0].lines if "Algeria" in line.text]
    assert found.text == "Algeria"
    assert _inside(found.box, line.box)
    assert len(report.find("femip support fund")) > 2
    assert report.find("no such words") == report.find("") == report.find(" ") == []


def _inside(box: Box, other: Box) -> bool:
    return all(a >= b - 1 for a, b in zip(box[:2], other[:2], strict=True)) and all(
        a <= b + 1 for a, b in zip(box[2:], other[2:], strict=True)
    )


def test_a_line_without_words_is_found_whole() -> None:
    line = Line("Grand total: 5", ((0, 0), (9, 0), (9, 2), (0, 2)), 0.5)
    result = inkgate.OcrResult("a", "image/png", 1, 1, "x", (PageResult(0, lines=(line,)),))
    assert [(each.box, each.text) for each in result.find("total")] == [((0, 0, 9, 2), "Grand total: 5")]
    assert [each.text for each in result.find(":")] == ["Grand total: 5"]


def test_what_is_shown_has_no_texts_in_logs_and_no_html_in_notebooks() -> None:
    result = inkgate.OcrResult("<b>", "image/png", 1, 1, "x", (PageResult(0, text="<script>alert(1)</script>"),))
    assert repr(result) == "<OcrResult '<b>': 1 of 1 pages read by x>"
    shown = result._repr_html_()
    assert "<script>" not in shown
    assert "<b>" not in shown
    assert "alert(1)" in shown


def test_many_documents_are_read_and_one_that_fails_ends_none(ocr: inkgate.Ocr, tmp_path: Path) -> None:
    taken: list[int] = []

    def sources() -> Iterator[inkgate.Document | Path]:
        for number in range(6):
            taken.append(number)
            yield tmp_path / "nowhere.png" if number == 1 else inkgate.Document(PDF, str(number))

    outcomes = ocr.read_many(sources(), concurrency=2, pages=1)
    assert next(outcomes).result.name == "0"
    assert taken == [0, 1, 2]
    failed = next(outcomes)
    assert (failed.source, type(failed.error)) == (tmp_path / "nowhere.png", FileNotFoundError)
    with pytest.raises(FileNotFoundError):
        failed.result  # noqa: B018 - raises
    assert [each.result.name for each in outcomes] == ["2", "3", "4", "5"]
    as_they_come = ocr.read_many([PDF] * 5, in_order=False)
    assert {each.result.status.value for each in as_they_come} == {"complete"}
    next(left := ocr.read_many([PDF] * 9))
    left.close()
    with pytest.raises(ValueError, match="concurrency"):
        ocr.read_many([], concurrency=0)
    with pytest.raises(inkgate.InputRejected, match="options_invalid"):
        ocr.read_many([PDF], task="guess")
    with pytest.raises(TypeError, match="must be a path"):
        list(ocr.read_many([None]))  # type: ignore[list-item]


@pytest.mark.anyio
async def test_async_code_reads_many_and_may_leave_early() -> None:
    async with inkgate.AsyncOcr(NO_MODELS) as own:
        names = [each.result.name async for each in own.read_many([inkgate.Document(PNG, n) for n in "abc"])]
        assert names == ["a", "b", "c"]
        async for each in own.read_many([PNG] * 20, in_order=False):
            assert each.error is None
            break
        waiting = own.read_many([PNG] * 3, concurrency=1)
        await anext(waiting)
    with pytest.raises(RuntimeError, match="block of this Ocr ended"):
        [each async for each in waiting]


class Report(BaseModel):
    total: float | None = None


def test_fields_are_found_in_one_call() -> None:
    found = inkgate.extract(PNG, Report, settings=NO_MODELS)
    assert found.data == Report(total=None)
    assert set(found.fields) == {"/total"}
    report = inkgate.extract(REPORT, Report, settings=NO_MODELS)
    assert report.document.text.strip()
    assert report.document.text.strip() not in repr(report)


def test_what_to_find_is_given_by_position_in_any_form(ocr: inkgate.Ocr) -> None:
    assert ocr.verify(REPORT, {"a": "Morocco", "b": "Atlantis"}).values == {"a": "Morocco", "b": None}
    assert ocr.verify(REPORT, Report(total=98.46)).data == Report(total=98.46)
    assert set(ocr.extract(REPORT, ["total"]).values) == {"total"}
    types = [each.result.extraction.document_type for each in ocr.extract_many([REPORT] * 2, "receipt")]
    assert types == ["receipt"] * 2
    with pytest.raises(inkgate.InputRejected, match="options_invalid"):
        ocr.extract(REPORT, "receipt", fields=["a"])
    assert "/total" in inkgate.document_types()["receipt"]
    assert ocr.document_types() == inkgate.document_types()
