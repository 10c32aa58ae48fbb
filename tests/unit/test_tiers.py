"""Which tests are in a tier, and which files are collected for it."""

from pathlib import Path

import pytest

from support.tiers import TIERS, is_file_in_tier, is_in_tier, required_markers


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


@pytest.mark.parametrize(
    ("folder", "markers", "tiers"),
    [
        ("unit", "", "default all long"),
        ("contract", "", "default all long"),
        ("tests", "", "default all long"),  # of a package, whose tests are in one folder
        ("integration", "", "rest all long"),
        ("e2e", "", "rest all long"),
        ("e2e", "smoke", "default all long"),
        ("e2e", "real smoke", "rest real all long"),
        ("unit", "real", "rest real all long"),
        ("unit", "timing", "rest all long"),
        ("unit", "calibration", "long"),
        ("clients", "installs", "long"),
        ("integration", "smoke endurance", "long"),
    ],
)
def test_folder_and_markers_decide_on_the_tiers(folder: str, markers: str, tiers: str, tmp_path: Path) -> None:
    path = tmp_path / folder / "test_it.py"
    path.parent.mkdir()
    path.write_text("\n".join(f"@pytest.mark.{marker}" for marker in markers.split()), encoding="utf-8")
    chosen = {tier for tier in TIERS if is_in_tier(tier, path, set(markers.split()))}
    assert chosen == set(tiers.split())
    assert chosen <= {tier for tier in TIERS if is_file_in_tier(tier, path)}


@pytest.mark.parametrize(
    ("tier", "folder", "text"),
    [
        ("default", "e2e", "@pytest.mark.real"),
        ("rest", "unit", "@pytest.mark.endurance"),
        ("real", "unit", "@pytest.mark.timing"),
    ],
)
def test_files_without_a_marker_that_the_tier_needs_are_not_collected(
    tier: str, folder: str, text: str, tmp_path: Path
) -> None:
    path = tmp_path / folder / "test_it.py"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    assert not is_file_in_tier(tier, path)
