"""Buyers on invoices of the tuning half: framed, in forms, with persons and departments, and beside the seller."""

import html

from training.fields import parties
from training.fields.heads import labelled_rows
from training.fields.issuer import Part, contact, sender_line, who
from training.fields.sheet import Sheet

WITH_SELLER = frozenset({"three", "facing"})
"""Parts that print the seller too."""


def _customer(sheet: Sheet, css: str = "") -> str:
    customer = sheet.bill.customer
    return f"<div>{sheet.mark('customer_name', customer.name, css)}</div>{sheet.lines('customer_address', customer.address)}"


def _seller(sheet: Sheet, css: str = "") -> str:
    merchant = sheet.bill.merchant
    return f"{sheet.seller(merchant.name, css)}{sheet.lines('merchant_address', merchant.address)}"


def _framed(sheet: Sheet) -> str:
    """Name and address in a frame without a label."""
    round_corner = f"border-radius:{sheet.rng.choice((0, 0, 6, 12))}px"
    back = sheet.rng.choice(("#fff", "#f4f4f4", "#fff"))
    line = sheet.rng.choice(("1px solid #000", "1px solid #aaa", "2px solid #555"))
    return f'<div class="party" style="border:{line};{round_corner};background:{back};padding:10px 14px">{who(sheet, sheet.bill.customer)}</div>'


def _beside(sheet: Sheet) -> str:
    """The label at the left of name and address."""
    return f'<div class="party">{labelled_rows(sheet, [(sheet.beside("buyer"), _customer(sheet))])}</div>'


def _form_lines(sheet: Sheet) -> str:
    """`Name: ... / Address: ... / Tax no: ...`."""
    customer = sheet.bill.customer
    joint = ", " if sheet.bill.region.spaced else ""
    address = joint.join(sheet.mark("customer_address", line) for line in customer.address)
    pairs = [
        (sheet.beside("name"), f"<div>{sheet.mark('customer_name', customer.name)}</div>"),
        (sheet.beside("address"), f"<div>{address}</div>"),
    ]
    if sheet.chance(0.5):
        pairs.append((sheet.label("phone"), sheet.mark("customer_phone", customer.phone)))
    if sheet.chance(0.5) and customer.person != customer.name:
        pairs.append((sheet.label("vat_id"), sheet.mark("customer_vat_id", customer.vat_id)))
    title = f'<div class="head">{sheet.beside("buyer")}</div>' if sheet.chance(0.7) else ""
    return f'<div class="party form">{title}{labelled_rows(sheet, pairs)}</div>'


def _attention(sheet: Sheet) -> str:
    """A person and a department between or above name and address."""
    customer = sheet.bill.customer
    name = html.escape(parties.person(sheet.rng, sheet.bill.region, sheet.bill.half))
    person = f"<div>{sheet.beside('attention').format(name=name)}</div>"
    department = f"<div>{sheet.beside('department')}</div>" if sheet.chance(0.5) else ""
    firm = f"<div>{sheet.mark('customer_name', customer.name)}</div>"
    address = sheet.lines("customer_address", customer.address)
    head = f'<div class="head">{sheet.named("bill_to")}</div>' if sheet.chance(0.4) else ""
    order = sheet.rng.choice(
        (
            (firm, department, person, address),
            (person, firm, department, address),
            (firm, person, department, address),
            (firm, department, address, person),
        )
    )
    line = sender_line(sheet) if sheet.chance(0.25) else ""
    return f'<div class="party">{line}{head}{"".join(order)}</div>'


def _large(sheet: Sheet) -> str:
    """The buyer's name in larger print than the seller's."""
    head = f'<div class="small">{sheet.beside("buyer")}</div>' if sheet.chance(0.6) else ""
    css = f"font-size:{sheet.size * sheet.rng.uniform(1.3, 1.9):.1f}px;font-weight:bold"
    return f'<div class="party">{head}{_customer(sheet, css)}</div>'


def _salutation(sheet: Sheet) -> str:
    """A word such as `To` or `Messrs.` on its line above the name."""
    line = sender_line(sheet) if sheet.chance(0.3) else ""
    return f'<div class="window">{line}<div>{sheet.beside("salute")}</div>{who(sheet, sheet.bill.customer)}</div>'


