"""An invoice's number, dates and references, printed in many ways; and its title."""

from collections.abc import Callable

from training.fields.sheet import Sheet

Entry = tuple[str, str]
"""A label without its colon, and the marked value."""


def _value(sheet: Sheet, key: str) -> str:
    bill = sheet.bill
    if key.endswith("date"):
        return sheet.date_of(key)
    if key == "period":
        joint = sheet.rng.choice((" - ", " – "))
        return joint.join(sheet.day("other_date", bill.dates[f"period_{end}"]) for end in ("begin", "end"))
    if key == "currency":
        return sheet.currency()
    if key == "customer_vat_id":
        return sheet.mark("customer_vat_id", bill.customer.vat_id)
    return sheet.mark(key, bill.numbers[key])


def entries(sheet: Sheet, *, without: tuple[str, ...] = (), most: int = 9) -> list[Entry]:
    """The pairs that this invoice prints, `most` at most; number and date first in most documents."""
    keys = ["invoice_number", "date"]
    chances = {
        "due_date": 0.55, "customer_number": 0.35, "order_number": 0.35, "delivery_date": 0.22, "order_date": 0.15, "other_number": 0.3,
        "period": 0.1, "currency": 0.07,
    }  # fmt: skip
    keys += [key for key, chance in chances.items() if sheet.chance(chance)]
    keys = [key for key in keys if key not in without][:most]
    if sheet.chance(0.4):
        sheet.rng.shuffle(keys)
    elif sheet.chance(0.25):
        keys[:2] = keys[1::-1]
    return [(sheet.label(key), _value(sheet, key)) for key in keys]


def title(sheet: Sheet, *, number: bool = False) -> str:
    """The document's title; with `number`, the invoice's number stands in it."""
    text = sheet.label("credit" if sheet.bill.credit else "invoice")
    if number:
        text += sheet.rng.choice(
            (" #", " ", " Nr. " if sheet.bill.region.language == "de" else " No. ", " – ")
        ) + sheet.mark("invoice_number", sheet.bill.numbers["invoice_number"])
    size = sheet.size * sheet.rng.choice((1.3, 1.6, 2, 2.6))
    colour = sheet.rng.choice((sheet.accent, "#000"))
    return f'<div class="title" style="font-size:{size:.0f}px;color:{colour}">{text}</div>'


def _rows(pairs: list[Entry], sheet: Sheet, css: str, joint: str = "") -> str:
    cells = "".join(f'<tr><td class="k">{key}{joint}</td><td class="v">{value}</td></tr>' for key, value in pairs)
    align = sheet.rng.choice(("left", "right"))
    return f'<table class="meta" style="{css};--align:{align}">{cells}</table>'


def _table(sheet: Sheet) -> str:
    css = sheet.rng.choice(("", "--line:1px solid #999", "--line:1px solid #ddd"))
    return _rows(entries(sheet), sheet, css, sheet.colon)


def _heads(sheet: Sheet) -> str:
    """Labels in one row, values below them."""
    pairs = entries(sheet, most=6)
    line = sheet.rng.choice(("1px solid #888", "0", "1px solid #ccc"))
    head = "".join(f"<th>{key}</th>" for key, _ in pairs)
    row = "".join(f"<td>{value}</td>" for _, value in pairs)
    return f'<table class="strip" style="--line:{line}"><tr>{head}</tr><tr>{row}</tr></table>'


def _list(sheet: Sheet) -> str:
    bold = "font-weight:bold" if sheet.chance(0.4) else ""
    return (
        '<div class="list">'
        + "".join(f'<div><span style="{bold}">{key}{sheet.colon}</span> {value}</div>' for key, value in entries(sheet))
        + "</div>"
    )


def _leaders(sheet: Sheet) -> str:
    sign = sheet.rng.choice(("dotted", "dashed"))
    rows = "".join(
        f'<div class="leader"><span>{key}</span><i style="border-bottom:1px {sign} #555"></i><span>{value}</span></div>'
        for key, value in entries(sheet)
    )
    return f'<div style="min-width:240px">{rows}</div>'


