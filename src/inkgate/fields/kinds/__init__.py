"""Kinds of values by name."""

from __future__ import annotations

from inkgate.fields.kinds.accounts import Ibans, VatIds
from inkgate.fields.kinds.amounts import Amounts
from inkgate.fields.kinds.base import ValueKind
from inkgate.fields.kinds.chinese import ChineseAmounts, ChineseIds, ChineseTaxNumbers, MaskedIds
from inkgate.fields.kinds.currencies import Currencies
from inkgate.fields.kinds.dates import Dates
from inkgate.fields.kinds.identifiers import CardNumbers, ContainerNumbers, MailAddresses, PhoneNumbers, WebAddresses
from inkgate.fields.kinds.measures import Measures, Months
from inkgate.fields.kinds.times import Times

KINDS: dict[str, ValueKind] = {
    kind.name: kind
    for kind in (
        Dates(),
        Times(),
        Months(),
        Amounts(),
        Amounts("number"),
        Measures("weight"),
        Measures("volume"),
        ChineseIds(),
        MaskedIds(),
        ChineseTaxNumbers(),
        ChineseAmounts(),
        CardNumbers(),
        ContainerNumbers(),
        PhoneNumbers(),
        MailAddresses(),
        WebAddresses(),
        Ibans(),
        VatIds(),
        Currencies(),
    )
}
"""Kinds whose values are compared as values. Text is compared by its characters; see ground."""
LISTED = frozenset({"cn_id", "bank_card", "container", "phone_number", "email", "web", "iban", "vat_id"})
"""Kinds that need no label: an array of them has all that stand on the pages."""
