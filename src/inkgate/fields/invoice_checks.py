"""Checks of invoices and receipts: days in the future, one currency, and fields that a schema requires."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from inkgate.fields.kinds import KINDS
from inkgate_client.fields.values import Check, FieldValue

Fields = Mapping[str, FieldValue]
REQUIRED_MISSING: Final = "required_missing"
PASSED_BY_MOST: Final = frozenset({"date_in_future", "currency_consistent", REQUIRED_MISSING})
"""Checks that wrong values pass, too: they don't raise the confidence."""
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
}
