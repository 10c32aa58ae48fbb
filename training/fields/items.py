"""The lines of an invoice: tables with many orders of columns, and lists of text."""

import html
from collections.abc import Callable
from dataclasses import dataclass

from training.fields.bill import Item
from training.fields.regions import write_money
from training.fields.sheet import Sheet

_UNITS = {
    "pc": {"de": "Stk.", "fr": "pce", "it": "pz", "es": "ud", "pt": "un", "nl": "st", "pl": "szt.", "cs": "ks", "sv": "st", "zh": "件", "ja": "個"},
    "h": {"de": "Std.", "pl": "godz.", "nl": "uur", "zh": "小时", "ja": "時間"}, "l": {"zh": "升"}, "kg": {}, "": {"zh": "项", "ja": "式"},
}  # fmt: skip
_DEFAULT_UNITS = {"pc": "pcs", "h": "h", "l": "l", "kg": "kg", "": ""}
_ORDERS = (
    ("description", "quantity", "unit_price", "amount"), ("quantity", "description", "unit_price", "amount"),
    ("pos", "description", "quantity", "unit_price", "amount"), ("pos", "code", "description", "quantity", "unit", "unit_price", "amount"),
    ("code", "description", "quantity", "unit_price", "amount"), ("description", "unit_price", "quantity", "amount"),
    ("pos", "quantity", "unit", "description", "unit_price", "amount"), ("quantity", "code", "description", "unit_price", "amount"),
    ("pos", "description", "unit", "quantity", "unit_price", "amount"), ("description", "quantity", "amount"), ("description", "amount"),
)  # fmt: skip


def unit(sheet: Sheet, item: Item) -> str:
    return _UNITS[item.unit].get(sheet.bill.region.language, _DEFAULT_UNITS[item.unit])


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of an items table, which sums may join."""

    css: str
    head: str
    rows: tuple[str, ...]
    columns: int


def _order(sheet: Sheet) -> list[str]:
    """The columns, with those for discounts and rates of tax where there is something to tell."""
    bill = sheet.bill
    order = list(sheet.rng.choice(_ORDERS if len(bill.items) < 6 else _ORDERS[:9]))
    if any(item.discount for item in bill.items):
        order = order if "unit_price" in order else list(_ORDERS[0])
        order.insert(order.index("amount"), "discount")
    if bill.mode in {"added", "included"} and sheet.chance(0.75 if len(bill.sums.taxes) > 1 else 0.25):
        order.insert(order.index("amount"), "rate")
    return order


def _cell(  # noqa: PLR0911 - one case a column
    sheet: Sheet, column: str, item: Item, number: int, *, detailed: bool
) -> str:
    match column:
        case "pos":
            return str(number)
        case "code":
            return sheet.mark("item_code", item.code)
        case "description":
            detail = f'<div class="detail">{html.escape(item.detail)}</div>' if detailed else ""
            return sheet.mark("item_description", item.description) + detail
        case "quantity":
            return sheet.mark("quantity", sheet.quantity(item))
        case "unit":
            return unit(sheet, item)
        case "unit_price":
            return sheet.money("unit_price", item.unit_price, item=True)
        case "discount":
            return f"{item.discount:f}%" if item.discount else ""
        case "rate":
            return sheet.mark("tax_rate", sheet.rate(item.rate))
        case _:
            return sheet.money("item_amount", item.amount, item=True)


def table(sheet: Sheet, css: str) -> Table:
    """The head and the rows; the printed columns are noted on the sheet."""
    order = _order(sheet)
    sheet.columns |= set(order)
    with_currency = sheet.item_sign == "0" and sheet.chance(0.2)
    head = ""
    for column in order:
        name = sheet.label(column)
        if with_currency and column == "amount":
            name += f" ({sheet.currency()})"
        head += f'<th class="{column}">{name}</th>'
    detailed = sheet.chance(0.25)
    rows = []
    for number, item in enumerate(sheet.bill.items, 1):
        shown = detailed and sheet.chance(0.7)
        cells = (f'<td class="{c}">{_cell(sheet, c, item, number, detailed=shown)}</td>' for c in order)
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return Table(css, head, tuple(rows), len(order))


def written(made: Table, last_rows: str = "") -> str:
    """The table's HTML; `last_rows` stand below the items."""
    return f'<table class="items" style="{made.css}"><thead><tr>{made.head}</tr></thead><tbody>{"".join(made.rows)}{last_rows}</tbody></table>'


def _ruled(sheet: Sheet) -> Table:
    colour = sheet.rng.choice(("#000", "#999", "#ccc"))
    return table(sheet, f"--grid:1px solid {colour};--head:{sheet.rng.choice(('#eee', '#fff', '#dde4ee'))}")


def _lined(sheet: Sheet) -> Table:
    return table(
        sheet, f"--under:1px solid {sheet.rng.choice(('#bbb', '#ddd', '#555'))};--headline:2px solid {sheet.accent}"
    )


def _striped(sheet: Sheet) -> Table:
    return table(
        sheet, f"--stripe:{sheet.rng.choice(('#f2f2f2', '#eef3f8', '#f7f3ea'))};--head:{sheet.accent};--ink:#fff"
    )


def _open(sheet: Sheet) -> Table:
    return table(sheet, f"--headline:1px solid {sheet.rng.choice(('#000', '#888', 'transparent'))}")


TABLES: dict[str, Callable[[Sheet], Table]] = {"ruled": _ruled, "lined": _lined, "striped": _striped, "open": _open}


def text_lines(sheet: Sheet) -> str:
    """Items as lines of text: the description, and the amount at the right."""
    sheet.columns |= {"description", "amount"}
    intro = f"<p>{sheet.label('intro')}:</p>" if sheet.chance(0.6) else ""
    rows = ""
    for item in sheet.bill.items:
        description = sheet.mark("item_description", item.description)
        rows += f'<div class="leader"><span>{description}</span><i></i><span>{sheet.money("item_amount", item.amount, item=True)}</span></div>'
    return f'{intro}<div class="lines">{rows}</div>'


def cards(sheet: Sheet) -> str:
    """Each item in two lines: what it is, then quantity, price and amount."""
    sheet.columns |= {"description", "quantity", "unit_price", "amount"}
    rows = ""
    for item in sheet.bill.items:
        first = f"<b>{sheet.mark('item_description', item.description)}</b>"
        count = f"{sheet.mark('quantity', sheet.quantity(item))} {unit(sheet, item)} × {sheet.money('unit_price', item.unit_price, item=True)}"
        less = f" (-{write_money(item.discount, sheet.bill.region, '0')} %)" if item.discount else ""
        amount = sheet.money("item_amount", item.amount, item=True)
        rows += f'<div class="card"><div>{first}</div><div class="leader"><span>{count}{less}</span><i></i><span>{amount}</span></div></div>'
    return f'<div class="lines">{rows}</div>'
