"""Letters and invoices."""

from training.layout import business as b
from training.layout import parts, tables
from training.layout.drawing import Draw, Page, make_draw, page
from training.layout.parts import AFTER, BEFORE, block, number, paragraph, title


def lines(draw: Draw, texts: list[str]) -> str:
    return "<br>".join(draw.text(text) for text in texts)


def letterhead(draw: Draw, name: str) -> str:
    """The issuer on top: name, perhaps a slogan and an address beside or under it, perhaps a logo."""
    theme = draw.theme
    big = f"font:bold {draw.between(16, 30)}px/1.15 '{theme.title_font}';color:{theme.accent}"
    mark = ""
    if draw.chance(0.4):
        size = draw.rng.randint(28, 60)
        shape = draw.pick(
            f'<circle cx="{size / 2}" cy="{size / 2}" r="{size / 2.2}"/>',
            f'<rect width="{size}" height="{size * 0.8}"/>',
            f'<path d="M0 {size}L{size / 2} 0L{size} {size}Z"/>',
        )
        mark = f'<div data-t="figure" style="width:{size}px"><svg width="{size}" height="{size}" fill="{theme.accent}" style="display:block">{shape}</svg></div>'
    head = block("header", draw.text(name), style=big)
    detail = [b.street(draw), b.city(draw), f"{b.label(draw, 'phone')} {b.phone(draw)}", b.email(draw)]
    where = lines(draw, detail[: draw.rng.randint(2, 4)])
    beside = draw.chance(0.5)
    small = (
        block("header", where, style=f"font-size:0.82em;text-align:{'end' if beside else 'start'}")
        if draw.chance(0.7)
        else ""
    )
    layout = draw.pick("row", "row", "row-reverse") if beside else "column"
    rule = draw.pick("", f"border-bottom:{draw.pick('1px', '2px')} solid {theme.accent};padding-bottom:8px", "")
    align = "center" if not beside and draw.chance(0.3) else "flex-start"
    return (
        f'<div data-o="{BEFORE}" style="display:flex;flex-direction:{layout};justify-content:space-between;align-items:{align};gap:6px;{rule}">'
        f'<div style="display:flex;gap:12px;align-items:center">{mark}{head}</div>{small}</div>'
    )


def bank_footer(draw: Draw, name: str) -> str:
    """The footer of a business letter: two to four columns of address, contact, bank and register."""
    columns = [
        [name, b.street(draw), b.city(draw)],
        [f"{b.label(draw, 'phone')} {b.phone(draw)}", b.email(draw), f"www.{draw.pick('example', 'nordlicht')}.com"],
        [
            f"{b.label(draw, 'bank')} {b.city(draw)}",
            f"IBAN {b.iban(draw)}",
            f"BIC {draw.pick('COBADEFF', 'INGBNL2A', 'BNPAFRPP')}XXX",
        ],
        [f"{b.label(draw, 'vat')} {b.vat_number(draw)}", f"HRB {draw.rng.randint(1000, 99999)}", b.person(draw)],
    ]
    chosen = columns[: draw.rng.randint(2, 4)] if draw.chance(0.75) else []
    where = draw.theme.margins
    style = f"bottom:{max(14, int(where[2] * 0.3))}px;left:{where[3]}px;right:{where[1]}px;font-size:{draw.between(8.5, 10.5)}px;line-height:1.3"
    rule = (
        f"border-top:1px solid {draw.pick('#000', '#999', draw.theme.accent)};padding-top:5px"
        if draw.chance(0.7)
        else ""
    )
    if not chosen:
        text = draw.text(" · ".join([name, b.street(draw), b.city(draw), b.phone(draw)]))
        return (
            f'<div class="abs" data-o="{AFTER}" style="{style};{rule};text-align:center">{block("footer", text)}</div>'
        )
    inner = "".join(block("footer", lines(draw, column)) for column in chosen)
    return f'<div class="abs" data-o="{AFTER}" style="{style};{rule};display:flex;justify-content:space-between;gap:14px">{inner}</div>'


