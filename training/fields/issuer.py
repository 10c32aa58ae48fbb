"""Who wrote an invoice and who gets it: heads, sender lines, address windows and labelled blocks."""

import html
from collections.abc import Callable

from training.fields.identifiers import fill
from training.fields.parties import Party
from training.fields.sheet import Sheet

Part = Callable[[Sheet], str]


def contact(sheet: Sheet, party: Party) -> list[str]:
    """Phone, mail, site and tax number of the seller, each a piece of HTML; some may be left out."""
    pieces = []
    if sheet.chance(0.75):
        pieces.append(f"{sheet.named('phone')} {sheet.mark('phone', party.phone)}")
    if sheet.chance(0.5):
        pieces.append(f"{sheet.named('email')} {html.escape(party.email)}")
    if sheet.chance(0.4):
        pieces.append(html.escape(party.web))
    return pieces


def tax_numbers(sheet: Sheet, party: Party) -> list[str]:
    """The seller's VAT id and, in some documents, another number of an office."""
    pieces = []
    if sheet.bill.mode != "none" and sheet.bill.region.country != "US" and sheet.chance(0.85):
        pieces.append(f"{sheet.named('vat_id')} {sheet.mark('vat_id', party.vat_id)}")
    if sheet.chance(0.25):
        number = fill(sheet.rng, sheet.rng.choice(("###/###/#####", "HRB #####", "########", "### ### ###")))
        pieces.append(f"{sheet.named('tax_number')} {sheet.mark('other_number', number)}")
    return pieces


def account(sheet: Sheet, party: Party) -> list[str]:
    """The lines of the seller's bank account."""
    role = "iban" if party.has_iban else "other_number"
    pieces = [f"{sheet.named('bank')} {html.escape(party.bank)}"] if sheet.chance(0.8) else []
    key = "iban" if party.has_iban or sheet.bill.region.language != "en" else "account"
    pieces.append(
        f"{sheet.named(key)} {sheet.mark(role, party.iban if sheet.chance(0.85) else party.iban.replace(' ', ''))}"
    )
    if sheet.chance(0.6):
        pieces.append(f"{sheet.named('bic')} {party.bic}")
    return pieces


def _name(sheet: Sheet, scale: float, css: str = "") -> str:
    weight = sheet.rng.choice(("bold", "bold", "normal", "600"))
    style = f"font-size:{sheet.size * scale:.1f}px;font-weight:{weight};color:{sheet.accent};line-height:1.25;{css}"
    return f"<div>{sheet.mark('merchant_name', sheet.bill.merchant.name, style)}</div>"


def details(sheet: Sheet) -> str:
    """The seller's address, and its contact in lines below."""
    merchant = sheet.bill.merchant
    pieces = contact(sheet, merchant)
    if sheet.chance(0.5):
        pieces += tax_numbers(sheet, merchant)
    return sheet.lines("merchant_address", merchant.address) + "".join(f"<div>{piece}</div>" for piece in pieces)


def _plain(sheet: Sheet) -> str:
    return f'<div class="issuer">{_name(sheet, sheet.rng.uniform(1.1, 2.0))}{details(sheet)}</div>'


def _right(sheet: Sheet) -> str:
    return f'<div class="issuer" style="text-align:right">{_name(sheet, sheet.rng.uniform(1.0, 1.7))}{details(sheet)}</div>'


def _centred(sheet: Sheet) -> str:
    return f'<div class="issuer" style="text-align:center">{_name(sheet, sheet.rng.uniform(1.4, 2.2))}{details(sheet)}</div>'


def _small(sheet: Sheet) -> str:
    return f'<div class="issuer">{_name(sheet, 1)}{details(sheet)}</div>'


def _logo(sheet: Sheet) -> str:
    """The name as a styled word, and the address in small print below or beside it."""
    css = sheet.rng.choice((
        f"background:{sheet.accent};color:#fff;padding:6px 12px;",
        f"border:2px solid {sheet.accent};padding:5px 10px;",
        "letter-spacing:3px;",
        f"border-bottom:3px solid {sheet.accent};font-style:italic;",
        "font-family:'URW Gothic';letter-spacing:1px;",
    ))  # fmt: skip
    logo = _name(sheet, sheet.rng.uniform(1.5, 2.2), css + "display:inline-block;")
    small = f'<div class="small">{details(sheet)}</div>'
    if sheet.chance(0.4):
        return f'<div class="row"><div>{logo}</div>{small}</div>'
    return f'<div class="issuer">{logo}<div style="height:8px"></div>{small}</div>'


def _labelled(sheet: Sheet) -> str:
    return f'<div class="issuer"><div class="head">{sheet.named("from")}</div>{_name(sheet, 1.1)}{details(sheet)}</div>'


