"""What stands below the sums on invoices of the tuning half: footers with the seller's name, false names and references."""

import html
from collections.abc import Callable
from decimal import Decimal

from training.fields.heads import register_line
from training.fields.identifiers import fill
from training.fields.issuer import account, contact, tax_numbers
from training.fields.naming import brand, false_name
from training.fields.sheet import Sheet

WITH_SELLER = frozenset({"columns", "payable", "seat", "single", "trading"})
"""Feet that print the seller's name in every document."""


def _register(sheet: Sheet) -> str:
    return register_line(sheet, sheet.mark("other_number", fill(sheet.rng, "#######")))


def _columns(sheet: Sheet) -> str:
    """Three or four columns: address, contact, register and bank; the account's holder is the seller again in some."""
    merchant, rng = sheet.bill.merchant, sheet.rng
    first = f"{sheet.seller(merchant.name, rng.choice(('', 'font-weight:bold')))}{sheet.lines('merchant_address', merchant.address)}"
    bank = account(sheet, merchant)
    if sheet.chance(0.5):
        bank.insert(
            0,
            f"{sheet.beside('holder')}{sheet.colon} {sheet.seller(merchant.name).removeprefix('<div>').removesuffix('</div>')}",
        )
    office = tax_numbers(sheet, merchant)
    office.append(f"{sheet.beside('directors')}{sheet.colon} {html.escape(merchant.person)}")
    if sheet.chance(0.6):
        office.append(_register(sheet))
    columns = [
        "".join(f"<div>{piece}</div>" for piece in pieces) for pieces in (contact(sheet, merchant), office, bank)
    ]
    if sheet.chance(0.25):
        del columns[1]
    blocks = [first, *columns]
    if sheet.chance(0.15):
        blocks.reverse()
    css = rng.choice(
        ("", f"border-top:2px solid {sheet.accent}", "border-top:0", "background:#f3f3f3;padding:8px 10px")
    )
    return f'<div class="foot small imprint" style="{css}">{"".join(f"<div>{block}</div>" for block in blocks if block)}</div>'


def _payable(sheet: Sheet) -> str:
    """`Please make cheques payable to NAME`, and the account with its holder."""
    merchant = sheet.bill.merchant
    sheet.names = sheet.names or [merchant.name]
    name = sheet.mark("merchant_name", merchant.name, sheet.rng.choice(("font-weight:bold", "")))
    lines = [sheet.beside("payable").format(name=name)]
    if sheet.chance(0.6):
        lines += [
            f"{sheet.beside('holder')}{sheet.colon} {sheet.mark('merchant_name', merchant.name)}",
            *account(sheet, merchant),
        ]
    css = sheet.rng.choice(("", "text-align:center", "border:1px solid #999;padding:6px 10px"))
    return f'<div class="foot" style="{css}">{"".join(f"<div>{line}</div>" for line in lines)}</div>'


def _seat(sheet: Sheet) -> str:
    """One or two lines of small print: name, register and registered office."""
    merchant = sheet.bill.merchant
    sheet.names = sheet.names or [merchant.name]
    joint = ", " if sheet.bill.region.spaced else ""
    address = joint.join(sheet.mark("merchant_address", line) for line in merchant.address)
    first = f"{sheet.mark('merchant_name', merchant.name)}. {_register(sheet)}."
    second = f"{sheet.beside('seat')}{sheet.colon} {address}"
    lines = (first, second, " · ".join(tax_numbers(sheet, merchant)))
    return f'<div class="foot small" style="text-align:{sheet.rng.choice(("center", "left"))}">{"".join(f"<div>{line}</div>" for line in lines if line)}</div>'


