"""What one page is drawn from: a random generator, a language and its texts, and a theme of fonts, sizes and colours."""

import html
import random
from dataclasses import dataclass

from training.layout.hyphens import hyphenated
from training.layout.texts import NO_SPACES, RIGHT_TO_LEFT, Texts, texts

SERIF = ("Liberation Serif", "DejaVu Serif", "Noto Serif", "DejaVu Serif Condensed")
SANS = ("Liberation Sans", "DejaVu Sans", "Noto Sans", "Liberation Sans Narrow", "DejaVu Sans Condensed")
MONO = ("Liberation Mono", "DejaVu Sans Mono")
_FONTS = {
    "zh": (("Noto Serif CJK SC",), ("Noto Sans CJK SC",)),
    "ja": (("Noto Serif CJK JP",), ("Noto Sans CJK JP",)),
    "fa": (("Noto Naskh Arabic",), ("Noto Sans Arabic", "DejaVu Sans")),
    "ar": (("Noto Naskh Arabic",), ("Noto Sans Arabic", "DejaVu Sans")),
}
SIZES = {
    "a4": (794, 1123),
    "letter": (816, 1056),
    "a5": (559, 794),
    "legal": (816, 1344),
    "b5": (665, 944),
    "broadsheet": (1080, 1520),
}
_ACCENTS = ("#000", "#000", "#222", "#1a3a6b", "#7a1f1f", "#14532d", "#444", "#b3541e", "#0b7285")


@dataclass(frozen=True, slots=True)
class Theme:
    """Fonts, sizes in CSS pixels and colours of one page."""

    width: int
    height: int
    margins: tuple[int, int, int, int]
    body_font: str
    title_font: str
    size: float
    leading: float
    justified: bool
    hyphens: bool
    indented: bool  # first-line indents; else space between paragraphs
    title_style: str  # CSS
    title_sizes: tuple[float, ...]
    accent: str

    @property
    def inner_width(self) -> int:
        return self.width - self.margins[1] - self.margins[3]

    @property
    def inner_height(self) -> int:
        return self.height - self.margins[0] - self.margins[2]


@dataclass(frozen=True, slots=True)
class Draw:
    """Random choices for one page."""

    rng: random.Random
    language: str
    texts: Texts
    theme: Theme

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def between(self, low: float, high: float) -> float:
        return round(self.rng.uniform(low, high), 2)

    def sentences(self, low: int, high: int) -> str:
        return self.texts.paragraph(self.rng, self.rng.randint(low, high))

    def words(self, low: int, high: int) -> str:
        return self.texts.words(self.rng, self.rng.randint(low, high))

    def title(self, longest: int = 60) -> str:
        return self.texts.title(self.rng, longest)

    def text(self, plain: str) -> str:
        """Escaped, with soft hyphens where the theme has them."""
        return html.escape(hyphenated(plain, self.language) if self.theme.hyphens else plain, quote=False)

    @property
    def spaced(self) -> bool:
        """Whether words are separated by spaces."""
        return self.language not in NO_SPACES


@dataclass(frozen=True, slots=True)
class Page:
    """A page ready to print; sizes in CSS pixels."""

    html: str
    width: int
    height: int


def make_theme(rng: random.Random, language: str, *, sizes: tuple[str, ...] = ("a4", "letter", "a5")) -> Theme:
    """A random theme for a page of one of the named paper sizes."""
    serif, sans = _FONTS.get(language, (SERIF, SANS))
    width, height = SIZES[rng.choice(sizes)]
    body = rng.choice(serif if rng.random() < 0.55 else sans)
    titles = body if rng.random() < 0.5 else rng.choice(serif + sans)
    size = rng.choice((12, 12.5, 13, 13.3, 14, 14.7, 16)) if width > 600 else rng.choice((10.5, 11, 12, 13))
    side = rng.uniform(0.06, 0.15) * width
    other = side if rng.random() < 0.7 else rng.uniform(0.06, 0.17) * width
    step = rng.uniform(1.1, 1.35)
    smallest = size * rng.choice((1.0, 1.0, 1.05, 1.15))
    style = rng.choice(
        ("font-weight:bold", "font-weight:bold", "font-weight:bold", "font-style:italic", "font-weight:normal")
    )
    accent = rng.choice(_ACCENTS)
    style += f";color:{accent}" if rng.random() < 0.5 else ""
    return Theme(
        width, height,
        (int(rng.uniform(0.055, 0.11) * height), int(side), int(rng.uniform(0.055, 0.1) * height), int(other)),
        body, titles, size, round(rng.uniform(1.15, 1.6), 2) + (0.15 if language in _FONTS else 0),
        rng.random() < 0.6, rng.random() < 0.6, rng.random() < 0.4,
        style, tuple(round(smallest * step ** (4 - level), 1) for level in range(1, 5)), accent,
    )  # fmt: skip


