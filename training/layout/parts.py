"""Parts of pages as HTML. `data-t` names a block's type, `data-level` a title's level, `data-o` its place in the order."""

from training.layout.drawing import Draw

BEFORE, AFTER, LAST = -1, 1, 2  # values of data-o: running heads, footers, page numbers


def block(kind: str, inner: str, *, css: str = "", style: str = "", extra: str = "") -> str:
    """One block of the truth."""
    return f'<div data-t="{kind}" class="{css}" style="{style}" {extra}>{inner}</div>'


def title(draw: Draw, level: int, text: str, *, style: str = "", size: int | None = None) -> str:
    return block(
        "title", draw.text(text), css=f"t t{size or min(level, 4)}", style=style, extra=f'data-level="{level}"'
    )


def marks(draw: Draw, text: str) -> str:
    """Escaped text in which few words are bold, italic or have a footnote mark."""
    if not draw.spaced or not draw.chance(0.25):
        return draw.text(text)
    words = [draw.text(word) for word in text.split(" ")]
    at = draw.rng.randrange(len(words))
    tag = draw.pick("b", "i", "i", "em")
    words[at] = f"<{tag}>{words[at]}</{tag}>"
    if draw.chance(0.2):
        words[-1] += f"<sup>{draw.rng.randint(1, 40)}</sup>"
    return " ".join(words)


def paragraph(draw: Draw, low: int = 2, high: int = 6, *, style: str = "", css: str = "p") -> str:
    return block("text", marks(draw, draw.sentences(low, high)), css=css, style=style)


def first_paragraph(draw: Draw, low: int = 3, high: int = 7, *, style: str = "") -> str:
    """A paragraph that begins with a drop cap."""
    text = draw.sentences(low, high)
    rest = marks(draw, text[1:])
    return block("text", f'<span class="drop">{draw.text(text[0])}</span>{rest}', css="p", style=style)


def run_in(draw: Draw) -> str:
    """A paragraph that begins with a bold heading of its own."""
    head = draw.title(34).rstrip(".") + "."
    return block("text", f"<b>{draw.text(head)}</b> {marks(draw, draw.sentences(2, 5))}", css="p")


def bullets(draw: Draw, *, items: int | None = None, nested: bool = True) -> str:
    """A bulleted or numbered list, one block; items may hold nested items."""
    mark = draw.pick("•", "•", "–", "▪", "◦", "1.", "1)", "(a)", "a)")
    gap = draw.between(0, 0.5)
    short = draw.chance(0.4)
    made = []
    for number in range(1, (items or draw.rng.randint(2, 6)) + 1):
        made.append(_item(draw, _mark(mark, number), gap, short=short))
        if nested and draw.chance(0.12):
            inner = "–" if mark != "–" else "◦"
            made += [_item(draw, inner, gap, short=True, indent=1.6) for _ in range(draw.rng.randint(2, 3))]
    return block("list", "".join(made), css="list")


def _mark(mark: str, number: int) -> str:
    letter = chr(96 + min(number, 26))
    return {"1.": f"{number}.", "1)": f"{number})", "(a)": f"({letter})", "a)": f"{letter})"}.get(mark, mark)


def _item(draw: Draw, mark: str, gap: float, *, short: bool, indent: float = 0) -> str:
    text = draw.words(3, 9) if short else draw.sentences(1, 2)
    return (
        f'<div class="item" style="margin:0 0 {gap}em;margin-inline-start:{indent}em">'
        f'<span class="mk">{mark}</span> {draw.text(text)}</div>'
    )


def caption(draw: Draw, word: str, number: int) -> str:
    """'Figure 3: ...' under or above what it names."""
    label = f"{word} {number}{draw.pick(':', '.', ' –', '')}"
    label = f"<b>{label}</b>" if draw.chance(0.5) else label
    text = draw.text(draw.words(4, 10) if draw.chance(0.5) else draw.sentences(1, 1))
    return block("caption", f"{label} {text}", css="cap", style=f"text-align:{draw.pick('left', 'center', 'left')}")


def number(draw: Draw, low: float, high: float, decimals: int = 2) -> str:
    """A number in the form of the language."""
    value = f"{draw.rng.uniform(low, high):,.{decimals}f}"
    if draw.language in {"en", "zh", "ja", "fa", "ar"}:
        return value
    thousands = {"fr": "\u202f", "pl": "\u00a0", "ru": "\u00a0"}.get(draw.language, ".")
    return value.replace(",", "_").replace(".", ",").replace("_", thousands)


