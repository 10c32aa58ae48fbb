"""Forms and questionnaires. Every field is a text block: its label, then its value."""

from training.layout import business as b
from training.layout import parts
from training.layout.drawing import Draw, Page, make_draw, page
from training.layout.parts import block, paragraph, title

_FIELDS = (
    "name",
    "address",
    "birth",
    "city",
    "phone",
    "email",
    "date",
    "customer_no",
    "reference",
    "order",
    "bank",
    "signature",
)


def _value(draw: Draw, key: str) -> str:
    values = {
        "name": b.person,
        "address": b.street,
        "birth": b.day,
        "city": b.city,
        "phone": b.phone,
        "email": b.email,
        "date": b.day,
        "bank": b.iban,
    }
    return values.get(key, b.code)(draw)


def _label(draw: Draw, key: str) -> str:
    return draw.text(b.label(draw, key) if draw.chance(0.7) else draw.words(1, 4))


def _hand(draw: Draw) -> str:
    return draw.pick("", "", "font-family:'Liberation Mono'", "font-weight:bold", "color:#1a3a8b;font-style:italic")


def field(draw: Draw, look: str, hand: str, *, number: int | None) -> str:
    """One field with its label above, beside or in the corner of its box."""
    key = draw.rng.choice(_FIELDS)
    label = (f"{number}. " if number else "") + _label(draw, key)
    filled = draw.chance(0.75)
    value = f'<span style="{hand}">{draw.text(_value(draw, key))}</span>' if filled else ""
    small = "font-size:0.75em;color:#333"
    if look == "box":
        return block(
            "text",
            f'<div style="{small}">{label}</div><div style="min-height:1.3em">{value}</div>',
            style="border:1px solid #333;padding:2px 5px;flex:1 1 0",
        )
    if look == "above":
        return block(
            "text",
            f'<div style="{small}">{label}</div><div style="border:1px solid #666;min-height:1.6em;padding:1px 5px">{value}</div>',
            style="flex:1 1 0",
        )
    if look == "under":
        return block(
            "text",
            f'<div style="border-bottom:1px solid #000;min-height:1.4em">{value}</div><div style="{small}">{label}</div>',
            style="flex:1 1 0",
        )
    if look == "dots":
        return block(
            "text",
            f'<div style="display:flex;gap:6px"><span>{label}:</span><span style="flex:1;border-bottom:1.5px dotted #333">{value}</span></div>',
            style="flex:1 1 0",
        )
    line = "border-bottom:1px solid #444" if look == "line" else "border:1px solid #888;padding:0 4px"
    return block(
        "text",
        f'<div style="display:flex;gap:8px"><span style="min-width:{draw.theme.size * 6:.0f}px">{label}{draw.pick(":", "")}</span><span style="flex:1;{line}">{value}</span></div>',
        style="flex:1 1 0",
    )


def _check(draw: Draw, text: str) -> str:
    size = draw.theme.size * 0.8
    cross = (
        f'<path d="M2 2L{size - 2} {size - 2}M2 {size - 2}L{size - 2} 2" stroke="#000"/>' if draw.chance(0.3) else ""
    )
    box = f'<svg width="{size}" height="{size}" style="vertical-align:-1px"><rect x="0.5" y="0.5" width="{size - 1}" height="{size - 1}" fill="none" stroke="#000"/>{cross}</svg>'
    return f'<span data-line style="white-space:nowrap">{box}&nbsp;{draw.text(text)}</span>'


def checks(draw: Draw) -> str:
    """A question with boxes to tick beside or under it."""
    options = (
        [b.label(draw, "yes"), b.label(draw, "no")]
        if draw.chance(0.5)
        else [draw.words(1, 3) for _ in range(draw.rng.randint(2, 5))]
    )
    inner = "".join(_check(draw, option) for option in options)
    question = draw.text(draw.words(3, 9))
    if draw.chance(0.5):
        return block(
            "text",
            f'<div style="display:flex;gap:16px;flex-wrap:wrap"><span data-line>{question}</span>{inner}</div>',
            style="flex:1 1 0",
        )
    return block(
        "text",
        f'<div>{question}</div><div style="display:flex;gap:18px;flex-wrap:wrap">{inner}</div>',
        style="flex:1 1 0",
    )


def _grid(draw: Draw) -> str:
    """A ruled grid with a header row and some cells filled: a table."""
    columns, rows = draw.rng.randint(3, 5), draw.rng.randint(2, 6)
    cell = "border:1px solid #333;height:1.7em"
    head = "".join(f'<th style="{cell};font-size:0.85em">{draw.text(draw.words(1, 2))}</th>' for _ in range(columns))
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{cell}">{draw.text(draw.words(1, 2)) if draw.chance(0.7) else ""}</td>' for _ in range(columns)
        )
        + "</tr>"
        for _ in range(rows)
    )
    return f'<table data-t="table" style="width:100%;margin:8px 0"><tr>{head}</tr>{body}</table>'


