"""docs/concepts/overload.md names tests: they are there."""

from __future__ import annotations

import re
from pathlib import Path

from inkgate.errors import CODES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "concepts" / "overload.md").read_text(encoding="utf-8")


def test_every_test_it_names_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    there: set[str] = set()
    for file in (ROOT / "tests").glob("*/test_*.py"):
        there.update(re.findall(r"^(?:async )?def (test_\w+)\(", file.read_text(encoding="utf-8"), re.MULTILINE))
    assert len(named) > 30
    assert named - there == set()


def test_every_code_it_names_exists() -> None:
    table = PAGE.partition("## What a client sees")[2].partition("`Retry-After` is in whole")[0]
    codes = re.findall(r"^\| \d{3} \| `(\w+)` \|", table, re.MULTILINE)
    assert len(codes) >= 7
    assert set(codes) <= CODES.keys()
