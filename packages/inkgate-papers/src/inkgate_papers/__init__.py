"""Document types by country and trade: their fields, and the rules, checks and codes of those that need them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from inkgate.fields.codes.barcodes import has_code
from inkgate.fields.document_types import TypePackage
from inkgate_client.types import PageResult
from inkgate_papers.bills import read_bill_of_lading
from inkgate_papers.cards import read_bank_card, read_business_card
from inkgate_papers.checks import CHECKS
from inkgate_papers.contracts import read_contract
from inkgate_papers.obituaries import read_obituary
from inkgate_papers.passports import ZONE, type_by_zone
from inkgate_papers.tickets import read_train_ticket
from inkgate_papers.vat_invoice import read_vat_invoice

_VAT_INVOICE: Final = "cn_vat_invoice"
"""The type, and the standard of the QR code that only documents of the type have."""


def type_by_code(pages: Sequence[PageResult]) -> str:
    """The type of a paper with a valid machine-readable zone, or with the QR code of a Chinese VAT invoice; empty for
    others.
    """
    return type_by_zone(pages) or (_VAT_INVOICE if has_code(pages, _VAT_INVOICE) else "")


TYPES: Final = TypePackage(
    Path(__file__).parent / "types",
    rules={
        "bank_card": read_bank_card,
        "bill_of_lading": read_bill_of_lading,
        "business_card": read_business_card,
        _VAT_INVOICE: read_vat_invoice,
        "contract": read_contract,
        "obituary": read_obituary,
        "train_ticket": read_train_ticket,
    },
    checks=CHECKS,
    codes=(ZONE,),
    type_of=type_by_code,
)