def _nothing(sheet: Sheet) -> str:
    """No head: the footer, or the line above the address, names the seller."""
    del sheet
    return ""


def _one_line(sheet: Sheet) -> str:
    merchant = sheet.bill.merchant
    pieces = [
        sheet.mark("merchant_name", merchant.name, "font-weight:bold"),
        *(sheet.mark("merchant_address", line) for line in merchant.address),
    ]
    joint = sheet.rng.choice((" · ", " | ", " – ", ", "))
    return f'<div class="small" style="text-align:center;border-bottom:1px solid {sheet.accent};padding-bottom:4px">{joint.join([*pieces, *contact(sheet, merchant)])}</div>'


def _banner(sheet: Sheet) -> str:
    """A coloured band with the name at one end and the address at the other."""
    name = sheet.mark("merchant_name", sheet.bill.merchant.name, f"font-size:{sheet.size * 1.7:.0f}px;font-weight:bold")
    return f'<div class="row" style="background:{sheet.accent};color:#fff;padding:12px 16px;align-items:center"><div>{name}</div><div class="small" style="text-align:right">{details(sheet)}</div></div>'


ISSUERS: dict[str, Part] = {
    "plain": _plain, "right": _right, "centred": _centred, "small": _small, "logo": _logo, "labelled": _labelled, "nothing": _nothing,
    "one_line": _one_line, "banner": _banner,
}  # fmt: skip


def sender_line(sheet: Sheet) -> str:
    """The small line above the window of an envelope."""
    merchant = sheet.bill.merchant
    joint = sheet.rng.choice((" · ", " - ", " • ", ", ", " | "))
    pieces = [
        sheet.mark("merchant_name", merchant.name),
        *(sheet.mark("merchant_address", line) for line in merchant.address),
    ]
    return f'<div class="sender">{joint.join(pieces)}</div>'


def who(sheet: Sheet, party: Party) -> str:
    """The buyer's name and address, with a person, a tax number or a phone in some documents."""
    weight = "font-weight:bold" if sheet.chance(0.3) else ""
    person = f"<div>{html.escape(party.person)}</div>" if sheet.chance(0.25) and party.person != party.name else ""
    vat = ""
    if sheet.chance(0.2) and sheet.bill.region.country != "US" and party.person != party.name:
        vat = f"<div>{sheet.named('vat_id')} {sheet.mark('customer_vat_id', party.vat_id)}</div>"
    phone = (
        f"<div>{sheet.named('phone')} {sheet.mark('customer_phone', party.phone)}</div>" if sheet.chance(0.15) else ""
    )
    honour = {"ja": " 御中"}.get(sheet.bill.region.language, "")
    return f"<div>{sheet.mark('customer_name', party.name, weight)}{honour}</div>{person}{sheet.lines('customer_address', party.address)}{vat}{phone}"


def _window(sheet: Sheet) -> str:
    line = sender_line(sheet) if sheet.chance(0.8) else ""
    return f'<div class="window">{line}{who(sheet, sheet.bill.customer)}</div>'


def _billed(sheet: Sheet) -> str:
    return f'<div class="party"><div class="head">{sheet.named("bill_to")}</div>{who(sheet, sheet.bill.customer)}</div>'


def _unlabelled(sheet: Sheet) -> str:
    return f'<div class="party">{who(sheet, sheet.bill.customer)}</div>'


def _boxed(sheet: Sheet) -> str:
    return f'<div class="party" style="border:1px solid #777;padding:7px 9px"><div class="head">{sheet.named("bill_to")}</div>{who(sheet, sheet.bill.customer)}</div>'


def _shipped(sheet: Sheet) -> str:
    """The buyer, and beside it where the goods go: the same address in half of the documents."""
    receiver = sheet.bill.customer if sheet.chance(0.5) else sheet.bill.receiver
    there = "".join(f"<div>{sheet.mark('ship_to', line)}</div>" for line in (receiver.name, *receiver.address))
    return f'<div class="pair">{_billed(sheet)}<div class="party"><div class="head">{sheet.named("ship_to")}</div>{there}</div></div>'


def _inline(sheet: Sheet) -> str:
    customer = sheet.bill.customer
    pieces = [
        sheet.mark("customer_name", customer.name),
        *(sheet.mark("customer_address", line) for line in customer.address),
    ]
    return f'<div class="party">{sheet.named("bill_to")} {", ".join(pieces)}</div>'


CUSTOMERS: dict[str, Part] = {
    "window": _window, "billed": _billed, "unlabelled": _unlabelled, "boxed": _boxed, "shipped": _shipped, "inline": _inline,
}  # fmt: skip
