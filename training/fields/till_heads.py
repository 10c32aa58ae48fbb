"""Heads of receipts of the tuning half: brands above firms, branches, malls, numbers between name and address, names at the foot."""

import html
import random
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace

from training.fields import parties
from training.fields.bill import Bill
from training.fields.identifiers import fill
from training.fields.naming import brand, firm, halves, has_form, legal, registration, second_script
from training.fields.sheet import Sheet

_LINE, _WIDTH = 30, 29
"""Characters that a line of an address takes on the narrowest paper, and those in capitals of the text's size."""


@dataclass(frozen=True, slots=True)
class Head:
    """What a head prints, in order, by names in PIECES; a `?` before a name leaves it out in half of the documents."""

    pieces: str
    incorporated: bool = False
    """Whether the seller has a legal form."""


HEADS: dict[str, Head] = {
    "firm": Head("firm ?registration address phones ?tax ?title", incorporated=True),
    "firm_number": Head("firm_number address ?phones ?tax title", incorporated=True),
    "brand_firm": Head("brand firm ?registration address ?phones ?tax ?title", incorporated=True),
    "brand_small": Head("brand ?branch small_firm address phones tax ?title", incorporated=True),
    "owned": Head("brand ?slogan owned ?registration address ?phones ?title", incorporated=True),
    "former": Head("firm former ?registration address ?tax phones title", incorporated=True),
    "branch": Head("shop branch address ?phones ?tax ?title"),
    "branch_code": Head("site shop ?branch ?operator address phones ?title"),
    "scripts": Head("script firm ?registration address phones ?title", incorporated=True),
    "greeted": Head("welcome shop ?slogan address ?phones ?tax"),
    "queued": Head("queue shop ?branch address ?phones title"),
    "dated": Head("moment shop address ?phones ?tax"),
    "site_first": Head("web shop address phones ?title"),
    "starred": Head("stars ?registration address phones ?tax ?title"),
    "numbered": Head("firm ?registration tax address phones title", incorporated=True),
    "titled": Head("title firm ?registration ?tax address ?phones", incorporated=True),
    "logo": Head("logo shop address ?web ?phones ?tax ?title"),
    "logo_brand": Head("logo brand small_firm ?registration address ?tax title", incorporated=True),
    "footed": Head("title ?queue ?site"),
    "footed_address": Head("?logo address ?phones ?tax title"),
    "wide": Head("shop ?profession address phones tax ?title customer"),
    "station": Head("brand site firm address ?phones tax title", incorporated=True),
    "contact_first": Head("phones shop address ?tax ?title"),
    "plain": Head("shop address"),
}
FOOTED = frozenset({"footed", "footed_address"})
"""Heads without the seller's name: it stands at the foot."""


def renamed(rng: random.Random, bill: Bill, head: str) -> Bill:
    """The bill with a seller whom the head suits; its lines in capitals in many documents."""
    region, merchant = bill.region, bill.merchant
    name = merchant.name
    if head in HEADS and HEADS[head].incorporated and not has_form(name, region) and rng.random() < 0.85:
        name = legal(rng, region, name)
    address = merchant.address
    if region.spaced and rng.random() < 0.4:
        name, address = name.upper(), tuple(line.upper() for line in address)
    if region.spaced:
        address = tuple(piece for line in address for piece in textwrap.wrap(line, _LINE))
    return replace(bill, merchant=replace(merchant, name=name, address=address))


def _style(sheet: Sheet, low: float, high: float, text: str = "", *, cut: bool = False) -> str:
    """The style of a name whose lines fit the narrowest paper."""
    longest = max(len(piece) for piece in (halves(text) if cut else [text]))
    wide = _WIDTH if sheet.bill.region.spaced else _WIDTH / 2
    scale = max(0.85, min(sheet.rng.uniform(low, high), wide / max(1, longest)))
    return f"font-size:{sheet.size * scale:.1f}px;font-weight:{sheet.rng.choice(('bold', 'normal'))};line-height:1.2"


def _firm(sheet: Sheet) -> str:
    """The seller's name, on two lines in some documents."""
    name = sheet.bill.merchant.name
    cut = len(name) > 22 or (len(name) > 14 and sheet.chance(0.3))
    return sheet.seller(name, _style(sheet, 1, 1.5, name, cut=cut), cut=cut)


def _small_firm(sheet: Sheet) -> str:
    name = sheet.bill.merchant.name
    return sheet.seller(name, cut=len(name) > 30)


