"""What one invoice or receipt says: its parties, numbers, dates, items and sums, true to the smallest coin."""

import random
import string
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal

from training.fields import identifiers, parties
from training.fields.parties import Party
from training.fields.regions import Region
from training.fields.words import Half, goods

Kind = Literal["invoice", "receipt"]
Mode = Literal["added", "included", "none", "zero"]
"""Tax is added to net prices, is included in the prices, is not mentioned, or is nothing."""

_PRICES = {
    "goods": (2, 260), "services": (35, 900), "hours": (38, 150), "food": (0.6, 14), "dishes": (2.5, 32), "pharmacy": (3, 28), "fuel": (1.2, 2.1),
}  # fmt: skip
"""Least and greatest price by kind of goods, in euros."""
_HUNDRED = Decimal(100)


@dataclass(frozen=True, slots=True)
class Item:
    """A line of the bill. `amount` is after the line's discount."""

    description: str
    detail: str
    code: str
    quantity: Decimal
    unit: str
    unit_price: Decimal
    discount: Decimal
    """In percent."""
    rate: str
    amount: Decimal


@dataclass(frozen=True, slots=True)
class Tax:
    """The tax at one rate in percent: `base` is net."""

    rate: str
    base: Decimal
    tax: Decimal


@dataclass(frozen=True, slots=True)
class Sums:
    """Amounts of the whole bill; None is not there. `items` is the sum of the lines, `subtotal` net, `total` gross."""

    items: Decimal
    subtotal: Decimal
    tax: Decimal
    total: Decimal
    taxes: tuple[Tax, ...] = ()
    discount: Decimal | None = None
    discount_rate: str = ""
    shipping: Decimal | None = None
    tip: Decimal | None = None
    rounding: Decimal | None = None
    paid: Decimal | None = None
    due: Decimal | None = None
    cash: Decimal | None = None
    change: Decimal | None = None
    previous: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Bill:
    """A document before it is laid out."""

    kind: Kind
    trade: str
    region: Region
    half: Half
    mode: Mode
    credit: bool
    merchant: Party
    customer: Party
    receiver: Party
    items: tuple[Item, ...]
    sums: Sums
    numbers: dict[str, str]
    dates: dict[str, date]
    time: str


def _coin(value: Decimal, region: Region) -> Decimal:
    return value.quantize(region.unit, ROUND_HALF_UP)


def _price(rng: random.Random, trade: str, region: Region) -> Decimal:
    low, high = _PRICES[trade]
    price = Decimal(str(round(low * (high / low) ** rng.random() * region.scale, 3 if trade == "fuel" else 2)))
    if trade == "fuel":
        return price
    ending = rng.random()
    if ending < 0.3:
        price = Decimal(max(1, int(price)))
    elif ending < 0.55:
        price = Decimal(int(price)) + Decimal(rng.choice(("0.99", "0.95", "0.50", "0.90")))
    return max(_coin(price, region), region.unit)


def _quantity(rng: random.Random, trade: str) -> tuple[Decimal, str]:
    """A quantity and the key of its unit."""
    if trade == "fuel":
        return Decimal(rng.randint(800, 6500)) / _HUNDRED, "l"
    if trade == "services":
        return (Decimal(rng.randint(1, 60)) / rng.choice((1, 2, 4)), "h") if rng.random() < 0.5 else (Decimal(1), "")
    if trade == "food" and rng.random() < 0.1:
        return Decimal(rng.randint(120, 2400)) / 1000, "kg"
    top = 30 if trade == "goods" and rng.random() < 0.4 else 4
    return Decimal(1 if rng.random() < 0.45 else rng.randint(1, top)), "pc"


def _rates(rng: random.Random, region: Region) -> tuple[str, ...]:
    if region.country == "US" or len(region.rates) == 1:
        return (rng.choice(region.rates),)
    if rng.random() < 0.6:
        return (region.rates[0] if rng.random() < 0.75 else rng.choice(region.rates),)
    return region.rates[:2] if rng.random() < 0.8 else region.rates


def _code(rng: random.Random) -> str:
    return identifiers.fill(rng, rng.choice(("@@-####", "#####", "####.##", "@####", "##-###-##", "40#####")))


