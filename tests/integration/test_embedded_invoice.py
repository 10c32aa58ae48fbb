"""A PDF with its invoice as XML inside: fields have the values of the file, and print that differs is told."""

from __future__ import annotations

import io

import pikepdf
import pytest

from inkgate.codes.invoice_xml import MAX_BYTES
from inkgate.library import AsyncOcr
from inkgate_client.fields.values import Extraction, ExtractionStatus, FieldStatus
from inkgate_client.types import Document
from support.invoice_xml import CII
from support.pdf_writer import text_at, text_pdf

pytestmark = pytest.mark.anyio
PASSWORD = "open"  # noqa: S105 - of a document of this test


UBL = """<CreditNote xmlns="urn:oasis:names:specification:ubl:schema:xsd:CreditNote-2" xmlns:c="urn:c" xmlns:a="urn:a">
 <c:ID>G-3</c:ID><c:IssueDate>2026-03-02</c:IssueDate><c:DocumentCurrencyCode>EUR</c:DocumentCurrencyCode>
 <a:LegalMonetaryTotal><c:TaxInclusiveAmount currencyID="EUR">119.00</c:TaxInclusiveAmount></a:LegalMonetaryTotal>
</CreditNote>"""


def invoice(total: str, *files: tuple[str, bytes], listed: bool = True, password: str = "") -> bytes:
    """A printed invoice, with files inside. `listed`: in the list of embedded files; else only in the catalog's /AF."""
    rows = ("Harbour Supplies GmbH", "Invoice number: RE-2026-7", "Invoice date: 2026-03-02", f"Total {total} EUR")
    page = b"".join(text_at(30, 350 - 20 * at, row) for at, row in enumerate(rows))
    target = io.BytesIO()
    with pikepdf.open(io.BytesIO(text_pdf(page))) as pdf:
        for name, data in files:
            pdf.attachments[name] = pikepdf.AttachedFileSpec(pdf, data, mime_type="text/xml")
        if not listed:
            pdf.Root.AF = pikepdf.Array([file.obj for file in pdf.attachments.values()])
            del pdf.Root.Names
        encryption = pikepdf.Encryption(user=password, owner=password) if password else False
        modern = pikepdf.ObjectStreamMode.generate
        pdf.save(target, object_stream_mode=modern, encryption=encryption)
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

        other = invoice("918.00", ("factur-x.xml", b"<!DOCTYPE x>" + CII.encode()), ("x.txt", CII.encode()))
        printed = await extract(other)
        assert (printed.data["total"], printed.data["iban"]) == ("918.00", None)


def damaged() -> bytes:
    """An invoice whose catalog names files of wrong forms."""
    target, name = io.BytesIO(), pikepdf.Name
    with pikepdf.open(io.BytesIO(invoice("1.00"))) as pdf:
        whole = pikepdf.Stream(pdf, CII.encode(), Type=name.EmbeddedFile)
        broken = pikepdf.Stream(pdf, b"not deflated", Type=name.EmbeddedFile, Filter=name.FlateDecode)
        files = [
            pikepdf.Dictionary(EF=pikepdf.Dictionary()),
            pikepdf.Dictionary(EF=pikepdf.Dictionary(F=3), UF="a.xml"),
            pikepdf.Dictionary(EF=pikepdf.Dictionary(F=whole), F=4),
            pikepdf.Dictionary(EF=pikepdf.Dictionary(F=broken), F="b.xml"),
        ]
        pdf.Root.AF = pikepdf.Array([1, None, *files])
        pdf.save(target)
    return target.getvalue()


async def test_a_file_counts_by_the_name_of_a_standard_or_if_no_other_is_an_invoice() -> None:
    cii, credit, notes = ("cii.xml", CII.encode()), ("credit.XML", UBL.encode()), ("notes.xml", b"<a/>")
    files = {
        "an invoice of any name": (invoice("1.00", notes, cii), "RE-2026-7"),
        "a credit note": (invoice("1.00", credit), "G-3"),
        "two invoices": (invoice("1.00", cii, credit), None),
        "the standard's name": (invoice("1.00", credit, ("zugferd-invoice.xml", cii[1])), "RE-2026-7"),
        "only associated": (invoice("1.00", notes, cii, listed=False), "RE-2026-7"),
        "too large": (invoice("1.00", ("factur-x.xml", CII.encode() + b" " * MAX_BYTES), listed=False), None),
        "damaged": (damaged(), None),
        "encrypted": (invoice("1.00", cii, listed=False, password=PASSWORD), "RE-2026-7"),
    }
    schema = {"type": "object", "properties": {"number": {"type": "string"}}}
    async with AsyncOcr({}) as ocr:
        wrong = {}
        for name, (data, number) in files.items():
            document = Document(data, "a.pdf")
            found = await ocr.extract(document, schema=schema, pdf_text="always", password=PASSWORD)
            field = found.extraction.fields["/number"]
            if (field.value if field.origin == "code" else None) != number:
                wrong[name] = field
    assert wrong == {}
