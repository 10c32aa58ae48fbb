"""Kinds of values by name."""

from __future__ import annotations

from inkgate.fields.kinds.amounts import Amounts
from inkgate.fields.kinds.base import ValueKind
from inkgate.fields.kinds.chinese import ChineseAmounts, ChineseIds
from inkgate.fields.kinds.dates import Dates
from inkgate.fields.kinds.times import Times

KINDS: dict[str, ValueKind] = {
    kind.name: kind for kind in (Dates(), Times(), Amounts(), Amounts("number"), ChineseIds(), ChineseAmounts())
}
"""Kinds whose values are compared as values. Text and identifiers are compared by their characters; see ground."""
