"""Fields as rows of a table."""

from __future__ import annotations

import csv
import io
from pathlib import Path, PurePath

import pytest
import typer

from inkgate.cli.extract_outputs import FieldRows, WrittenFields
from inkgate.cli.inputs import InputDocument
from inkgate.fields.values import Extraction, ExtractionStatus
from inkgate.library import DocumentFields, OcrResult


def found(**data: object) -> DocumentFields:
    extraction = Extraction("receipt", data, {}, (), ExtractionStatus.COMPLETE)
    return DocumentFields(extraction, OcrResult("a", "image/png", 1, 1, "ppocr", ()), data)


def source(name: str) -> InputDocument:
    return InputDocument(Path(name), PurePath(name))


def test_documents_with_different_fields_share_a_table_and_no_cell_is_run() -> None:
    rows = FieldRows(None)
    rows.add(source("a.png"), found(total="-3.50", name="=HYPERLINK(1)", seller={"town": 'O"slo'}))
    rows.add(source("b.png"), found(**{"total": None, "items": [{"amount": "1"}], "=1+1": "x"}))
    first, second = csv.DictReader(io.StringIO(rows.table()))
    assert first["total"] == "-3.50"
    assert first["name"] == "'=HYPERLINK(1)"
    assert first["seller/town"] == 'O"slo'
    assert (second["total"], second["items"], second["name"]) == ("", '[{"amount": "1"}]', "")
    assert second["'=1+1"] == "x"


def test_documents_of_one_name_get_files_of_their_own_and_results_are_kept(tmp_path: Path) -> None:
    sources = [source("one/a.png"), source("one/a.pdf"), source("two/a.png")]
    to = WrittenFields.into(tmp_path, sources, overwrite=False)
    for each in sources:
        to.add(each, found(total=each.name))
    written = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.json"))
    assert written == ["one/a.pdf.json", "one/a.png.json", "two/a.json"]
    with pytest.raises(typer.Exit):
        WrittenFields.into(tmp_path, sources, overwrite=False)
    WrittenFields.into(tmp_path, sources, overwrite=True)
