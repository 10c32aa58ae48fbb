"""Heads of invoices of the tuning half: letterheads, brands, logos, persons and forms, with what stands beside the seller's name."""

import html
import random
from dataclasses import replace

from training.fields import parties
from training.fields.bill import Bill
from training.fields.issuer import Part, account, contact, details, tax_numbers
from training.fields.naming import brand, has_form, initials, legal, registration
from training.fields.sheet import Sheet

WITH_OTHER_NAMES = frozenset({"brand", "website"})
"""Heads that don't print the name of the bill's seller: the foot must."""
_LONG = 26
"""Characters of a name that stands on two lines in many documents."""


def renamed(rng: random.Random, bill: Bill, issuer: str) -> Bill:
    """The bill with a seller whom the head suits: a person, or a firm with its legal form."""
    region, merchant = bill.region, bill.merchant
    if issuer == "person":
        return replace(bill, merchant=replace(merchant, name=merchant.person))
    if issuer in {"brand", "branded", "website", "registered"} and rng.random() < 0.8:
        core = parties.merchant(rng, region, bill.half, "invoice").name
        known = core if has_form(core, region) else legal(rng, region, core)
        return replace(bill, merchant=replace(merchant, name=known))
    return bill


def heading(sheet: Sheet, low: float, high: float, css: str = "", text: str = "") -> str:
    """The seller's name in larger print than the text; long ones on two lines in some documents."""
    text = text or sheet.bill.merchant.name
    scale = sheet.rng.uniform(low, high)
    weight = sheet.rng.choice(("bold", "bold", "normal", "600"))
    colour = sheet.rng.choice((sheet.accent, "#000"))
    cut = len(text) * scale > 1.7 * _LONG or (len(text) >= _LONG and sheet.chance(0.35))
    style = f"font-size:{sheet.size * scale:.1f}px;font-weight:{weight};color:{colour};line-height:1.25;white-space:nowrap;{css}"
    return sheet.seller(text, style, cut=cut)


def small(text: str, css: str = "") -> str:
    return f'<div class="small" style="{css}">{text}</div>'


def picture(sheet: Sheet) -> str:
    """A drawn logo, with initials in some documents."""
    rng, high = sheet.rng, sheet.rng.randint(34, 60)
    shapes = (
        '<circle cx="30" cy="30" r="27"/>', '<path d="M4 56 L30 4 L56 56 Z"/>', '<rect x="4" y="4" width="52" height="52" rx="10"/>',
        '<path d="M4 20 H56 M4 32 H56 M4 44 H40" stroke-width="7"/>', '<path d="M6 50 Q30 -20 54 50 Q30 24 6 50"/>', '<path d="M8 8 V52 H22 V30 L38 52 H52 V8 H38 V30 L22 8 Z"/>',
    )  # fmt: skip
    text = (
        f'<text x="30" y="38" font-size="22" text-anchor="middle" fill="#fff">{initials(rng)[:2]}</text>'
        if sheet.chance(0.3)
        else ""
    )
    return f'<svg width="{high}" height="{high}" viewBox="0 0 60 60" fill="{sheet.accent}" stroke="{sheet.accent}">{rng.choice(shapes)}<g stroke="none">{text}</g></svg>'


def _practice(sheet: Sheet) -> str:
    """Name and profession at one side, address and contact at the other."""
    line = small(sheet.beside("profession"), f"color:{sheet.rng.choice(('#555', sheet.accent))}")
    name = heading(sheet, 1.2, 1.9)
    left = line + name if sheet.chance(0.2) else name + line
    right = small(details(sheet), sheet.rng.choice(("", "text-align:right")))
    sides = (left, right) if sheet.chance(0.8) else (right, left)
    return f'<div class="row"><div>{sides[0]}</div><div>{sides[1]}</div></div>'


def _slogan(sheet: Sheet) -> str:
    """A slogan above or below the name."""
    slogan = small(f"<i>{sheet.beside('slogan')}</i>")
    name = heading(sheet, 1.3, 2.2)
    return f'<div class="issuer">{slogan + name if sheet.chance(0.35) else name + slogan}{details(sheet)}</div>'


