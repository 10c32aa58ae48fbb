"""A document while it is written: its style, and the marks on every printed value."""

import html
import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any, Literal

from training.fields.bill import Bill, Item, Mode
from training.fields.naming import halves
from training.fields.regions import write_date, write_money, write_number
from training.fields.words import chosen, label

_SANS = (
    "Liberation Sans",
    "DejaVu Sans",
    "Noto Sans",
    "Nimbus Sans",
    "DejaVu Sans Condensed",
    "URW Gothic",
    "Liberation Sans Narrow",
)
_SERIF = ("Liberation Serif", "Noto Serif", "P052", "C059", "URW Bookman", "DejaVu Serif")
_MONO = ("Liberation Mono", "DejaVu Sans Mono", "Nimbus Mono PS")
_ASIAN = {"zh": ("Noto Sans CJK SC", "Noto Serif CJK SC"), "ja": ("Noto Sans CJK JP", "Noto Serif CJK JP")}
_TILL = (
    "Liberation Mono",
    "DejaVu Sans Mono",
    "Liberation Sans Narrow",
    "Nimbus Sans Narrow",
    "DejaVu Sans Condensed",
    "Liberation Sans",
)
_ACCENTS = ("#000", "#000", "#222", "#1a3a6b", "#7a1f1f", "#14532d", "#555", "#b3541e", "#0b7285", "#5b2a86")
_FALSE: dict[Mode, tuple[str, ...]] = {
    "added": ("inclu", "incl.", "di cui", "arav", "内"),
    "included": ("zzgl.",),
    "none": (),
    "zero": (),
}
"""What the tax isn't called where it is added to prices, or included in them."""
_HOURS = ("Hours", "Hrs", "Std", "Heures", "Ore", "Horas", "Uren", "Timmar")
_INVOICE = (
    "invoice",
    "inv.",
    "rechnung",
    "faktur",
    "fakt",
    "factu",
    "fattur",
    "fatt.",
    "fatur",
    "請求",
    "发票",
    "开票",
)
"""Words for invoices, which receipts don't call their dates and sums by."""
AMOUNTS = ("subtotal", "tax", "total", "discount", "shipping", "tip", "rounding", "paid", "due")
"""Roles of amounts that are fields."""


def _font(rng: random.Random, language: str, kind: str) -> str:
    if language in _ASIAN:
        return rng.choice(_ASIAN[language])
    if kind == "receipt":
        return rng.choice(_TILL)
    return rng.choice(rng.choices((_SANS, _SERIF, _MONO), (7, 2, 0.4))[0])


