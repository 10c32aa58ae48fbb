"""Tables of numbers and of text, in the styles of rules that documents have."""

from training.layout.drawing import Draw
from training.layout.parts import number


def _ruled(draw: Draw, head: str, body: str, width: str) -> str:
    """The table with one of the styles of rules."""
    rules = draw.pick("grid", "booktabs", "zebra", "none", "under", "outer", "columns")
    line = f"{draw.pick('1px', '0.7px')} solid {draw.pick('#000', '#666', draw.theme.accent)}"
    name = f"x{draw.rng.randrange(10**6)}"
    css = {
        "grid": f".{name} td,.{name} th{{border:{line}}}",
        "booktabs": f".{name}{{border-top:{line};border-bottom:{line}}} .{name} tbody{{border-top:{line}}}",
        "zebra": f".{name} tbody tr:nth-child(odd){{background:#eee}}",
        "under": f".{name} td,.{name} th{{border-bottom:{line}}}",
        "outer": f".{name}{{border:{line}}}",
        "columns": f".{name}{{border-bottom:{line}}} .{name} td+td,.{name} th+th{{border-left:{line}}} .{name} thead{{border-bottom:{line}}}",
    }.get(rules, "")
    shade = draw.pick(
        "", "", "background:#ddd;", f"background:{draw.theme.accent};color:#fff;" if draw.theme.accent != "#000" else ""
    )
    bold = shade + draw.pick("font-weight:bold", "font-weight:bold", "", "font-style:italic")
    size = draw.pick("1em", "0.9em", "0.85em")
    top = f'<thead style="{bold}">{head}</thead>' if head else ""
    return (
        f"<style>{css} .{name} td,.{name} th{{padding:{draw.between(1, 6)}px {draw.between(4, 9)}px}}</style>"
        f'<table data-t="table" class="{name}" style="width:{width};font-size:{size};margin:0.6em auto">{top}<tbody>{body}</tbody></table>'
    )


def _numbers(draw: Draw, width: str) -> str:
    columns, rows = draw.rng.randint(2, 6), draw.rng.randint(3, 10)
    head = ""
    if columns > 3 and draw.chance(0.35):
        half = (columns - 1) // 2
        centre = 'style="text-align:center"'
        head = (
            f'<tr><th rowspan="2">{draw.text(draw.words(1, 1))}</th><th colspan="{half}" {centre}>{draw.text(draw.words(1, 2))}</th>'
            f'<th colspan="{columns - 1 - half}" {centre}>{draw.text(draw.words(1, 2))}</th></tr>'
        )
    names = [draw.text(draw.words(1, 2)) for _ in range(columns - bool(head))]
    cells = (f'<th class="{"num" if i or head else ""}">{name}</th>' for i, name in enumerate(names))
    head += "<tr>" + "".join(cells) + "</tr>"
    decimals, tops = draw.rng.choice((0, 1, 2)), [draw.rng.choice((1, 100, 9000)) for _ in range(columns)]
    percent = draw.chance(0.15)
    body = ""
    for _ in range(rows):
        body += f"<tr><td>{draw.text(draw.words(1, 3))}</td>"
        for top in tops[1:]:
            value = number(draw, 0, top, decimals) + ("%" if percent and top == 100 else "")
            body += f'<td class="num">{value if draw.chance(0.95) else "–"}</td>'
        body += "</tr>"
    return _ruled(draw, head, body, width)


def _words(draw: Draw, width: str) -> str:
    """Cells of words and sentences; rows may share a cell in the first column; a header row or none."""
    columns, rows = draw.rng.randint(2, 4), draw.rng.randint(2, 7)
    head = (
        "<tr>" + "".join(f"<th>{draw.text(draw.words(1, 2))}</th>" for _ in range(columns)) + "</tr>"
        if draw.chance(0.8)
        else ""
    )
    long = [draw.chance(0.35) for _ in range(columns)]
    grouped = columns > 2 and draw.chance(0.25)
    named = draw.chance(0.3)  # the first column names its row
    body, left = "", 0
    for row in range(rows):
        body += "<tr>"
        for column in range(columns):
            if grouped and column == 0:
                if left:
                    left -= 1
                    continue
                span = min(draw.rng.randint(1, 3), rows - row)
                left = span - 1
                body += f'<td rowspan="{span}">{draw.text(draw.words(1, 2))}</td>'
                continue
            text = draw.sentences(1, 1) if long[column] and column and draw.chance(0.7) else draw.words(1, 4)
            tag, bold = ("th", ' style="font-weight:bold"') if named and column == 0 else ("td", "")
            body += f"<{tag}{bold}>{draw.text(text)}</{tag}>"
        body += "</tr>"
    return _ruled(draw, head, body, width)


def data_table(draw: Draw, *, width: str = "100%") -> str:
    """A table of numbers with one or two header rows, or of text."""
    return _numbers(draw, width) if draw.chance(0.65) else _words(draw, width)
