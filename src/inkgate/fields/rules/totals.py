"""The total of a receipt or an invoice."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final

from inkgate.fields.kinds import KINDS
from inkgate.fields.rules.candidates import FieldCandidate, LabelWeight, candidates_of, weigh
from inkgate.fields.rules.rows import PrintedPages

_WEIGHTS: Final = tuple(
    LabelWeight.of(pattern, weight)
    for pattern, weight in (
        (r"tot[a4]l|jumlah|合计|总计|總計|summe|gesamt|totaal", 3.0),
        (r"grand|net+\b|payable|amount due|balance due|to pay|total due|应付|实付|應付", 2.0),
        (r"round(?:e| )?d\b|after round", 1.5),
        (r"incl", 1.5),
        (r"amount|\bamt", 0.5),
        (r"sales", 0.3),
        (r"sub[ -]?to|zwischensumme|小计", -3.5),
        (r"excl|before|w/o|without|\bex\b", -3.0),
        (r"(?<!incl )(?<!inclusive of )(?<!inc )(?:gst|tax|vat|sst|service|s\.?c)\b(?!.{0,12}incl)", -1.5),
        (r"(?:gst|tax|vat|sst|6\s?%).*(?:tota|incl)", -4.0),
        (r"disc|saving|saved|voucher|rebate|deposit", -4.0),
        (r"change|baki|找零|kembali", -6.0),
        (r"cash|tender|paid|payment|visa|master|card|received|bayar", -2.0),
        (r"qty|quantity|items?\b|pcs|count|unit", -5.0),
        (r"^(?!.*tot).*(?:rounding|adj|diff)|round\w* adj", -5.0),
        (r"after", 1.5),
        (r"point|member|balance b", -4.0),
        (r"%", -1.0),
    )
)
_PAID: Final = LabelWeight.of(r"cash|tender|paid|received|visa|master|card", 1.0)
_ROUNDED: Final = LabelWeight.of(r"round|rouding|pembundaran", 1.0)
_CHANGE: Final = LabelWeight.of(r"change|baki|找零", 1.0)
_SUMMARY: Final = re.compile(r"(?:gst|tax|vat|sst)\s*summ|tax code|tax rate", re.IGNORECASE)
"""Below this stand amounts by tax rate, with a total of their own."""
_MAX_PAID = 10
"""Amounts paid, and of change: each pair is compared with each amount."""
_SAME = Decimal("0.05")
"""Cash rounds to five cents in many countries."""


def amounts_of(pages: PrintedPages) -> list[FieldCandidate]:
    """The amounts with two decimals or a currency."""
    found = candidates_of(pages, KINDS["money"])
    return [each for each in found if each.value and (each.value.decimals == 2 or each.value.unit not in {"", "%"})]


def find_total(pages: PrintedPages, found: Sequence[FieldCandidate]) -> FieldCandidate | None:
    """The best scored of the amounts that `amounts_of` found; None if none is above 0."""
    amounts = [each for each in found if number_of(each) > 0]
    if not amounts:
        return None
    times = Counter(number_of(each) for each in amounts)
    paid = _paid_less_change(amounts)
    is_rounded = any(_ROUNDED.pattern.search(row.text) for row in pages.rows)
    largest = max(map(number_of, amounts))
    summary = min((row.number for row in pages.rows if _SUMMARY.search(row.text)), default=len(pages.rows))
    scored = []
    for place, each in enumerate(amounts):
        number = number_of(each)
        score = weigh(each.label, _WEIGHTS)
        score += min(times[number] - 1, 3) * 0.5
        score += 1.5 if any(abs(number - other) < _SAME for other in paid) else 0.0
        score += 1.5 if is_rounded and not number % _SAME else 0.0
        score += 0.8 * float(number / largest)
        score -= 2.5 if each.row > summary else 0.0
        score += 0.6 * place / len(amounts)
        scored.append(replace(each, score=score))
    return max(scored, key=lambda each: (each.score, each.row))


def _paid_less_change(amounts: Sequence[FieldCandidate]) -> list[Decimal]:
    """What was paid less the change, for each pair of them."""
    paid = [number_of(each) for each in amounts if _PAID.pattern.search(each.label)][:_MAX_PAID]
    change = [number_of(each) for each in amounts if _CHANGE.pattern.search(each.label)][:_MAX_PAID]
    return [first - second for first in paid for second in change if first > second]


def number_of(candidate: FieldCandidate) -> Decimal:
    """The likeliest number that the candidate means; 0 if it is no amount."""
    reading = candidate.value.readings[0] if candidate.value else None
    return reading if isinstance(reading, Decimal) else Decimal(0)
