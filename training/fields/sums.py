"""An invoice's sums: net, tax by rate, total and what is due, printed in many ways."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from training.fields.bill import Tax
from training.fields.regions import in_chinese, write_number
from training.fields.sheet import Sheet


@dataclass(frozen=True, slots=True)
class Row:
    """A label and a marked amount."""

    label: str
    value: str
    strong: bool = False


def tax_label(sheet: Sheet, part: Tax) -> str:
    """`VAT 20%` and its like; with the base in some documents."""
    name, rate = sheet.label("tax"), sheet.rate(part.rate)
    form = sheet.rng.choice(("{name} {rate}", "{name} ({rate})", "{rate} {name}", "{name} {rate}"))
    text = form.format(name=name, rate=rate)
    if len(sheet.bill.sums.taxes) > 1 and sheet.chance(0.3):
        text += f" ({sheet.label('tax_base')} {sheet.money('tax_base', part.base, bare=True)})"
    return text


def _halves(sheet: Sheet, part: Tax) -> list[tuple[str, Decimal]]:
    """India's central and state tax."""
    half = write_number(Decimal(part.rate) / 2, sheet.bill.region, places=1 if Decimal(part.rate) % 2 else 0)
    central = (part.tax / 2).quantize(sheet.bill.region.unit)
    return [(f"CGST @ {half}%", central), (f"SGST @ {half}%", part.tax - central)]


def tax_rows(sheet: Sheet, *, table: bool) -> list[Row]:
    """The tax: one line a rate, their sum, or both. With a `table` by rate the sum is enough."""
    taxes = sheet.bill.sums.taxes
    parts = [(tax_label(sheet, part), part.tax) for part in taxes] if not table else []
    if sheet.bill.region.country == "IN" and not table and sheet.chance(0.6):
        parts = [pair for part in taxes for pair in _halves(sheet, part)]
    if len(parts) == 1:
        name = parts[0][0] if sheet.chance(0.8) else sheet.label("tax")
        return [Row(name, sheet.money("tax", parts[0][1]))]
    summed = table or sheet.chance(0.35)
    rows = [Row(name, sheet.money("tax_part" if summed else "tax", tax)) for name, tax in parts]
    if summed:
        return [*rows, Row(sheet.label("tax"), sheet.money("tax", sheet.bill.sums.tax))]
    sheet.unsummed = [tax for _, tax in parts]
    return rows


def _before_tax(sheet: Sheet) -> list[Row]:
    """The sum of the items, discount, shipping and the net amount."""
    bill, sums, rows = sheet.bill, sheet.bill.sums, []
    extras = sums.discount is not None or sums.shipping is not None
    net_line = (bill.mode == "added" and (not extras or sheet.chance(0.6))) or (
        bill.mode in {"zero", "none"} and sheet.chance(0.4)
    )
    if extras and (bill.mode == "included" or net_line):
        rows.append(Row(sheet.label("items_sum"), sheet.money("other_amount", sums.items)))
    elif extras:
        sheet.overrides["subtotal"] = sums.items
        rows.append(Row(sheet.label("subtotal"), sheet.money("subtotal", sums.items)))
    if sums.discount is not None:
        name = sheet.label("discount") + (f" {sheet.rate(sums.discount_rate)}" if sums.discount_rate else "")
        rows.append(Row(name, sheet.money("discount", -sums.discount if sheet.chance(0.8) else sums.discount)))
    if sums.shipping is not None:
        rows.append(Row(sheet.label("shipping"), sheet.money("shipping", sums.shipping)))
    if net_line:
        rows.append(Row(sheet.label("subtotal"), sheet.money("subtotal", sums.subtotal)))
    return rows


def after_total(sheet: Sheet) -> list[Row]:
    """A deposit or a previous balance, and what is due."""
    sums, rows = sheet.bill.sums, []
    if sums.due is None:
        return []
    if sums.paid is not None:
        rows.append(Row(sheet.label("paid"), sheet.money("paid", -sums.paid if sheet.chance(0.5) else sums.paid)))
    if sums.previous is not None:
        rows.append(Row(sheet.label("previous"), sheet.money("other_amount", sums.previous)))
    rows.append(Row(sheet.label("due"), sheet.money("due", sums.due), strong=True))
    return rows


def sum_rows(sheet: Sheet, *, table: bool = False) -> list[Row]:
    """All rows in order. Where prices include tax, it stands below the total."""
    bill, sums = sheet.bill, sheet.bill.sums
    rows = _before_tax(sheet)
    total = Row(sheet.label("total") + _total_suffix(sheet), sheet.money("total", sums.total), strong=True)
    if bill.mode == "added":
        rows += [*tax_rows(sheet, table=table), total]
    elif bill.mode == "included":
        tax = tax_rows(sheet, table=table)
        net = [Row(sheet.label("subtotal"), sheet.money("subtotal", sums.subtotal))] if sheet.chance(0.5) else []
        rows += [*net, *tax, total] if net and sheet.chance(0.5) else [total, *net, *tax]
    elif bill.mode == "zero" and sheet.chance(0.6):
        rows += [Row(f"{sheet.label('tax')} {sheet.rate('0')}", sheet.money("tax", Decimal(0))), total]
    else:
        rows.append(total)
    return [*rows, *after_total(sheet)]


