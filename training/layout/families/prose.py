"""Running text: articles, papers, bibliographies, newspapers and magazines."""

from training.layout import figures, parts, tables
from training.layout.drawing import Draw, Page, make_draw, page
from training.layout.parts import block, paragraph, title


def _number_titles(draw: Draw) -> bool:
    return draw.chance(0.45)


def flow_parts(draw: Draw, characters: int, width: int, *, depth: int = 3, rich: bool = True) -> str:
    """Sections of text, lists, tables and figures until about `characters` are written."""
    made: list[str] = []
    written, level, counters = 0, 1, [draw.rng.randint(0, 5), 0, 0, 0]
    numbered, extras = _number_titles(draw), 0
    if draw.chance(0.5):  # the page begins in the middle of a section
        made.append(paragraph(draw, 2, 5))
    while written < characters:
        kind = draw.rng.random()
        if kind < 0.2 and not (made and 'data-t="title"' in made[-1]):
            level = min(max(1, level + draw.rng.choice((-1, 0, 0, 1))), depth)
            counters[level - 1] += 1
            counters[level:] = [0] * (4 - level)
            label = ".".join(str(max(1, n)) for n in counters[:level]) + draw.pick(" ", ". ") if numbered else ""
            made.append(title(draw, level + 1, label + draw.title(50 if width > 300 else 34), size=level + 1))
        elif rich and kind < 0.27:
            made.append(parts.bullets(draw))
            written += 300
        elif rich and kind < 0.33 and extras < 3:
            extras += 1
            made.append(figures.figure(draw, int(width * draw.between(0.6, 0.95))))
        elif rich and kind < 0.37 and extras < 3 and width > 260:
            extras += 1
            made.append(figures.captioned_table(draw, tables.data_table(draw, width=draw.pick("100%", "80%", "auto"))))
        elif rich and kind < 0.40:
            made.append(parts.formula(draw, draw.rng.choice((None, 1, 2, 12))))
        elif kind < 0.46:
            made.append(parts.run_in(draw))
            written += 300
        else:
            made.append(paragraph(draw))
            written += len(made[-1]) - 60
    return "".join(made)


def columns_css(draw: Draw, count: int) -> str:
    rule = draw.pick("", "", f"column-rule:{draw.pick('0.7px', '1px')} solid {draw.pick('#000', '#888')};")
    return f"columns:{count};column-gap:{draw.between(14, 30)}px;{rule}" if count > 1 else ""


def capacity(draw: Draw, share: float = 1.0) -> int:
    """About how many characters fill this share of the page."""
    theme = draw.theme
    per_line = theme.inner_width / (theme.size * (0.47 if draw.spaced else 1.0))
    return int(share * per_line * theme.inner_height / (theme.size * theme.leading))


def interrupting(draw: Draw, width: int) -> str:
    """A figure or table for the top of a column of the flow that follows, inside the paragraph that runs on there."""
    made = (
        figures.figure(draw, int(width * 0.9))
        if draw.chance(0.7)
        else figures.captioned_table(draw, tables.data_table(draw))
    )
    return f"<template>{made}</template>"


def article(seed: str, language: str) -> Page:
    """One or two columns of sections with figures, lists and tables."""
    draw = make_draw(seed, language)
    count = 1 if draw.theme.width < 600 else draw.rng.choice((1, 1, 1, 2))
    width = draw.theme.inner_width // count - 12
    head = ""
    if draw.chance(0.4):
        centre = "text-align:center" if draw.chance(0.4) else ""
        head = title(draw, 1, draw.title(), style=centre)
        if draw.chance(0.4):
            head += block("text", draw.text(author(draw)), style=centre + ";margin:0.4em 0 1em")
    body = flow_parts(draw, int(capacity(draw) * 1.3), width)
    if draw.chance(0.15):  # a picture with text around it
        side = draw.pick("left", "right")
        inset = figures.figure(
            draw, int(width * 0.4), style=f"float:{side};width:{width * 0.4}px;margin:0 10px 6px", css="float"
        )
        body = inset + paragraph(draw, 5, 8) + body
    notes = parts.footnotes(draw, draw.rng.randint(1, 3)) if draw.chance(0.3) else ""
    if count > 1 and draw.chance(0.3):
        head += interrupting(draw, width)
    main = f'<div class="main">{head}<div class="flow" style="{columns_css(draw, count)}">{body}</div>{notes}</div>'
    return page(draw, parts.edges(draw) + main)


_NAMES = (
    "Anna Keller", "Jan de Vries", "M. Rossi", "Claire Dubois", "P. García López", "Ewa Nowak", "João Silva", "K. Tanaka", "Li Wei",
    "Sergei Ivanov", "H. Müller", "R. Ahmadi", "Julia Schneider", "Tom Baker", "Lucia Bianchi", "Wang Fang", "A. B. Carter", "L. Moreau",
)  # fmt: skip


def author(draw: Draw) -> str:
    return draw.pick(*_NAMES)


