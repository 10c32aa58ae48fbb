"""docs/reference/errors.md lists every error code with what it means and what to do."""

from __future__ import annotations

import re
from pathlib import Path

from inkgate.errors import CODES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")


def test_every_code_and_no_other_is_listed_with_status_meaning_and_remedy() -> None:
    rows = re.findall(r"^- `(\w+)` \((\d+), (\w+)(, transient)?\): (.+?)\. (.+)$", PAGE, re.MULTILINE)
    codes = [
        (name, str(code.status), code.blame, ", transient" if code.transient else "", code.title, code.remedy)
        for name, code in CODES.items()
    ]
    assert sorted(rows) == sorted(codes)
