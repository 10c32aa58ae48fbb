"""A PDF with its invoice as XML inside: fields have the values of the file, and print that differs is told."""

from __future__ import annotations

import io

import pikepdf
import pytest

from inkgate.library import AsyncOcr
from inkgate_client.fields.values import Extraction, ExtractionStatus, FieldStatus
from inkgate_client.types import Document
from support.invoice_xml import CII
from support.pdf_writer import text_at, text_pdf

pytestmark = pytest.mark.anyio


def invoice(total: str, *files: tuple[str, bytes]) -> bytes:
    """A printed invoice, with files inside."""
    rows = ("Harbour Supplies GmbH", "Invoice number: RE-2026-7", "Invoice date: 2026-03-02", f"Total {total} EUR")
    page = b"".join(text_at(30, 350 - 20 * at, row) for at, row in enumerate(rows))
    target = io.BytesIO()
    with pikepdf.open(io.BytesIO(text_pdf(page))) as pdf:
        for name, data in files:
            pdf.attachments[name] = pikepdf.AttachedFileSpec(pdf, data)
        pdf.save(target)
    return target.getvalue()


async def test_fields_have_the_values_of_the_file_and_print_that_differs_is_told() -> None:
    async with AsyncOcr({}) as ocr:

        async def extract(data: bytes) -> Extraction:
            return (await ocr.extract(Document(data, "a.pdf"), type="invoice", pdf_text="always")).extraction

        agreed = await extract(invoice("119.00", ("notes.txt", b"no"), ("Factur-X.xml", CII.encode())))
        assert {
            name: agreed.data[name] for name in ("invoice_number", "date", "total", "subtotal", "tax", "vat_id")
        } == {
            "invoice_number": "RE-2026-7",
            "date": "2026-03-02",
            "total": "119.00",
            "subtotal": "100.00",
            "tax": "19.00",
            "vat_id": "DE136695976",
        }
        assert agreed.fields["/iban"].origin == "code"
        assert {check.code: check.passed for check in agreed.checks}["code_mismatch"]

        contradicted = await extract(invoice("918.00", ("factur-x.xml", CII.encode())))
        assert contradicted.fields["/total"].status is FieldStatus.CONFLICT
        assert contradicted.status is ExtractionStatus.NEEDS_REVIEW

        other = invoice("918.00", ("factur-x.xml", b"<!DOCTYPE x>" + CII.encode()), ("x.xml", CII.encode()))
        printed = await extract(other)
        assert (printed.data["total"], printed.data["iban"]) == ("918.00", None)
