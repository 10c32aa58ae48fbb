"""tests/faults.md names tests that exist, and docs/concepts/overload.md names error codes that exist."""

from __future__ import annotations

import re
from pathlib import Path

from inkgate.errors import CODES

ROOT = Path(__file__).parents[2]
FAULTS = (ROOT / "tests" / "faults.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "concepts" / "overload.md").read_text(encoding="utf-8")


def test_every_fault_names_a_test_and_every_test_it_names_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", FAULTS))
    there: set[str] = set()
    for file in (ROOT / "tests").glob("*/test_*.py"):
        there.update(re.findall(r"^(?:async )?def (test_\w+)\(", file.read_text(encoding="utf-8"), re.MULTILINE))
    assert len(named) > 30
    assert named - there == set()
    assert [fault for fault in FAULTS.split("\n## ")[1:] if "`test_" not in fault] == []


def test_every_code_it_names_exists() -> None:
    table = PAGE.partition("## Refusals")[2].partition("\n## ")[0]
    codes = re.findall(r"^\| \d{3} \| `(\w+)` \|", table, re.MULTILINE)
    assert len(codes) >= 6
    assert set(codes) <= CODES.keys()
