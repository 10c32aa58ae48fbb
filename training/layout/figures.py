"""Drawn figures: charts with axes and legends, diagrams, photographs in grey. Their words belong to the figure."""

from training.layout.drawing import Draw
from training.layout.parts import block, caption

_COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#888", "#333", "#bbb")
_FIGURE_WORDS = {
    "en": "Figure", "de": "Abbildung", "fr": "Figure", "es": "Figura", "it": "Figura", "pt": "Figura", "nl": "Figuur",
    "pl": "Rysunek", "ru": "Рисунок", "zh": "图", "ja": "図", "fa": "شکل", "ar": "الشكل",
}  # fmt: skip
TABLE_WORDS = {
    "en": "Table", "de": "Tabelle", "fr": "Tableau", "es": "Tabla", "it": "Tabella", "pt": "Tabela", "nl": "Tabel",
    "pl": "Tabela", "ru": "Таблица", "zh": "表", "ja": "表", "fa": "جدول", "ar": "الجدول",
}  # fmt: skip


def _text(x: float, y: float, text: str, anchor: str = "middle", size: float = 10, more: str = "") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-size="{size}" {more}>{text}</text>'


def _chart(draw: Draw, width: int, height: int) -> str:
    left, bottom, top = 38, height - 34, 14
    line = draw.chance(0.5)
    count = draw.rng.randint(4, 8)
    step = (width - left - 12) / count
    parts = [f'<path d="M{left} {top}V{bottom}H{width - 8}" fill="none" stroke="#333"/>']
    unit = draw.rng.choice((1, 5, 10, 20, 250))
    for tick in range(5):
        y = bottom - tick * (bottom - top) / 4.3
        parts.append(_text(left - 5, y + 3, f"{tick * unit}", "end", 9))
        if draw.theme.indented:
            parts.append(f'<path d="M{left} {y:.0f}H{width - 8}" stroke="#ddd"/>')
    first = draw.rng.randint(1990, 2018)
    for series in range(draw.rng.randint(1, 2)):
        colour = draw.pick(*_COLOURS)
        heights = [draw.rng.uniform(0.1, 0.9) * (bottom - top) for _ in range(count)]
        if line:
            points = " ".join(f"{left + (i + 0.5) * step:.0f},{bottom - h:.0f}" for i, h in enumerate(heights))
            parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        elif not series:
            parts += [
                f'<rect x="{left + (i + 0.2) * step:.0f}" y="{bottom - h:.0f}" width="{step * 0.6:.0f}" height="{h:.0f}" fill="{colour}"/>'
                for i, h in enumerate(heights)
            ]
    parts += [_text(left + (i + 0.5) * step, bottom + 12, str(first + i), size=9) for i in range(count)]
    parts.append(_text((left + width) / 2, height - 4, draw.words(1, 2)[:24]))
    if draw.spaced and draw.chance(0.5):
        parts.append(_text(10, height / 2, draw.words(1, 1)[:16], more=f'transform="rotate(-90 10 {height // 2})"'))
    if draw.chance(0.5):
        parts.append(f'<rect x="{width - 96}" y="{top - 4}" width="9" height="9" fill="{draw.pick(*_COLOURS)}"/>')
        parts.append(_text(width - 83, top + 4, draw.words(1, 2)[:16], "start", 9))
    return "".join(parts)


def _diagram(draw: Draw, width: int, height: int) -> str:
    boxes = draw.rng.randint(2, 4)
    step = width / boxes
    parts = []
    for i in range(boxes):
        x, y = i * step + 6, height / 2 - 20 + draw.rng.uniform(-0.2, 0.2) * height
        w = step - 26
        shape = draw.pick(f'rx="{draw.rng.choice((0, 8))}"')
        parts.append(
            f'<rect x="{x:.0f}" y="{y:.0f}" width="{w:.0f}" height="40" {shape} fill="#f4f4f4" stroke="#333"/>'
        )
        parts.append(_text(x + w / 2, y + 24, draw.words(1, 1)[: max(3, int(w / 8))]))
        if i + 1 < boxes:
            parts.append(f'<path d="M{x + w:.0f} {height / 2:.0f}h18" stroke="#333"/>')
    return "".join(parts)


def _photograph(draw: Draw, width: int, height: int) -> str:
    name = f"g{draw.rng.randrange(10**6)}"
    tones = sorted(draw.rng.sample(range(40, 230), 3))
    parts = [
        f'<linearGradient id="{name}" x1="0" y1="0" x2="{draw.between(0, 1)}" y2="1">'
        + "".join(f'<stop offset="{i / 2}" stop-color="rgb({t},{t},{min(255, t + 15)})"/>' for i, t in enumerate(tones))
        + f'</linearGradient><rect width="{width}" height="{height}" fill="url(#{name})"/>'
    ]
    for _ in range(draw.rng.randint(3, 14)):
        t = draw.rng.randint(20, 240)
        parts.append(
            f'<ellipse cx="{draw.rng.randrange(width)}" cy="{int(height * draw.between(0.4, 1))}" rx="{draw.rng.randint(8, width // 3)}" '
            f'ry="{draw.rng.randint(6, max(8, height // 3))}" fill="rgb({t},{t},{t})" opacity="0.6"/>'
        )
    return "".join(parts)


def drawing(draw: Draw, width: int, height: int, *, photograph: bool = False) -> str:
    """A figure's block; `width` and `height` in pixels."""
    make = _photograph if photograph else draw.rng.choice((_chart, _chart, _diagram, _photograph))
    border = "border:0.8px solid #444" if draw.chance(0.2) else ""
    return block(
        "figure",
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" style="display:block;{border};font-family:Liberation Sans,'
        f'{draw.theme.title_font}">{make(draw, width, height)}</svg>',
        style=f"width:{width}px;margin:0 auto",
    )


def figure(draw: Draw, width: int, *, photograph: bool = False, style: str = "", css: str = "") -> str:
    """A figure with its caption above or below, or without one."""
    drawn = drawing(draw, width, int(width * draw.between(0.4, 0.8)), photograph=photograph)
    note = caption(draw, _FIGURE_WORDS[draw.language], draw.rng.randint(1, 14)) if draw.chance(0.8) else ""
    inner = note + drawn if draw.chance(0.15) else drawn + note
    return f'<figure class="{css}" style="{style}">{inner}</figure>'


def captioned_table(draw: Draw, table: str) -> str:
    """A table with its caption, mostly above."""
    note = caption(draw, TABLE_WORDS[draw.language], draw.rng.randint(1, 9))
    return f"<figure>{note + table if draw.chance(0.75) else table + note}</figure>"
