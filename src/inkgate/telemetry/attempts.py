"""Retries and repetition stops in the attempts of a page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from inkgate.types import Attempt

_PART = re.compile(r"block \d+")
_RUNAWAY = "output_repeats"


def retries_of(attempts: Sequence[Attempt]) -> Iterator[str]:
    """The error before each retry of the page or of one of its blocks."""
    before: dict[str, str] = {}
    for attempt in attempts:
        found = _PART.match(attempt.change)
        part = found.group() if found else ""
        if before.get(part):
            yield before[part]
        before[part] = "" if attempt.error is None else attempt.error.code


def runaways_of(attempts: Sequence[Attempt]) -> int:
    """Outputs that were stopped because they repeated themselves."""
    return sum(attempt.error is not None and attempt.error.code == _RUNAWAY for attempt in attempts)
