"""The date of a document, and its time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from inkgate.fields.kinds import KINDS
from inkgate.fields.rules.candidates import FieldCandidate, LabelWeight, candidates_of, weigh
from inkgate.fields.rules.rows import PrintedPages

_WEIGHTS: Final = tuple(
    LabelWeight.of(pattern, weight)
    for pattern, weight in (
        (r"date|datum|fecha|tarikh|data|日期|时间|開立|开票", 3.0),
        (r"invoice|inv|bill|receipt|trans|order|issue|purchase", 1.0),
        (r"\bprint|\bdue\b|\bexp|valid|until|birth|\bfrom\b|\bto\b|deliver|promo|return|\bsince", -3.0),
    )
)
_OF_SEVERAL: Final = 0.9
"""Score of one of several times."""


def find_date(pages: PrintedPages) -> FieldCandidate | None:
    """The best scored date: labelled as such, with a time beside it, the first."""
    dates = candidates_of(pages, KINDS["date"])
    if not dates:
        return None
    timed = {each.row for each in candidates_of(pages, KINDS["time"])}
    scored = [
        replace(each, score=weigh(each.label, _WEIGHTS) + (1.0 if each.row in timed else 0.0) - 0.2 * place)
        for place, each in enumerate(dates)
    ]
    return max(scored, key=lambda each: each.score)


def find_time(pages: PrintedPages, date: FieldCandidate | None) -> FieldCandidate | None:
    """The time nearest to the date; without a date the first. It is less sure if the paper has other times, as of the
    order and of the payment.
    """
    times: Sequence[FieldCandidate] = candidates_of(pages, KINDS["time"])
    if not times:
        return None
    best = times[0] if date is None else min(times, key=lambda each: (abs(each.row - date.row), each.row))
    different = {each.value.readings[0] for each in times if each.value is not None}
    return replace(best, score=_OF_SEVERAL) if len(different) > 1 else best