def form(seed: str, language: str) -> Page:
    """Sections of fields in rows of one to four, with check boxes, grids and notes."""
    draw = make_draw(seed, language, sizes=("a4", "letter"))
    look = draw.pick("box", "box", "above", "under", "dots", "line", "beside")
    hand = _hand(draw)
    numbered = draw.chance(0.3)
    gap = 0 if look == "box" and draw.chance(0.6) else draw.rng.randint(5, 14)
    made = [
        title(draw, 1, draw.title(50), style=f"text-align:{draw.pick('center', 'start')};margin-bottom:10px", size=2)
    ]
    if draw.chance(0.5):
        made.append(paragraph(draw, 1, 3, style="font-size:0.88em;margin-bottom:8px;text-indent:0"))
    n = 0
    band = draw.pick(
        "background:#ddd;padding:2px 5px",
        "background:#333;color:#fff;padding:2px 5px",
        "border-bottom:1.5px solid #000",
        "",
    )
    for section in range(draw.rng.randint(2, 5)):
        label = f"{'ABCDEF'[section]}. " if draw.chance(0.5) else ""
        made.append(title(draw, 2, label + draw.title(40), style=f"margin:12px 0 6px;{band}", size=4))
        for _ in range(draw.rng.randint(2, 6)):
            kind = draw.rng.random()
            if kind < 0.12:
                made.append(f'<div style="margin:6px 0;display:flex">{checks(draw)}</div>')
            elif kind < 0.18:
                made.append(_grid(draw))
            else:
                fields = []
                for _ in range(draw.rng.choice((1, 2, 2, 3)) if look != "dots" else draw.rng.choice((1, 2))):
                    n += 1
                    fields.append(field(draw, look, hand, number=n if numbered else None))
                made.append(f'<div style="display:flex;gap:{gap or 0}px;margin-bottom:{gap}px">{"".join(fields)}</div>')
    if draw.chance(0.5):
        made.append(
            f'<div style="display:flex;gap:40px;margin-top:26px">{_signature(draw, "date")}{_signature(draw, "signature")}</div>'
        )
    return page(
        draw, parts.edges(draw, head=0.4) + f'<div class="main"><div class="flow rows">{"".join(made)}</div></div>'
    )


def _signature(draw: Draw, key: str) -> str:
    return block(
        "text",
        f'<div style="border-top:1px solid #000;font-size:0.85em">{draw.text(b.label(draw, key))}</div>',
        style="flex:1 1 0",
    )


def _question(draw: Draw, label: str, look: str, style: str) -> str:
    text = f"{label} {draw.sentences(1, 1)}"
    question = block("text", draw.text(text), style=style)
    answer = draw.rng.random()
    if answer < 0.45:
        given = block("text", draw.text(draw.sentences(1, 3)), style="margin-top:2px;text-indent:0")
    elif answer < 0.75:
        options = [_check(draw, draw.words(1, 4)) for _ in range(draw.rng.randint(2, 5))]
        direction = draw.pick("row", "column")
        given = block(
            "text",
            f'<div style="display:flex;flex-direction:{direction};flex-wrap:wrap;gap:2px 18px">{"".join(options)}</div>',
            style="margin-top:3px",
        )
    else:
        given = '<div style="border-bottom:1.2px dotted #555;height:1.7em"></div>' * draw.rng.randint(1, 3)
    if look == "rows":
        return f'<div style="display:flex;gap:18px;break-inside:avoid;padding:4px 0;border-bottom:{0.8 if draw.theme.indented else 0}px solid #bbb"><div style="flex:1 1 0">{question}</div><div style="flex:1.2 1 0">{given}</div></div>'
    return f'<div style="break-inside:avoid;margin-bottom:10px">{question}{given}</div>'


def questionnaire(seed: str, language: str) -> Page:
    """Questions, each with its answer under it or beside it; in one or two columns."""
    draw = make_draw(seed, language, sizes=("a4", "letter"))
    look = draw.pick("rows", "under", "under")
    columns = 2 if look == "under" and draw.chance(0.5) else 1
    head = title(draw, 1, draw.title(50), size=2, style="margin-bottom:8px")
    if draw.chance(0.5):
        head += paragraph(draw, 1, 3, style="text-indent:0;margin-bottom:10px")
    body, first = [], draw.rng.choice((1, 1, 8, 21))
    mark = draw.pick(".", ")", ".")
    style = draw.pick("font-weight:bold", "font-style:italic", "font-weight:bold", "") + ";text-indent:0"
    for number in range(first, first + 26):
        if draw.chance(0.12):
            body.append(title(draw, 2, draw.title(34), size=4))
        body.append(_question(draw, f"{number}{mark}", look, style))
    css = f"columns:{columns};column-gap:24px" if columns > 1 else ""
    return page(
        draw,
        parts.edges(draw, head=0.4)
        + f'<div class="main">{head}<div class="flow" style="{css}">{"".join(body)}</div></div>',
    )


