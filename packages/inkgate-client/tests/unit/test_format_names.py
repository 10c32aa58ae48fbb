"""Formats by name and by file suffix."""

from __future__ import annotations

import pytest

from inkgate_client.format_names import FileFormat, Format, format_for


def test_a_format_is_found_by_suffix_or_by_name() -> None:
    files = {"a.md": Format.MARKDOWN, "A.TXT": Format.TEXT, "a.b.alto.xml": Format.ALTO, "a.docx": FileFormat.DOCX}
    files |= {"a.html": Format.HOCR}
    assert {name: format_for(name) for name in files} == files
    names = {"markdown": Format.MARKDOWN, "MD": Format.MARKDOWN, ".xlsx": FileFormat.XLSX, "alto": Format.ALTO}
    names |= {"html": Format.HOCR}
    assert {name: format_for("a.bin", name) for name in names} == names


@pytest.mark.parametrize(("file", "name"), [("a.odt", ""), ("md", ""), ("a.xml", ""), ("a.md", "odt")])
def test_an_unknown_format_is_told_which_there_are(file: str, name: str) -> None:
    with pytest.raises(ValueError, match=r"md|markdown") as refused:
        format_for(file, name)
    assert "docx" in str(refused.value)