def _total_suffix(sheet: Sheet) -> str:
    return f" ({sheet.currency()})" if sheet.sign == "0" and sheet.chance(0.35) else ""


def _notes(sheet: Sheet) -> str:
    return f'<p class="small">{sheet.label("reverse")}</p>' if sheet.bill.mode == "zero" else ""


def _table(sheet: Sheet, rows: list[Row], css: str) -> str:
    strong = sheet.rng.choice(
        (
            "font-weight:bold",
            f"font-weight:bold;border-top:1px solid {sheet.accent}",
            f"font-weight:bold;font-size:{sheet.size * 1.25:.1f}px",
            f"background:{sheet.accent};color:#fff",
            "",
        )
    )
    joint = sheet.colon if sheet.chance(0.5) else ""
    cells = "".join(
        f'<tr style="{strong if row.strong else ""}"><td>{row.label}{joint}</td><td class="v">{row.value}</td></tr>'
        for row in rows
    )
    return f'<table class="sums" style="{css}">{cells}</table>'


def _right(sheet: Sheet) -> str:
    width = sheet.rng.choice((38, 42, 48, 55))
    return _table(sheet, sum_rows(sheet), f"margin-left:auto;width:{width}%") + _notes(sheet)


def _left(sheet: Sheet) -> str:
    return _table(sheet, sum_rows(sheet), f"width:{sheet.rng.choice((42, 50))}%") + _notes(sheet)


def _wide(sheet: Sheet) -> str:
    """Labels at the left edge, amounts at the right one."""
    return _table(
        sheet, sum_rows(sheet), f"width:100%;--under:1px solid {sheet.rng.choice(('#ccc', '#fff'))}"
    ) + _notes(sheet)


def _strip(sheet: Sheet) -> str:
    """One row of heads above values: `Net | VAT % | VAT | Gross`; what follows the total stands below."""
    sums = sheet.bill.sums
    if len(sums.taxes) != 1 or sums.discount is not None or sums.shipping is not None:
        return _rate_table(sheet)
    part = sums.taxes[0]
    cells = [
        (sheet.label("subtotal"), sheet.money("subtotal", part.base)),
        (f"{sheet.label('rate')}", sheet.mark("tax_rate", sheet.rate(part.rate))),
        (sheet.label("tax"), sheet.money("tax", part.tax)),
        (sheet.label("total"), sheet.money("total", sums.total)),
    ]
    if sheet.chance(0.3):
        del cells[1]
    line = sheet.rng.choice(("1px solid #666", "1px solid #ccc", "0"))
    html = f'<table class="strip" style="--line:{line}"><tr>{"".join(f"<th>{k}</th>" for k, _ in cells)}</tr><tr>{"".join(f"<td>{v}</td>" for _, v in cells)}</tr></table>'
    rest = after_total(sheet)
    return html + (_table(sheet, rest, "margin-left:auto;width:40%") if rest else "")


def rate_table(sheet: Sheet, role: str) -> str:
    """Rate, base, tax and gross by rate. The taxes have `role`."""
    taxes = sheet.bill.sums.taxes
    with_gross = sheet.chance(0.5)
    heads = [
        sheet.label("rate"),
        sheet.label("tax_base"),
        sheet.label("tax"),
        *([sheet.label("gross")] if with_gross else []),
    ]
    rows = ""
    for part in taxes:
        cells = [
            sheet.mark("tax_rate", sheet.rate(part.rate)),
            sheet.money("tax_base", part.base, bare=True),
            sheet.money(role, part.tax, bare=True),
        ]
        if with_gross:
            cells.append(
                sheet.money(
                    "total"
                    if len(taxes) == 1 and sheet.bill.sums.tip is None and not sheet.bill.sums.rounding
                    else "other_amount",
                    part.base + part.tax,
                    bare=True,
                )
            )
        rows += f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    return f'<table class="rates"><tr>{"".join(f"<th>{head}</th>" for head in heads)}</tr>{rows}</table>'


def _rate_table(sheet: Sheet) -> str:
    """A summary of tax by rate beside the sums, or below them."""
    if not sheet.bill.sums.taxes:
        return _right(sheet)
    by_rate = rate_table(sheet, "tax_part" if len(sheet.bill.sums.taxes) > 1 else "tax")
    right = _table(sheet, sum_rows(sheet, table=True), "margin-left:auto;min-width:230px")
    return (
        f'<div class="row"><div>{by_rate}</div><div>{right}</div></div>'
        if sheet.chance(0.7)
        else f"{right}<br>{by_rate}"
    )


