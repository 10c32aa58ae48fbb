"""Values of rows."""

from __future__ import annotations

import re

import pytest
from pydantic import ValidationError

from inkgate.jobs.sinks.values import PATHS, row_sources, value_at
from inkgate.settings import TableSinkSettings
from inkgate_client.types import PageError, PageResult
from support.jobs import document, job

PAGES = (
    PageResult(0, text="one", fields={"total": "3.50", "note": "", "tags": ["a"]}, engine="ppocr"),
    PageResult(1, error=PageError("engine_failed", "It failed.", "Try again.")),
    PageResult(2, text="three", fields={"note": "x", "date": None}, markdown="# three", engine="ppocr"),
)


def settings(**columns: str) -> TableSinkSettings:
    row = "page" if any(path.startswith("page.") for path in columns.values()) else "document"
    return TableSinkSettings.model_validate(
        {"kind": "table", "database": "sqlite:///x", "table": "t", "columns": columns, "key": ["a"], "rows": row}
    )


def test_settings_know_the_same_paths() -> None:
    for path in (*PATHS, "fields", "fields.a.b c"):
        settings(a="job.id", b=path)
        for source in row_sources(job(), document(*PAGES), by_page=True):
            value_at(path, source)
    for path in ("job.password", "job.webhook", "field.total", "document", "page.lines", "fields."):
        with pytest.raises(ValidationError, match="there is no value"):
            settings(a="job.id", b=path)


def test_fields_of_the_whole_document_go_before_those_of_pages() -> None:
    data = {"total": "9.00", "seller": {"name": "A"}, "a.b": 1, "items": [{"amount": "1"}]}
    extraction = {"data": data, "review": "complete", "document_type": None}
    for source in row_sources(job(), document(*PAGES), extraction, by_page=True):
        assert value_at("fields.total", source) == "9.00"
    paths = {
        "fields": data,
        "fields.seller.name": "A",
        "fields.a.b": 1,
        "fields.none.name": None,
        "fields.items.0": None,
    }
    paths |= {"extraction.review": "complete", "extraction.document_type": None}
    assert {path: value_at(path, source) for path in paths} == paths
    (plain,) = row_sources(job(), document(*PAGES), by_page=False)
    assert value_at("extraction.review", plain) is None


def test_settings_need_the_values_of_the_key_and_pages_for_values_of_pages() -> None:
    with pytest.raises(ValidationError, match="column `a`"):
        settings(b="job.id")
    with pytest.raises(ValidationError, match="rows = 'page'"):
        TableSinkSettings.model_validate(
            {"kind": "table", "database": "sqlite:///x", "table": "t", "columns": {"a": "page.text"}, "key": ["a"]}
        )


def test_document_has_the_field_of_the_page_that_has_it() -> None:
    (source,) = row_sources(job(), document(*PAGES), by_page=False)
    assert value_at("fields.total", source) == "3.50"
    assert value_at("fields.note", source) == "x"
    assert value_at("fields.date", source) is None
    assert value_at("fields.other", source) is None
    assert value_at("fields", source) == {"total": "3.50", "note": "x", "tags": ["a"], "date": None}
    text = value_at("document.text", source)
    assert isinstance(text, str)
    assert re.search("one.*three", text, re.DOTALL)


def test_pages_with_different_values_are_an_error() -> None:
    pages = (PageResult(n, fields={"total": total}) for n, total in enumerate(("1", "1", "2")))
    (source,) = row_sources(job(), document(*pages), by_page=False)
    with pytest.raises(ValueError, match="pages 1 and 3 have different values of `total`"):
        value_at("fields.total", source)


def test_each_page_with_a_result_has_a_row() -> None:
    sources = row_sources(job(), document(*PAGES), by_page=True)
    assert [value_at("page.number", source) for source in sources] == [1, 3]
    assert [value_at("fields.note", source) for source in sources] == ["", "x"]
    assert value_at("source.name", sources[0]) == "receipt.png"
