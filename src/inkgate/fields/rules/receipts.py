"""The fields of a receipt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from inkgate.fields.rules.amounts import find_subtotal, find_tax
from inkgate.fields.rules.candidates import FieldCandidate
from inkgate.fields.rules.dates import find_date, find_time
from inkgate.fields.rules.invoices import subtotal_and_tax
from inkgate.fields.rules.parties import find_address, find_name, find_phone
from inkgate.fields.rules.rows import PrintedPages
from inkgate.fields.rules.sums import find_sums, sum_candidates
from inkgate.fields.rules.totals import amounts_of, find_total, number_of


def read_receipt(printed: PrintedPages) -> dict[str, FieldCandidate]:
    """The fields that were found, by name.

    Of turned pages, the rows are read as they stand, and if the sums don't add up, once more as they stand on the level
    page. Levelling alone would not do: paper is bent, and its lines don't all fall alike.
    """
    found = _read(printed)
    if not _adds_up(found) and (level := printed.level()) is not None:
        other = _read(level)
        return other if _adds_up(other) else found
    return found


def _gross(
    printed: PrintedPages, amounts: Sequence[FieldCandidate], total: FieldCandidate | None
) -> FieldCandidate | None:
    """The gross amount, if what was found as the total is the net amount that makes it with the tax."""
    sums = None if total is None else find_sums(sum_candidates(printed, amounts))
    if total is None or sums is None or number_of(sums.net) != number_of(total):
        return total
    return replace(sums.gross, score=total.score)


def _adds_up(found: Mapping[str, FieldCandidate]) -> bool:
    subtotal, tax, total = (found.get(name) for name in ("subtotal", "tax", "total"))
    if subtotal is None or tax is None or total is None:
        return False
    return number_of(subtotal) + number_of(tax) == number_of(total)


def _read(printed: PrintedPages) -> dict[str, FieldCandidate]:
    date = find_date(printed)
    amounts = amounts_of(printed)
    total = _gross(printed, amounts, find_total(printed, amounts))
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
