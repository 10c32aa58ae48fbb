"""Parts of receipts: the head, date and number, and the items."""

import html
from collections.abc import Callable

from training.fields.bill import Item
from training.fields.identifiers import fill
from training.fields.parties import person
from training.fields.regions import write_number
from training.fields.sheet import Sheet


def _name(sheet: Sheet, scale: float) -> str:
    merchant = sheet.bill.merchant.name
    text = merchant.upper() if sheet.bill.region.spaced and sheet.chance(0.4) else merchant
    css = f"font-size:{sheet.size * scale:.1f}px;font-weight:{sheet.rng.choice(('bold', 'normal'))};line-height:1.2"
    return f"<div>{sheet.mark('merchant_name', text, css)}</div>"


def _address(sheet: Sheet) -> str:
    """Address, phone and tax number; some receipts leave some out."""
    merchant, pieces = sheet.bill.merchant, []
    if sheet.chance(0.9):
        pieces.append(sheet.lines("merchant_address", merchant.address))
    if sheet.chance(0.75):
        pieces.append(f"<div>{sheet.named('phone')} {sheet.mark('phone', merchant.phone)}</div>")
    if sheet.bill.mode != "none" and sheet.bill.region.country != "US" and sheet.chance(0.75):
        pieces.append(f"<div>{sheet.named('vat_id')} {sheet.mark('vat_id', merchant.vat_id)}</div>")
    if sheet.chance(0.2):
        pieces.append(
            f"<div>{sheet.named('tax_number')} {sheet.mark('other_number', fill(sheet.rng, '######-#'))}</div>"
        )
    if sheet.chance(0.15):
        pieces.append(f"<div>{html.escape(merchant.web)}</div>")
    return "".join(pieces)


def _title(sheet: Sheet) -> str:
    return (
        f'<div class="centre" style="margin:5px 0;font-weight:bold">{sheet.label("receipt")}</div>'
        if sheet.chance(0.45)
        else ""
    )


def _centred(sheet: Sheet) -> str:
    return f'<div class="centre">{_name(sheet, sheet.rng.uniform(1, 1.8))}{_address(sheet)}</div>{_title(sheet)}'


def _left(sheet: Sheet) -> str:
    return f"<div>{_name(sheet, sheet.rng.uniform(1, 1.5))}{_address(sheet)}</div>{_title(sheet)}"


def _boxed(sheet: Sheet) -> str:
    return f'<div class="centre" style="border:2px solid #000;padding:5px;margin-bottom:5px">{_name(sheet, 1.5)}</div><div class="centre">{_address(sheet)}</div>{_title(sheet)}'


def _reversed(sheet: Sheet) -> str:
    return f'<div class="centre" style="background:#000;color:#fff;padding:6px">{_name(sheet, 1.4)}</div><div class="centre">{_address(sheet)}</div>{_title(sheet)}'


def _name_last(sheet: Sheet) -> str:
    """The title comes first; the name stands under the address."""
    return f'{_title(sheet)}<div class="centre">{_address(sheet)}{_name(sheet, 1.2)}</div>'


HEADS: dict[str, Callable[[Sheet], str]] = {
    "centred": _centred,
    "left": _left,
    "boxed": _boxed,
    "reversed": _reversed,
    "name_last": _name_last,
}


def _identity(sheet: Sheet, most: int = 9) -> list[tuple[str, str]]:
    """Date, time, number, cashier, table and till, as labels and values; `most` of them at most."""
    bill, rng = sheet.bill, sheet.rng
    pairs = [(sheet.named("date"), sheet.date_of("date"))]
    if sheet.chance(0.85):
        text = bill.time + (f":{rng.randint(0, 59):02}" if sheet.chance(0.3) else "")
        pairs.append((sheet.named("time"), sheet.mark("time", text)))
    if sheet.chance(0.8):
        pairs.append((sheet.named("receipt_number"), sheet.mark("invoice_number", bill.numbers["invoice_number"])))
    if sheet.chance(0.4):
        pairs.append((sheet.named("till"), sheet.mark("other_number", fill(rng, rng.choice(("#", "##", "####"))))))
    if sheet.chance(0.4):
        pairs.append((sheet.named("cashier"), html.escape(person(rng, bill.region, bill.half).split()[0])))
    if bill.trade == "dishes" and sheet.chance(0.7):
        pairs.append((sheet.named("table"), str(rng.randint(1, 40))))
    if bill.trade == "fuel":
        pairs.append((sheet.named("pump"), str(rng.randint(1, 12))))
    del pairs[most:]
    if sheet.chance(0.3):
        rng.shuffle(pairs)
    return pairs


def _pairs(sheet: Sheet) -> str:
    """Two pairs a line, at both ends."""
    cells = [f"<span>{key} {value}</span>" for key, value in _identity(sheet)]
    return "".join(f'<div class="pairs">{"".join(cells[i : i + 2])}</div>' for i in range(0, len(cells), 2))


def _one_line(sheet: Sheet) -> str:
    """Date and time without labels at the ends of a line, the rest below."""
    bill = sheet.bill
    first = f'<div class="pairs"><span>{sheet.date_of("date")}</span><span>{sheet.mark("time", bill.time)}</span></div>'
    number = (
        f"<div>{sheet.named('receipt_number')} {sheet.mark('invoice_number', bill.numbers['invoice_number'])}</div>"
        if sheet.chance(0.7)
        else ""
    )
    return first + number


def _rows(sheet: Sheet) -> str:
    return "".join(f"<div>{key} {value}</div>" for key, value in _identity(sheet))


