"""Confidence as the share of values that are right."""

from __future__ import annotations

from itertools import pairwise

from inkgate.fields.calibrated import LABELLED, PLACED, calibrated, on_curve
from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.extract import answer
from inkgate.fields.trade.reader import curve_of
from inkgate_client.fields.values import FieldStatus, Proposal
from inkgate_client.types import Line, PageResult


def test_curves_never_fall_and_stay_between_zero_and_one() -> None:
    for placed, knots in ((True, PLACED), (False, LABELLED)):
        assert all(low[0] < high[0] and low[1] <= high[1] for low, high in pairwise(knots))
        values = [calibrated(step / 200, placed=placed) for step in range(201)]
        assert all(0 <= low <= high <= 1 for low, high in pairwise(values))
        assert (values[0], values[-1]) == (0.0, knots[-1][1])


def test_between_its_knots_a_curve_is_a_line() -> None:
    knots = ((0.4, 0.2), (0.8, 0.6))
    assert [round(on_curve(knots, each), 6) for each in (0.2, 0.4, 0.6, 0.8, 1.0)] == [0.1, 0.2, 0.4, 0.6, 0.6]


def test_only_what_rules_find_is_calibrated_and_statuses_follow_what_is_told() -> None:
    schema = DocumentTypes.load().named("receipt")
    page = PageResult(0, lines=(Line("Corner Shop", ((0, 0), (200, 0), (200, 20), (0, 20)), 1.0),))
    for origin, status, confidence in (
        ("rules", FieldStatus.UNCERTAIN, on_curve(curve_of("receipt", "/merchant_name"), 0.5)),
        ("model", FieldStatus.UNCERTAIN, 0.5),
    ):
        field = answer([page], schema, {"/merchant_name": [Proposal("Corner Shop", origin, 0.5)]}).fields[
            "/merchant_name"
        ]
        assert (field.status, field.confidence) == (status, confidence)
    own = answer([page], schema, {"/merchant_name": [Proposal("Corner Shop", "rules", 0.5)]}, calibrate=False)
    assert own.fields["/merchant_name"].confidence == 0.5
    sure = answer([page], schema, {"/merchant_name": [Proposal("Corner Shop", "rules", 0.99)]}, 0.89)
    assert sure.fields["/merchant_name"].status is FieldStatus.FOUND