def _items(rng: random.Random, trade: str, region: Region, half: Half, count: int) -> tuple[Item, ...]:
    rates = _rates(rng, region)
    lines_have_discounts = trade in {"goods", "services"} and rng.random() < 0.12
    names = goods(rng, half, region.language, trade)
    made = []
    for n in range(count):
        variant = "" if n < len(names) else f" {string.ascii_uppercase[n % 26]}{rng.randint(1, 99)}"
        quantity, unit = _quantity(rng, trade)
        price = _price(rng, "hours" if unit == "h" else trade, region)
        discount = Decimal(rng.choice((5, 10, 15, 20))) if lines_have_discounts and rng.random() < 0.4 else Decimal(0)
        amount = _coin(quantity * price * (_HUNDRED - discount) / _HUNDRED, region)
        detail = rng.choice(goods(rng, half, region.language, "services")) if rng.random() < 0.5 else _code(rng)
        made.append(
            Item(
                names[n % len(names)] + variant,
                detail,
                _code(rng),
                quantity,
                unit,
                price,
                discount,
                rng.choice(rates),
                max(amount, region.unit),
            )
        )
    return tuple(made)


def _taxes(items: tuple[Item, ...], extra: Decimal, mode: Mode, region: Region) -> tuple[Tax, ...]:
    """The tax by rate; `extra` (shipping less discount) is taxed as the first item."""
    amounts: defaultdict[str, Decimal] = defaultdict(Decimal)
    for item in items:
        amounts[item.rate] += item.amount
    amounts[items[0].rate] += extra
    taxes = []
    for rate, amount in sorted(amounts.items(), key=lambda pair: -Decimal(pair[0])):
        share = Decimal(rate) / _HUNDRED
        if mode == "added":
            taxes.append(Tax(rate, amount, _coin(amount * share, region)))
        else:
            tax = _coin(amount * share / (1 + share), region)
            taxes.append(Tax(rate, amount - tax, tax))
    return tuple(taxes)


def _sums(rng: random.Random, items: tuple[Item, ...], mode: Mode, region: Region, *, plain: bool) -> Sums:
    """Sums with or without a discount and shipping; `plain` has neither."""
    whole = sum((item.amount for item in items), Decimal(0))
    one_rate = len({item.rate for item in items}) == 1
    discount, rate, shipping = None, "", None
    if one_rate and not plain and rng.random() < 0.22:
        rate = rng.choice(("2", "3", "5", "10", "15"))
        discount = _coin(whole * Decimal(rate) / _HUNDRED, region)
        if discount == 0 or rng.random() < 0.4:
            rate, discount = "", _coin(whole * Decimal(rng.randint(20, 200)) / 1000, region) or None
    if not plain and rng.random() < 0.25:
        shipping = _coin(Decimal(rng.choice(("4.90", "5.95", "9.00", "12.50", "25.00"))) * region.scale, region)
    extra = (shipping or Decimal(0)) - (discount or Decimal(0))
    if mode in {"none", "zero"}:
        return Sums(whole, whole + extra, Decimal(0), whole + extra, (), discount, rate, shipping)
    taxes = _taxes(items, extra, mode, region)
    tax = sum((part.tax for part in taxes), Decimal(0))
    net = sum((part.base for part in taxes), Decimal(0))
    return Sums(whole, net, tax, net + tax, taxes, discount, rate, shipping)


def _settled(rng: random.Random, sums: Sums, region: Region) -> Sums:
    """An invoice's deposit and previous balance."""
    if rng.random() < 0.2:
        paid = (
            sums.total
            if rng.random() < 0.15
            else _coin(sums.total * Decimal(rng.choice((10, 20, 25, 30, 50))) / _HUNDRED, region)
        )
        return replace(sums, paid=paid, due=sums.total - paid)
    if rng.random() < 0.04:
        previous = _coin(sums.total * Decimal(rng.randint(5, 80)) / _HUNDRED, region)
        return replace(sums, previous=previous, due=sums.total + previous)
    return sums


ROUNDINGS = {"MY": "0.05", "CH": "0.05", "SE": "1", "CZ": "1", "AU": "0.05"}
"""By country, what amounts in cash are a multiple of."""


