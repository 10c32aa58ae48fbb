"""Checks over several fields: sums and dates."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Final

from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.base import parse
from inkgate.fields.values import Check, FieldValue

Fields = Mapping[str, FieldValue]
ROUNDING: Final = Decimal("0.05")
"""Sums may differ by this: cash rounds to five cents in many countries."""

_PRICE_ROUNDING: Final = Decimal("0.005")
_AMOUNT = re.compile(r"/items/\d+/amount")


def run_checks(fields: Fields, codes: Sequence[str]) -> tuple[Check, ...]:
    """The checks named by `codes` whose fields were found; unknown codes and missing fields check nothing."""
    found = (CHECKS[code](fields) for code in codes if code in CHECKS)
    return tuple(check for check in found if check is not None)


def _subtotal_plus_tax(fields: Fields) -> Check | None:
    """Subtotal and tax make the total, or the tax is included in it."""
    paths = ("/subtotal", "/tax", "/total")
    subtotal, tax, total = (_number(fields.get(path)) for path in paths)
    if subtotal is None or tax is None or total is None:
        return None
    fits = min(abs(subtotal + tax - total), abs(subtotal - total)) <= ROUNDING
    return Check("subtotal_plus_tax", fits, paths, f"{subtotal} + {tax} and {total}")


def _sum_of_items(fields: Fields) -> Check | None:
    """The amounts of all items make the subtotal or the total. Says nothing against these: a row may be missing."""
    paths = tuple(path for path in fields if _AMOUNT.fullmatch(path))
    amounts = [_number(fields[path]) for path in paths]
    sums = [number for path in ("/subtotal", "/total") if (number := _number(fields.get(path))) is not None]
    if not amounts or not sums or None in amounts:
        return None
    found = sum((each for each in amounts if each is not None), Decimal(0))
    fits = any(abs(found - each) <= ROUNDING for each in sums)
    return Check("sum_of_items", fits, paths, f"{found} and {' or '.join(map(str, sums))}")


def _item_amounts(fields: Fields) -> Check | None:
    """In each item, quantity times unit price is the amount."""
    wrong: list[str] = []
    seen: list[str] = []
    for path in fields:
        if _AMOUNT.fullmatch(path):
            row = path.removesuffix("amount")
            quantity, price, amount = (_number(fields.get(row + name)) for name in ("quantity", "unit_price", "amount"))
            if quantity is not None and price is not None and amount is not None:
                seen.append(path)
                # A printed price is rounded.
                if abs(quantity * price - amount) > max(ROUNDING, abs(quantity) * _PRICE_ROUNDING):
                    wrong.append(path)
    if not seen:
        return None
    detail = f"{len(seen) - len(wrong)} of {len(seen)} items fit"
    return Check("item_amounts", not wrong, tuple(wrong or seen), detail)


def _due_before_issued(fields: Fields) -> Check | None:
    issued, due = (_day(fields.get(path)) for path in ("/date", "/due_date"))
    if issued is None or due is None:
        return None
    return Check("due_before_issued", due >= issued, ("/date", "/due_date"), f"issued {issued}, due {due}")


CHECKS: Final[Mapping[str, Callable[[Fields], Check | None]]] = {
    "subtotal_plus_tax": _subtotal_plus_tax,
    "sum_of_items": _sum_of_items,
    "item_amounts": _item_amounts,
    "due_before_issued": _due_before_issued,
}
"""By code. A failing check makes its fields `invalid`; one without its fields says nothing."""


def _number(field: FieldValue | None) -> Decimal | None:
    if field is None or field.text is None or field.value is None:
        return None
    value = parse(KINDS["money"], field.text)
    reading = value.readings[0] if value else None
    return reading if isinstance(reading, Decimal) else None


def _day(field: FieldValue | None) -> str | None:
    """The day in ISO 8601, which sorts by time; None for a date that was read as mere text."""
    return str(field.value) if field is not None and field.value is not None and field.kind == "date" else None