def meta(draw: Draw, keys: list[str], *, table: bool, across: bool = False) -> str:
    """Labels and values: a table of two columns, or `across` of two rows, or lines of text."""
    values = {"date": b.day, "due": b.day}
    rows = [(b.label(draw, key), values.get(key, b.code)(draw)) for key in keys]
    if not table:
        return block("text", "<br>".join(f"{draw.text(key)}: {draw.text(value)}" for key, value in rows))
    line = draw.pick("", "", "border:1px solid #777", "border-bottom:1px solid #bbb")
    bold = draw.pick("font-weight:bold", "", "color:#555")
    if across:
        head = "".join(f'<th style="{line};{bold};padding:2px 12px 2px 4px">{draw.text(key)}</th>' for key, _ in rows)
        body = "".join(f'<td style="{line};padding:2px 12px 2px 4px">{draw.text(value)}</td>' for _, value in rows)
        return f'<table data-t="table" style="{draw.pick("width:100%", "")};margin:8px 0"><tr>{head}</tr><tr>{body}</tr></table>'
    colon = draw.pick(":", "", ":")
    num = draw.pick("num", "", "")
    inner = "".join(
        f'<tr><th style="{line};{bold}">{draw.text(key)}{colon}</th><td class="{num}" style="{line}">{draw.text(value)}</td></tr>'
        for key, value in rows
    )
    return f'<table data-t="table" style="font-size:{draw.pick("1em", "0.92em")}">{inner}</table>'


def _address_block(draw: Draw, who: list[str], heading: str = "") -> str:
    made = ""
    if heading:
        small = draw.pick("font-weight:bold", "font-size:0.85em;color:#666", "font-weight:bold;text-transform:none")
        if draw.chance(0.5):
            return block("text", f'<span style="{small}">{draw.text(heading)}</span><br>{lines(draw, who)}')
        made = block("title", draw.text(heading), style=small, extra='data-level="3"')
    return made + block("text", lines(draw, who))


def letter(seed: str, language: str) -> Page:
    """Letterhead, return address, address with the reference block beside it, date, subject, body, closing, footer."""
    draw = make_draw(seed, language, sizes=("a4", "a4", "letter"))
    name = b.company(draw)
    gap = draw.between(14, 34)
    parts_of_page = [letterhead(draw, name)]
    left = ""
    if draw.chance(0.4):
        left += block(
            "text",
            draw.text(f"{name} · {b.street(draw)} · {b.city(draw)}"),
            style="font-size:9px;text-decoration:underline;margin-bottom:5px",
        )
    left += block("text", lines(draw, b.address(draw)))
    keys = draw.rng.sample(["date", "reference", "customer_no", "order"], draw.rng.randint(1, 4))
    beside = draw.chance(0.65)
    right = meta(draw, keys, table=draw.chance(0.5)) if beside else ""
    parts_of_page.append(
        f'<div style="display:flex;justify-content:space-between;align-items:{draw.pick("flex-start", "flex-end")};margin:{gap * 1.4}px 0 {gap}px"><div>{left}</div><div style="min-width:30%">{right}</div></div>'
    )
    if not beside or "date" not in keys:
        parts_of_page.append(
            block(
                "text",
                draw.text(f"{draw.pick('', b.city(draw) + ', ')}{b.day(draw)}"),
                style=f"text-align:{draw.pick('end', 'end', 'start')};margin-bottom:{gap}px",
            )
        )
    subject = f"{draw.pick('', b.label(draw, 'reference') + ': ')}{draw.title(60)}"
    parts_of_page.append(
        title(
            draw,
            1,
            subject,
            style=f"margin:0 0 {gap * 0.7}px;font-weight:bold;font-size:{draw.between(1, 1.15)}em",
            size=4,
        )
    )
    parts_of_page.append(block("text", draw.text(b.label(draw, "dear")), css="p", style="margin-bottom:0.8em"))
    body = [paragraph(draw, 1, 4, style="margin-bottom:0.8em;text-indent:0") for _ in range(draw.rng.randint(2, 5))]
    if draw.chance(0.25):
        body.insert(draw.rng.randint(1, len(body)), parts.bullets(draw, nested=False))
    if draw.chance(0.12):
        body.insert(draw.rng.randint(1, len(body)), tables.data_table(draw, width="auto"))
    parts_of_page.append(
        f'<div class="flow">{"".join(body)}</div>'.replace('class="flow"', 'class="flow" style="flex:0 1 auto"')
    )
    closing = block("text", draw.text(b.label(draw, "regards")), style=f"margin:0.4em 0 {gap * 1.5}px")
    sender = block("text", lines(draw, [b.person(draw), draw.words(1, 3)][: draw.rng.randint(1, 2)]))
    enclosure = (
        block("text", draw.text(f"Encl.: {draw.words(2, 4)}"), style="margin-top:1.2em;font-size:0.9em")
        if draw.chance(0.25)
        else ""
    )
    parts_of_page.append(closing + sender + enclosure)
    foot = bank_footer(draw, name) if draw.chance(0.75) else ""
    return page(
        draw,
        f'<div class="main" style="bottom:{max(draw.theme.margins[2], 88)}px">{"".join(parts_of_page)}</div>{foot}',
    )