def _there(sheet: Sheet) -> str:
    receiver = sheet.bill.receiver
    return "".join(f"<div>{sheet.mark('ship_to', line)}</div>" for line in (receiver.name, *receiver.address))


def _delivered(sheet: Sheet) -> str:
    """Where the goods go, before the buyer."""
    there = f'<div class="party"><div class="head">{sheet.named("ship_to")}</div>{_there(sheet)}</div>'
    buyer = (
        f'<div class="party"><div class="head">{sheet.named("bill_to")}</div>{who(sheet, sheet.bill.customer)}</div>'
    )
    return (
        f'<div class="pair">{there}{buyer}</div>'
        if sheet.chance(0.6)
        else f'<div class="party">{there}<br>{buyer}</div>'
    )


def _columns(sheet: Sheet, columns: list[tuple[str, str]]) -> str:
    """Heads above blocks side by side; as a table with lines in some documents."""
    if sheet.chance(0.5):
        line = sheet.rng.choice(("1px solid #888", "1px solid #000", "0"))
        back = sheet.rng.choice(("#eee", "#fff", "#dfe7ef"))
        heads = "".join(
            f'<th style="border:{line};background:{back};padding:3px 8px;text-align:left">{head}</th>'
            for head, _ in columns
        )
        cells = "".join(
            f'<td style="border:{line};padding:4px 8px;vertical-align:top">{block}</td>' for _, block in columns
        )
        return f'<table style="width:100%;table-layout:fixed"><tr>{heads}</tr><tr>{cells}</tr></table>'
    cells = "".join(f'<div><div class="head">{head}</div>{block}</div>' for head, block in columns)
    return f'<div class="pair" style="width:100%">{cells}</div>'


def _three(sheet: Sheet) -> str:
    """Where goods come from, who sells and who buys, in three columns."""
    warehouse = parties.customer(sheet.rng, sheet.bill.region, sheet.bill.half)
    source = "".join(
        f"<div>{sheet.mark('ship_from', line)}</div>"
        for line in ((sheet.bill.merchant.bank, *warehouse.address) if sheet.chance(0.2) else warehouse.address)
    )
    rest = "".join(f"<div>{piece}</div>" for piece in contact(sheet, sheet.bill.merchant))
    first = (sheet.beside("ship_from"), source) if sheet.chance(0.5) else (sheet.label("ship_to"), _there(sheet))
    columns = [first, (sheet.beside("seller"), _seller(sheet) + rest), (sheet.beside("buyer"), _customer(sheet))]
    if sheet.chance(0.5):
        sheet.rng.shuffle(columns)
    return f'<div class="small" style="width:100%">{_columns(sheet, columns)}</div>'


def _facing(sheet: Sheet) -> str:
    """Seller and buyer side by side under their heads, in either order."""
    rest = "".join(f"<div>{piece}</div>" for piece in contact(sheet, sheet.bill.merchant))
    columns = [
        (sheet.beside("seller"), _seller(sheet, sheet.rng.choice(("font-weight:bold", ""))) + rest),
        (sheet.beside("buyer"), who(sheet, sheet.bill.customer)),
    ]
    if sheet.chance(0.3):
        columns.reverse()
    return _columns(sheet, columns)


def _accounted(sheet: Sheet) -> str:
    """The buyer with a number of account and a mail address."""
    customer = sheet.bill.customer
    lines = [
        f"{sheet.named('customer_number')} {sheet.mark('customer_number', sheet.bill.numbers['customer_number'])}",
        f"{sheet.named('email')} {html.escape(customer.email)}",
        f"{sheet.named('phone')} {sheet.mark('customer_phone', customer.phone)}",
    ]
    rest = "".join(f"<div>{line}</div>" for line in lines if sheet.chance(0.7))
    above = sheet.chance(0.25)
    body = rest + _customer(sheet) if above else _customer(sheet) + rest
    return f'<div class="party" style="border-left:3px solid {sheet.accent};padding-left:9px"><div class="head">{sheet.beside("buyer")}</div>{body}</div>'


ADDRESSEES: dict[str, Part] = {
    "framed": _framed, "beside": _beside, "form_lines": _form_lines, "attention": _attention, "large": _large, "salutation": _salutation,
    "delivered": _delivered, "three": _three, "facing": _facing, "accounted": _accounted,
}  # fmt: skip