def make_draw(seed: str, language: str, **options: tuple[str, ...]) -> Draw:
    """The choices of the page with this seed."""
    rng = random.Random(seed)
    return Draw(rng, language, texts(language), make_theme(rng, language, **options))


def page(draw: Draw, body: str, css: str = "") -> Page:
    """The whole document around `body`."""
    theme = draw.theme
    direction = "rtl" if draw.language in RIGHT_TO_LEFT else "ltr"
    start = "right" if direction == "rtl" else "left"
    top, right, bottom, left = theme.margins
    para = (
        f".flow>.p+.p{{text-indent:{draw.between(1, 2.2)}em}} .p{{margin:0}}"
        if theme.indented
        else f".p{{margin:0 0 {draw.between(0.4, 1)}em}}"
    )
    sizes = " ".join(f".t{n}{{font-size:{size}px}}" for n, size in enumerate(theme.title_sizes, 1))
    sheet = f"""@page{{size:{theme.width}px {theme.height}px;margin:0}}
html{{width:{theme.width}px;height:{theme.height - 1}px;overflow:hidden}}
*{{box-sizing:border-box}}
body{{margin:0;position:relative;width:{theme.width}px;height:{theme.height - 1}px;overflow:hidden;
font:{theme.size}px/{theme.leading} '{theme.body_font}',serif;text-rendering:geometricPrecision;hyphens:manual;
-webkit-print-color-adjust:exact}}
.main{{position:absolute;top:{top}px;right:{right}px;bottom:{bottom}px;left:{left}px;display:flex;flex-direction:column}}
.flow{{flex:1 1 0;min-height:0;column-fill:auto}}
.p{{text-align:{"justify" if theme.justified else start};orphans:2;widows:2}} {para}
.t{{font-family:'{theme.title_font}';{theme.title_style};line-height:1.2;margin:{draw.between(0.5, 1.3)}em 0 {draw.between(0.2, 0.7)}em;
break-after:avoid;break-inside:avoid;text-indent:0}} {sizes} .t1{{margin-top:0}}
table{{border-collapse:collapse;break-inside:avoid;text-indent:0}} td,th{{text-align:{start};vertical-align:top;padding:2px 5px;font-weight:inherit}}
.item{{padding-inline-start:{draw.between(1.2, 2.2)}em;text-indent:0;position:relative}}
.item>.mk{{position:absolute;inset-inline-start:0}}
.list{{margin:0.4em 0 0.8em;margin-inline-start:{draw.between(0, 1.8)}em}}
figure{{margin:0.7em 0;break-inside:avoid;text-indent:0}} .cap{{font-size:0.88em;margin:0.4em 0;text-indent:0;break-inside:avoid}}
.drop{{float:{start};font-size:{draw.rng.choice((2.1, 3.1, 3.4, 4.2))}em;line-height:0.86;padding-inline-end:0.06em;margin-top:0.04em}}
.hang{{padding-inline-start:{draw.between(1.2, 2.6)}em;text-indent:-{draw.between(1.1, 1.2)}em;break-inside:auto}}
.foot{{font-size:0.8em;line-height:1.25;margin:0.15em 0}} .abs{{position:absolute}} .num{{text-align:right!important}}
sup,sub{{line-height:0;font-size:0.68em}} {css}"""
    return Page(
        f'<!DOCTYPE html><html lang="{draw.language}" dir="{direction}"><head><meta charset="utf-8"><style>{sheet}</style>'
        f"</head><body>{body}</body></html>",
        theme.width,
        theme.height,
    )