def _firm_number(sheet: Sheet) -> str:
    """The registration number behind the name, in its line or the next."""
    number = sheet.mark("other_number", registration(sheet.rng, sheet.bill.region))
    shown = sheet.rng.choice(("({})", "({})", "Co. No: {}", "[{}]", "- {}")).format(number)
    name = sheet.bill.merchant.name
    if len(name) > 20:
        return f"{sheet.seller(name, _style(sheet, 1, 1.2, name, cut=len(name) > 28), cut=len(name) > 28)}<div>{shown}</div>"
    return sheet.seller(name).removesuffix("</div>") + f" {shown}</div>"


def _shop(sheet: Sheet) -> str:
    name = sheet.bill.merchant.name
    cut = len(name) > 17 or (len(name) > 12 and sheet.chance(0.3))
    return sheet.seller(name, _style(sheet, 1, 1.9, name, cut=cut), cut=cut)


def _brand(sheet: Sheet) -> str:
    """A brand that isn't the firm's name."""
    text = brand(sheet.rng, sheet.bill.region, sheet.bill.merchant.name)
    return f"<div>{sheet.mark('brand', text, _style(sheet, 1.3, 2.3, text))}</div>"


def _owned(sheet: Sheet) -> str:
    """`Owned by FIRM`."""
    name = sheet.bill.merchant.name
    sheet.names = [name]
    before, _, after = sheet.beside("owned").partition("{name}")
    shown = sheet.mark("merchant_name", name)
    if len(name) + len(before) > 30:
        return f"<div>{before}</div><div>{shown}{after}</div>"
    return f"<div>{before}{shown}{after}</div>"


def _former(sheet: Sheet) -> str:
    """`Formerly known as OTHER`."""
    other = firm(sheet.rng, sheet.bill.region, shop=True)
    return f'<div class="small">{sheet.beside("formerly").format(name=sheet.mark("other_name", other))}</div>'


def _branch(sheet: Sheet) -> str:
    """The town or mall of the shop, with or without a word before it."""
    merchant, rng = sheet.bill.merchant, sheet.rng
    malls = (
        "The Gardens Mall",
        "Mid Valley",
        "Central",
        "Airport T2",
        "Sunway",
        "City Centre",
        "Westfield",
        "Main Station",
        "KLCC",
        "Plaza Sentral",
        "North Point",
    )
    place = (
        rng.choice(malls)
        if sheet.bill.region.language == "en"
        else merchant.address[-1].strip("0123456789 -,").split(",")[0][:16]
    )
    form = rng.choice(("{place}", "{place}", "{word}: {place}", "({place})", "{place} {word}", "- {place} -"))
    return f"<div>{form.format(place=html.escape(place), word=sheet.beside('branch'))}</div>"


def _address(sheet: Sheet) -> str:
    return sheet.lines("merchant_address", sheet.bill.merchant.address)


def _registration(sheet: Sheet) -> str:
    number = sheet.mark("other_number", registration(sheet.rng, sheet.bill.region))
    form = sheet.rng.choice(("({number})", "{label}: {number}", "({label} {number})", "{label} : {number}", "{number}"))
    return f"<div>{form.format(label=sheet.beside('reg'), number=number)}</div>"


def _phones(sheet: Sheet) -> str:
    """Phone, and a fax in its line or the next."""
    text = f"{sheet.named('phone')} {sheet.mark('phone', sheet.bill.merchant.phone)}"
    if not sheet.chance(0.3):
        return f"<div>{text}</div>"
    fax = f"{sheet.beside('fax')}{sheet.colon} {sheet.mark('other_number', sheet.bill.receiver.phone)}"
    return f"<div>{text}</div><div>{fax}</div>"


def _tax(sheet: Sheet) -> str:
    if sheet.bill.mode == "none" or sheet.bill.region.country == "US":
        return ""
    text = f"{sheet.named('vat_id')} {sheet.mark('vat_id', sheet.bill.merchant.vat_id)}"
    return f"<div>{f'({text})' if sheet.chance(0.2) else text}</div>"


def _title(sheet: Sheet) -> str:
    css = sheet.rng.choice(
        (
            "font-weight:bold",
            "",
            f"font-size:{sheet.size * 1.3:.1f}px",
            "border-top:1px solid #000;border-bottom:1px solid #000",
            "text-decoration:underline",
        )
    )
    return f'<div style="margin:4px 0;{css}">{sheet.beside("titles")}</div>'


def _stars(sheet: Sheet) -> str:
    """The name between decorations."""
    name, sign = sheet.bill.merchant.name, sheet.rng.choice(("***", "**", "---", "===", "~", "+++", "●"))
    if len(name) > 20:
        return f"<div>{sign * 4}</div>{sheet.seller(name, 'font-weight:bold', cut=len(name) > 26)}<div>{sign * 4}</div>"
    return (
        sheet.seller(name, "font-weight:bold").replace("<div>", f"<div>{sign} ", 1).removesuffix("</div>")
        + f" {sign}</div>"
    )


