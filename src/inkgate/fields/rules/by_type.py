"""Rules of document types whose fields stand without labels, or in prose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from inkgate.fields.rules.bills import read_bill_of_lading
from inkgate.fields.rules.candidates import FieldCandidate
from inkgate.fields.rules.cards import read_bank_card, read_business_card
from inkgate.fields.rules.contracts import read_contract
from inkgate.fields.rules.obituaries import read_obituary
from inkgate.fields.rules.rows import PrintedPages
from inkgate.fields.rules.tickets import read_train_ticket
from inkgate.fields.rules.vat_invoice import read_vat_invoice

RULES: Final[Mapping[str, Callable[[PrintedPages], Mapping[str, Sequence[FieldCandidate]]]]] = {
    "bank_card": read_bank_card,
    "business_card": read_business_card,
    "train_ticket": read_train_ticket,
    "cn_vat_invoice": read_vat_invoice,
    "contract": read_contract,
    "bill_of_lading": read_bill_of_lading,
    "obituary": read_obituary,
}
"""Candidates by the field's name, the best first; by document type."""
