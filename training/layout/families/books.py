"""Books: prose with dialogue, poems, typescript; contents pages, dictionaries and price lists."""

import dataclasses

from training.layout import parts
from training.layout.drawing import MONO, Draw, Page, make_draw, page
from training.layout.families.prose import author, capacity, columns_css
from training.layout.parts import block, number, paragraph, title


def _dialogue(draw: Draw) -> str:
    quotes = {"de": "„“", "fr": "«»", "ru": "«»", "pl": "„”", "zh": "“”", "ja": "「」", "es": "—"}.get(
        draw.language, "“”"
    )
    said = draw.sentences(1, 1)
    closing = quotes[1:] or ""
    tail = "" if draw.chance(0.5) else draw.texts.joiner + draw.sentences(1, 1)
    return block("text", draw.text(quotes[0] + said + closing + tail), css="p")


def _poem(draw: Draw) -> str:
    """Stanzas of short lines; each is one block."""
    made = (
        title(draw, 2, draw.title(34), style=draw.pick("", "text-align:center", "font-style:italic"))
        if draw.chance(0.7)
        else ""
    )
    indents = draw.chance(0.3)
    centre = "text-align:center;" if draw.chance(0.2) else ""
    left = draw.rng.randint(0, 90)
    count = draw.rng.choice((2, 4, 4, 4, 6, 8))
    for _ in range(draw.rng.randint(2, 5)):
        verses = [draw.words(4, 8) + draw.pick("", ",", ",", ".", ";") for _ in range(count)]
        inner = "".join(
            f'<div style="padding-inline-start:{1.5 * (n % 2) if indents else 0}em">{draw.text(verse)}</div>'
            for n, verse in enumerate(verses)
        )
        made += block(
            "text",
            inner,
            css="whole",
            style=f"{centre}margin:0 0 1em;margin-inline-start:{left}px;text-indent:0;break-inside:avoid",
        )
    return made


def _quotation(draw: Draw) -> str:
    return paragraph(draw, 2, 4, style="margin:0.7em 2.2em;text-indent:0;font-size:0.92em", css="")


def _chapter(draw: Draw) -> str:
    """The heading of a chapter: a number with or without a title, or a title."""
    gap = draw.rng.randint(20, 130)
    if draw.chance(0.4):
        where = draw.pick("center", "start")
        return title(draw, 1, draw.title(40), style=f"margin:{gap}px 0 26px;text-align:{where}", size=2)
    chapter = draw.pick("I.", "III.", "IV", "12", "7.", "XI.")
    head = title(draw, 1, chapter, style=f"margin:{gap}px 0 8px;text-align:center", size=2)
    if draw.chance(0.6):
        head += title(draw, 2, draw.title(40), style="text-align:center;margin-bottom:26px", size=3)
    return head


def book(seed: str, language: str) -> Page:
    """A page of a novel, a volume of poems, or a typescript in one or two columns."""
    draw = make_draw(seed, language, sizes=("a5", "a5", "b5", "a4"))
    kind = draw.pick("prose", "prose", "prose", "poems", "typescript")
    if kind == "typescript" and draw.spaced and language not in {"fa", "ar"}:
        theme = dataclasses.replace(
            draw.theme, body_font=draw.pick(*MONO), justified=False, leading=draw.rng.choice((1.2, 1.5, 1.9))
        )
        draw = dataclasses.replace(
            draw, theme=dataclasses.replace(theme, title_font=theme.body_font, size=min(theme.size, 12.5))
        )
    head = _chapter(draw) if draw.chance(0.35) else ""
    columns = 2 if kind == "typescript" and draw.theme.width > 700 and draw.chance(0.4) else 1
    made: list[str] = []
    if kind == "poems":
        made = [_poem(draw) for _ in range(draw.rng.randint(2, 5))]
        columns = 2 if draw.theme.width > 700 and draw.chance(0.3) else 1
    else:
        if draw.chance(0.3) and head:
            made.append(parts.first_paragraph(draw))
        while len("".join(made)) < capacity(draw) * 1.5:
            roll = draw.rng.random()
            if roll < 0.25:
                made.append(_dialogue(draw))
            elif roll < 0.29:
                made.append(_quotation(draw))
            elif roll < 0.32:
                made.append(
                    block(
                        "text",
                        draw.pick("* * *", "***", "—"),
                        style="text-align:center;margin:0.8em 0;text-indent:0",
                        extra="data-whole=1",
                    )
                )
            elif roll < 0.35:
                made.append(title(draw, 3, draw.title(34)))
            else:
                made.append(paragraph(draw, 2, 8))
    notes = parts.footnotes(draw, draw.rng.randint(1, 3)) if kind == "prose" and draw.chance(0.2) else ""
    main = f'<div class="main">{head}<div class="flow" style="{columns_css(draw, columns)}">{"".join(made)}</div>{notes}</div>'
    return page(draw, parts.edges(draw) + main)


_CONTENTS = {
    "en": "Contents", "de": "Inhaltsverzeichnis", "fr": "Table des matières", "es": "Índice", "it": "Indice", "pt": "Índice",
    "nl": "Inhoudsopgave", "pl": "Spis treści", "ru": "Содержание", "zh": "目录", "ja": "目次", "fa": "فهرست", "ar": "المحتويات",
}  # fmt: skip


