"""Hostile schemas, pages and values: nothing is answered that is not on the page, and work is bounded."""

from typing import Any

import pytest

from inkgate.errors import InputRejected
from inkgate.fields.extract import answer
from inkgate.fields.folded import FoldedPage
from inkgate.fields.ground import Effort, ground_text, ground_value
from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.base import parse
from inkgate.fields.rules.extractor import propose
from inkgate.fields.schema import MAX_CHOICES, MAX_LABELS, FieldSchema
from inkgate_client.fields.values import Extraction, ExtractionStatus, FieldStatus, Proposal
from inkgate_client.types import PageError, PageResult
from support.receipts import RECEIPT, page


def given(text: str, schema: dict[str, Any], **values: str) -> Extraction:
    wanted = FieldSchema.of({"properties": schema})
    return answer([page(text)], wanted, {f"/{name}": [Proposal(value, "model", 1.0)] for name, value in values.items()})


def value(text: str, schema: dict[str, Any], proposed: str) -> object:
    return given(text, {"x": schema}, x=proposed).data["x"]


def has(text: str, wanted: str) -> bool:
    return bool(ground_text([FoldedPage.of(page(text))], wanted))


def has_value(text: str, wanted: str, kind: str = "number") -> bool:
    parsed = parse(KINDS[kind], wanted)
    return parsed is not None and bool(ground_value([FoldedPage.of(page(text))], parsed, KINDS[kind]))


@pytest.mark.parametrize("digits", ["9" * 30, "1" * 5000, "123," * 40 + "123", "123 " * 200])
def test_barcodes_are_no_amounts_and_no_error(digits: str) -> None:
    assert KINDS["money"].find(digits) == []
    schema = FieldSchema.of({"properties": {"total": {"type": "number"}, "note": {"type": "string"}}})
    pages = [page(f"{RECEIPT}\n{digits}|x")]
    assert answer(pages, schema, propose(pages, schema)).data["total"] == 30.2
    assert given(digits, {"x": {"type": "integer"}}, x=digits).data == {"x": None}


def test_numbers_that_round_to_the_same_are_not_the_same() -> None:
    assert not has_value("1" * 29 + "2", "1" * 29 + "3")


@pytest.mark.parametrize(
    ("printed", "wanted"),
    [
        ("30/03/2018", "30"),
        ("30/03/2018", "2018"),
        ("30 MAR 2018", "2018"),
        ("18:29", "18"),
        ("TEL 07-355 2616", "2616"),
        ("+60 12-345 6789", "345"),
        ("INV-2018", "2018"),
        ("A/2018", "2018"),
        ("1,234,56", "123456"),
        ("6-7", "7"),
    ],
)
def test_a_part_of_a_date_a_time_a_telephone_number_or_an_id_is_no_number(printed: str, wanted: str) -> None:
    assert not has_value(printed, wanted)


@pytest.mark.parametrize(
    ("printed", "wanted"),
    [
        ("QTY:3", "3"),
        ("3 x 4.25", "3"),
        ("-5", "-5"),
        ("TOTAL -9", "-9"),
        ("12.50-", "-12.50"),
        ("１２．５０", "12.5"),
        ("٣٠", "30"),
    ],
)
def test_numbers_are_numbers_beside_words_and_in_other_scripts(printed: str, wanted: str) -> None:
    assert has_value(printed, wanted)


def test_a_percentage_is_no_amount() -> None:
    assert not has_value("GST 6.00%", "6.00", "money")
    assert has_value("GST 6.00%", "6.00", "number")


