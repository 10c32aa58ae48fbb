"""Fields as rows of a table."""

from __future__ import annotations

import csv
import io

from inkgate.cli.extract import rows_of
from inkgate.fields.values import Extraction, ExtractionStatus
from inkgate.library import DocumentFields, OcrResult


def found(**data: object) -> DocumentFields:
    extraction = Extraction("receipt", data, {}, (), ExtractionStatus.COMPLETE)
    return DocumentFields(extraction, OcrResult("a", "image/png", 1, 1, "ppocr", ()))


def test_documents_with_different_fields_share_a_table_and_no_cell_is_run() -> None:
    table = rows_of(
        [
            ("a.png", found(total="-3.50", name="=HYPERLINK(1)", seller={"town": 'O"slo'})),
            ("b.png", found(total=None, items=[{"amount": "1"}])),
        ]
    )
    first, second = csv.DictReader(io.StringIO(table))
    assert first["total"] == "-3.50"
    assert first["name"] == "'=HYPERLINK(1)"
    assert first["seller/town"] == 'O"slo'
    assert (second["total"], second["items"], second["name"]) == ("", '[{"amount": "1"}]', "")