@dataclass(slots=True)
class Sheet:
    """One document in the making. `printed` has the texts by role."""

    rng: random.Random
    bill: Bill
    printed: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    columns: set[str] = field(default_factory=set)
    single: set[int] = field(default_factory=set)
    """Numbers from 0 of items that print neither quantity nor price, as there is one."""
    currency_shown: bool = False
    unsummed: list[Decimal] = field(default_factory=list)
    """Taxes that are printed without their sum."""
    overrides: dict[str, Decimal] = field(default_factory=dict)
    """Amounts that this document prints in place of the bill's."""
    names: list[str] = field(default_factory=list)
    """Names of the seller of which any may be meant, where a part prints others than the bill's or cuts one into lines."""
    font: str = ""
    size: float = 11
    accent: str = "#000"
    colon: str = ":"
    date_form: str = ""
    sign: str = "0"
    item_sign: str = "0"
    minus: Literal["-0", "0-", "(0)", "−0"] = "-0"
    upper: bool = False
    _labels: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rng, region = self.rng, self.bill.region
        self.font = _font(rng, region.language, self.bill.kind)
        self.size = (
            rng.choice((8.5, 9, 9.5, 10)) if self.bill.kind == "receipt" else rng.choice((10, 10.5, 11, 11.5, 12, 13))
        )
        self.accent = rng.choice(_ACCENTS)
        self.colon = rng.choice(
            ("\u00a0:", "\u00a0:", ":", "")
            if region.language == "fr"
            else (":", ":", "", ".:" if rng.random() < 0.05 else ":")
        )
        if not region.spaced:
            self.colon = rng.choice(("：", "：", ":", ""))
        self.date_form = rng.choice(region.dates)
        self.sign = rng.choice(region.signs)
        self.item_sign = self.sign if rng.random() < 0.35 else "0"
        self.minus = rng.choice(("-0", "-0", "-0", "0-", "(0)", "−0"))
        self.upper = region.spaced and rng.random() < 0.12

    @property
    def body(self) -> str:
        """The attributes of the page's body: in the tuning half, each line of a value that wraps is marked."""
        return " data-lines" if self.bill.half == "tuning" else ""

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def label(self, key: str) -> str:
        """The document's word for something, escaped; the same each time."""
        if key not in self._labels:
            region = self.bill.region
            section, name = (key, region.key) if key in {"tax", "vat_id"} else (region.language, key)
            text = label(self.rng, self.bill.half, section, name)
            while not self._fits(key, text):
                text = label(self.rng, self.bill.half, section, name)
            self._labels[key] = text.upper() if self.upper and "{" not in text else text
        return html.escape(self._labels[key], quote=False)

    def _fits(self, key: str, text: str) -> bool:
        """Whether a label says nothing false: a receipt's date isn't an invoice's, and goods have no hours."""
        if "VAT" in text and self.bill.region.language == "en" and self.bill.region.country not in {"GB", "IE"}:
            return False
        if key == "tax":
            return not any(word in text for word in _FALSE[self.bill.mode])
        if key == "quantity":
            return self.bill.trade == "services" or not text.startswith(_HOURS)
        if self.bill.kind == "receipt" and key in {"date", "total", "subtotal"}:
            return not any(word in text.lower() for word in _INVOICE)
        return True

    def named(self, key: str) -> str:
        """The label with the document's colon."""
        text = self.label(key)
        return text if text.endswith((".:", ":", "#", "?")) else f"{text}{self.colon}"

    def mark(self, role: str, text: str, css: str = "") -> str:
        """A printed value."""
        self.printed[role].append(text.replace("\u00a0", " "))
        style = f' style="{css}"' if css else ""
        return f'<span data-role="{role}"{style}>{html.escape(text, quote=False)}</span>'

    def beside(self, key: str) -> str:
        """Words that stand beside names, escaped."""
        return html.escape(chosen(self.rng, self.bill.region.language, key), quote=False)

    def seller(self, text: str, css: str = "", *, cut: bool = False) -> str:
        """A name of the seller, each of its lines marked; `cut` cuts it into two lines."""
        if text not in self.names:
            self.names.append(text)
        pieces = halves(text) if cut and self.bill.region.spaced else [text]
        return "".join(f"<div>{self.mark('merchant_name', piece, css)}</div>" for piece in pieces)

    def money(self, role: str, value: Decimal, *, item: bool = False, bare: bool = False) -> str:
        """An amount; those of items may lack the currency, `bare` ones do."""
        sign = "0" if bare else self.item_sign if item else self.sign
        self.currency_shown |= sign != "0"
        return self.mark(role, write_money(value, self.bill.region, sign, self.minus))

    def day(self, role: str, day: date) -> str:
        return self.mark(role, write_date(day, self.date_form, self.bill.region.language))

    def date_of(self, key: str) -> str:
        """One of the bill's dates, marked with its key as role."""
        return self.day(key, self.bill.dates[key])

    def currency(self) -> str:
        self.currency_shown = True
        return self.mark("currency", self.bill.region.currency)

    def quantity(self, item: Item) -> str:
        places = max(0, -int(item.quantity.normalize().as_tuple().exponent))
        text = write_number(item.quantity, self.bill.region, places=places)
        return f"-{text}" if item.quantity < 0 else text

    def rate(self, rate: str) -> str:
        text = rate.replace(".", self.bill.region.point)
        return f"{text}\u00a0%" if self.bill.region.language in {"de", "fr", "sv", "cs"} else f"{text}%"

    def lines(self, role: str, texts: Iterable[str]) -> str:
        return "".join(f"<div>{self.mark(role, text)}</div>" for text in texts)

    def truth(self, page: str) -> dict[str, Any]:
        """The fields that the HTML `page` has, and the items with their printed columns."""
        bill, sums = self.bill, self.bill.sums
        printed = {role: texts for role, texts in self.printed.items() if f'data-role="{role}"' in page}
        joint = ", " if bill.region.spaced else " " if bill.region.language == "ja" else ""
        values: dict[str, Any] = {
            "merchant_name": bill.merchant.name,
            "merchant_address": joint.join(bill.merchant.address),
            "phone": bill.merchant.phone,
            "customer_name": bill.customer.name,
            "customer_address": joint.join(bill.customer.address),
            "invoice_number": bill.numbers["invoice_number"],
            "date": bill.dates["date"].isoformat(),
            "due_date": bill.dates["due_date"].isoformat(),
            "time": bill.time,
            "vat_id": bill.merchant.vat_id,
            "iban": bill.merchant.iban,
        }
        if printed.get("merchant_name"):
            values["merchant_name"] = printed["merchant_name"][0]
        if self.names:
            values["merchant_name"] = self.names[0] if len(self.names) == 1 else list(self.names)
        fields: dict[str, Any] = {key: value for key, value in values.items() if printed.get(key)}
        if self.currency_shown:
            fields["currency"] = bill.region.currency
        for role in AMOUNTS:
            if printed.get(role):
                fields["amount_due" if role == "due" else role] = str(self.overrides.get(role, getattr(sums, role)))
        truth: dict[str, Any] = {
            "type": bill.kind,
            "country": bill.region.country,
            "language": bill.region.language,
            "half": bill.half,
        }
        if self.unsummed:
            truth |= {"taxes": [str(part) for part in self.unsummed], "tax_printed": False}
        return {**truth, "fields": fields, "items": [self._item(item, n) for n, item in enumerate(bill.items)]}

    def _item(self, item: Item, number: int) -> dict[str, str]:
        values = {
            "description": item.description,
            "quantity": f"{item.quantity.normalize():f}",
            "unit_price": str(item.unit_price),
            "amount": str(item.amount),
        }
        columns = self.columns - {"quantity", "unit_price"} if number in self.single else self.columns
        return {key: value for key, value in values.items() if key in columns}
