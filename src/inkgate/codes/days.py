"""Days as the standards of codes write them."""

from __future__ import annotations

import re
from datetime import date
from typing import Final

_YEAR_FIRST: Final = re.compile(r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})", re.ASCII)
_MONTH_FIRST: Final = re.compile(r"(?P<month>\d{2})(?P<day>\d{2})(?P<year>\d{4})", re.ASCII)


def iso_day(text: str, *, month_first: bool = False) -> str:
    """ISO 8601 of yyyymmdd, or of mmddyyyy if `month_first`; empty if it is no day."""
    match = (_MONTH_FIRST if month_first else _YEAR_FIRST).fullmatch(text)
    try:
        return "" if match is None else date(*(int(match[part]) for part in ("year", "month", "day"))).isoformat()
    except ValueError:
        return ""