def _moment(sheet: Sheet) -> str:
    """Date and time before all else."""
    return f'<div class="pairs"><span>{sheet.date_of("date")}</span><span>{sheet.mark("time", sheet.bill.time)}</span></div>'


def _queue(sheet: Sheet) -> str:
    number = sheet.mark("other_number", fill(sheet.rng, sheet.rng.choice(("###", "A##", "1##", "##"))))
    return f'<div>{sheet.beside("queue")}</div><div style="font-size:{sheet.size * 2.4:.0f}px;font-weight:bold;line-height:1.1">{number}</div>'


def _site(sheet: Sheet) -> str:
    return f"<div>{sheet.beside('site')}{sheet.colon} {sheet.mark('other_number', fill(sheet.rng, sheet.rng.choice(('####', '###', '#######'))))}</div>"


def _logo(sheet: Sheet) -> str:
    """A drawn sign of the shop."""
    path = sheet.rng.choice(
        (
            '<circle cx="20" cy="20" r="17"/>',
            '<path d="M3 37 L20 3 L37 37 Z"/>',
            '<path d="M20 3 L25 15 L38 15 L28 23 L32 37 L20 28 L8 37 L12 23 L2 15 L15 15 Z"/>',
            '<path d="M4 30 H36 L31 8 L24 20 L20 6 L16 20 L9 8 Z"/>',
        )
    )
    return f'<svg width="44" height="44" viewBox="0 0 40 40">{path}</svg>'


def _operator(sheet: Sheet) -> str:
    return f"<div>{sheet.named('cashier')} {html.escape(parties.person(sheet.rng, sheet.bill.region, sheet.bill.half))}</div>"


def _customer(sheet: Sheet) -> str:
    """A customer's name on a receipt, which isn't the seller's."""
    name = sheet.bill.customer.name
    return (
        f"<div>{sheet.beside('sales')}{sheet.colon} {sheet.mark('customer_name', name)}</div>" if len(name) < 24 else ""
    )


def _script(sheet: Sheet) -> str:
    """The shop's Chinese name above the Latin one."""
    if sheet.bill.region.language != "en":
        return ""
    return f"<div>{sheet.mark('brand', second_script(sheet.rng), f'font-family:Noto Sans CJK SC;font-size:{sheet.size * 1.3:.1f}px')}</div>"


PIECES: dict[str, Callable[[Sheet], str]] = {
    "firm": _firm, "small_firm": _small_firm, "firm_number": _firm_number, "shop": _shop, "brand": _brand, "owned": _owned, "former": _former, "branch": _branch,
    "address": _address, "registration": _registration, "phones": _phones, "tax": _tax, "title": _title, "stars": _stars, "moment": _moment, "queue": _queue, "site": _site,
    "logo": _logo, "operator": _operator, "customer": _customer, "script": _script,
    "slogan": lambda sheet: f'<div class="small">{sheet.beside("slogan")}</div>', "profession": lambda sheet: f'<div class="small">{sheet.beside("profession")}</div>',
    "welcome": lambda sheet: f"<div>{sheet.beside('welcome')}</div>", "web": lambda sheet: f"<div>{html.escape(sheet.bill.merchant.web)}</div>",
}  # fmt: skip


def draw_head(sheet: Sheet, name: str) -> str:
    """The head of that name in HEADS, at the left or in the middle."""
    shown = ""
    for piece in HEADS[name].pieces.split():
        if piece.startswith("?") and not sheet.chance(0.5):
            continue
        shown += PIECES[piece.removeprefix("?")](sheet)
    align = "left" if name == "contact_first" or sheet.chance(0.2) else "center"
    return f'<div style="text-align:{align}">{shown}</div>'


def named_foot(sheet: Sheet) -> str:
    """`Thank you for visiting NAME`, or the firm and its number, where the head has no name."""
    name = sheet.bill.merchant.name
    sheet.names = [name]
    if sheet.chance(0.3):
        return f'<div class="centre" style="margin-top:6px">{sheet.seller(name, cut=len(name) > 26)}{_registration(sheet)}</div>'
    before, _, after = sheet.beside("goodbye").partition("{name}")
    lines = [before.strip(), sheet.mark("merchant_name", name), after.strip()]
    if len(before + name + after) <= 30:
        return f'<div class="centre" style="margin-top:6px">{" ".join(line for line in lines if line)}</div>'
    return f'<div class="centre" style="margin-top:6px">{"".join(f"<div>{line}</div>" for line in lines if line)}</div>'
