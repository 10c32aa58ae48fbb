"""Subtotal and tax: amounts by their labels, which must agree with the total where they can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final

from inkgate.fields.rules.candidates import FieldCandidate, LabelWeight, weigh
from inkgate.fields.rules.totals import number_of

MIN_SCORE = 2.0
"""Minimum score: without a label, an amount is neither subtotal nor tax."""
_SUBTOTAL: Final = tuple(
    LabelWeight.of(pattern, weight)
    for pattern, weight in (
        (r"sub[- ]?\s?tot|subtl|zwischensumme|小计|subtotaal|sous[- ]total", 4.0),
        (r"(?:net|amount|total|sales?)\b.*(?:excl|before|w/o|without)", 3.0),
        (r"\b(?:excl\w{0,8}|hors|ohne|zzgl|before|without)\b.{0,12}\b(?:tax|vat|gst|btw|tva|mwst|ust|iva)\b", 5.0),
        (r"taxable|untaxed|netto", 2.0),
        (r"tax\b(?!able)|gst|vat", -1.0),
        (r"disc|change|cash|qty|item", -3.0),
    )
)
_TAX: Final = tuple(
    LabelWeight.of(pattern, weight)
    for pattern, weight in (
        (r"\btax\b|\bgst\b|\bvat\b|\bsst\b|\bmwst|\bbtw\b|\biva\b|\btva\b|\bust\b|税", 4.0),
        (r"tota?l\s*(?:tax|gst|vat)", 1.0),
        (r"service|svc|gratuity|tip", -2.5),
        (r"incl|excl|before|after|taxable|invoice|\bno\b|id\b|reg", -3.0),
        (r"sub[- ]?tot|total sales|amount|change|cash|round", -3.0),
    )
)


def find_subtotal(
    amounts: Sequence[FieldCandidate], total: FieldCandidate | None, tax: FieldCandidate | None = None
) -> FieldCandidate | None:
    """The best labelled amount that is at most the total; with a tax, one that makes the total with it, if there is."""
    most = None if total is None else number_of(total)
    fitting = [each for each in amounts if most is None or 0 < number_of(each) <= most]
    best = _best(fitting, _SUBTOTAL)
    if best is not None and most is not None and tax is not None and number_of(tax) > 0 and number_of(best) == most:
        # "Subtotal" of amounts that include the tax.
        adding = [each for each in fitting if number_of(each) + number_of(tax) == most]
        return _best(adding, _SUBTOTAL) or best
    return best


def find_tax(amounts: Sequence[FieldCandidate], total: FieldCandidate | None) -> FieldCandidate | None:
    """The best labelled amount that is less than half of the total."""
    most = None if total is None else number_of(total) / Decimal(2)
    fitting = [each for each in amounts if most is None or 0 <= number_of(each) <= most]
    return _best(fitting, _TAX)


def _best(amounts: Sequence[FieldCandidate], weights: Sequence[LabelWeight]) -> FieldCandidate | None:
    """The best amount; rates are none."""
    printed = [each for each in amounts if each.value is None or each.value.unit != "%"]
    scored = [replace(each, score=weigh(each.label, weights)) for each in printed]
    best = max(scored, key=lambda each: (each.score, -each.row), default=None)
    return best if best is not None and best.score >= MIN_SCORE else None