@pytest.mark.parametrize(
    ("printed", "wanted"),
    [
        ("FEMALE", "male"),
        ("UNPAID", "paid"),
        ("SAVANNAH", "Anna"),
        ("ACCOUNT 912345678", "12345678"),
        ("ACCOUNT 912345678", "9123456"),
        ("JALAN SAGU 181", "JALAN SAGU 18"),
        ("12|34", "1234"),
        ("合同金额人民币壹万叁仟元整付清", "合同金额人民币壹万贰仟元整付清"),
        ("The agreement between John Smith and the landlord of the house is signed",) * 1
        + ("The agreement between Mary Jones and the landlord of the house is signed",),
        ("VAT GB123456789", "VAT GE123456789"),
        ("12.3", "1.23"),
    ],
)
def test_a_part_of_a_word_or_number_and_a_replaced_word_are_not_the_text(printed: str, wanted: str) -> None:
    assert given(printed, {"x": {"type": "string", "x-kind": "text"}}, x=wanted).data == {"x": None}


@pytest.mark.parametrize(
    ("printed", "wanted"),
    [
        ("性别:男", "男"),
        ("姓名:王小明", "王小明"),
        ("Sex: male", "Male"),
        ("No 12345678", "1234 5678"),
        ("LITTLE HARB0UR|TRADING", "Little Harb0ur Trading"),
        ("JALAN SAGU 18,\n81100 JOHOR", "Jalan Sagu 18, 81100 Johor"),
        ("THE AGREEMENT BETWEEN JOHN SMITH", "The agreernent between John Smith"),
        ("ratio 1.23", "1.23"),
    ],
)
def test_a_text_in_its_own_words_is_found(printed: str, wanted: str) -> None:
    assert given(printed, {"x": {"type": "string", "x-kind": "text"}}, x=wanted).data == {"x": wanted}


def test_likeness_is_looked_for_only_while_effort_is_left() -> None:
    pages = [FoldedPage.of(page("THE AGREEMENT BETWEEN JOHN SMITH"))]
    assert ground_text(pages, "The agreernent between John Smith", Effort())
    assert ground_text(pages, "The agreernent between John Smith", Effort(5)) == []
    assert ground_text(pages, "The agreement between John Smith", Effort(5))


def test_values_have_the_schema_s_type_or_are_null() -> None:
    assert value("count 3.5", {"type": "integer"}, "3.5") is None
    assert value("count 3", {"type": "integer"}, "3") == 3
    assert value("paid Yes", {"type": "boolean"}, "Yes") is None
    assert value("Amy Lee", {"type": "object"}, "Amy Lee") is None
    assert value("Amy Lee", {"type": "array"}, "Amy Lee") == []
    assert value("Amy Lee", {"type": "number", "x-kind": "text"}, "Amy Lee") is None
    assert given("paid Yes", {"x": {"type": "boolean"}}).fields["/x"].status is FieldStatus.NOT_FOUND


def test_values_are_of_the_schema_s_choices() -> None:
    sex: dict[str, Any] = {"type": "string", "enum": ["Male", "Female", None]}
    assert value("Sex: MALE", sex, "MALE") == "Male"
    found = given("Sex: UNKNOWN", {"x": sex}, x="UNKNOWN")
    assert found.data == {"x": None}
    assert found.fields["/x"].status is FieldStatus.INVALID
    assert found.status is ExtractionStatus.NEEDS_REVIEW
    assert value("grade 3", {"type": "integer", "enum": [1, 2, True]}, "3") is None
    assert value("grade 3", {"type": "integer", "enum": [1, 3]}, "3") == 3


def test_a_reading_that_is_not_the_likeliest_is_uncertain() -> None:
    for kind, printed, proposed in (("date", "03/04/2018", "2018-03-04"), ("number", "1,234", "1.2340")):
        found = given(f"x {printed}", {"x": {"type": "string", "x-kind": kind}}, x=proposed)
        assert found.fields["/x"].status is FieldStatus.UNCERTAIN


@pytest.mark.parametrize("text", ["Mar 2018", "120180330", "2018033012"])
def test_what_has_no_day_is_no_date(text: str) -> None:
    assert KINDS["date"].find(text) == []


