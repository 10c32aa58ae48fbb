"""docs/reference/errors.md lists every error code with what it means and what to do."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from inkgate.api.errors import STATUSES
from inkgate.errors import CODES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_listed_with_status_meaning_and_remedy(code: str) -> None:
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{code}` |")]
    assert [cell.strip() for cell in row.strip("|").split("|")] == [
        f"`{code}`",
        str(STATUSES[code]),
        CODES[code].title,
        CODES[code].remedy,
    ]


def test_no_code_is_listed_that_does_not_exist() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == set(CODES)


def test_the_generated_part_is_current() -> None:
    current = runpy.run_path(str(ROOT / "scripts" / "write_docs.py"))["current"]
    assert current("docs/reference/errors.md") == PAGE, "run `make docs`"