def _cell(draw: Draw, hand: str, number: int, *, look: str, value: str) -> str:
    """A cell of a ruled form: its label in the corner, and under it or beside it what was filled in."""
    label = (f"{number}{draw.pick('.', '.', ')', '')} " if number else "") + _label(draw, draw.rng.choice(_FIELDS))
    if draw.chance(0.15):
        label += f" <i>({draw.text(draw.words(2, 6))})</i>"
    kind = draw.rng.random()
    if kind < 0.14:
        options = "".join(_check(draw, draw.words(1, 2)) for _ in range(draw.rng.randint(2, 5)))
        inner = f'<div style="display:flex;flex-wrap:wrap;gap:1px 14px">{options}</div>'
    elif kind < 0.3:
        inner = f'<div style="min-height:{draw.between(1.2, 2.6)}em"></div>'
    else:
        rows = [_value(draw, draw.rng.choice(_FIELDS)) for _ in range(draw.rng.choice((1, 1, 1, 2, 3)))]
        inner = f'<div style="{hand};{value}">{"<br>".join(draw.text(row) for row in rows)}</div>'
    return block("text", f'<div style="font-size:{draw.between(0.66, 0.85)}em">{label}</div>{inner}', style=look)


def sheet(seed: str, language: str) -> Page:
    """An official form: ruled rows of cells of any width, with bands, notes across, and cells stacked beside a large one."""
    draw = make_draw(seed, language, sizes=("a4", "letter", "legal"))
    hand = _hand(draw)
    line = draw.pick("1px solid #000", "1px solid #000", "0.8px solid #555", "1.5px solid #000", "1px solid #9aa")
    sides = draw.pick(f"border-right:{line}", f"border-right:{line}", "")
    value = draw.pick(
        "text-align:center", "padding-inline-start:1.5em", "", "font-size:1.15em;padding-inline-start:0.8em"
    )
    numbered, n = draw.chance(0.6), 0

    def cell(flex: float) -> str:
        nonlocal n
        n += 1
        return _cell(draw, hand, n if numbered else 0, look=f"{sides};padding:1px 4px;flex:{flex} 1 0", value=value)

    made = [title(draw, 1, draw.title(46), style=f"margin:0 0 8px;text-align:{draw.pick('center', 'start')}", size=2)]
    if draw.chance(0.6):
        made.append(paragraph(draw, 1, 4, style="font-size:0.75em;text-indent:0;margin-bottom:6px"))
    band = draw.pick("background:#ddd", "background:#222;color:#fff", "", f"border-bottom:{line}")
    for part in range(draw.rng.randint(2, 4)):
        label = draw.pick(f"{'ABCDEF'[part]}. ", f"{part + 1}. ", "", f"{draw.title(10)} {part + 1} – ")
        made.append(
            title(draw, 2, label + draw.title(36), style=f"margin:0;padding:2px 4px;{band};border-top:{line}", size=4)
        )
        for _ in range(draw.rng.randint(2, 5)):
            kind = draw.rng.random()
            if kind < 0.13:
                note = block(
                    "text", draw.text(draw.sentences(1, 2)), style="font-size:0.8em;padding:2px 4px;text-indent:0"
                )
                made.append(f'<div style="border-top:{line}">{note}</div>')
            elif kind < 0.2:
                made.append(_grid(draw))
            elif kind < 0.32:
                stack = "".join(
                    f'<div style="display:flex;{f"border-top:{line}" if row else ""}">{cell(1)}</div>'
                    for row in range(draw.rng.randint(2, 3))
                )
                halves = [
                    f'<div style="display:flex;flex:{draw.between(0.8, 1.6)} 1 0">{cell(1)}</div>',
                    f'<div style="flex:1 1 0">{stack}</div>',
                ]
                made.append(f'<div style="display:flex;border-top:{line}">{"".join(halves)}</div>')
            else:
                cells = "".join(
                    cell(draw.rng.choice((1, 1, 1.5, 2, 3))) for _ in range(draw.rng.choice((1, 2, 2, 3, 4)))
                )
                made.append(f'<div style="display:flex;border-top:{line}">{cells}</div>')
    frame = f"border:{line}" if draw.chance(0.7) else f"border-bottom:{line}"
    rows = f'<div style="{frame}">{"".join(made[1:])}</div>' if draw.chance(0.4) else "".join(made[1:])
    return page(
        draw, parts.edges(draw, head=0.3) + f'<div class="main"><div class="flow rows">{made[0]}{rows}</div></div>'
    )