def _brand(sheet: Sheet) -> str:
    """A brand as a logo word; the firm's name stands in the foot."""
    text = brand(sheet.rng, sheet.bill.region, sheet.bill.merchant.name)
    sheet.names.append(sheet.bill.merchant.name)
    logo = heading(sheet, 2.0, 3.2, sheet.rng.choice(("", "letter-spacing:3px", "font-style:italic")), text)
    slogan = small(sheet.beside("slogan")) if sheet.chance(0.4) else ""
    return f'<div class="issuer">{picture(sheet) if sheet.chance(0.3) else ""}{logo}{slogan}</div>'


def _branded(sheet: Sheet) -> str:
    """A brand in large print, the firm's name and address in small print."""
    text = brand(sheet.rng, sheet.bill.region, sheet.bill.merchant.name)
    firm = sheet.seller(sheet.bill.merchant.name)
    logo = heading(sheet, 1.9, 2.8, "", text)
    body = small(firm + details(sheet))
    if sheet.chance(0.5):
        return f'<div class="row"><div>{logo}</div><div>{body}</div></div>'
    return f'<div class="issuer">{logo}{body}</div>'


def _person(sheet: Sheet) -> str:
    """A person without a legal form, with a profession."""
    line = f"<div>{sheet.beside('profession')}</div>" if sheet.chance(0.75) else ""
    css = sheet.rng.choice(("", "text-align:right", "text-align:center"))
    return f'<div class="issuer" style="{css}">{heading(sheet, 1.0, 1.8)}{line}{details(sheet)}</div>'


def _form_lines(sheet: Sheet) -> str:
    """`Name: ... / Address: ... / Phone: ...`, each on its line."""
    merchant = sheet.bill.merchant
    joint = ", " if sheet.bill.region.spaced else ""
    address = joint.join(sheet.mark("merchant_address", line) for line in merchant.address)
    pairs = [(sheet.beside("name"), sheet.seller(merchant.name)), (sheet.beside("address"), f"<div>{address}</div>")]
    rest = [*contact(sheet, merchant), *tax_numbers(sheet, merchant)]
    if sheet.chance(0.3):
        pairs.reverse()
    title = f'<div class="head">{sheet.beside("seller")}</div>' if sheet.chance(0.7) else ""
    return f'<div class="issuer form">{title}{labelled_rows(sheet, pairs)}{"".join(f"<div>{piece}</div>" for piece in rest)}</div>'


def labelled_rows(sheet: Sheet, pairs: list[tuple[str, str]]) -> str:
    """Labels, each with its value right of it."""
    colon = sheet.colon or ":"
    cells = "".join(
        f'<tr><td style="vertical-align:top;padding-right:8px;white-space:nowrap">{key}{colon}</td><td>{value}</td></tr>'
        for key, value in pairs
    )
    return f'<table style="max-width:330px">{cells}</table>'


def _beside(sheet: Sheet) -> str:
    """The label at the left of name and address: `From:  Nord Ltd`."""
    merchant = sheet.bill.merchant
    lines = sheet.lines("merchant_address", merchant.address)
    block = sheet.seller(merchant.name, sheet.rng.choice(("font-weight:bold", ""))) + lines
    rest = "".join(f"<div>{piece}</div>" for piece in contact(sheet, merchant))
    return f'<div class="issuer">{labelled_rows(sheet, [(sheet.beside("seller"), block + rest)])}</div>'


def register_line(sheet: Sheet, number: str) -> str:
    """A line of a register with its marked number."""
    text = sheet.beside("registered")
    while "England" in text and sheet.bill.region.country != "GB":
        text = sheet.beside("registered")
    return text.format(number=number)


def _registered(sheet: Sheet) -> str:
    """The name with its registration number behind or below it, then the address."""
    region = sheet.bill.region
    number = sheet.mark("other_number", registration(sheet.rng, region))
    name = heading(sheet, 1.1, 1.7)
    way = sheet.rng.random()
    if way < 0.35:
        name = name.removesuffix("</div>") + f' <span class="small">({number})</span></div>'
    elif way < 0.7:
        name += small(f"{sheet.beside('reg')} {number}")
    else:
        name += small(register_line(sheet, number))
    return f'<div class="issuer" style="{sheet.rng.choice(("", "text-align:center", "text-align:right"))}">{name}{details(sheet)}</div>'


