"""The tiers of tests: which tests `make test`, `make test-rest` and the others run."""

import re
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path

TIERS = ("default", "rest", "real", "all", "long")
"""`--tier` of pytest. docs/contributing/testing.md describes them."""

MARKERS = ("smoke", "real", "installs", "calibration", "endurance", "timing")
"""The markers that decide on a test's tier. They stand in the file of the test."""

_BY_MARKER_ONLY = frozenset({"integration", "e2e"})
"""Folders whose tests are in `default` only if they are marked `smoke`."""

_NOT_DEFAULT = frozenset({"real", "timing"})
_LONG = frozenset({"installs", "calibration", "endurance"})
_TERM = re.compile(r"(?P<no>not\s+)?(?P<name>\w+)")


def is_in_tier(tier: str, path: Path, markers: AbstractSet[str]) -> bool:
    """True if `tier` runs a test in the file `path` with these markers."""
    if tier == "long":
        return True
    if markers & _LONG:
        return False
    default = not markers & _NOT_DEFAULT and ("smoke" in markers or path.parent.name not in _BY_MARKER_ONLY)
    return {"default": default, "rest": not default, "real": "real" in markers, "all": True}[tier]


def is_file_in_tier(tier: str, path: Path) -> bool:
    """False if no test in the file can be in `tier`, because a marker is not in its text."""
    if tier == "real":
        return names_marker(path, "real")
    by_marker_only = path.parent.name in _BY_MARKER_ONLY
    if tier == "default" and by_marker_only:
        return names_marker(path, "smoke")
    if tier == "rest" and not by_marker_only:
        return any(names_marker(path, marker) for marker in _NOT_DEFAULT)
    return True


@cache
def names_marker(path: Path, marker: str) -> bool:
    """True if `pytest.mark.MARKER` is in the text of the file."""
    return f"mark.{marker}" in path.read_text("utf-8")


def required_markers(expression: str) -> list[str]:
    """Markers that each test selected by `-m EXPRESSION` has; none for more than `and` and `not NAME`."""
    terms = [_TERM.fullmatch(term.strip()) for term in re.split(r"\band\b", expression)]
    if not all(terms):
        return []
    return [term["name"] for term in terms if term and not term["no"]]