def _at_the_till(rng: random.Random, sums: Sums, region: Region, trade: str, half: Half) -> Sums:
    """A receipt's tip, rounding, cash and change."""
    served = 0.35 if half == "tuning" and region.country in {"MY", "SG", "ID"} else 0.12
    if trade == "dishes" and rng.random() < (0.7 if region.country == "US" else served):
        tip = _coin(sums.total * Decimal(rng.choice((5, 10, 15, 18, 20))) / _HUNDRED, region)
        sums = replace(sums, tip=tip, total=sums.total + tip)
    by_cash = rng.random() < 0.55
    step = Decimal(ROUNDINGS.get(region.country, "0"))
    if by_cash and step and rng.random() < 0.75:
        rounded = (sums.total / step).quantize(Decimal(1), ROUND_HALF_UP) * step
        if rounded > 0:
            sums = replace(sums, rounding=_coin(rounded - sums.total, region), total=_coin(rounded, region))
    if by_cash:
        note = Decimal(rng.choice((5, 10, 20, 50))) * (
            region.scale if region.scale < 20 else 100 if region.decimals else 1000
        )
        cash = sums.total if rng.random() < 0.2 else _coin((sums.total // note + 1) * note, region)
        return replace(sums, cash=cash, change=cash - sums.total)
    return sums


def _negated(items: tuple[Item, ...], sums: Sums) -> tuple[tuple[Item, ...], Sums]:
    taxes = tuple(Tax(part.rate, -part.base, -part.tax) for part in sums.taxes)
    lines = tuple(replace(item, quantity=-item.quantity, amount=-item.amount) for item in items)
    return lines, Sums(-sums.items, -sums.subtotal, -sums.tax, -sums.total, taxes)


_NUMBERS = (
    "#####", "######", "20##-####", "RE-2026-####", "INV-#####", "INV####", "####/26", "F26-#####", "2600####", "R####", "26/#####",
    "@@-######", "80######", "AB/####/##", "#-####-###", "####", "###", "VK26.####", "S#######", "@##########",
)  # fmt: skip


def _number(rng: random.Random) -> str:
    text = identifiers.fill(rng, rng.choice(_NUMBERS))
    return text.replace("26", f"{rng.randint(15, 27)}", 1) if "26" in text else text.lstrip("0") or "1"


def _dates(rng: random.Random) -> dict[str, date]:
    issued = date(2015, 1, 1) + timedelta(days=rng.randint(0, 12 * 365))
    return {
        "date": issued,
        "due_date": issued + timedelta(days=rng.choice((7, 10, 14, 20, 30, 30, 45, 60))),
        "delivery_date": issued - timedelta(days=rng.randint(0, 9)),
        "order_date": issued - timedelta(days=rng.randint(3, 40)),
        "period_begin": issued - timedelta(days=rng.randint(28, 35)),
        "period_end": issued - timedelta(days=1),
    }


def _mode(rng: random.Random, kind: Kind, region: Region) -> Mode:
    if kind == "receipt":
        if rng.random() < (0.3 if region.country in {"MY", "CN"} else 0.08):
            return "none"
        return "added" if rng.choice(region.receipts) == "net" else "included"
    if rng.random() < 0.14:
        return rng.choice(("none", "zero"))
    return "included" if region.country not in {"US", "IN"} and rng.random() < 0.2 else "added"


def _count(rng: random.Random, kind: Kind, trade: str) -> int:
    if trade == "fuel":
        return 1
    if kind == "receipt":
        return min(rng.randint(1, 12), rng.randint(1, 20))
    if rng.random() < 0.13:
        return rng.randint(18, 42)
    return min(rng.randint(1, 10), rng.randint(1, 14))


def make_bill(rng: random.Random, kind: Kind, region: Region, half: Half) -> Bill:
    """A bill from a generator's state: the same state gives the same bill."""
    trades = (
        ("goods", "goods", "services")
        if kind == "invoice"
        else ("food", "food", "dishes", "dishes", "goods", "pharmacy", "fuel")
    )
    trade = rng.choice(trades)
    mode = _mode(rng, kind, region)
    items = _items(rng, trade, region, half, _count(rng, kind, trade))
    credit = kind == "invoice" and rng.random() < 0.06
    sums = _sums(
        rng, items, mode, region, plain=credit or (kind == "receipt" and rng.random() < 0.85) or trade == "fuel"
    )
    if kind == "receipt":
        sums = replace(sums, shipping=None) if sums.shipping is None else _sums(rng, items, mode, region, plain=True)
        sums = _at_the_till(rng, sums, region, trade, half)
    elif not credit:
        sums = _settled(rng, sums, region)
    elif rng.random() < 0.5:
        items, sums = _negated(items, sums)
    dates = _dates(rng)
    return Bill(
        kind, trade, region, half, mode, credit,
        parties.merchant(rng, region, half, kind), parties.customer(rng, region, half), parties.customer(rng, region, half),
        items, sums,
        {key: _number(rng) for key in ("invoice_number", "order_number", "customer_number", "other_number", "reference", "tax_number")},
        dates, f"{rng.randint(7, 22):02}:{rng.randint(0, 59):02}",
    )  # fmt: skip
