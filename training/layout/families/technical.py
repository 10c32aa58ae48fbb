"""Slides and manuals."""

import dataclasses

from training.layout import figures, parts, tables
from training.layout.drawing import Draw, Page, make_draw, page
from training.layout.families.prose import capacity
from training.layout.parts import block, paragraph, title

_CODE = (
    "for name in names:", "    total += price[name] * count", "if not path.exists():", "    return None", "def read(path, size=4096):",
    "apt-get install --no-install-recommends vim", "sudo systemctl restart ssh.service", "server { listen 80; }", "  root: /srv/www",
    "mount -t ext4 /dev/sda1 /mnt", "SELECT name, count(*) FROM items", "  GROUP BY name ORDER BY 2 DESC;", "int main(void) {",
    '    printf("%d\\n", value);', "    return 0;", "}", "x = [n * n for n in range(10)]", "export PATH=/usr/local/bin:$PATH",
    "# the default is 30 seconds", '{"name": "alpha", "size": 12}', "cp -a /etc/skel/. /home/new/", "while (left > 0) {", "    left -= step;",
)  # fmt: skip
_NOTES = {
    "en": "Note", "de": "Hinweis", "fr": "Remarque", "es": "Nota", "it": "Nota", "pt": "Nota", "nl": "Opmerking", "pl": "Uwaga",
    "ru": "Примечание", "zh": "注意", "ja": "注意", "fa": "توجه", "ar": "ملاحظة",
}  # fmt: skip


def slide(seed: str, language: str) -> Page:
    """A slide in landscape: title, bullets, a figure or a table beside or under them, a footer and a number."""
    draw = make_draw(seed, language, sizes=("a5",))
    width, height = draw.rng.choice(((960, 540), (720, 540), (842, 595), (1024, 576)))
    size = draw.between(16, 24)
    theme = dataclasses.replace(
        draw.theme, width=width, height=height, margins=(int(height * 0.08), int(width * 0.06), int(height * 0.13), int(width * 0.06)), size=size,
        title_sizes=tuple(size * factor for factor in (1.9, 1.6, 1.3, 1.1)), justified=False, hyphens=False, indented=False,
    )  # fmt: skip
    draw = dataclasses.replace(draw, theme=theme)
    band = f"background:{theme.accent};color:#fff;padding:6px 12px" if draw.chance(0.25) else ""
    dark = (
        "body{background:#1d2733;color:#eee} .t{color:#fff} svg{background:#fff} table{color:#eee}"
        if draw.chance(0.15)
        else ""
    )
    head = title(draw, 1, draw.title(44), style=f"margin:0 0 0.7em;{band}", size=2)
    if draw.chance(0.12):
        middle = title(draw, 1, draw.title(50)) + block("text", draw.text(draw.words(2, 5)))
        return page(draw, f'<div class="main" style="justify-content:center;text-align:center">{middle}</div>', dark)
    points = parts.bullets(draw, items=draw.rng.randint(2, 5)) if draw.chance(0.85) else paragraph(draw, 2, 3)
    kind = draw.pick("alone", "alone", "figure", "figure", "table", "two", "under")
    half = int(theme.inner_width * 0.46)
    if kind == "figure":
        columns = [points, figures.figure(draw, half)]
    elif kind == "table":
        columns = [points, tables.data_table(draw)]
    elif kind == "two":
        columns = [title(draw, 2, draw.title(24), size=4) + parts.bullets(draw, items=3) for _ in range(2)]
    elif kind == "under":
        columns = [figures.figure(draw, int(min(theme.inner_width * 0.6, theme.inner_height * 0.8)))]
    else:
        columns = [points]
    if kind in {"figure", "table"} and draw.chance(0.3):
        columns.reverse()
    inner = "".join(f'<div style="flex:1 1 0;min-width:0" class="flow rows">{column}</div>' for column in columns)
    foot = parts.page_foot(draw, footer=0.5) if draw.chance(0.7) else ""
    return page(
        draw,
        f'<div class="main">{head}<div style="display:flex;gap:26px;flex:1 1 0;min-height:0">{inner}</div></div>{foot}',
        dark,
    )


