"""What codes say about the fields of invoices, whoever is named on the page beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from inkgate.codes.contents import content_of
from inkgate.fields.classify import classify, may_be
from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.extract import answer
from inkgate.fields.proposed import proposed
from inkgate.fields.schema import FieldSchema
from inkgate_client.fields.values import Extraction
from inkgate_client.types import Barcode, Block, BlockType, PageResult
from support.invoice_xml import VALUES
from support.receipts import page

TYPES = DocumentTypes.load()
INVOICE = TYPES.named("invoice")
EPC = "BCD\n002\n1\nSCT\nBFSWDE33BER\nHarbour GmbH\nDE33100205000001194700\nEUR123.4\n\n\nRE-7"


def coded(read: PageResult, content: str, values: Mapping[str, str]) -> PageResult:
    code = Barcode("QRCode", "", ((5.0, 5.0), (95.0, 5.0), (95.0, 95.0), (5.0, 95.0)), content, values)
    return replace(read, blocks=(Block(BlockType.BARCODE, (5, 5, 95, 95), (), "", "", barcode=code),))


def found(read: PageResult, schema: FieldSchema = INVOICE) -> Extraction:
    return answer([read], schema, proposed([read], schema))


def test_the_customer_that_a_code_names_is_not_the_merchant() -> None:
    printed = page("Seller: Ann Miller\nVAT ID ATU13585627\nTotal 119.00\n")
    assert found(printed).data["merchant_name"] == "Ann Miller"
    customer = {"payer_name": "ANN MILLER", "payer_vat_id": "ATU 13585627", "total": "119.00"}
    result = found(coded(printed, "invoice_xml", customer))
    assert {name: result.data[name] for name in ("merchant_name", "vat_id", "total")} == {
        "merchant_name": None,
        "vat_id": None,
        "total": "119.00",
    }
    # Whoever writes an invoice to themselves is both.
    both = found(coded(printed, "invoice_xml", {**customer, "payee_name": "Ann Miller", "vat_id": "ATU13585627"}))
    assert (both.data["merchant_name"], both.data["vat_id"]) == ("Ann Miller", "ATU13585627")


def test_values_of_seller_and_buyer_stay_apart_in_objects_of_a_schema() -> None:
    party = {"type": "object", "properties": {"name": {"type": "string"}, "vat_id": {"type": "string"}}}
    parties = FieldSchema.of({"type": "object", "properties": {"buyer": party, "seller": party}}, "parties")
    data = found(coded(PageResult(0), "invoice_xml", VALUES), parties).data
    assert data == {
        "buyer": {"name": "Ann", "vat_id": "ATU13585627"},
        "seller": {"name": "Harbour Supplies GmbH", "vat_id": "DE136695976"},
    }


def test_a_code_of_an_invoice_counts_whatever_the_words_of_the_page_tell() -> None:
    words = page("PASSPORT\nNationality\nThis contract is made between party A and party B\nDate of expiry")
    with_xml, with_epc = coded(words, "invoice_xml", VALUES), coded(words, *content_of(EPC))
    assert not may_be([words], INVOICE, TYPES)
    assert may_be([with_xml], INVOICE, TYPES)
    assert may_be([with_epc], INVOICE, TYPES)
    assert not may_be([with_xml], TYPES.named("id_card"), TYPES)
    assert classify([with_xml], TYPES) is INVOICE
    assert classify([coded(PageResult(0), *content_of(EPC))], TYPES) is INVOICE
    assert classify([with_epc], TYPES) is classify([words], TYPES)
