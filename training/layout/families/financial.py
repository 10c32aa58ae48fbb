"""Pages of financial reports: headings as bold or capital lines, tables without rules, leaders, negatives in brackets."""

from training.layout import parts
from training.layout.drawing import Draw, Page, make_draw, page
from training.layout.families.prose import capacity
from training.layout.parts import number, paragraph, title


def _heading(draw: Draw, level: int, style: str) -> str:
    text = draw.title(56)
    if level == 1 or draw.chance(0.25):
        text = text.upper()
    if level == 1:
        text = f"{draw.pick('ITEM', 'PART', 'NOTE') if draw.language == 'en' else ''} {draw.rng.randint(1, 14)}. {text}".strip()
    look = {
        1: "font-weight:bold",
        2: "font-weight:bold",
        3: "font-style:italic;font-weight:bold",
        4: "font-style:italic;font-weight:normal",
    }[level]
    return title(
        draw,
        level + 1,
        text,
        size=4,
        style=f"{look};color:#000;font-family:inherit;font-size:1em;{style if level < 3 else ''}",
    )


def _amount(draw: Draw, unit: str, *, first: bool) -> str:
    roll = draw.rng.random()
    value = number(draw, 1, draw.rng.choice((90, 900, 90000)), draw.rng.choice((0, 0, 0, 1)))
    value = "—" if roll < 0.06 else f"({value})" if roll < 0.2 else value
    return f"{unit} {value}" if first and unit else value


def statement(draw: Draw) -> str:
    """A table of amounts over years: one or two header rows, sections, indented rows, totals under a rule."""
    years = draw.rng.randint(2, 5)
    unit = draw.pick("$", "$", "€", "")
    leaders = draw.chance(0.3)
    first_year = draw.rng.randint(1996, 2025)
    head = ""
    if draw.chance(0.6):
        over = f"{draw.words(2, 4)}"
        head += f'<tr><th></th><th colspan="{years}" style="text-align:center;border-bottom:0.8px solid #000">{draw.text(over)}</th></tr>'
    under = draw.pick("border-bottom:0.8px solid #000", "", "border-bottom:0.8px solid #000")
    head += (
        f"<tr><th>{draw.pick('', f'<i>({draw.text(draw.words(1, 2))})</i>')}</th>"
        + "".join(f'<th class="num" style="{under}">{first_year - i}</th>' for i in range(years))
        + "</tr>"
    )
    body, shade = "", draw.chance(0.2)
    for row in range(draw.rng.randint(5, 16)):
        roll = draw.rng.random()
        tint = "background:#e8eef4" if shade and row % 2 else ""
        if roll < 0.12:
            body += f'<tr style="{tint}"><td style="font-weight:bold" colspan="{years + 1}">{draw.text(draw.words(2, 4))}:</td></tr>'
            continue
        total = roll > 0.86
        name = draw.text(draw.words(1, 5))
        if leaders:
            name = f'<span class="lead"><span>{name}</span></span>'
        bar = "border-top:0.8px solid #000;" + draw.pick("border-bottom:2.5px double #000", "") if total else ""
        indent = draw.rng.choice((0, 0, 12, 24)) + (12 if total else 0)
        body += f'<tr style="{tint};{"font-weight:bold" if total else ""}"><td style="padding-inline-start:{indent + 3}px">{name}</td>'
        body += (
            "".join(
                f'<td class="num" style="white-space:nowrap;{bar}">{_amount(draw, unit, first=row == 0 or total)}</td>'
                for _ in range(years)
            )
            + "</tr>"
        )
    size = draw.pick("1em", "0.92em", "0.85em")
    return f'<table data-t="table" class="fin" style="width:100%;font-size:{size};margin:10px 0"><thead style="{draw.pick("font-weight:bold", "font-weight:bold;font-size:0.88em", "")}">{head}</thead><tbody>{body}</tbody></table>'


def financial(seed: str, language: str) -> Page:
    """A page of an annual report: text under headings of the body's size, and statements."""
    draw = make_draw(seed, language, sizes=("letter", "letter", "a4"))
    centre = draw.pick("text-align:center", "", "")
    made, written = [], 0
    need = int(capacity(draw) * 1.1)
    if draw.chance(0.5):
        made.append(_heading(draw, 1, centre))
    while written < need:
        kind = draw.rng.random()
        if kind < 0.2 and not (made and 'data-t="title"' in made[-1]):
            made.append(_heading(draw, draw.rng.choice((2, 2, 3, 3, 4)), centre))
        elif kind < 0.34:
            made.append(statement(draw))
            written += need // 3
        elif kind < 0.4:
            made.append(parts.bullets(draw, nested=False))
            written += 300
        else:
            made.append(paragraph(draw, 2, 6))
            written += 400
    notes = parts.footnotes(draw, draw.rng.randint(1, 2)) if draw.chance(0.2) else ""
    css = ".fin td:first-child{width:46%} .lead{display:block;overflow:hidden;background:radial-gradient(circle,#333 0.6px,transparent 0.9px) 0 80%/5px 5px repeat-x} .lead>span{background:#fff;padding-right:4px}"
    return page(
        draw,
        parts.edges(draw, head=0.3, foot=0.85)
        + f'<div class="main"><div class="flow">{"".join(made)}</div>{notes}</div>',
        css,
    )