def code(draw: Draw) -> str:
    """A block of program text, one line of the block each."""
    lines = "".join(
        f"<div>{draw.text(draw.pick(*_CODE))}</div>".replace("    ", "&nbsp;&nbsp;&nbsp;&nbsp;")
        for _ in range(draw.rng.randint(2, 9))
    )
    look = draw.pick(
        "background:#f0f0f0;padding:6px 8px",
        "border:1px solid #bbb;padding:6px 8px",
        "margin-left:2em",
        "background:#222;color:#eee;padding:6px 8px",
    )
    return block(
        "text", f'<div dir="ltr" style="text-align:left">{lines}</div>', css="whole",
        style=f"font:0.86em/1.35 'Liberation Mono','DejaVu Sans Mono';{look};margin-top:0.5em;margin-bottom:0.8em;text-indent:0;break-inside:avoid",
    )  # fmt: skip


def note(draw: Draw) -> str:
    look = draw.pick(
        "border:1px solid #888;padding:6px 10px",
        f"border-inline-start:4px solid {draw.theme.accent};padding:4px 10px;background:#f3f6fa",
        "background:#fdf5dc;padding:6px 10px",
    )
    word = _NOTES[draw.language]
    text = draw.text(draw.sentences(1, 3))
    if draw.chance(0.4):
        inner = title(draw, 5, word, size=4, style="margin:0 0 3px") + block("text", text)
    else:
        inner = block("text", f"<b>{word}{draw.pick(':', '.', ':')}</b> {text}")
    return f'<div style="{look};margin:0.6em 0;text-indent:0;break-inside:avoid">{inner}</div>'


def _terms(draw: Draw) -> str:
    """Options and their meaning: each a text block of a bold line and indented lines."""
    made = ""
    for _ in range(draw.rng.randint(2, 4)):
        option = f"--{draw.pick('verbose', 'output', 'size', 'limit', 'quiet')}={draw.pick('FILE', 'N', 'yes|no')}"
        made += block(
            "text",
            f'<div><b style="font-family:Liberation Mono">{option}</b></div><div style="margin-inline-start:2em">{draw.text(draw.sentences(1, 2))}</div>',
            style="margin:0.4em 0;text-indent:0;break-inside:avoid",
        )
    return made


def manual(seed: str, language: str) -> Page:
    """Documentation: numbered sections, code, notes, options, steps, tables."""
    draw = make_draw(seed, language)
    chapter, section, made, written = draw.rng.randint(1, 15), draw.rng.randint(0, 5), [], 0
    need = int(capacity(draw) * 1.2)
    numbered = draw.chance(0.6)
    if draw.chance(0.25):
        made.append(
            title(
                draw,
                1,
                (f"{draw.pick('', 'Chapter ') if language == 'en' else ''}{chapter}. " if numbered else "")
                + draw.title(44),
            )
        )
    while written < need:
        roll = draw.rng.random()
        written += 250
        if roll < 0.17 and not (made and 'data-t="title"' in made[-1]):
            section += 1
            level = draw.rng.choice((2, 2, 3, 4))
            label = f"{chapter}.{section}" + ".1" * (level - 2) + draw.pick(" ", ". ") if numbered else ""
            made.append(title(draw, level, label + draw.title(44)))
        elif roll < 0.34:
            made.append(code(draw))
        elif roll < 0.42:
            made.append(note(draw))
        elif roll < 0.5:
            made.append(parts.bullets(draw))
        elif roll < 0.55:
            made.append(_terms(draw))
        elif roll < 0.6:
            made.append(figures.captioned_table(draw, tables.data_table(draw)))
        elif roll < 0.64:
            made.append(figures.figure(draw, int(draw.theme.inner_width * 0.7)))
        else:
            made.append(paragraph(draw, 2, 5))
            written += 150
    return page(draw, parts.edges(draw) + f'<div class="main"><div class="flow">{"".join(made)}</div></div>')