def items_table(draw: Draw) -> str:
    """The items of an invoice; perhaps the totals as its last rows."""
    style = draw.pick("grid", "zebra", "under", "header", "none", "columns")
    dark = draw.theme.accent if draw.theme.accent not in {"#000", "#222"} else "#333"
    head_style = draw.pick(
        f"background:{dark};color:#fff",
        "background:#e6e6e6",
        "border-bottom:1.5px solid #000",
        "font-weight:bold",
        "border-bottom:1px solid #000;font-weight:bold",
    )
    line = f"1px solid {draw.pick('#000', '#999', '#ccc')}"
    cell = {
        "grid": f"border:{line}",
        "under": f"border-bottom:{line}",
        "columns": f"border-left:{line};border-right:{line}",
    }.get(style, "")
    keys = ["description", "quantity", "price", "amount"]
    if draw.chance(0.6):
        keys.insert(0, "item")
    if draw.chance(0.35):
        keys.insert(-1, "vat")
    if draw.chance(0.2):
        keys.remove("price")
    for extra in ("order", "date", "reference"):
        if draw.chance(0.12):
            keys.insert(draw.rng.randint(0, 2), extra)
    if draw.chance(0.25):
        keys.insert(keys.index("quantity") + 1, "unit")
    sign, detailed = draw.chance(0.3), draw.rng.choice((0, 0, 0, 1, 1, 2, 4))
    tall = draw.chance(0.25)
    padding = draw.between(2, 8)
    numeric = {"quantity", "price", "amount", "vat"}
    head = "".join(
        f'<th class="{"num" if key in numeric else ""}" style="{cell};{head_style};padding:{padding}px 6px">{_head(draw, key, tall=tall)}</th>'
        for key in keys
    )
    body = ""
    for row in range(1, draw.rng.choice((1, 1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 11)) + 1):
        shade = "background:#f0f0f0" if style == "zebra" and row % 2 else ""
        cells = "".join(
            f'<td class="{"num" if key in numeric else ""}" style="{cell};padding:{padding}px 6px">{_item_value(draw, key, row, sign=sign, detailed=detailed)}</td>'
            for key in keys
        )
        body += f'<tr style="{shade}">{cells}</tr>'
    if draw.chance(0.45):
        for key in draw.pick("subtotal vat total", "total", "subtotal total").split():
            bold = "font-weight:bold" if key == "total" else ""
            body += f'<tr style="{bold}"><td colspan="{len(keys) - 1}" class="num" style="{cell};padding:{padding}px 6px">{draw.text(b.label(draw, key))}</td><td class="num" style="{cell};padding:{padding}px 6px">{b.money(draw, number(draw, 10, 9000), sign=sign)}</td></tr>'
    return f'<table data-t="table" style="width:100%;margin:10px 0;font-size:{draw.pick("1em", "0.93em", "0.88em")}"><thead>{head and f"<tr>{head}</tr>"}</thead><tbody>{body}</tbody></table>'


def _head(draw: Draw, key: str, *, tall: bool) -> str:
    """The head of a column of items, in two lines if it is `tall`."""
    if key == "unit":
        return draw.text(draw.words(1, 1)[:9])
    more = f"<br>{draw.pick('', '(')}{draw.text(draw.words(1, 1)[:9])}" if tall and draw.chance(0.5) else ""
    return draw.text(b.label(draw, key)) + more