def _trading(sheet: Sheet) -> str:
    """`BRAND is a trading name of NAME`, with the address and the register."""
    merchant = sheet.bill.merchant
    others = [name for name in sheet.names if name != merchant.name]
    known = others[0] if others else brand(sheet.rng, sheet.bill.region, merchant.name)
    text = sheet.beside("trading")
    if not sheet.names:
        sheet.names = [merchant.name]
    if not others and "{brand}" in text:
        sheet.names.append(known)
    text = text.format(brand=sheet.mark("merchant_name", known), name=sheet.mark("merchant_name", merchant.name))
    joint = sheet.rng.choice((" · ", ", ")) if sheet.bill.region.spaced else " "
    address = joint.join(sheet.mark("merchant_address", line) for line in merchant.address)
    lines = [text, address, *([_register(sheet)] if sheet.chance(0.5) else [])]
    return f'<div class="foot small" style="text-align:center;border-top:1px solid #aaa;padding-top:4px">{"".join(f"<div>{line}</div>" for line in lines)}</div>'


def _single(sheet: Sheet) -> str:
    """One or two lines of small print with all there is to say: name, address, contact, tax numbers, account."""
    merchant, rng = sheet.bill.merchant, sheet.rng
    sheet.names = sheet.names or [merchant.name]
    joint = rng.choice((" · ", ", ", ", ", " | ", " – ", " - ", "; "))
    name = sheet.mark("merchant_name", merchant.name, rng.choice(("", "font-weight:bold")))
    parts = [name, *(sheet.mark("merchant_address", line) for line in merchant.address)]
    rest = contact(sheet, merchant) if sheet.chance(0.5) else []
    rest += tax_numbers(sheet, merchant)
    if sheet.chance(0.5):
        rest += account(sheet, merchant)
    lines = [parts, rest] if rest and sheet.chance(0.4) else [[*parts, *rest]]
    css = rng.choice(("", "text-align:center", "text-align:center;border-top:1px solid #999;padding-top:4px"))
    return f'<div class="foot small" style="{css}">{"".join(f"<div>{joint.join(line)}</div>" for line in lines)}</div>'


CLOSINGS: dict[str, Callable[[Sheet], str]] = {
    "columns": _columns, "payable": _payable, "seat": _seat, "single": _single, "trading": _trading,
}  # fmt: skip


def strangers(sheet: Sheet) -> str:
    """Firms that neither sell nor buy: carriers, payment services, certifiers and software, in small print."""
    rng, asian = sheet.rng, not sheet.bill.region.spaced
    keys = {"carrier": "carrier", "processor": "processor", "seal": "seal", "powered": "software"}
    lines = []
    for key in rng.sample(list(keys), rng.choice((1, 1, 2))):
        if key == "carrier" and sheet.bill.trade != "goods":
            continue
        name = sheet.mark("other_name", false_name(rng, keys[key], asian=asian))
        lines.append(sheet.beside(key).format(name=name))
    return (
        f'<div class="small terms" style="{rng.choice(("", "text-align:center", "color:#555"))}">{"".join(f"<div>{line}</div>" for line in lines)}</div>'
        if lines
        else ""
    )


def reference(sheet: Sheet) -> str:
    """A sentence above the items: the invoice that is credited, or an offer or deposit with its amount and date."""
    bill = sheet.bill
    day = sheet.day("other_date", bill.dates["order_date"])
    if bill.credit:
        number = sheet.mark("other_number", fill(sheet.rng, sheet.rng.choice(("######", "INV-#####", "####/25"))))
        return f"<p>{sheet.beside('original').format(number=number, date=day)}</p>"
    share = Decimal(sheet.rng.choice((20, 50, 110, 130))) / 100
    amount = sheet.money("other_amount", (bill.sums.total * share).quantize(bill.region.unit))
    return f"<p>{sheet.beside('offer').format(amount=amount, date=day)}</p>"


def page_number(sheet: Sheet) -> str:
    """`Page 1` at the bottom, or the software's name."""
    if sheet.chance(0.3):
        text = sheet.beside("powered").format(
            name=sheet.mark("other_name", false_name(sheet.rng, "software", asian=not sheet.bill.region.spaced))
        )
    else:
        text = sheet.beside("page")
    return f'<div class="tiny" style="position:absolute;bottom:8px;left:0;right:0;text-align:center">{text}</div>'