def paper(seed: str, language: str) -> Page:
    """A scientific paper in two columns, its first page with title, authors and abstract across, or a later page."""
    draw = make_draw(seed, language, sizes=("a4", "letter"))
    width = draw.theme.inner_width // 2 - 14
    head, share = "", 1.25
    if draw.chance(0.6):
        centre = f"text-align:{draw.pick('center', 'center', 'start')}"
        head = title(draw, 1, draw.title(80), style=centre)
        people = ", ".join(f"{author(draw)}<sup>{n}</sup>" for n in range(1, draw.rng.randint(2, 5)))
        head += block("text", people, style=centre + ";margin:0.5em 0")
        if draw.chance(0.7):
            where = "<br>".join(
                f"<sup>{n}</sup> {draw.text(draw.words(3, 6))}" for n in range(1, draw.rng.randint(2, 4))
            )
            head += block("text", where, style=centre + ";font-size:0.9em;font-style:italic;margin:0 0 0.8em")
        head += _abstract(draw)
        share = 1.0
    body = flow_parts(draw, int(capacity(draw, share)), width)
    notes = parts.footnotes(draw, 1) if draw.chance(0.2) else ""
    if draw.chance(0.35):  # a figure or a table across both columns, above or below them
        wide = (
            figures.figure(draw, int(width * 1.7))
            if draw.chance(0.6)
            else figures.captioned_table(draw, tables.data_table(draw))
        )
        head, notes = (wide, notes) if not head and draw.chance(0.7) else (head, wide + notes)
    if draw.chance(0.3):
        head += interrupting(draw, width)
    css = f"columns:2;column-gap:{draw.between(16, 30)}px"
    main = f'<div class="main">{head}<div class="flow" style="{css}">{body}</div>{notes}</div>'
    return page(draw, parts.edges(draw) + main)


_ABSTRACT = {
    "en": "Abstract", "de": "Zusammenfassung", "fr": "Résumé", "es": "Resumen", "it": "Sommario", "pt": "Resumo", "nl": "Samenvatting",
    "pl": "Streszczenie", "ru": "Аннотация", "zh": "摘要", "ja": "概要", "fa": "چکیده", "ar": "ملخص",
}  # fmt: skip


def _abstract(draw: Draw) -> str:
    word = _ABSTRACT[draw.language]
    narrow = draw.rng.choice((0, 0, 30, 60))
    text = draw.text(draw.sentences(4, 8))
    if draw.chance(0.5):
        inner = title(draw, 2, word, style="text-align:center" if narrow else "", size=4) + block("text", text, css="p")
    else:
        inner = block("text", f"<b>{word}{draw.pick('.', ':', ' —')}</b> {text}", css="p")
    if draw.chance(0.4):
        inner += block(
            "text",
            f"<i>{draw.text(draw.title(20))}:</i> {draw.text(draw.words(3, 4))}; {draw.text(draw.words(2, 3))}",
            css="p",
        )
    return f'<div style="margin:0.3em {narrow}px 1.2em;font-size:{draw.pick("0.92em", "1em")}">{inner}</div>'


_REFERENCES = {
    "en": "References", "de": "Literaturverzeichnis", "fr": "Bibliographie", "es": "Referencias", "it": "Bibliografia",
    "pt": "Referências", "nl": "Literatuur", "pl": "Bibliografia", "ru": "Литература", "zh": "参考文献", "ja": "参考文献",
    "fa": "منابع", "ar": "المراجع",
}  # fmt: skip


def reference(draw: Draw, style: str, number: int) -> str:
    """One entry: numbered or author and year."""
    people = ", ".join(author(draw) for _ in range(draw.rng.randint(1, 4)))
    year = draw.rng.randint(1962, 2025)
    work, where = draw.title(80).rstrip("."), draw.title(40)
    where = f"<i>{draw.text(where)}</i>"
    volume = (
        f"{draw.rng.randint(1, 90)}({draw.rng.randint(1, 12)}):{draw.rng.randint(1, 400)}–{draw.rng.randint(401, 900)}"
    )
    tail = f"{where}, {volume}"
    if draw.chance(0.25):
        tail += f". doi:10.{draw.rng.randint(1000, 9999)}/{draw.rng.randint(10**5, 10**7)}"
    text = (
        f"{people} ({year}). {draw.text(work)}. {tail}."
        if style == "year"
        else f"{people}. {draw.text(work)}. {tail}, {year}."
    )
    mark = {"[]": f"[{number}] ", ".": f"{number}. "}.get(style, "")
    if not mark:
        return block("reference", text, css="hang")
    if draw.theme.indented:
        return block("reference", mark + text, style="margin:0.2em 0;text-indent:0")
    return block(
        "reference",
        f'<span style="position:absolute;left:0">{mark}</span>{text}',
        style="padding-left:2.4em;position:relative;text-indent:0;margin:0.25em 0",
    )


def bibliography(seed: str, language: str) -> Page:
    """A list of works with hanging indents, numbered or by author and year, in one or two columns."""
    draw = make_draw(seed, language)
    if language in {"fa", "ar"}:
        draw = make_draw(seed, "en")
    count = 1 if draw.theme.width < 600 else draw.rng.choice((1, 1, 2))
    style = draw.pick("[]", ".", "year", "year")
    first = draw.rng.choice((1, 1, 14, 57))
    head = ""
    if draw.chance(0.3):
        head += paragraph(draw, 2, 4) + paragraph(draw, 2, 4)
    if draw.chance(0.7):
        head += title(draw, 2, _REFERENCES[draw.language], style=draw.pick("", "", "text-align:center"))
    entries = [reference(draw, style, first + n) for n in range(draw.rng.randint(12, 60))]
    body = head + "".join(entries)
    css = (
        f".flow>[data-t=reference]{{margin-bottom:{draw.between(0, 0.7)}em;text-align:{draw.pick('justify', 'start')}}}"
    )
    main = f'<div class="main"><div class="flow" style="{columns_css(draw, count)}">{body}</div></div>'
    return page(draw, parts.edges(draw) + main, css)
