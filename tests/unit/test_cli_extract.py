"""Fields as rows of a table."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

import anyio
import pytest
import typer
from typer.testing import CliRunner

from inkgate.cli import extract
from inkgate.cli.app import app
from inkgate.cli.extract_outputs import FieldRows, WrittenFields, printed_fields
from inkgate.cli.inputs import InputDocument
from inkgate.errors import InputRejected
from inkgate_client import Fields, ReadOptions, WantedFields
from inkgate_client.fields.as_json import extraction_to_dict
from inkgate_client.fields.values import (
    Check,
    Extraction,
    ExtractionStatus,
    FieldStatus,
    FieldValue,
    Match,
    Source,
)
from inkgate_client.files import Source as FileSource
from inkgate_client.reading import MemoryReader
from inkgate_client.types import Document


def found(**data: object) -> Fields[Any]:
    extraction = Extraction("receipt", data, {}, (), ExtractionStatus.COMPLETE)
    return Fields(extraction, data, answer=extraction_to_dict(extraction))


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


def _value(path: str, status: FieldStatus, value: str, confidence: float, printed: str = "") -> FieldValue:
    place = Source(0, (4,), (0, 0, 9, 9), printed or value, Match.VALUE, confidence)
    return FieldValue(path, "text", status, value, place.text, confidence, sources=(place,))


def test_a_terminal_gets_tables_and_a_pipe_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    values = [
        _value("/total", FieldStatus.FOUND, "28.50", 0.987),
        replace(_value("/date", FieldStatus.UNCERTAIN, "2018-04-03", 0.95, "03/04/2018"), alternatives=("2018-03-04",)),
        _value("/merchant", FieldStatus.UNCERTAIN, "[b]Harbour\x1b[31m", 0.5),
        _value("/items/1/amount", FieldStatus.INVALID, "120.00", 0.9),
        FieldValue("/tax", "money", FieldStatus.NOT_FOUND),
    ]
    items = [{"name": "Rope", "amount": "8.50", "unit": None}, {"name": "Anchor", "amount": "120.00", "unit": None}]
    data = {"total": "28.50", "date": "2018-04-03", "merchant": values[2].value, "tax": None, "items": items}
    check = Check("sum_of_items", passed=False, paths=("/items/1/amount",), detail="128.5 and 28.5")
    extraction = replace(found(**data).extraction, fields={each.path: each for each in values}, checks=(check,))
    fields = Fields(extraction, data, answer=extraction_to_dict(extraction))

    printed_fields().add(source("a.png"), fields)
    assert json.loads(capsys.readouterr().out)["data"]["total"] == "28.50"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    printed_fields().add(source("a.png"), fields)
    shown = capsys.readouterr().out
    lines = {line.split()[0]: " ".join(line.split()) for line in shown.splitlines() if line.strip()}
    assert lines["total"] == "total 28.50 99% page 1, line 5"
    assert lines["date"] == "date 2018-04-03 uncertain: or 2018-03-04 page 1, line 5: 03/04/2018"
    assert lines["merchant"].startswith("merchant [b]Harbour\ufffd[31m uncertain: 50% page 1")
    assert lines["tax"] == "tax not found"
    assert lines["2"] == "2 Anchor 120.00?"
    assert lines["1"] == "1 Rope 8.50"
    assert "UNIT" not in shown
    assert "Check sum_of_items fails: 128.5 and 28.5" in shown
    printed_fields("json").add(source("a.png"), fields)
    assert json.loads(capsys.readouterr().out)["file"] == "a.png"


def test_a_table_whose_run_was_killed_goes_on_with_the_rows_that_it_had(tmp_path: Path) -> None:
    sources = [InputDocument(tmp_path / name, PurePath(name)) for name in ("a.png", "b.png", "c.png")]
    for name in ("a.png", "b.png", "c.png"):
        (tmp_path / name).write_bytes(b"one")
    table, kept = tmp_path / "out.csv", tmp_path / "out.csv.rows"
    killed = FieldRows.into(table, "receipts", overwrite=False)
    killed.add(sources[0], found(total="1"))
    killed.add(sources[1], found(total="2", tax="3"))
    with kept.open("a") as file:
        file.write('{"row": {"file": ')  # it was killed here
    assert not table.exists()

    (tmp_path / "b.png").write_bytes(b"another")
    again = FieldRows.into(table, "receipts", overwrite=False)
    left = again.without_earlier(sources)
    assert [each.name for each in left] == [sources[1].name, sources[2].name]
    again.add(left[0], found(total="20"))
    again.add(left[1], found(total="30"))
    again.end()
    again.forget_run()
    assert [row["total"] for row in csv.DictReader(io.StringIO(table.read_text("utf-8-sig")))] == ["1", "20", "30"]
    assert not kept.exists()


def test_an_interrupted_table_is_written_and_goes_on_but_not_with_other_options(tmp_path: Path) -> None:
    source = InputDocument(tmp_path / "a.png", PurePath("a.png"))
    (tmp_path / "a.png").write_bytes(b"one")
    table = tmp_path / "out.csv"
    interrupted = FieldRows.into(table, "receipts", overwrite=False)
    extraction = replace(found(total="1").extraction, status=ExtractionStatus.NEEDS_REVIEW)
    interrupted.add(source, Fields(extraction, {}))
    interrupted.end()
    assert table.exists()
    with pytest.raises(typer.Exit):
        FieldRows.into(table, "invoices", overwrite=False)
    again = FieldRows.into(table, "receipts", overwrite=False)
    assert again.without_earlier([source]) == ()
    assert again.to_review == [source.name]
    again.end()
    again.forget_run()
    with pytest.raises(typer.Exit):
        FieldRows.into(table, "receipts", overwrite=False)
    assert FieldRows.into(table, "receipts", overwrite=True).rows == []


def test_a_workbook_goes_on_after_an_interruption_with_its_numbers(tmp_path: Path) -> None:
    sources = [InputDocument(tmp_path / name, PurePath(name)) for name in ("a.png", "b.png")]
    for each in sources:
        (tmp_path / each.name).write_bytes(b"one")
    book = tmp_path / "out.xlsx"
    FieldRows.into(book, "receipts", overwrite=False, excel=True).add(sources[0], money("18.70"))
    again = FieldRows.into(book, "receipts", overwrite=False, excel=True)
    assert again.without_earlier(sources) == (sources[1],)
    again.add(sources[1], money("2.50"))
    again.end()
    sheet = zipfile.ZipFile(book).read("xl/worksheets/sheet1.xml").decode()
    assert re.findall(r"<v>([\d.]+\.\d+|\d+\.\d*)</v>", sheet) == ["18.7", "2.5"]


def money(total: str) -> Fields[Any]:
    field = FieldValue("/total", "money", FieldStatus.FOUND, value=total, text=total)
    extraction = Extraction("receipt", {"total": total}, {"/total": field}, (), ExtractionStatus.COMPLETE)
    return Fields(extraction, extraction.data)


def test_excel_is_not_printed() -> None:
    result = CliRunner().invoke(app, ["extract", "a.png", "-f", "xlsx"])
    assert result.exit_code == 2
    assert "Give -o FILE.xlsx" in result.output


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


@pytest.mark.anyio
async def test_several_documents_are_read_at_once_and_written_in_their_order(tmp_path: Path) -> None:
    names = [f"{n}.png" for n in range(6)]
    for name in names:
        (tmp_path / name).write_bytes(name.encode())
    (tmp_path / names[3]).unlink()
    reading, most = 0, 0

    class SlowFirst(MemoryReader):
        """Finishes the first document after the second."""

        first, second = anyio.Event(), anyio.Event()

        async def extract(self, document: FileSource, *_: object) -> Fields[Any]:
            nonlocal reading, most
            assert isinstance(document, Document)
            reading += 1
            most = max(most, reading)
            if document.name.endswith("0.png"):
                self.first.set()
                await self.second.wait()
            elif document.name.endswith("1.png"):
                await self.first.wait()  # files are read by threads: the second may be there before the first
                self.second.set()
            reading -= 1
            if document.name.endswith("4.png"):
                raise InputRejected("image_corrupt", "It is no image.")
            return found(name=document.name)

    rows = FieldRows(None)
    sources = [InputDocument(tmp_path / name, PurePath(name)) for name in names]
    tally, order = extract.ExtractTally(), extract.FieldsOrder(WantedFields(), ReadOptions(), 2)
    await extract.extract_documents(SlowFirst({}), sources, order, rows, tally)
    assert [row.data["name"] for row in rows.rows] == [sources[n].name for n in (0, 1, 2, 5)]
    assert len(tally.problems) == 2
    assert most == 2
