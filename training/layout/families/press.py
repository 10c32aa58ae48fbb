"""Newspapers and magazines: several columns, headlines across them, stories of different heights, pictures and insets."""

from training.layout import figures, parts
from training.layout.drawing import Draw, Page, make_draw, page
from training.layout.families.prose import author, capacity, columns_css, interrupting
from training.layout.parts import block, paragraph, title


def _story(draw: Draw, columns: int, width: int, *, size: int, share: float, grow: str) -> str:
    """A story: headline, perhaps a deck and a byline, and its columns."""
    centre = "text-align:center" if draw.chance(0.25) else ""
    head = title(draw, size, draw.title(70 if columns > 1 else 40), style=f"margin:0 0 6px;{centre}", size=size)
    if draw.chance(0.3):
        head = block("text", draw.text(draw.words(1, 2).upper()), style="font-size:0.85em;letter-spacing:0.05em") + head
    if columns > 1 and draw.chance(0.4):
        head += block(
            "text", draw.text(draw.sentences(1, 1)), style=f"font-size:1.2em;line-height:1.25;margin:0 0 6px;{centre}"
        )
    if draw.chance(0.4):
        head += block(
            "text",
            draw.pick("Von ", "By ", "", "") + author(draw),
            style="font-size:0.9em;font-style:italic;margin:0 0 4px",
        )
    body = [paragraph(draw, 1, 4) for _ in range(3 + int(capacity(draw, share) / 330))]
    column = width // columns - 14
    if draw.chance(0.35) and column > 110:
        body.insert(
            draw.rng.randrange(min(4, len(body))), figures.figure(draw, column - 4, photograph=draw.chance(0.7))
        )
    if draw.chance(0.2):
        body.insert(min(3, len(body)), title(draw, size + 1, draw.title(26), size=4))
    if draw.chance(0.12):
        body[0] = parts.first_paragraph(draw)
    css = columns_css(draw, columns)
    if columns > 1 and share > 0.35 and draw.chance(0.3):
        head += figures.figure(draw, int(width * 0.92), photograph=True)
    elif columns > 1 and draw.chance(0.2):
        head += interrupting(draw, column)
    return f'<div style="display:flex;flex-direction:column;{grow};min-height:0">{head}<div class="flow" style="{css}">{"".join(body)}</div></div>'


def _masthead(draw: Draw) -> str:
    name = draw.title(24)
    size = draw.between(36, 58)
    line = draw.text(
        f"{draw.words(1, 2)} · {draw.rng.randint(1, 28)}.{draw.rng.randint(1, 12)}.{draw.rng.randint(1950, 2025)} · Nr. {draw.rng.randint(1, 300)}"
    )
    return (
        block("title", draw.text(name), style=f"font:bold {size}px/1.1 '{draw.theme.title_font}';text-align:center", extra='data-level="1"')
        + block("text", line, style="text-align:center;border-top:1px solid #000;border-bottom:1px solid #000;font-size:0.85em;margin:4px 0 10px;padding:2px")
    )  # fmt: skip


def newspaper(seed: str, language: str) -> Page:
    """Three to five columns in rows of stories; a row holds one wide story, or stories beside each other."""
    draw = make_draw(seed, language, sizes=("a4", "letter", "legal"))
    total = draw.rng.choice((3, 3, 4, 4, 5))
    if draw.theme.size > 13.5:
        total = min(total, 4)
    inner = draw.theme.inner_width
    rows = draw.rng.choice((1, 2, 2, 3))
    made, rule = (
        [],
        draw.pick("", "border-top:1px solid #000;padding-top:6px", "border-top:2px solid #555;padding-top:6px"),
    )
    for row in range(rows):
        split = [total] if draw.chance(0.35) else _split(draw, total)
        cells = []
        for columns in split:
            width = inner * columns // total
            stacked = draw.chance(0.3) and rows < 3
            stories = [
                _story(
                    draw,
                    columns,
                    width,
                    size=2 if row == 0 and columns > 1 else 3,
                    share=columns / total / rows,
                    grow=f"flex:{draw.between(0.6, 1.4)} 1 0",
                )
                for _ in range(2 if stacked else 1)
            ]
            cells.append(
                f'<div style="flex:{columns} 1 0;min-width:0;display:flex;flex-direction:column;gap:10px">{"".join(stories)}</div>'
            )
        line = rule if row else ""
        made.append(
            f'<div style="display:flex;gap:{draw.rng.choice((14, 18, 24))}px;flex:{draw.between(0.8, 1.3)} 1 0;min-height:0;margin-bottom:8px;{line}">{"".join(cells)}</div>'
        )
    head = _masthead(draw) if draw.chance(0.35) else ""
    return page(draw, parts.edges(draw, head=0.5, foot=0.5) + f'<div class="main">{head}{"".join(made)}</div>')