def _pictured(sheet: Sheet) -> str:
    """A drawn logo beside or above the name."""
    name = heading(sheet, 1.2, 2.0)
    if sheet.chance(0.5):
        head = f'<div style="display:flex;gap:12px;align-items:center">{picture(sheet)}<div>{name}{small(sheet.beside("slogan")) if sheet.chance(0.3) else ""}</div></div>'
        return f'<div class="issuer">{head}{small(details(sheet))}</div>'
    return f'<div class="issuer" style="{sheet.rng.choice(("", "text-align:right"))}">{picture(sheet)}{name}{details(sheet)}</div>'


def _stationery(sheet: Sheet) -> str:
    """The name, the address in one line below it, and the contact in another."""
    merchant = sheet.bill.merchant
    joint = sheet.rng.choice((", ", " · ", " – ")) if sheet.bill.region.spaced else " "
    address = joint.join(sheet.mark("merchant_address", line) for line in merchant.address)
    rest = sheet.rng.choice((" | ", " · ", "&emsp;")).join([*contact(sheet, merchant), *tax_numbers(sheet, merchant)])
    line = f"border-bottom:1px solid {sheet.accent};padding-bottom:4px" if sheet.chance(0.5) else ""
    align = sheet.rng.choice(("left", "center", "center", "right"))
    return f'<div style="text-align:{align};{line}">{heading(sheet, 1.4, 2.3)}<div class="small">{address}</div><div class="small">{rest}</div></div>'


def _split(sheet: Sheet) -> str:
    """The name on two lines."""
    css = f"font-size:{sheet.size * sheet.rng.uniform(1.2, 2.0):.1f}px;font-weight:bold;color:{sheet.accent};line-height:1.15;white-space:nowrap"
    return f'<div class="issuer">{sheet.seller(sheet.bill.merchant.name, css, cut=True)}<div style="height:6px"></div>{details(sheet)}</div>'


def _website(sheet: Sheet) -> str:
    """The site's name as the logo; the firm's name stands in the foot."""
    text = sheet.bill.merchant.web.removeprefix("www.") if sheet.chance(0.7) else sheet.bill.merchant.web
    css = f"font-size:{sheet.size * 2.1:.0f}px;color:{sheet.accent};font-weight:bold"
    return f'<div class="issuer"><div style="{css}">{html.escape(text)}</div>{small(sheet.beside("slogan")) if sheet.chance(0.5) else ""}</div>'


def _contact_box(sheet: Sheet) -> str:
    """Name and address, and a box with the person who wrote the invoice."""
    merchant, region = sheet.bill.merchant, sheet.bill.region
    person = parties.person(sheet.rng, region, sheet.bill.half)
    lines = [f"<b>{sheet.beside('contact')}</b>", html.escape(person), *contact(sheet, merchant)]
    if sheet.chance(0.4):
        lines.insert(2, sheet.beside("office"))
    box = f'<div class="small" style="border:1px solid #999;padding:5px 8px">{"".join(f"<div>{line}</div>" for line in lines)}</div>'
    left = heading(sheet, 1.2, 1.8) + sheet.lines("merchant_address", merchant.address)
    return f'<div class="row"><div>{left}</div>{box}</div>'


def _department(sheet: Sheet) -> str:
    """The name with a department of the seller below or above it."""
    line = f"<div>{sheet.beside('office')}</div>"
    name = heading(sheet, 1.0, 1.5)
    css = sheet.rng.choice(("", "text-align:right", f"border-left:4px solid {sheet.accent};padding-left:10px"))
    return f'<div class="issuer" style="{css}">{name}{line}{details(sheet)}</div>'


def _two_columns(sheet: Sheet) -> str:
    """Name above two columns: the address, and numbers with the bank."""
    merchant = sheet.bill.merchant
    office = [*contact(sheet, merchant), *tax_numbers(sheet, merchant)]
    if sheet.chance(0.4):
        office += account(sheet, merchant)
    right = "".join(f"<div>{piece}</div>" for piece in office)
    return f'<div class="issuer">{heading(sheet, 1.2, 1.9)}<div style="display:flex;gap:28px;margin-top:4px" class="small"><div>{sheet.lines("merchant_address", merchant.address)}</div><div>{right}</div></div></div>'


HEADS: dict[str, Part] = {
    "practice": _practice, "slogan": _slogan, "brand": _brand, "branded": _branded, "person": _person, "form_lines": _form_lines, "beside": _beside,
    "registered": _registered, "pictured": _pictured, "stationery": _stationery, "split": _split, "website": _website, "contact_box": _contact_box,
    "department": _department, "two_columns": _two_columns,
}  # fmt: skip