def _bare(sheet: Sheet) -> str:
    """Date, time and numbers in one line without labels, as many tills print it."""
    bill, rng = sheet.bill, sheet.rng
    number = sheet.mark("invoice_number", bill.numbers["invoice_number"]) if sheet.chance(0.6) else ""
    till = sheet.mark("other_number", fill(rng, "##"))
    return f'<div class="centre">{sheet.date_of("date")} {sheet.mark("time", bill.time)} {number} {till}</div>'


def _stacked(sheet: Sheet) -> str:
    """Each value at the right end below its label."""
    return "".join(f'<div>{key}</div><div style="text-align:right">{value}</div>' for key, value in _identity(sheet))


def _table(sheet: Sheet) -> str:
    """Labels in one row, values below them."""
    pairs = _identity(sheet, 3)
    return f"<table><tr>{''.join(f'<th>{key}</th>' for key, _ in pairs)}</tr><tr>{''.join(f'<td>{value}</td>' for _, value in pairs)}</tr></table>"


def _aligned(sheet: Sheet) -> str:
    """Labels in a column, then colons, then values."""
    colon = (sheet.colon or ":").strip()
    rows = "".join(
        f"<tr><td style='white-space:nowrap'>{key.removesuffix(sheet.colon)}</td><td>{colon}</td><td style='width:70%'>{value}</td></tr>"
        for key, value in _identity(sheet)
    )
    return f"<table>{rows}</table>"


def _packed(sheet: Sheet) -> str:
    """Labels and values one after another, as many as a line takes."""
    joint = sheet.rng.choice((" ", "&emsp;", " / ", " - "))
    return f"<div>{joint.join(f'<span>{key} {value}</span>' for key, value in _identity(sheet))}</div>"


WHENS: dict[str, Callable[[Sheet], str]] = {
    "pairs": _pairs,
    "one_line": _one_line,
    "rows": _rows,
    "bare": _bare,
    "stacked": _stacked,
    "table": _table,
    "aligned": _aligned,
    "packed": _packed,
}


def _count(sheet: Sheet, item: Item) -> str:
    unit = {"kg": "kg", "l": "l"}.get(item.unit, "")
    price = sheet.mark("unit_price", _unit_price(sheet, item))
    return f"{sheet.mark('quantity', sheet.quantity(item))}{unit} {sheet.rng.choice(('x', '×', '@', 'X'))} {price}"


def _unit_price(sheet: Sheet, item: Item) -> str:
    exponent = -int(item.unit_price.normalize().as_tuple().exponent)
    return write_number(item.unit_price, sheet.bill.region, places=max(sheet.bill.region.decimals, exponent))


def line(left: str, right: str) -> str:
    """A row with a value at its right end."""
    return f'<tr><td>{left}</td><td class="v">{right}</td></tr>'


def _items_plain(
    sheet: Sheet, *, letters: bool = False, codes: bool = False, counted: bool = False, two: bool = False
) -> str:
    """Items with what each layout adds: tax letters, codes, the quantity before, or a second line."""
    sheet.columns |= {"description", "amount"} | ({"quantity"} if counted else set())
    rates = [part.rate for part in sheet.bill.sums.taxes]
    rows = ""
    for number, item in enumerate(sheet.bill.items):
        description = sheet.mark("item_description", item.description)
        many = item.quantity != 1
        if counted:
            description = f"{sheet.mark('quantity', sheet.quantity(item))} {description}"
        amount = sheet.money("item_amount", item.amount, item=True)
        if letters and rates:
            amount += f" {'ABC'[rates.index(item.rate)]}"
        if codes:
            description = f"{sheet.mark('item_code', fill(sheet.rng, '########'))}<br>{description}"
        if two and (many or item.unit in {"kg", "l"}):
            rows += f'<tr><td colspan="2">{description}</td></tr>{line("&nbsp;&nbsp;" + _count(sheet, item), amount)}'
        elif many and not counted:
            rows += f"{line(description, amount)}<tr><td colspan=2>&nbsp;&nbsp;{_count(sheet, item)}</td></tr>"
        else:
            rows += line(description, amount)
            sheet.single |= set() if counted else {number}
    if not counted:
        sheet.columns |= {"quantity", "unit_price"}
    return f"<table>{rows}</table>"


def _items_table(sheet: Sheet) -> str:
    """A table with heads: description, quantity, price, amount."""
    sheet.columns |= {"description", "quantity", "unit_price", "amount"}
    heads = "".join(
        f'<th class="{"" if c == "description" else "v"}">{sheet.label(c)}</th>'
        for c in ("description", "quantity", "unit_price", "amount")
    )
    rows = ""
    for item in sheet.bill.items:
        price = sheet.mark("unit_price", _unit_price(sheet, item))
        rows += (
            f"<tr><td>{sheet.mark('item_description', item.description)}</td><td class=v>{sheet.mark('quantity', sheet.quantity(item))}</td>"
            f"<td class=v>{price}</td><td class=v>{sheet.money('item_amount', item.amount, item=True)}</td></tr>"
        )
    return f"<table><tr>{heads}</tr>{rows}</table>"


LINES: dict[str, Callable[[Sheet], str]] = {
    "one_line": _items_plain,
    "two_lines": lambda sheet: _items_plain(sheet, two=True),
    "lettered": lambda sheet: _items_plain(sheet, letters=True, two=True),
    "counted": lambda sheet: _items_plain(sheet, counted=True),
    "coded": lambda sheet: _items_plain(sheet, codes=True, two=True),
    "table": _items_table,
}  # fmt: skip
