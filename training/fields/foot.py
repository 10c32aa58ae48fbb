"""What stands below an invoice's sums: terms, accounts, imprints and payment slips."""

import base64
import html
import io
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import zxingcpp
from PIL import Image
from training.fields.identifiers import fill
from training.fields.issuer import account, contact, tax_numbers
from training.fields.regions import write_number
from training.fields.sheet import Sheet


def terms(sheet: Sheet) -> str:
    """Terms of payment and thanks, in some documents."""
    bill, pieces = sheet.bill, []
    if bill.trade == "goods" and sheet.chance(0.12):
        weight = write_number(Decimal(sheet.rng.randint(5, 9000)) / 10, bill.region, places=1)
        pieces.append(f"{sheet.named('weight')} {sheet.mark('other_number', f'{weight} kg')}")
    if bill.trade == "goods" and sheet.chance(0.08):
        pieces.append(
            f"{sheet.named('count')} {sheet.mark('quantity', f'{sum(item.quantity for item in bill.items):f}')}"
        )
    days = (bill.dates["due_date"] - bill.dates["date"]).days
    if sheet.chance(0.65):
        text = sheet.label("terms")
        dated = sheet.date_of("due_date") if "{date}" in text else ""
        pieces.append(text.format(days=days, date=dated))
    if sheet.chance(0.4):
        pieces.append(sheet.label("thanks"))
    return f'<div class="terms">{"".join(f"<p>{piece}</p>" for piece in pieces)}</div>' if pieces else ""


def _bank(sheet: Sheet) -> str:
    """The account as a block of lines in the text."""
    return f'<div class="terms">{"".join(f"<div>{piece}</div>" for piece in account(sheet, sheet.bill.merchant))}</div>'


def _line(sheet: Sheet) -> str:
    merchant = sheet.bill.merchant
    pieces = [sheet.mark("merchant_name", merchant.name)] if sheet.chance(0.6) else []
    pieces += [
        *contact(sheet, merchant),
        *tax_numbers(sheet, merchant),
        *(account(sheet, merchant) if sheet.chance(0.6) else []),
    ]
    joint = sheet.rng.choice((" · ", " | ", " – ", "&emsp;"))
    return f'<div class="foot small" style="text-align:center">{joint.join(pieces)}</div>'


def imprint(sheet: Sheet, *, with_name: bool = True) -> str:
    """Columns of small print: name and address, contact, register, bank."""
    merchant = sheet.bill.merchant
    first = (
        [f"<div>{sheet.mark('merchant_name', merchant.name)}</div>{sheet.lines('merchant_address', merchant.address)}"]
        if with_name
        else []
    )
    office = tax_numbers(sheet, merchant)
    if sheet.chance(0.6):
        office.append(f"{sheet.label('register')} {sheet.mark('other_number', fill(sheet.rng, '######'))}")
    if sheet.chance(0.6):
        office.append(f"{sheet.named('director')} {html.escape(merchant.person)}")
    columns = [contact(sheet, merchant), office, account(sheet, merchant)]
    blocks = first + ["".join(f"<div>{piece}</div>" for piece in column) for column in columns if column]
    return f'<div class="foot small imprint">{"".join(f"<div>{block}</div>" for block in blocks)}</div>'


def _nothing(sheet: Sheet) -> str:
    del sheet
    return ""


def _qr(text: str) -> str:
    """A QR code as the address of its data."""
    code = zxingcpp.create_barcode(text, zxingcpp.BarcodeFormat.QRCode)
    buffer = io.BytesIO()
    Image.fromarray(np.asarray(zxingcpp.write_barcode_to_image(code, scale=3))).save(buffer, "PNG")
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def _swiss_code(sheet: Sheet) -> str:
    """The text of a Swiss QR bill, version 2.0, with addresses as lines."""
    bill = sheet.bill
    amount = bill.sums.due if bill.sums.due is not None else bill.sums.total
    sides = []
    for party in (bill.merchant, bill.customer):
        street, town = party.address[0], party.address[-1]
        sides.append(["K", party.name[:70], street, town, "", "", "CH"])
    head = ["SPC", "0200", "1", bill.merchant.iban.replace(" ", "")]
    return "\r\n".join(
        [
            *head,
            *sides[0],
            *[""] * 7,
            f"{max(amount, bill.region.unit):.2f}",
            "CHF",
            *sides[1],
            "NON",
            "",
            bill.numbers["invoice_number"],
            "EPD",
        ]
    )