def formula(draw: Draw, numbered: int | None) -> str:
    """A displayed formula of letters, sub- and superscripts."""
    a, b, c = (draw.pick(*"xyzabcfgknmpqrst") for _ in range(3))
    i = draw.pick("i", "j", "k", "n")
    body = draw.pick(
        f"<i>{a}</i><sub>{i}</sub> = <i>{b}</i><sup>2</sup> + {draw.rng.randint(2, 9)}<i>{c}</i>",
        f"<i>{a}</i>(<i>{b}</i>) = ∑ <i>{c}</i><sub>{i}</sub> <i>{b}</i><sup>{i}</sup>",
        f"<i>{a}</i> = ( <i>{b}</i> − <i>{c}</i> ) / <i>{b}</i><sub>0</sub>",
        f"<i>{a}</i><sub>{i}+1</sub> ≤ <i>α</i> · <i>{a}</i><sub>{i}</sub> + <i>β</i>",
        f"∂<i>{a}</i>/∂<i>{b}</i> = −<i>λ</i> <i>{c}</i>",
    )
    mark = f'<span style="position:absolute;inset-inline-end:0">({numbered})</span>' if numbered else ""
    return block(
        "formula",
        f"{body}{mark}",
        css="whole",
        style="position:relative;text-align:center;margin:0.6em 0;text-indent:0;break-inside:avoid",
    )


def running_head(draw: Draw, top: float = 0.45) -> str:
    """A head on the top margin; the page number may stand in it."""
    where = draw.theme.margins
    y = int(where[0] * top)
    rule = "border-bottom:0.8px solid #555;" if draw.chance(0.3) else ""
    page_number = draw.chance(0.35)
    left, right = block("header", draw.text(draw.title(46)), extra=f'data-o="{BEFORE}"'), ""
    if page_number:
        right = block("page_number", str(draw.rng.randint(2, 480)), extra=f'data-o="{LAST}"')
    elif draw.chance(0.4):
        right = block("header", draw.text(draw.title(30)), extra=f'data-o="{BEFORE}"')
    if page_number and draw.chance(0.5):
        left, right = right, left
    style = draw.pick("", "font-style:italic;", f"font-family:'{draw.theme.title_font}';")
    return (
        f'<div class="abs" style="{rule}{style}font-size:0.82em;top:{y}px;left:{where[3]}px;right:{where[1]}px;'
        f'display:flex;justify-content:{"space-between" if right else draw.pick("center", "flex-start", "flex-end")}">{left}{right}</div>'
    )


def page_foot(draw: Draw, *, footer: float = 0.3) -> str:
    """A page number, perhaps with a footer beside it, in the bottom margin."""
    where = draw.theme.margins
    n = str(draw.rng.randint(1, 480))
    form = draw.pick("{}", "{}", "{}", "– {} –", "{} / 512", "[{}]")
    if draw.spaced and draw.language == "en":
        form = draw.pick(form, "Page {}", "Page {} of 512")
    number_block = block("page_number", form.format(n), extra=f'data-o="{LAST}"')
    other = block("footer", draw.text(draw.title(50)), extra=f'data-o="{AFTER}"') if draw.chance(footer) else ""
    both = draw.pick(number_block + other, other + number_block) if other else number_block
    rule = "border-top:0.8px solid #555;" if draw.chance(0.2) else ""
    return (
        f'<div class="abs" style="{rule}font-size:0.82em;bottom:{int(where[2] * 0.4)}px;left:{where[3]}px;right:{where[1]}px;'
        f'display:flex;justify-content:{"space-between" if other else draw.pick("center", "flex-end", "flex-start")}">{both}</div>'
    )


def edges(draw: Draw, *, head: float = 0.6, foot: float = 0.7) -> str:
    """Running head and foot, each with its own chance; never two page numbers."""
    top = running_head(draw) if draw.chance(head) else ""
    bottom = page_foot(draw) if draw.chance(foot) and 'data-t="page_number"' not in top else ""
    return top + bottom


def footnotes(draw: Draw, count: int) -> str:
    """Footnotes under a short rule, each a block."""
    first = draw.rng.randint(1, 30)
    form = draw.pick("<sup>{}</sup> ", "<sup>{}</sup>", "{}. ", "[{}] ")
    notes = "".join(
        block("footnote", form.format(first + n) + draw.text(draw.sentences(1, 2)), css="foot") for n in range(count)
    )
    rule = f"border-top:0.8px solid #333;width:{draw.pick('30%', '40%', '100%')};margin:0.5em 0 0.3em"
    return f'<div><div style="{rule}"></div>{notes}</div>'
