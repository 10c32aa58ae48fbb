"""docs/contributing/dependencies.md says why of each dependency, and constraints.txt pins each, naming no address."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import inkgate
import inkgate_client

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "contributing" / "dependencies.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINS = [
    line
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


def _name(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None, requirement
    return found.group().lower().replace("_", "-")


REQUIRED = [_name(line) for line in PROJECT["dependencies"] if not line.startswith("inkgate")]
PACKAGES = [
    tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    for file in sorted(ROOT.glob("packages/*/pyproject.toml"))
]
OPTIONAL = [
    _name(line)
    for lines in (*PROJECT["optional-dependencies"].values(), *(package["dependencies"] for package in PACKAGES))
    for line in lines
    if not line.startswith("inkgate")
]


def test_every_dependency_and_no_other_has_a_row_that_says_why() -> None:
    rows = re.findall(r"^\| ([a-z0-9][a-z0-9-]*) \| (.*?) \|", PAGE, re.MULTILINE)
    reasons = [(name, reason) for name, reason in rows if name != "package"]
    assert sorted(name for name, _ in reasons) == sorted({*REQUIRED, *OPTIONAL})
    assert [name for name, reason in reasons if len(reason) <= 10] == []


def test_packages_need_each_other_in_one_version() -> None:
    assert inkgate_client.__version__ == inkgate.__version__
    needed = {
        line for project in (PROJECT, *PACKAGES) for line in project["dependencies"] if line.startswith("inkgate")
    }
    assert needed == {f"inkgate=={inkgate.__version__}", f"inkgate-client=={inkgate.__version__}"}


def test_every_dependency_is_pinned() -> None:
    assert set(REQUIRED + OPTIONAL) - {_name(pin) for pin in PINS} == set()


def test_pins_are_exact_versions_without_addresses_and_bring_one_opencv() -> None:
    assert [pin for pin in PINS if not re.fullmatch(r"[A-Za-z0-9._-]+==(?:\d+!)?[A-Za-z0-9.]+", pin)] == []
    # Two wheels of OpenCV overwrite each other's files, and the one with windows needs libGL.
    assert [_name(pin) for pin in PINS if "opencv" in pin.lower()] == ["opencv-python-headless"]


def test_no_text_says_to_install_inkgate_by_name_which_no_package_index_has() -> None:
    texts = [
        *(ROOT / "src").rglob("*.py"),
        *(ROOT / "packages").rglob("*.py"),
        *(ROOT / "docs").glob("*/*.md"),
        ROOT / "README.md",
    ]
    assert [
        path.name for path in texts if re.search(r"pip install '?inkgate\b", path.read_text(encoding="utf-8"))
    ] == []
