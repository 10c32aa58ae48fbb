"""Checks over several fields: sums and dates."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final

from inkgate.fields.document_types import FieldCheck, package_checks
from inkgate.fields.invoice_checks import INVOICE_CHECKS
from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.accounts import iban_holds, vat_id_holds
from inkgate.fields.kinds.base import parse
from inkgate.fields.trade.hypotheses import has_included, is_on_top
from inkgate_client.fields.values import Check, FieldValue

Fields = Mapping[str, FieldValue]
SUBTOTAL_PLUS_TAX: Final = "subtotal_plus_tax"
ROUNDING: Final = Decimal("0.05")
"""Sums may differ by this: cash rounds to five cents in many countries."""

_PRICE_ROUNDING: Final = Decimal("0.005")
_AMOUNT = re.compile(r"/items/\d+/amount")
_LONGEST_LABEL: Final = 200
DISCOUNT: Final = re.compile(
    r"^\W*(?:\w+\W+){0,3}?(?:dis[ck](?:ount)?|coupon|voucher|rebate|savings?|rabatt|korting|remise)\b|折扣|优惠",
    re.IGNORECASE,
)
"""How items are described that lower the sum."""


def known_checks() -> Mapping[str, FieldCheck]:
    """The checks over fields alone, by code: inkgate's own and those of installed packages."""
    return {**CHECKS, **package_checks()}


def run_checks(fields: Fields, codes: Sequence[str]) -> tuple[Check, ...]:
    """The checks named by `codes` whose fields were found; unknown codes and missing fields check nothing."""
    known = known_checks()
    found = (known[code](fields) for code in codes if code in known)
    return tuple(check for check in found if check is not None)


def _subtotal_plus_tax(fields: Fields) -> Check | None:
    """Subtotal and tax make the total, or the tax is included in both: at its rate, the total has it in it."""
    paths = ("/subtotal", "/tax", "/total")
    subtotal, tax, total = (number_of(fields.get(path)) for path in paths)
    if subtotal is None or tax is None or total is None:
        return None
    cents = int(total * 100), int(tax * 100)
    included = abs(subtotal - total) <= ROUNDING and (not tax or (has_included(*cents) and not is_on_top(*cents)))
    fits = included or abs(subtotal + tax - total) <= ROUNDING
    return Check(SUBTOTAL_PLUS_TAX, fits, paths, f"{subtotal} + {tax} and {total}")


def with_adjustments(checks: Sequence[Check], fields: Fields, adjustments: Container[Decimal]) -> tuple[Check, ...]:
    """The checks, of which `subtotal_plus_tax` holds where printed discounts and charges make the difference."""
    subtotal, tax, total = (number_of(fields.get(path)) for path in ("/subtotal", "/tax", "/total"))
    if subtotal is None or tax is None or total is None or total - tax - subtotal not in adjustments:
        return tuple(checks)
    detail = f"{subtotal} + {tax}, {total - tax - subtotal} of discounts and charges, and {total}"
    return tuple(
        replace(check, passed=True, detail=detail) if check.code == SUBTOTAL_PLUS_TAX and not check.passed else check
        for check in checks
    )


def _sum_of_items(fields: Fields) -> Check | None:
    """The amounts of all items make the subtotal, or the total with or without the tax. Says nothing against these: a
    row may be missing. A discount may be printed without its sign.
    """
    paths = tuple(path for path in fields if _AMOUNT.fullmatch(path))
    amounts = [_item_amount(fields, path) for path in paths]
    sums = [
        number for path in ("/subtotal", "/amount", "/total") if (number := number_of(fields.get(path))) is not None
    ]
    if not amounts or not sums or None in amounts:
        return None
    tax, total = number_of(fields.get("/tax")), number_of(fields.get("/total"))
    before_tax = [total - tax] if tax is not None and total is not None else []
    found = sum((each for each in amounts if each is not None), Decimal(0))
    fits = any(abs(found - each) <= ROUNDING for each in (*sums, *before_tax))
    return Check("sum_of_items", fits, paths, f"{found} and {' or '.join(map(str, sums))}")