def _split(draw: Draw, total: int) -> list[int]:
    left = draw.rng.randint(1, total - 1)
    rest = total - left
    return [left, 1, rest - 1] if rest > 1 and draw.chance(0.4) else [left, rest]


def _pull_quote(draw: Draw) -> str:
    rule = draw.pick(
        "border-top:2px solid;border-bottom:2px solid;padding:6px 0", "border-left:3px solid;padding-left:10px", ""
    )
    text = draw.text(draw.sentences(1, 1))
    return block(
        "text", draw.pick(f"“{text}”", text), css="float",
        style=f"font:italic {draw.theme.size * 1.5:.1f}px/1.2 '{draw.theme.title_font}';color:{draw.theme.accent};{rule};margin:0.6em 0;break-inside:avoid",
    )  # fmt: skip


def inset(draw: Draw, width: int) -> str:
    """A boxed inset: a title and short text on a tint or in a frame; read after the column beside it."""
    look = draw.pick(
        "background:#eee", "border:1px solid #333", f"border-top:4px solid {draw.theme.accent};background:#f5f5f0"
    )
    inner = title(draw, 3, draw.title(30), style="margin:0 0 4px", size=4)
    inner += parts.bullets(draw, nested=False) if draw.chance(0.4) else paragraph(draw, 2, 3, css="")
    return f'<div class="float" style="{look};padding:8px 10px;width:{width}px;font-size:0.92em;text-indent:0;margin:0.5em 0;break-inside:avoid">{inner}</div>'


def magazine(seed: str, language: str) -> Page:
    """Two or three columns with a drop cap, pull quotes, pictures and a sidebar."""
    draw = make_draw(seed, language, sizes=("a4", "letter"))
    count = draw.rng.choice((2, 2, 3, 3))
    sidebar = draw.chance(0.3)
    width = int(draw.theme.inner_width * (0.7 if sidebar else 1))
    column = width // count - 16
    head = ""
    if draw.chance(0.3):
        head += figures.figure(draw, draw.theme.inner_width, photograph=True)
    if draw.chance(0.75):
        centre = f"text-align:{draw.pick('center', 'start', 'start')}"
        head += title(draw, 1, draw.title(50), style=f"font-size:{draw.between(26, 46)}px;margin:0 0 8px;{centre}")
        if draw.chance(0.6):
            head += block(
                "text",
                draw.text(draw.sentences(1, 2)),
                style=f"font-size:1.25em;line-height:1.3;margin:0 0 10px;{centre}",
            )
        if draw.chance(0.5):
            head += block("text", draw.text(author(draw)), style=f"margin:0 0 12px;font-style:italic;{centre}")
    body = [parts.first_paragraph(draw, 4, 8) if draw.chance(0.7) else paragraph(draw, 4, 8)]
    for _ in range(int(capacity(draw) / 320)):
        body.append(
            title(draw, 2, draw.title(28), size=3)
            if draw.chance(0.1) and 'data-t="title"' not in body[-1]
            else paragraph(draw)
        )
    for make in (
        _pull_quote,
        lambda draw: figures.figure(draw, column, photograph=draw.chance(0.8)),
        lambda draw: inset(draw, column),
    ):
        if draw.chance(0.45):
            body.insert(draw.rng.randint(1, 6), make(draw))
    flow = f'<div class="flow" style="{columns_css(draw, count)}">{"".join(body)}</div>'
    if draw.chance(0.3):
        flow = interrupting(draw, column) + flow
    if sidebar:
        side = inset(draw, draw.theme.inner_width - width - 24).replace('class="float"', 'class=""', 1)
        flow = f'<div style="display:flex;flex-direction:{draw.pick("row", "row-reverse")};gap:24px;flex:1 1 0;min-height:0"><div style="flex:1 1 0;display:flex;flex-direction:column;min-height:0">{flow}</div>{side}</div>'
    return page(draw, parts.edges(draw) + f'<div class="main">{head}{flow}</div>')