def _sentence(sheet: Sheet) -> str:
    """Lines of text, and the total in a sentence."""
    rows = [row for row in sum_rows(sheet) if not row.strong]
    lines = "".join(f"<div>{row.label}{sheet.colon} {row.value}</div>" for row in rows)
    text = sheet.label("sentence_total").format(amount=f"<b>{sheet.money('total', sheet.bill.sums.total)}</b>")
    rest = after_total(sheet)[-1:] if sheet.bill.sums.due is not None else []
    return f'<div style="margin-top:8px">{lines}<p>{text}</p>{"".join(f"<p>{r.label}{sheet.colon} {r.value}</p>" for r in rest)}</div>{_notes(sheet)}'


def top_box(sheet: Sheet) -> str:
    """The box at the page's top with the amount that is due."""
    sums = sheet.bill.sums
    role, value = ("due", sums.due) if sums.due is not None else ("total", sums.total)
    box = f'<div class="small">{sheet.label("due")}</div><div style="font-size:{sheet.size * 1.7:.0f}px;font-weight:bold">{sheet.money(role, value)}</div>'
    return f'<div class="topbox" style="border:{sheet.rng.choice((1, 2))}px solid {sheet.accent}">{box}</div>'


def _bar(sheet: Sheet) -> str:
    """All sums side by side in one bar, each below its label."""
    rows = sum_rows(sheet)
    cells = "".join(
        f'<div style="{"font-weight:bold" if row.strong else ""}"><div class="tiny">{row.label}</div>{row.value}</div>'
        for row in rows
    )
    return f'<div class="bar" style="border-top:2px solid {sheet.accent};border-bottom:1px solid {sheet.accent}">{cells}</div>{_notes(sheet)}'


def _big(sheet: Sheet) -> str:
    """The total in large figures above its label, the other sums in small print."""
    sums = sheet.bill.sums
    small = "".join(f"<div>{row.label}{sheet.colon} {row.value}</div>" for row in sum_rows(sheet) if not row.strong)
    large = f'<div style="font-size:{sheet.size * 2.2:.0f}px;color:{sheet.accent}">{sheet.money("total", sums.total)}</div><div>{sheet.label("total")}</div>'
    rest = "".join(f"<div><b>{row.label}{sheet.colon} {row.value}</b></div>" for row in after_total(sheet)[-1:])
    return f'<div class="row" style="align-items:flex-end;margin-top:14px"><div class="small">{small}</div><div style="text-align:right">{large}{rest}</div></div>{_notes(sheet)}'


def _labels_right(sheet: Sheet) -> str:
    """Amounts first, their labels after them."""
    cells = "".join(
        f'<tr><td class="v" style="{"font-weight:bold" if row.strong else ""}">{row.value}</td><td>{row.label}</td></tr>'
        for row in sum_rows(sheet)
    )
    return f'<table class="sums" style="margin-left:auto">{cells}</table>{_notes(sheet)}'


def _worded(sheet: Sheet) -> str:
    """The sums, and below them the total in a sentence; in Chinese in words too."""
    total = sheet.bill.sums.total
    rows = _table(sheet, sum_rows(sheet), f"margin-left:auto;width:{sheet.rng.choice((40, 50))}%")
    amount = f"<b>{sheet.money('total', total)}</b>"
    if sheet.bill.region.language == "zh" and total >= 0 and sheet.chance(0.7):
        form = sheet.rng.choice(
            (
                "合计（大写）：{words}　（小写）{amount}",
                "人民币（大写）{words}，小写{amount}",
                "总计金额{words}（{amount}）",
            )
        )
        return f"{rows}<p>{form.format(words=in_chinese(total), amount=amount)}</p>{_notes(sheet)}"
    return f"{rows}<p>{sheet.label('sentence_total').format(amount=amount)}</p>{_notes(sheet)}"


SUMS: dict[str, Callable[[Sheet], str]] = {
    "right": _right, "left": _left, "wide": _wide, "strip": _strip, "by_rate": _rate_table, "sentence": _sentence, "worded": _worded,
    "bar": _bar, "big": _big, "labels_right": _labels_right,
}  # fmt: skip


def last_rows(sheet: Sheet, columns: int) -> str:
    """The sums as the last rows of a table of `columns`."""
    cells = ""
    for row in sum_rows(sheet):
        weight = ' style="font-weight:bold"' if row.strong else ""
        cells += f'<tr class="sumrow"{weight}><td colspan="{max(1, columns - 1)}" style="text-align:right">{row.label}</td><td class="amount">{row.value}</td></tr>'
    return cells
