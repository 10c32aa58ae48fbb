"""Which field of a schema is meant by a value of a code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from inkgate.fields.folded import fold
from inkgate.fields.schema import FieldSchema, Leaf

_OTHER_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "number": ("invoice_number", "document_number", "passport_number", "发票号码"),
    "code": ("invoice_code", "发票代码"),
    "date": ("invoice_date", "issue_date", "开票日期"),
    "check_code": ("校验码",),
    "amount": ("subtotal", "不含税金额"),
    "total": ("total_amount", "amount_due", "价税合计"),
    "invoice_type": ("发票类型",),
    "payee_name": ("merchant_name", "seller_name", "supplier_name", "vendor_name", "creditor"),
    "vat_id": ("seller_vat_id", "supplier_vat_id", "vendor_vat_id"),
    "payer_name": ("buyer_name", "customer_name", "debtor"),
    "payer_vat_id": ("buyer_vat_id", "customer_vat_id"),
    "reference": ("payment_reference",),
    "surname": ("last_name", "family_name"),
    "given_names": ("first_name",),
    "birth_date": ("date_of_birth",),
    "expiry_date": ("date_of_expiry",),
    "flight": ("flight_number", "航班号"),
    "seat": ("seat_number", "座位号"),
    "booking": ("booking_reference", "pnr"),
}
"""Names that schemas have for the values of codes and of machine-readable zones."""
_PAYERS: Final = frozenset({"payer", "buyer", "customer", "client", "debtor"})
"""Names of objects whose values are the payer's, as `{"buyer": {"vat_id": ...}}`."""


def single_fields(schema: FieldSchema) -> list[Leaf]:
    """The fields that have one value."""
    return [leaf for leaf in schema.leaves if not leaf.in_array]


def field_of(name: str, leaves: Sequence[Leaf]) -> Leaf | None:
    """The field of the value's name; else of another name for it. Fields at the top come before those in objects."""
    at_top = sorted(leaves, key=lambda leaf: len(leaf.names) > 1)
    for other_name in (name, *_OTHER_NAMES.get(name, ())):
        for leaf in at_top:
            if fold(other_name) in _names_of(leaf):
                return leaf
    return None


def _names_of(leaf: Leaf) -> tuple[str, ...]:
    """The field's names, folded: with its parent's, and alone if it is none of the payer."""
    *parents, own = map(fold, leaf.names)
    joined = "".join((*parents[-1:], own))
    return (joined,) if _PAYERS & {*parents} else (joined, own)
