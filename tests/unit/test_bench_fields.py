"""Scores of fields."""

from __future__ import annotations

import pytest

from inkgate.fields.document_types import DocumentTypes
from inkgate_bench.accuracy.fields import curve, field_figures, judge, judge_fields, schema_for, scores
from inkgate_client.fields.values import FieldStatus, FieldValue


def field(kind: str, text: str | None, confidence: float = 0.9) -> FieldValue:
    if text is None:
        return FieldValue("/x", kind, FieldStatus.NOT_FOUND)
    return FieldValue("/x", kind, FieldStatus.FOUND, value=text, text=text, confidence=confidence)


@pytest.mark.parametrize(
    ("kind", "text", "truth", "right", "exact"),
    [
        ("date", "13/04/2018", "2018-04-13", True, False),
        ("date", "13/04/2018", ["12/04/2018", "13/04/2018 13/04/2018"], True, False),
        ("date", "14/04/2018", "2018-04-13", False, False),
        ("money", "$8.20", "8.20", True, False),
        ("money", "8.20", "8.2O", False, False),
        ("text", "A & B SDN. BHD", "A&B SDN BHD", True, False),
        ("text", "Main Road 1", "Road 1 Main", True, False),
        ("text", "Main Road 1", "Main Road 1", True, True),
        ("text", "Main Road 1", "Main Road 7", False, False),
    ],
)
def test_values_are_compared_as_what_they_are(kind: str, text: str, truth: object, right: bool, exact: bool) -> None:
    judged = judge("x", field(kind, text), truth)
    assert (judged.right, judged.exact) == (right, exact)


def test_missing_wrong_and_unwanted_values_count_against_the_score() -> None:
    judged = [
        judge("total", field("money", "1.00"), "1.00"),
        judge("total", field("money", "2.00"), "3.00"),
        judge("total", field("money", None), "4.00"),
        judge("tax", field("money", "5.00"), None),
    ]
    total, tax, everything = scores(judged)
    assert (total.wanted, total.found, total.right, total.f1) == (3, 2, 1, 40.0)
    assert (tax.wanted, tax.found, tax.f1) == (0, 1, 0.0)
    assert (everything.name, round(everything.f1, 1)) == ("all", 33.3)


def test_the_curve_counts_fields_by_confidence() -> None:
    judged = [judge("x", field("money", "1.00", confidence), truth) for confidence, truth in ((0.99, "1"), (0.96, "2"))]
    assert curve(judged, (0.0, 0.95)) == {0.0: (0, 0), 0.95: (2, 1)}


def test_a_truth_s_names_tell_the_type_and_an_unread_document_has_nothing_right() -> None:
    types = DocumentTypes.load()
    truth = {"company": "A", "date": "2018-04-13", "total": "8.20", "prod/item": ["x"]}
    schema = schema_for(truth, types)
    assert schema.name == "receipt"
    assert schema_for({"ward": "3", "berth": "4", "date": "x"}, types).name == ""
    assert schema_for({"ward": "3"}, types, "invoice").name == "invoice"
    total = FieldValue("/total", "money", FieldStatus.FOUND, value="8.20", text="8.20", confidence=0.9)
    judged = judge_fields({"/total": total}, truth, schema)
    assert [(each.name, each.right) for each in judged] == [("company", False), ("date", False), ("total", True)]
    figures = field_figures(judged)
    assert figures["by_name"][-1]["f1"] == 50.0
    assert figures["calibration"]["error"] == pytest.approx(0.1)
    assert figures["ungrounded"] == 0.0
    assert not any(each.found for each in judge_fields(None, truth, schema))
    assert field_figures([])["ungrounded"] is None
    named = schema_for({"a/b": "x"}, types)
    assert [each.wanted for each in judge_fields(None, {"a/b": "x"}, named)] == [True]