def _item_amount(fields: Fields, path: str) -> Decimal | None:
    """The amount of an item; that of a discount is below zero."""
    number, described = number_of(fields[path]), fields.get(path.removesuffix("amount") + "description")
    is_discount = described is not None and DISCOUNT.search((described.text or "")[:_LONGEST_LABEL]) is not None
    return -abs(number) if is_discount and number is not None else number


def _item_amounts(fields: Fields) -> Check | None:
    """Checks that in each item, quantity times unit price is the amount."""
    wrong: list[str] = []
    seen: list[str] = []
    for path in fields:
        if _AMOUNT.fullmatch(path):
            row = path.removesuffix("amount")
            quantity, price, amount = (
                number_of(fields.get(row + name)) for name in ("quantity", "unit_price", "amount")
            )
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


def _term_in_order(fields: Fields) -> Check | None:
    """A contract ends behind its beginning."""
    begins, ends = (_day(fields.get(path)) for path in ("/start_date", "/end_date"))
    if begins is None or ends is None:
        return None
    detail = "in order" if begins <= ends else "the second is before the first"
    return Check("term_in_order", begins <= ends, ("/start_date", "/end_date"), detail)


def _iban_check_digits(fields: Fields) -> Check | None:
    return _digits_check(fields, "iban", "iban_check_digits", iban_holds)


def _vat_id_check_digits(fields: Fields) -> Check | None:
    return _digits_check(fields, "vat_id", "vat_id_check_digits", vat_id_holds)


def _digits_check(fields: Fields, kind: str, code: str, holds: Callable[[str], bool | None]) -> Check | None:
    """The check of the first field of a kind with a value."""
    for path, field in fields.items():
        if field.kind == kind and isinstance(field.value, str):
            held = holds(field.value)
            return None if held is None else Check(code, held, (path,), "they hold" if held else "they don't hold")
    return None


def _amount_in_words(fields: Fields) -> Check | None:
    """The amount in words is the one in digits."""
    for amount in ("/total", "/amount"):
        words, total = fields.get(f"{amount}_in_words"), number_of(fields.get(amount))
        if words is not None and words.text is not None and total is not None:
            return _words_fit(words.text, total, amount)
    return None


def _words_fit(words: str, total: Decimal, amount: str) -> Check | None:
    in_words = parse(KINDS["cn_amount_words"], words)
    if in_words is None:
        return None
    fits = in_words.readings[0] == total
    return Check("amount_in_words", fits, (f"{amount}_in_words", amount), f"{in_words.readings[0]} and {total}")


CHECKS: Final[Mapping[str, Callable[[Fields], Check | None]]] = {
    SUBTOTAL_PLUS_TAX: _subtotal_plus_tax,
    "sum_of_items": _sum_of_items,
    "item_amounts": _item_amounts,
    "amount_in_words": _amount_in_words,
    "due_before_issued": _due_before_issued,
    "iban_check_digits": _iban_check_digits,
    "vat_id_check_digits": _vat_id_check_digits,
    "term_in_order": _term_in_order,
    **INVOICE_CHECKS,
}
"""Checks by code. A failing check makes its fields `invalid`; one without its fields says nothing."""


def number_of(field: FieldValue | None) -> Decimal | None:
    """The amount or number that a field has; None without one."""
    if field is None or field.text is None or field.value is None:
        return None
    # The printed text of a sum has several numbers.
    value = parse(KINDS["money"], str(field.value) if field.kind == "money" else field.text)
    reading = value.readings[0] if value else None
    return reading if isinstance(reading, Decimal) else None


def _day(field: FieldValue | None) -> str | None:
    """The day in ISO 8601, which sorts by time; None for a date that was read as mere text."""
    return str(field.value) if field is not None and field.value is not None and field.kind == "date" else None
