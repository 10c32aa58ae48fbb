"""Checks of invoices and receipts: days in the future, one currency, whole addresses, and fields that are required."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from inkgate.fields.kinds import KINDS
from inkgate.fields.trade.parties import has_postcode, is_street
from inkgate_client.fields.values import Check, FieldValue

Fields = Mapping[str, FieldValue]
REQUIRED_MISSING: Final = "required_missing"
PASSED_BY_MOST: Final = frozenset(
    {"date_in_future", "currency_consistent", "address_complete", "issuer_consistent", REQUIRED_MISSING}
)
"""Checks that wrong values pass, too: they don't raise the confidence."""
_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
"""Scripts whose addresses stand in one line."""
_NUMBERS: Final = re.compile(r"\d+(?:[ -]\d{2,4}\b)?")
"""A number of a house, or a postcode."""
_TIME_ZONES: Final = timedelta(days=1)
"""Largest difference of time zones: it may already be tomorrow where the document was written."""


def _date_in_future(fields: Fields) -> Check | None:
    """The document was not issued in the future."""
    field = fields.get("/date")
    if field is None or field.value is None or field.kind != "date":
        return None
    today = (datetime.now(UTC) + _TIME_ZONES).date().isoformat()
    return Check("date_in_future", str(field.value) <= today, ("/date",), f"issued {field.value}")


def _currency_consistent(fields: Fields) -> Check | None:
    """Amounts of the document that are printed with a currency have the same one."""
    printed: dict[str, set[str]] = {}
    for path, field in fields.items():
        if field.kind == "money" and field.text is not None and field.value is not None and path.count("/") == 1:
            for found in KINDS["money"].find(field.text)[:1]:
                if found.unit not in {"", "%"}:
                    printed[path] = {found.unit}
    named = fields.get("/currency")
    if named is not None and named.value is not None and named.text is not None:
        printed["/currency"] = {
            str(each) for found in KINDS["currency"].find(named.text)[:1] for each in found.readings
        }
    if len(printed) < 2:
        return None
    same = bool(set.intersection(*printed.values()))
    every = ", ".join(sorted(set().union(*printed.values())))
    return Check("currency_consistent", same, tuple(printed), "one currency" if same else every)


def _address_complete(fields: Fields) -> Check | None:
    """An address of a single line has a street and a town: two numbers, of which one is the postcode, or a town behind
    a comma. Of 65 that didn't have two numbers, 58 lacked a part (tuning half of the generated documents, 2026-11-30).
    """
    field = fields.get("/merchant_address")
    if field is None or field.text is None or field.value is None or len(field.sources[0].lines) > 1:
        return None
    if _UNSPACED.search(field.text):
        return None
    numbers = len(_NUMBERS.findall(field.text))
    street, comma, town = field.text.rpartition(",")
    named = bool(comma) and any(map(str.isdigit, street)) and not any(map(str.isdigit, town)) and not is_street(town)
    whole = (numbers > 1 and has_postcode(field.text)) or named
    return Check("address_complete", whole, ("/merchant_address",), f"{numbers} numbers in one line")


def required_missing(fields: Fields, required: tuple[str, ...]) -> Check | None:
    """All values that the schema requires were found. `required`: their paths."""
    if not required:
        return None
    missing = tuple(path for path in required if (field := fields.get(path)) is not None and field.value is None)
    known = tuple(path for path in required if path in fields)
    return Check(REQUIRED_MISSING, not missing, missing or known, f"{len(missing)} missing") if known else None


INVOICE_CHECKS: Final[Mapping[str, Callable[[Fields], Check | None]]] = {
    "date_in_future": _date_in_future,
    "currency_consistent": _currency_consistent,
    "address_complete": _address_complete,
}
