"""What holds for all formats, and for text and Markdown."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from hypothesis import given

from inkgate import __version__
from inkgate.documents.files import excel, word
from inkgate.documents.files.glyphless import CharacterCodes
from inkgate.documents.files.text_content import page_content
from inkgate_client import formats
from inkgate_client.formats import Format, render
from inkgate_client.types import DocumentResult, PageError, PageResult, TaskKind
from support import sample_results as sample
from support import strategies


def document(*pages: PageResult) -> DocumentResult:
    return replace(sample.DOCUMENT, pages=pages)


def test_each_format_has_its_own_suffix_and_a_media_type() -> None:
    suffixes = {kind.suffix for kind in Format}
    assert suffixes == {".txt", ".md", ".json", ".hocr", ".alto.xml", ".csv", ".mmd", ".chunks.jsonl"}
    assert all("/" in kind.media_type for kind in Format)


def test_formats_that_show_blocks_ask_for_layout() -> None:
    assert [kind for kind in Format if kind.task_kind is TaskKind.PARSE] == [
        Format.MARKDOWN,
        Format.CSV,
        Format.CHUNKS,
    ]


@strategies.examples
@given(strategies.documents())
def test_every_result_has_every_format(result: DocumentResult) -> None:
    may_be_empty = {Format.TEXT, Format.MARKDOWN, Format.CSV, Format.MERMAID, Format.CHUNKS}
    for kind in Format:
        assert render(result, kind).decode("utf-8").endswith("\n") or kind in may_be_empty
    codes = CharacterCodes()
    assert all(page_content(page, codes) is None or page.width for page in result.pages if not page.lines)
    assert word.render(result).startswith(b"PK")
    assert excel.render(result).startswith(b"PK")


@pytest.mark.parametrize("kind", [kind for kind in Format if kind not in {Format.CSV, Format.CHUNKS}])
def test_a_failed_page_is_told_in_every_format(kind: Format) -> None:
    rendered = render(sample.DOCUMENT, kind).decode()
    assert "its content stream ends -- early" in rendered


def test_text_has_one_form_feed_between_pages() -> None:
    pages = [PageResult(0, text="one\ntwo"), PageResult(1), PageResult(2, text="three\n")]
    assert render(document(*pages), Format.TEXT) == b"one\ntwo\n\f\fthree\n"


@strategies.examples
@given(strategies.documents())
def test_text_splits_into_its_pages(result: DocumentResult) -> None:
    assert render(result, Format.TEXT).decode().count("\f") == len(result.pages) - 1


def test_text_of_a_failed_page_is_one_line_in_brackets() -> None:
    failed = PageResult(2, error=PageError("page_broken", "two\nlines", "Repair it."))
    assert render(document(failed), Format.TEXT) == b"[page 3 could not be read: two lines]\n"


def test_text_read_before_a_page_failed_is_kept() -> None:
    failed = PageResult(0, text="begun", error=PageError("engine_failed", "lost", "Try again."))
    assert render(document(failed), Format.TEXT) == b"begun\n[page 1 could not be read: lost]\n"


def test_text_keeps_tabs_and_drops_control_characters() -> None:
    page = PageResult(0, text="a\tb\x00\x0c\x1b\x85c\r\nd\u2028e\ud800f")
    assert render(document(page), Format.TEXT).decode() == "a\tbc\nd\u2028ef\n"


def test_markdown_of_one_page_is_its_markdown() -> None:
    page = PageResult(4, text="Title", markdown="# Title\n")
    assert render(document(page), Format.MARKDOWN) == b"# Title\n"


def test_markdown_of_several_pages_names_each() -> None:
    pages = [PageResult(0, markdown="# One"), PageResult(1, markdown=""), PageResult(6, markdown="Seven")]
    expected = b"<!-- page 1 -->\n\n# One\n\n<!-- page 2 -->\n\n<!-- page 7 -->\n\nSeven\n"
    assert render(document(*pages), Format.MARKDOWN) == expected


def test_markdown_falls_back_on_text_where_no_layout_was_asked_for() -> None:
    page = PageResult(0, text="a line\n\nanother", markdown=None)
    assert render(document(page), Format.MARKDOWN) == b"a line\n\nanother\n"


def test_markdown_of_a_failed_page_is_a_quoted_note_with_its_signs_escaped() -> None:
    failed = PageResult(1, error=PageError("page_broken", "a_b *c* <d>", "Repair it."))
    expected = b"> **Page 2 could not be read:** a_b \\*c\\* \\<d>\n"
    assert render(document(failed), Format.MARKDOWN) == expected


def test_markdown_of_a_blank_page_is_empty() -> None:
    assert render(document(PageResult(0, markdown="")), Format.MARKDOWN) == b""


def documented() -> dict[str, str]:
    """The examples of docs/reference/formats.md by the language of their fence, with the files that they include."""
    docs = Path(__file__).parents[4] / "docs"
    text = (docs / "reference" / "formats.md").read_text(encoding="utf-8")
    fences = dict(re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    files = {fence: re.fullmatch(r'--8<-- "(\S+)"\n', body) for fence, body in fences.items()}
    folder = docs / "assets" / "formats"
    return fences | {fence: (folder / name[1]).read_text(encoding="utf-8") for fence, name in files.items() if name}


@pytest.mark.parametrize(
    ("fence", "kind"),
    [("text", Format.TEXT), ("markdown", Format.MARKDOWN), ("html", Format.HOCR), ("xml", Format.ALTO)],
)
def test_the_documented_example_is_what_is_written(fence: str, kind: Format) -> None:
    written = render(sample.SHORT, kind).decode().replace(__version__, "0.1.0").replace("\f", "")
    assert documented()[fence] == written


def test_the_documented_json_is_what_is_written() -> None:
    assert orjson.loads(documented()["json"]) == orjson.loads(render(sample.SHORT, Format.JSON))


@pytest.mark.parametrize("name", ["hocr", "alto"])
def test_a_format_says_which_package_it_lacks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("alto", "areas", "hocr"):
        monkeypatch.delitem(sys.modules, f"inkgate_client.formats.{module}", raising=False)
        monkeypatch.delattr(formats, module, raising=False)
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(ImportError, match=r"numpy is not installed, which `render` of hOCR and ALTO needs"):
        render(DocumentResult("a.png", "image/png", 1, 1, "fake", ()), Format(name))
