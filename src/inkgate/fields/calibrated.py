"""Converts how sure the rules are to how often they are right.

The rules' own confidence orders values well, but its numbers are made by hand. The curves below say how often values of
such a confidence are right. They are isotonic (pool adjacent violators) and were fitted to receipts, invoices and forms
with ground truth by `python -m benchmarks.field_calibration` of commit ee68bbdf. benchmarks/results/fields.md says how
well curves that were fitted on other documents would have done.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

ORIGIN: Final = "rules"
"""Origin of what rules find, which is what was measured."""
MEASURED: Final = frozenset({"", "receipt", "invoice"})
"""Document types that were measured; empty: a schema of somebody's own, as for forms."""
Knots = Sequence[tuple[float, float]]
PLACED: Final[Knots] = ((0.359, 0.333), (0.433, 0.726), (0.564, 0.857), (0.869, 0.904))
"""Texts without a label, as names and addresses of merchants are. Rules' confidence, and share right."""
LABELLED: Final[Knots] = ((0.515, 0.333), (0.799, 0.857), (0.973, 0.989))
"""Other values. Both of 2026-11-25, from 1,597 fields of 369 documents: SROIE, WildReceipt, invoice2data, and Azure's
forms."""


def is_placed(kind: str, label: str) -> bool:
    """Whether a value was found by its place alone."""
    return kind == "text" and not label


def calibrated(confidence: float, *, placed: bool) -> float:
    """How often values of the rules' confidence are right."""
    return on_curve(PLACED if placed else LABELLED, confidence)


def on_curve(knots: Knots, confidence: float) -> float:
    """The value of a curve: linear between its knots, proportional below the first, constant above the last."""
    if not knots:
        return confidence
    at = bisect_right([knot[0] for knot in knots], confidence)
    if at == len(knots):
        return knots[-1][1]
    low, high = ((0.0, 0.0) if at == 0 else knots[at - 1]), knots[at]
    return low[1] + (high[1] - low[1]) * (confidence - low[0]) / (high[0] - low[0])