def _line(sheet: Sheet) -> str:
    """Several pairs in one line of text."""
    pairs = entries(sheet, most=4)
    joint = sheet.rng.choice((" / ", "&emsp;", " | ", ", ", "&emsp;&emsp;"))
    return f'<div class="oneline">{joint.join(f"{key}{sheet.colon} {value}" for key, value in pairs)}</div>'


def _below(sheet: Sheet) -> str:
    """Each value below its label."""
    return (
        '<div class="list">'
        + "".join(
            f'<div class="small k">{key}</div><div style="margin-bottom:5px">{value}</div>'
            for key, value in entries(sheet)
        )
        + "</div>"
    )


def _slashed(sheet: Sheet) -> str:
    """`Belegnummer/Datum 80101911/26.06.2025`."""
    pairs = [(sheet.label(key), _value(sheet, key)) for key in ("invoice_number", "date")]
    others = entries(sheet, without=("invoice_number", "date"))
    glued = f"{pairs[0][0]}/{pairs[1][0]}", f"{pairs[0][1]}/{pairs[1][1]}"
    return _rows([glued, *others], sheet, "", sheet.colon)


def _sentence(sheet: Sheet) -> str:
    """Number and date in a sentence; other pairs as a list."""
    text = sheet.label("sentence_meta").format(number=_value(sheet, "invoice_number"), date=_value(sheet, "date"))
    others = entries(sheet, without=("invoice_number", "date"))
    return f'<div class="list"><div>{text}</div>{"".join(f"<div>{key}{sheet.colon} {value}</div>" for key, value in others)}</div>'


def _titled(sheet: Sheet) -> str:
    """The title has the number; the rest is a table."""
    return title(sheet, number=True) + _rows(entries(sheet, without=("invoice_number",)), sheet, "", sheet.colon)


def _boxes(sheet: Sheet) -> str:
    """A form's boxes: a small label in the corner of each, its value below."""
    cells = [f'<div class="cell"><div class="tiny">{key}</div>{value}</div>' for key, value in entries(sheet)]
    return f'<div class="boxes">{"".join(cells)}</div>'


def _placed(sheet: Sheet) -> str:
    """Town and date at the right, and the number under the title, as letters do."""
    town = sheet.bill.merchant.address[-1].strip("0123456789 ").split(",")[0][:14]
    when = f'<div style="text-align:right">{town}, {_value(sheet, "date")}</div>'
    others = entries(sheet, without=("invoice_number", "date"), most=2)
    return f'{when}{title(sheet, number=True)}<div class="list">{"".join(f"<div>{key}{sheet.colon} {value}</div>" for key, value in others)}</div>'


def _double(sheet: Sheet) -> str:
    """A table of four columns: label, value, label, value."""
    pairs = entries(sheet)
    rows = [pairs[i : i + 2] for i in range(0, len(pairs), 2)]
    cells = "".join(
        "<tr>"
        + "".join(f'<td class="k">{key}{sheet.colon}</td><td class="v">{value}</td>' for key, value in row)
        + "</tr>"
        for row in rows
    )
    return f'<table class="meta" style="--line:1px solid #bbb;--align:left;width:100%">{cells}</table>'


METAS: dict[str, Callable[[Sheet], str]] = {
    "table": _table, "heads": _heads, "list": _list, "leaders": _leaders, "line": _line, "below": _below, "slashed": _slashed,
    "sentence": _sentence, "titled": _titled, "boxes": _boxes, "placed": _placed, "double": _double,
}  # fmt: skip
WITH_TITLE = frozenset({"titled", "placed"})
"""Ways that print the title themselves."""
WIDE = frozenset({"heads", "line", "boxes", "double"})
"""Ways that take the page's width."""