def _notice(draw: Draw, column: int) -> str:
    """An advertisement: short centred lines of several sizes between rules or in a frame."""
    sizes = [draw.pick("0.9em", "1em", "1em", "1.3em", "1.7em") for _ in range(draw.rng.randint(3, 8))]
    rows = [
        f'<div style="font-size:{size};line-height:1.2">{draw.text(draw.title(max(12, int(column / 9))) if size[0] == "1" else draw.words(2, 6))}</div>'
        for size in sizes
    ]
    frame = draw.pick(
        "border:1px solid #000;padding:4px", "border-top:1px solid #000;border-bottom:1px solid #000;padding:3px 0", ""
    )
    return block(
        "text", "".join(rows), style=f"{frame};text-align:center;text-indent:0;margin:6px 0;break-inside:avoid"
    )


def _verse(draw: Draw) -> str:
    """A stanza; every second line may be indented."""
    step = draw.pick("", "padding-inline-start:1em")
    rows = [
        f'<div style="{step if n % 2 else ""}">{draw.text(draw.words(3, 6))}</div>'
        for n in range(draw.rng.randint(4, 8))
    ]
    return block("text", "".join(rows), style="text-align:start;text-indent:0;margin:5px 0 5px 1em;break-inside:avoid")


def _item(draw: Draw, column: int, rule: str) -> str:
    """What follows in a column of a gazette."""
    kind = draw.rng.random()
    if kind < 0.16:
        text = draw.title(int(column / 5))
        look = draw.pick(
            "text-align:center",
            "text-align:center;font-size:0.95em",
            "text-align:start",
            "text-align:center;font-style:italic",
        )
        return title(
            draw, 3, text.upper() if draw.chance(0.4) else text, style=f"margin:7px 0 4px;text-indent:0;{look}", size=4
        )
    if kind < 0.24:
        return _notice(draw, column)
    if kind < 0.29:
        return _verse(draw)
    if kind < 0.34:
        name = draw.pick(author(draw), author(draw).upper())
        return block("text", draw.text(name), style="text-align:end;text-indent:0;margin:2px 0 5px")
    head = f"<b>{draw.text(draw.words(1, 2))}.</b> — " if draw.chance(0.15) else ""
    bar = (
        f'<div style="{rule};width:{draw.pick("20%", "40%", "100%")};margin:6px auto"></div>'
        if rule and draw.chance(0.3)
        else ""
    )
    return block("text", head + draw.text(draw.sentences(1, 6)), css="p") + bar


def gazette(seed: str, language: str) -> Page:
    """A dense page of an old newspaper: three to seven narrow columns, small headings, notices, verse, few rules."""
    draw = make_draw(seed, language, sizes=("legal", "a4", "broadsheet", "broadsheet"))
    columns = draw.rng.choice((3, 4, 4, 5, 6, 7)) if draw.theme.width > 900 else draw.rng.choice((2, 3, 3, 4, 5))
    gap = draw.between(7, 16)
    size = draw.between(0.62, 0.85)
    column = int((draw.theme.inner_width - gap * (columns - 1)) / columns)
    rule = draw.pick("border-top:1px solid #000", "border-top:1px solid #000", "")
    line = draw.pick("", "column-rule:1px solid #000;", "column-rule:1px solid #444;", "column-rule:2px solid #000;")
    need, body, written = capacity(draw) * 1.35 / size**2, [], 0
    while written < need:
        body.append(_item(draw, column, rule))
        written += 330
    head = _masthead(draw) if draw.chance(0.4) else ""
    notes = ""
    if draw.chance(0.3):
        wide = [block("text", draw.text(draw.sentences(2, 4)), css="p") for _ in range(columns)]
        notes = f'<div class="flow" style="flex:0 0 {draw.between(0.12, 0.3) * draw.theme.inner_height:.0f}px;columns:{columns};column-gap:{gap}px;{line}font-size:{size * 0.9:.2f}em;border-top:2px solid #000;padding-top:5px;margin-top:6px">{"".join(wide * 2)}</div>'
    css = f"columns:{columns};column-gap:{gap}px;{line}font-size:{size}em;line-height:{draw.between(1.1, 1.3)};text-align:justify"
    return page(
        draw,
        parts.edges(draw, head=0.6, foot=0.1)
        + f'<div class="main">{head}<div class="flow" style="{css}">{"".join(body)}</div>{notes}</div>',
    )