def _item_value(draw: Draw, key: str, row: int, *, sign: bool, detailed: int) -> str:
    """A cell of an item; the name has up to `detailed` lines of details."""
    if key == "description":
        name = draw.text(draw.words(2, 5))
        look = draw.pick("font-size:0.85em;color:#555", "")
        for _ in range(draw.rng.randint(0, detailed)):
            name += f'<br><span style="{look}">{draw.text(draw.words(2, 7))}</span>'
        return name
    if key in {"order", "date", "reference", "unit"}:
        unit = draw.pick("h", "kg", "St.", "pcs", "ea", "Std")
        return draw.text({"date": b.day(draw), "unit": unit}.get(key) or b.code(draw))
    if key == "item":
        return str(row)
    if key == "quantity":
        return draw.pick(str(draw.rng.randint(1, 40)), str(draw.rng.randint(1, 9)), number(draw, 1, 40))
    if key == "vat":
        return f"{draw.rng.choice((5, 7, 10, 19, 20, 21))}{' ' if draw.language in {'de', 'fr'} else ''}%"
    return b.money(draw, number(draw, 2, 2000), sign=sign)


def totals(draw: Draw) -> str:
    rows = draw.pick("subtotal vat total", "subtotal total", "subtotal vat total").split()
    line = draw.pick("", "border-top:1px solid #999", "border-bottom:1px solid #ccc")
    sign = draw.chance(0.5)
    inner = "".join(
        f'<tr style="{"font-weight:bold" if key == "total" else ""}"><th style="{line}">{draw.text(b.label(draw, key))}{" 19 %" if key == "vat" else ""}</th>'
        f'<td class="num" style="{line}">{b.money(draw, number(draw, 10, 9000), sign=sign)}</td></tr>'
        for key in rows
    )
    return f'<table data-t="table" style="width:{draw.rng.randint(34, 52)}%;margin-inline-start:auto;margin-top:8px">{inner}</table>'


def invoice(seed: str, language: str) -> Page:
    """Letterhead, one or two address blocks, reference table, items, totals, terms and a footer in columns."""
    draw = make_draw(seed, language, sizes=("a4", "a4", "letter"))
    name = b.company(draw)
    gap = draw.between(10, 30)
    made = [letterhead(draw, name)]
    keys = draw.rng.sample(["invoice_no", "date", "customer_no", "due", "order", "reference"], draw.rng.randint(2, 5))
    reference = meta(draw, keys, table=draw.chance(0.75))
    heads = draw.chance(0.6)
    addresses = f"<div>{_address_block(draw, b.address(draw), b.label(draw, 'bill_to') if heads else '')}</div>"
    two = draw.chance(0.35)
    if two:
        addresses += f"<div>{_address_block(draw, b.address(draw), b.label(draw, 'ship_to'))}</div>"
    headline = title(
        draw,
        1,
        draw.pick(
            b.label(draw, "invoice"), b.label(draw, "invoice").upper(), f"{b.label(draw, 'invoice')} {b.code(draw)}"
        ),
        style=f"font-size:{draw.between(16, 32)}px;margin:{gap}px 0;text-align:{draw.pick('start', 'start', 'end', 'center')}",
    )
    row = f"display:flex;justify-content:space-between;gap:20px;margin:{gap}px 0"
    beside = f'<div style="{row}">{addresses}<div>{reference}</div></div>'
    roll = draw.rng.random()
    if roll < 0.2:
        middle = f'{headline}<div style="{row}">{addresses}</div>{meta(draw, keys, table=True, across=True)}'
    elif two and roll < 0.7:
        middle = f'{headline}<div style="{row}">{addresses}</div>{reference}'
    else:
        middle = beside + headline if roll < 0.6 else headline + beside
    made.append(middle)
    if draw.chance(0.4):
        made.append(block("text", draw.text(draw.sentences(1, 2)), style="margin:0.5em 0"))
    items = items_table(draw)
    made.append(items)
    if "colspan" not in items:
        made.append(totals(draw))
    if draw.chance(0.7):
        made.append(block("text", draw.text(draw.sentences(1, 2)), style=f"margin-top:{gap}px"))
    if draw.chance(0.3):
        made.append(
            block(
                "text",
                f"{draw.text(b.label(draw, 'bank'))}: {draw.text(b.city(draw))}<br>IBAN: {b.iban(draw)}<br>BIC: COBADEFFXXX",
                style="margin-top:10px",
            )
        )
    if draw.chance(0.2):
        made.append(block("text", draw.text(b.label(draw, "regards")), style="margin-top:10px"))
    foot = bank_footer(draw, name) if draw.chance(0.75) else parts.page_foot(draw)
    return page(
        draw,
        f'<div class="main" style="bottom:{max(draw.theme.margins[2], 90)}px"><div class="flow rows">{"".join(made)}</div></div>{foot}',
    )
