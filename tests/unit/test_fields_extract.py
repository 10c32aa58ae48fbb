"""Answers hold what stands on the page, and nothing else."""

from typing import Any

import pytest

from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.extract import answer
from inkgate.fields.rules.extractor import propose
from inkgate.fields.schema import FieldSchema
from inkgate_client.fields.values import Extraction, ExtractionStatus, FieldStatus, Proposal
from inkgate_client.types import PageResult
from support.receipts import RECEIPT, page

RECEIPT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "merchant_name": {"type": "string"},
        "date": {"type": "string", "format": "date"},
        "subtotal": {"type": "number", "x-kind": "money"},
        "tax": {"type": "string", "x-kind": "money"},
        "total": {"type": ["number", "null"], "x-kind": "money"},
        "cashier": {"type": "string"},
        "weather": {"type": "string"},
        "items": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
    },
    "x-checks": ["subtotal_plus_tax"],
}


def extract(text: str, schema: dict[str, Any] = RECEIPT_SCHEMA, name: str = "receipt") -> Extraction:
    pages, wanted = [page(text)], FieldSchema.of(schema, name)
    return answer(pages, wanted, propose(pages, wanted))


def given(text: str, **values: str) -> Extraction:
    """The answer if somebody else proposes the values, by paths."""
    wanted = FieldSchema.of(RECEIPT_SCHEMA, "receipt")
    return answer([page(text)], wanted, {f"/{name}": [Proposal(value, "model", 1.0)] for name, value in values.items()})


def test_data_has_the_schema_s_types_and_every_property() -> None:
    assert extract(RECEIPT).data == {
        "merchant_name": "LITTLE HARBOUR TRADING SDN BHD",
        "date": "2018-04-03",
        "subtotal": 28.5,
        "tax": "1.71",
        "total": 30.2,
        "cashier": "AMY",
        "weather": None,
        "items": [],
    }


def test_a_day_that_may_be_a_month_needs_review_if_nothing_tells() -> None:
    found = extract(RECEIPT)
    assert found.fields["/date"].status is FieldStatus.UNCERTAIN
    assert found.fields["/date"].alternatives == ("2018-03-04",)
    assert found.status is ExtractionStatus.NEEDS_REVIEW
    assert extract(RECEIPT.replace("TOTAL|30.20", "TOTAL|RM 30.20")).fields["/date"].status is FieldStatus.FOUND
    assert extract(RECEIPT.replace("03/04/2018", "23/04/2018")).fields["/date"].status is FieldStatus.FOUND


def test_sums_that_agree_are_sure_and_others_need_review() -> None:
    good = extract(RECEIPT)
    assert (good.fields["/total"].confidence or 0) > 0.95
    assert [check.passed for check in good.checks] == [True]
    bad = extract(RECEIPT.replace("SUB TOTAL|28.50", "SUB TOTAL|18.50"))
    assert FieldStatus.FOUND not in {bad.fields[path].status for path in ("/subtotal", "/tax", "/total")}
    assert (bad.fields["/total"].confidence or 0) < 0.85
    assert bad.status is ExtractionStatus.NEEDS_REVIEW


def test_values_that_are_not_on_the_page_are_null_and_named() -> None:
    found = given(RECEIPT, total="30.30", merchant_name="BIG HARBOUR HOLDINGS", date="24 April 2018", cashier="Amy")
    assert [found.data[name] for name in ("total", "merchant_name", "date")] == [None, None, None]
    assert found.fields["/total"].status is FieldStatus.UNGROUNDED
    assert found.fields["/total"].alternatives == ("30.30",)
    assert found.data["cashier"] == "Amy"


def test_a_value_in_another_notation_is_the_same_value() -> None:
    found = given(RECEIPT, total="RM 30,20", date="2018-04-03")
    assert found.data["total"] == 30.2
    assert found.fields["/total"].sources[0].label == "GRAND TOTAL"
    assert found.data["date"] == "2018-04-03"


@pytest.mark.parametrize("text", ["", "A photograph of a cat"])
def test_a_page_without_any_field_invents_none_and_needs_review(text: str) -> None:
    found = extract(text)
    assert [value for value in found.data.values() if value] == []
    assert found.status is ExtractionStatus.NEEDS_REVIEW


def test_any_names_are_found_by_their_labels() -> None:
    slip = "Patient No: 4711|Ward: B3\nAdmitted|12 May 2024\nDiagnosis\nBroken arm\n姓名|王小明"
    schema = FieldSchema.of_names(["patient no", "ward", "admitted", "diagnosis", "姓名", "insurance"])
    pages = [page(slip)]
    assert answer(pages, schema, propose(pages, schema)).data == {
        "patient no": "4711",
        "ward": "B3",
        "admitted": "12 May 2024",
        "diagnosis": "Broken arm",
        "姓名": "王小明",
        "insurance": None,
    }


def test_a_label_with_a_colon_counts_before_the_same_word_in_a_sentence() -> None:
    contract = "甲方应按月支付租金，乙方应当提供发票。\n甲方：王建国\n乙方：李秀英"
    schema = FieldSchema.of_names(["甲方", "乙方"])
    pages = [page(contract)]
    assert answer(pages, schema, propose(pages, schema)).data == {"甲方": "王建国", "乙方": "李秀英"}


def test_no_page_is_no_answer() -> None:
    schema = FieldSchema.of(RECEIPT_SCHEMA, "receipt")
    assert answer([], schema, propose([], schema)).status is ExtractionStatus.NEEDS_REVIEW
    proposals = {"/total": [Proposal("1", "model", 1.0), Proposal(" ", "model", 1.0)]}
    assert answer([PageResult(0)], schema, proposals).data["total"] is None


def test_a_cell_that_names_another_field_is_no_value() -> None:
    form = "1 Rents|2 Royalties|Void\n1,500|350\nLive Delivery:|Video Delivery:\nOwner|Tenant\nAnn|Bea"
    schema = FieldSchema.of_names(["1 rents", "live delivery", "owner", "tenant"])
    pages = [page(form)]
    assert answer(pages, schema, propose(pages, schema)).data == {
        "1 rents": "1,500",
        "live delivery": None,
        "owner": "Ann",
        "tenant": "Bea",
    }


def test_an_invoice_has_the_date_that_is_called_so() -> None:
    invoice = DocumentTypes.load().named("invoice")
    pages = [page("Orderdatum:|18 april 2014\nFactuurdatum:|19 april 2014\nTotaal|717,97")]
    assert answer(pages, invoice, propose(pages, invoice)).data["date"] == "2014-04-19"


def test_a_rate_is_no_tax() -> None:
    receipt = DocumentTypes.load().named("receipt")
    pages = [page("Tea|4.72\nGST @6%|0.28\nTotal|5.00")]
    assert answer(pages, receipt, propose(pages, receipt)).data["tax"] == "0.28"