def test_names_like_pointers_and_arrays_keep_their_places() -> None:
    names = ["-", "-total", "", "a/b", "a~1b", "~0", "items"]
    schema = FieldSchema.of({"properties": {name: {"type": "string"} for name in names}})
    assert answer([page("")], schema, {}).data == dict.fromkeys(names)
    nested = {"-": {"properties": {"-": {"type": "string"}, "items": {"items": {"properties": {"a/b": {}}}}}}}
    assert answer([page("")], FieldSchema.of({"properties": nested}), {}).data == {"-": {"-": None, "items": []}}


@pytest.mark.parametrize(
    ("schema", "code"),
    [
        ({"type": "array", "items": {"properties": {"a": {}}}}, "schema_invalid"),
        ({"x-kind": "money"}, "schema_invalid"),
        ({"properties": {"a": {"enum": list(range(MAX_CHOICES + 1))}}}, "schema_too_large"),
        ({"properties": {"a": {"allOf": [{}, {}]}}}, "schema_invalid"),
        ({"$defs": {"s3cret": 1}, "properties": {"a": {"$ref": "#/$defs/s3cret"}}}, "schema_invalid"),
        ({"properties": {"a": {"$ref": "https://s3cret.example/x"}}}, "schema_invalid"),
        ({"properties": {"a": {"$ref": "#/$defs/s3cret"}}}, "schema_invalid"),
    ],
)
def test_what_can_not_be_used_is_refused_without_repeating_it(schema: object, code: str) -> None:
    with pytest.raises(InputRejected) as refused:
        FieldSchema.of(schema)
    assert refused.value.code == code
    assert "s3cret" not in refused.value.detail


def test_references_that_branch_without_end_are_refused() -> None:
    defs: dict[str, Any] = {"0": {"properties": {}}}
    for level in range(1, 8):
        defs[str(level)] = {"properties": {str(i): {"$ref": f"#/$defs/{level - 1}"} for i in range(30)}}
    with pytest.raises(InputRejected) as refused:
        FieldSchema.of({"$defs": defs, "properties": {"a": {"$ref": "#/$defs/7"}}})
    assert refused.value.code == "schema_too_large"


def test_labels_are_bounded_and_chinese_schemas_count_as_utf_8() -> None:
    schema: dict[str, Any] = {"properties": {"name": {"x-labels": [f"label {i}" for i in range(3000)] + ["x" * 300]}}}
    (leaf,) = FieldSchema.of(schema).leaves
    assert len(leaf.labels) == MAX_LABELS
    assert leaf.labels[-1] == "name"
    assert FieldSchema.of({"properties": {"a": {"title": "发" * 15_000}}}).leaves


def test_all_of_one_and_escaped_references_are_followed() -> None:
    schema = {
        "$defs": {"a/b": {"type": "object", "properties": {"n": {"type": "number"}}}},
        "properties": {"x": {"allOf": [{"$ref": "#/$defs/a~1b"}], "title": "X"}},
    }
    assert [leaf.path for leaf in FieldSchema.of(schema).leaves] == ["/x/n"]


def test_a_page_that_was_not_read_needs_review() -> None:
    schema = FieldSchema.of({"properties": {"cashier": {"type": "string"}}})
    pages = [page(RECEIPT), PageResult(1, error=PageError("page_timeout", "Page 2 timed out.", "Retry."))]
    found = answer(pages, schema, propose(pages, schema))
    assert found.data == {"cashier": "AMY"}
    assert found.status is ExtractionStatus.NEEDS_REVIEW
    assert answer(pages[:1], schema, propose(pages[:1], schema)).status is ExtractionStatus.COMPLETE


def test_dates_that_were_read_as_text_are_not_put_in_order() -> None:
    text = {"type": "string", "x-kind": "text"}
    schema = FieldSchema.of({"properties": {"date": text, "due_date": text}, "x-checks": ["due_before_issued"] * 9})
    proposals = {"/date": [Proposal("2 May 2018", "m", 1.0)], "/due_date": [Proposal("1 June 2018", "m", 1.0)]}
    assert answer([page("2 May 2018\n1 June 2018")], schema, proposals).checks == ()
