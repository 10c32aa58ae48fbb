"""What programs take out of a document: lines, confidence, JSON values and tables."""

from __future__ import annotations

import json
import sys
from dataclasses import fields, replace
from types import SimpleNamespace

import pytest

from inkgate_client.rendered import OcrTable, RenderedDocument
from inkgate_client.types import Block, BlockType, DocumentResult, PageResult, Table, TableCell
from support import sample_results as sample


def rendered(*pages: PageResult) -> RenderedDocument:
    document = replace(sample.DOCUMENT, pages=pages or sample.DOCUMENT.pages)
    return RenderedDocument(**{each.name: getattr(document, each.name) for each in fields(DocumentResult)})


def test_lines_are_those_of_all_pages_and_the_confidence_is_the_least() -> None:
    document = rendered()
    assert document.lines == [line for page in document.pages for line in page.lines]
    assert document.lines
    pages = [PageResult(0, confidence=0.9), PageResult(1), PageResult(2, confidence=0.7)]
    assert rendered(*pages).confidence == 0.7
    assert rendered(PageResult(0)).confidence is None


def test_a_document_is_json_in_the_published_schema() -> None:
    document = rendered()
    assert document.to_dict()["schema_version"] == 1
    assert (
        json.loads(document.to_json())
        == json.loads(json.dumps(document.to_dict()))
        == json.loads(document.render("json"))
    )


CELLS = (("Item", "Price"), ("", "in EUR"), ("Tea", "3.20"), ("Cake", "4.10"))


def test_formats_have_their_suffix_as_a_name_too() -> None:
    document = rendered()
    assert document.render("md") == document.markdown.encode()
    with pytest.raises(ValueError, match="docx is no text format"):
        document.render("docx")
    with pytest.raises(ValueError, match="There is no format 'odt'"):
        document.render("odt")


def table(header_rows: int) -> OcrTable:
    cells = tuple(
        TableCell(row, column, text, header=row < header_rows)
        for row, texts in enumerate(CELLS)
        for column, text in enumerate(texts)
    )
    block = Block(BlockType.TABLE, (0, 0, 9, 9), (), "", "", table=Table(4, 2, cells))
    (found,) = rendered(PageResult(0, blocks=(block,))).tables
    return found


def test_a_table_is_a_data_frame_with_the_names_of_its_header_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = SimpleNamespace(DataFrame=lambda rows, columns: (columns, rows))  # pandas is no dependency
    monkeypatch.setitem(sys.modules, "pandas", frames)
    made = [table(rows).to_pandas() for rows in (0, 1, 2)]
    assert [names for names, _ in made] == [None, ["Item", "Price"], ["Item", "Price in EUR"]]
    assert [rows for _, rows in made] == [[list(texts) for texts in CELLS[first:]] for first in (0, 1, 2)]


def test_without_pandas_a_table_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match="pip install pandas"):
        table(1).to_pandas()
