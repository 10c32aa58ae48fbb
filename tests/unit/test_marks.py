"""The markers that a selection of tests requires."""

import pytest

from support.marks import required_markers


@pytest.mark.parametrize(
    ("expression", "required"),
    [
        ("timing and not real and not calibration", ["timing"]),
        ("not timing and real and not  endurance", ["real"]),
        ("timing", ["timing"]),
        ("real or timing", []),
        ("not (real and timing)", []),
        ("not real", []),
        ("", []),
    ],
)
def test_markers_behind_and_are_required(expression: str, required: list[str]) -> None:
    assert required_markers(expression) == required