_SLIP_WORDS = {
    "de": (
        "Empfangsschein",
        "Zahlteil",
        "Konto / Zahlbar an",
        "Zahlbar durch",
        "Währung",
        "Betrag",
        "Zusätzliche Informationen",
    ),
    "fr": (
        "Récépissé",
        "Section paiement",
        "Compte / Payable à",
        "Payable par",
        "Monnaie",
        "Montant",
        "Informations supplémentaires",
    ),
    "it": (
        "Ricevuta",
        "Sezione pagamento",
        "Conto / Pagabile a",
        "Pagabile da",
        "Valuta",
        "Importo",
        "Informazioni supplementari",
    ),
}


def _swiss_slip(sheet: Sheet) -> str:
    bill, words = sheet.bill, _SLIP_WORDS[sheet.bill.region.language]
    role, amount = ("due", bill.sums.due) if bill.sums.due is not None else ("total", bill.sums.total)

    def sides() -> tuple[str, str]:
        seller = f"<b>{words[2]}</b><div>{sheet.mark('iban', bill.merchant.iban)}</div><div>{sheet.mark('merchant_name', bill.merchant.name)}</div>{sheet.lines('merchant_address', bill.merchant.address)}"
        buyer = f"<b>{words[3]}</b><div>{sheet.mark('customer_name', bill.customer.name)}</div>{sheet.lines('customer_address', bill.customer.address)}"
        return seller, buyer

    def money() -> str:
        return f'<div class="pair2"><div><b>{words[4]}</b><div>{sheet.currency()}</div></div><div><b>{words[5]}</b><div>{sheet.money(role, amount, bare=True)}</div></div></div>'

    left, right = sides(), sides()
    info = f"<b>{words[6]}</b><div>{sheet.mark('invoice_number', bill.numbers['invoice_number'])}</div>"
    return (
        f'<div class="slip small"><div class="slipleft"><b>{words[0]}</b><br><br>{left[0]}<br>{left[1]}<br>{money()}</div>'
        f'<div><b>{words[1]}</b><br><br><img src="{_qr(_swiss_code(sheet))}" style="width:150px"><br><br>{money()}</div>'
        f"<div>{right[0]}<br>{info}<br>{right[1]}</div></div>"
    )


def _slip(sheet: Sheet) -> str:
    """A payment slip: Switzerland's with its QR code, elsewhere a form for a transfer."""
    bill = sheet.bill
    if bill.region.country == "CH" and not bill.credit:
        return _swiss_slip(sheet)
    role, amount = ("due", bill.sums.due) if bill.sums.due is not None else ("total", bill.sums.total)
    number = sheet.mark("invoice_number", bill.numbers["invoice_number"])
    pairs = [
        (sheet.label("from"), sheet.mark("merchant_name", bill.merchant.name)),
        (sheet.label("iban"), sheet.mark("iban" if bill.merchant.has_iban else "other_number", bill.merchant.iban)),
        (sheet.label("amount"), sheet.money(role, amount)),
        (sheet.label("invoice_number"), number),
        (sheet.label("bill_to"), sheet.mark("customer_name", bill.customer.name)),
    ]
    cells = "".join(f'<div class="cell"><div class="tiny">{key}</div>{value}</div>' for key, value in pairs)
    return (
        f'<div class="foot" style="border-top:1px dashed #555;padding-top:8px"><div class="boxes">{cells}</div></div>'
    )


def _stub(sheet: Sheet) -> str:
    """A stub to tear off and send with the payment."""
    bill = sheet.bill
    role, amount = ("due", bill.sums.due) if bill.sums.due is not None else ("total", bill.sums.total)
    left = f"<div>{sheet.mark('merchant_name', bill.merchant.name)}</div>{sheet.lines('merchant_address', bill.merchant.address)}"
    right = f"<div>{sheet.named('invoice_number')} {sheet.mark('invoice_number', bill.numbers['invoice_number'])}</div><div>{sheet.named('customer_number')} {sheet.mark('customer_number', bill.numbers['customer_number'])}</div><div>{sheet.named('due')} <b>{sheet.money(role, amount)}</b></div>"
    return f'<div class="foot row" style="border-top:2px dashed #444;padding-top:10px"><div>{left}</div><div>{right}</div></div>'


FEET: dict[str, Callable[[Sheet], str]] = {
    "imprint": imprint, "line": _line, "nothing": _nothing, "slip": _slip, "stub": _stub, "bank": _bank,
}  # fmt: skip