def contents(seed: str, language: str) -> Page:
    """A table of contents: entries of up to three levels with dots and page numbers. The entries are one list."""
    draw = make_draw(seed, language)
    leaders = draw.pick("dots", "dots", "none", "line")
    numbered = draw.chance(0.6)
    counters, at = [0, 0, 0], draw.rng.randint(1, 9)
    entries: list[str] = []
    level = 0
    lead = {
        "dots": '<span class="leader"></span>', "none": '<span style="flex:1"></span>',
        "line": '<span style="flex:1;border-bottom:0.8px solid #999;margin:0 4px 4px"></span>',
    }[leaders]  # fmt: skip
    for _ in range(draw.rng.randint(9, 40)):
        level = 0 if not entries else min(2, max(0, level + draw.rng.choice((-1, 0, 0, 1))))
        counters[level] += 1
        counters[level + 1 :] = [0] * (2 - level)
        at += draw.rng.randint(0, 9)
        label = ".".join(str(max(1, n)) for n in counters[: level + 1]) + draw.pick(" ", ". ") if numbered else ""
        bold = "font-weight:bold;margin-top:0.5em" if level == 0 and draw.theme.indented else ""
        entries.append(
            f'<div class="item" style="display:flex;padding:0;align-items:baseline;{bold};margin-inline-start:{1.4 * level}em">'
            f"<span>{draw.text(label + draw.title(48))}</span>{lead}<span>&nbsp;{at}</span></div>"
        )
    head = title(
        draw, 1, _CONTENTS[language], style=f"text-align:{draw.pick('start', 'center')};margin-bottom:0.9em", size=2
    )
    css = ".leader{flex:1;margin:0 4px;overflow:hidden;background:radial-gradient(circle,#222 0.6px,transparent 0.9px) 0 75%/6px 6px repeat-x;height:0.9em}"
    body = block("list", "".join(entries), css="whole")
    return page(draw, parts.edges(draw) + f'<div class="main">{head}<div class="flow">{body}</div></div>', css)


def _entry(draw: Draw) -> str:
    word = draw.words(1, 1)
    kind = draw.pick("<i>n.</i>", "<i>v.</i>", "<i>adj.</i>", "")
    text = draw.text(draw.sentences(1, 2))
    senses = f"<b>1.</b> {text} <b>2.</b> {draw.text(draw.words(3, 8))}." if draw.chance(0.3) else text
    return block(
        "text",
        f"<b>{draw.text(word if draw.language == 'de' else word.lower())}</b> {kind} {senses}",
        css="hang",
        style="margin-bottom:0.25em",
    )


def _price_row(draw: Draw) -> str:
    name = draw.text(draw.words(2, 4))
    price = number(draw, 1, 400)
    return f'<tr><td>{draw.rng.randint(1000, 99999)}</td><td>{name}</td><td class="num">{price}</td></tr>'


def dictionary(seed: str, language: str) -> Page:
    """A dictionary or a glossary in columns, or a list of prices in columns of small tables."""
    draw = make_draw(seed, language)
    count = 2 if draw.theme.width < 700 else draw.rng.choice((2, 2, 3))
    if draw.chance(0.6):
        entries = sorted(_entry(draw) for _ in range(10 + int(capacity(draw) / 90)))
        if draw.chance(0.4):
            entries.insert(0, title(draw, 1, draw.pick(*"ABDEKMPRST"), style="text-align:center", size=2))
        body = "".join(entries)
    else:
        groups = []
        for _ in range(14):
            rows = "".join(_price_row(draw) for _ in range(draw.rng.randint(3, 12)))
            line = "border-bottom:0.6px solid #aaa" if draw.theme.indented else ""
            groups.append(title(draw, 2, draw.title(24), size=4, style="margin:0.5em 0 0.2em"))
            groups.append(
                f'<table data-t="table" class="price" style="width:100%;font-size:0.88em;{line}">{rows}</table>'
            )
        body = "".join(groups)
    return page(
        draw,
        parts.edges(draw, head=0.8)
        + f'<div class="main"><div class="flow" style="{columns_css(draw, count)}">{body}</div></div>',
    )


def certificate(seed: str, language: str) -> Page:
    """A cover, a title page or a certificate: few centred lines in a frame."""
    draw = make_draw(seed, language, sizes=("a4", "a5", "letter"))
    frame = draw.pick(
        "", f"border:{draw.rng.randint(1, 6)}px {draw.pick('solid', 'double')} {draw.theme.accent};padding:40px", ""
    )
    gap = draw.rng.randint(14, 60)
    align = draw.pick("center", "center", "start")
    made = []
    if draw.chance(0.5):
        made.append(block("text", draw.text(draw.words(2, 4).upper()), style="letter-spacing:0.1em"))
    made.append(title(draw, 1, draw.title(46), style=f"font-size:{draw.between(24, 48)}px;margin:{gap}px 0 8px"))
    if draw.chance(0.6):
        made.append(title(draw, 2, draw.title(60), size=3, style="margin:0 0 20px"))
    lines = [draw.pick(author(draw), draw.words(2, 5), draw.sentences(1, 1)) for _ in range(draw.rng.randint(1, 4))]
    made += [block("text", draw.text(line), style=f"margin:{gap // 2}px 0") for line in lines]
    made.append(
        block("text", draw.text(f"{draw.words(1, 2)} {draw.rng.randint(1890, 2026)}"), style=f"margin-top:{gap * 2}px")
    )
    justify = draw.pick("center", "flex-start", "space-between")
    return page(
        draw, f'<div class="main" style="{frame};text-align:{align};justify-content:{justify}">{"".join(made)}</div>'
    )
