"""The fields of a receipt."""

from __future__ import annotations

from inkgate.fields.rules.amounts import find_subtotal, find_tax
from inkgate.fields.rules.candidates import FieldCandidate
from inkgate.fields.rules.dates import find_date, find_time
from inkgate.fields.rules.invoices import subtotal_and_tax
from inkgate.fields.rules.parties import find_address, find_name, find_phone
from inkgate.fields.rules.rows import PrintedPages
from inkgate.fields.rules.totals import amounts_of, find_total


def read_receipt(printed: PrintedPages) -> dict[str, FieldCandidate]:
    """The fields that were found, by name."""
    date = find_date(printed)
    amounts = amounts_of(printed)
    total = find_total(printed, amounts)
    tax = find_tax(amounts, total)
    found = {
        "merchant_name": find_name(printed) if amounts else None,
        "merchant_address": find_address(printed),
        "phone": find_phone(printed),
        "date": date,
        "time": find_time(printed, date),
        "subtotal": find_subtotal(amounts, total, tax),
        "tax": tax,
        "total": total,
    }
    if found["subtotal"] is None and (pair := subtotal_and_tax(amounts, total)) is not None:
        found["subtotal"], found["tax"] = pair
    return {name: candidate for name, candidate in found.items() if candidate is not None}
