"""PDFs whose fonts map glyphs to wrong characters: what is printed is not what the text layer says.

`garbled_pdfs(kind)` makes at least 20 PDFs of a kind, with other fonts, sizes and texts; `sound_pdfs()` makes the same
pages with right maps, in which nothing may be doubted. The fonts are matplotlib's, as subsets.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

from fontTools.ttLib import TTFont

from support.embedded_fonts import embed
from support.pdf_writer import PdfWriter

FONTS = (
    "DejaVuSans", "DejaVuSerif", "STIXGeneral", "DejaVuSansMono", "cmr10", "DejaVuSans-Bold", "STIXGeneralItalic",
    "cmss10", "DejaVuSerif-Bold", "STIXGeneralBol", "DejaVuSans-Oblique", "cmtt10", "DejaVuSerif-Italic",
)  # fmt: skip
"""Files of matplotlib, without their ending."""
_PAGE = (595.0, 842.0)


class Garbling(StrEnum):
    """What is wrong with a font's map.

    Attributes:
        SHIFTED: every letter and digit is another, some places on in the alphabet.
        DIGITS: digits are permuted.
        ONE_FONT: two fonts; that of the amounts, names or numbers is shifted, or its digits are permuted.
        HEADING: only the heading's font is shifted.
        UNMAPPED: one letter of the font is not mapped.
        LIGATURES: fi, fl and ff are one glyph each, and not mapped.
        BLANKS: glyphs that draw nothing are mapped to letters.
        BULLETS: bullets of a second font are mapped to letters, as symbol fonts are.
        SIGNS: in numbers, two of point, comma and dash have each other's place, or the dash is a character without ink.
        EXCHANGED: two letters have each other's place.
        MERGED: a letter or digit is mapped to another that the page has, too.
        SUPERSCRIPTS: digits are permuted, and are superscripts or full-width.
    """

    SHIFTED = "shifted"
    DIGITS = "digits"
    ONE_FONT = "one_font"
    HEADING = "heading"
    UNMAPPED = "unmapped"
    LIGATURES = "ligatures"
    BLANKS = "blanks"
    BULLETS = "bullets"
    SIGNS = "signs"
    EXCHANGED = "exchanged"
    MERGED = "merged"
    SUPERSCRIPTS = "superscripts"


@dataclass(frozen=True)
class GarbledPdf:
    """A PDF of one page.

    Attributes:
        name: says how it was made.
        printed: what people read, line by line from the top.
        layer: the same lines by the fonts' maps; characters without one are left out.
        wrong: those of `printed` whose `layer` is another.
    """

    name: str
    data: bytes
    printed: tuple[str, ...]
    layer: tuple[str, ...]

    @property
    def wrong(self) -> tuple[str, ...]:
        return tuple(line for line, said in zip(self.printed, self.layer, strict=True) if line != said)


@dataclass(frozen=True)
class _Part:
    """Text in one font; `font` is a key of a page's fonts."""

    text: str
    font: str = "body"


@dataclass(frozen=True)
class _Plan:
    """A page: lines of parts, files of its fonts, and the wrong part of their maps."""

    name: str
    lines: tuple[tuple[_Part, ...], ...]
    size: float
    files: Mapping[str, str]
    maps: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    glyphs: Mapping[str, str] = field(default_factory=dict)
    """Ligatures by the letters for which the body's font has them."""


_Text = tuple[str, tuple[str, ...]]
_TEXTS: tuple[_Text, ...] = (
    (
        "Invoice 2024-0937",
        (
            "Hall lamp, brass|1,284.50",
            "Fitting and wire|367.09",
            "Total due|1,651.59",
            "Please pay before|28.06.2024",
        ),
    ),
    (
        "Office of the Registrar",
        (
            "The first file was sent on|14 March 1987",
            "and confirms the findings of page|326.",
            "Our reference is|BK-70419/85",
        ),
    ),
    (
        "Account statement",
        (
            "Balance brought forward|9,570.26",
            "Interest, final quarter|48.13",
            "IBAN|DE89 3704 0044 0532 0130 00",
            "Balance carried forward|9,618.39",
        ),
    ),
    (
        "Field notes from the coast",
        (
            "The harbour lay quiet in the early light and nothing moved|",
            "but the gulls above it. Three boats had come in during|",
            "the night, their nets still wet, their lamps put out.|",
            "A stiff breeze off the flats filled the office with sand;|",
            "we counted fifteen terns, two hundred and six plovers and|",
            "one owl. Water level at noon:|4.73 m",
            "Wind from the north-west at knots:|18",
            "Next reading due at|05:26",
        ),
    ),
    (
        "Lieferschein 58213",
        (
            "Zwei Kisten Schrauben, verzinkt|1.049,70",
            "Fracht und Verpackung|86,35",
            "Summe netto in Euro|1.136,05",
            "Auftrag vom|27.09.2023",
        ),
    ),
)
"""Heading, and lines of a text and what is set in a second font where there is one."""


def garbled_pdfs(kind: Garbling, count: int = 20) -> list[GarbledPdf]:
    """`count` PDFs of a kind."""
    return [_drawn(_PLANS[kind](_plan(number), random.Random(f"{kind}{number}"))) for number in range(count)]


def sound_pdfs(count: int = 20) -> list[GarbledPdf]:
    """`count` PDFs with right maps, and two fonts."""
    return [_drawn(_second_font(_plan(number))) for number in range(count)]


def font_file(name: str) -> Path:
    """A font of matplotlib."""
    spec = find_spec("matplotlib")
    if spec is None or spec.origin is None:
        raise FileNotFoundError(name)
    return Path(spec.origin).parent / "mpl-data" / "fonts" / "ttf" / f"{name}.ttf"


def _plan(number: int) -> _Plan:
    """A page with a right map."""
    heading, rows = _TEXTS[number % len(_TEXTS)]
    body = FONTS[number % len(FONTS)]
    second = FONTS[(number + 1 + number // len(FONTS)) % len(FONTS)]
    size = (8.0, 10.0, 11.0, 12.0, 14.0, 9.0)[number % 6]
    lines = tuple((_Part(" ".join(part for part in row.split("|") if part)),) for row in rows)
    files = {"body": body, "second": second, "heading": second}
    return _Plan(f"{heading} in {body}, {size:g} pt", ((_Part(heading, "heading"),), *lines), size, files)


def _second_font(plan: _Plan) -> _Plan:
    """The same page with what matters in another font."""
    rows = next(rows for heading, rows in _TEXTS if heading == plan.lines[0][0].text)
    parted = (
        (_Part(start + (" " if end else "")), _Part(end, "second")) for start, end in (row.split("|") for row in rows)
    )
    return replace(plan, lines=(plan.lines[0], *(tuple(part for part in line if part.text) for line in parted)))


def _shift(by: int) -> dict[str, str | None]:
    alphabets = (string.ascii_lowercase, string.ascii_uppercase, string.digits)
    return {
        char: alphabet[(place + by) % len(alphabet)] for alphabet in alphabets for place, char in enumerate(alphabet)
    }


def _permuted_digits(rng: random.Random, used: str) -> dict[str, str | None]:
    """Two or more digits of those `used` have each other's place, or each has another's."""
    digits = sorted({char for char in used if char.isdigit()})
    chosen = rng.sample(digits, rng.choice([2, 3, len(digits)]))
    return dict(zip(chosen, [*chosen[1:], chosen[0]], strict=True))


def _shifted(plan: _Plan, rng: random.Random) -> _Plan:
    table = _shift(rng.choice([1, 2, 3, 7]))
    return replace(plan, maps={"body": table, "heading": table})


def _digits(plan: _Plan, rng: random.Random) -> _Plan:
    table = _permuted_digits(rng, "".join(part.text for line in plan.lines for part in line))
    return replace(plan, maps={"body": table, "heading": table})


def _one_font(plan: _Plan, rng: random.Random) -> _Plan:
    plan = _second_font(plan)
    used = "".join(part.text for line in plan.lines for part in line if part.font == "second")
    table = _shift(rng.choice([1, 3, 4])) if rng.random() < 0.5 else _permuted_digits(rng, used)
    return replace(plan, maps={"second": table})


def _heading(plan: _Plan, rng: random.Random) -> _Plan:
    return replace(plan, maps={"heading": _shift(rng.choice([1, 3, 5, 13]))})


def _unmapped(plan: _Plan, rng: random.Random) -> _Plan:
    used = [char for line in plan.lines[1:] for part in line for char in part.text[1:] if char.islower()]
    return replace(plan, maps={"body": {rng.choice(sorted(set(used))): None}})


def _ligatures(plan: _Plan, rng: random.Random) -> _Plan:
    words = ("Confidential findings", "The office file", "Final offer", "A stiff flat profile", "Sufficient affinity")
    lines = tuple((_Part(f"{rng.choice(words)}: {line[0].text}"),) for line in plan.lines[1:])
    body = plan.files["body"] if _has(plan.files["body"], "ﬁﬂﬀ") else rng.choice(("DejaVuSans", "DejaVuSerif"))
    glyphs = {"ff": "ﬀ", "fi": "ﬁ", "fl": "ﬂ"}
    maps = {"body": dict.fromkeys(glyphs.values())}
    return replace(plan, lines=(plan.lines[0], *lines), files={**plan.files, "body": body}, glyphs=glyphs, maps=maps)


def _blanks(plan: _Plan, rng: random.Random) -> _Plan:
    """A word at the end of each line, of glyphs that draw nothing."""
    blanks = "\u2002\u2003\u2004\u2005\u2006\u2007"
    body = plan.files["body"] if _has(plan.files["body"], blanks) else rng.choice(("DejaVuSans", "DejaVuSerif"))
    word = rng.choice(("passed", "secret", "ignore", "hidden"))
    table: dict[str, str | None] = dict(zip(blanks, word, strict=True))
    lines = tuple((*line, _Part(f" {blanks}")) for line in plan.lines[1:])
    return replace(plan, lines=(plan.lines[0], *lines), files={**plan.files, "body": body}, maps={"body": table})


def _bullets(plan: _Plan, rng: random.Random) -> _Plan:
    bullet = rng.choice("•■▪●◦")
    lines = tuple((_Part(bullet, "second"), _Part(" "), *line) for line in plan.lines[1:])
    files = {**plan.files, "second": "DejaVuSans", "heading": plan.files["second"]}
    return replace(plan, lines=(plan.lines[0], *lines), files=files, maps={"second": {bullet: rng.choice("ylnqv§")}})


def _signs(plan: _Plan, rng: random.Random) -> _Plan:
    """In lines whose signs are all in numbers."""
    rows = [line for line in plan.lines if not _LONE_SIGN.search("".join(part.text for part in line))]
    table = rng.choice([{".": ",", ",": "."}, {".": "-", "-": "."}, {",": "-", "-": ","}, {"-": "\u200b"}])
    rows.append((_Part("Balance -1,284.50"),))
    return replace(plan, lines=tuple(rows), maps={"body": table, "heading": table})


def _exchanged(plan: _Plan, rng: random.Random) -> _Plan:
    used = {char for line in plan.lines[1:] for part in line for char in part.text}
    one, other = rng.sample(sorted(used & set(_UNLIKE)), 2)
    return replace(plan, maps={"body": {one: other, other: one}})


def _merged(plan: _Plan, rng: random.Random) -> _Plan:
    used = {char for line in plan.lines[1:] for part in line for char in part.text}
    one, other = rng.sample(sorted(used & set(rng.choice([_UNLIKE, string.digits]))) or sorted(used & set(_UNLIKE)), 2)
    return replace(plan, maps={"body": {one: other}})


def _superscripts(plan: _Plan, rng: random.Random) -> _Plan:
    digits = rng.choice(["⁰¹²³⁴⁵⁶⁷⁸⁹", "₀₁₂₃₄₅₆₇₈₉", "０１２３４５６７８９"])
    permuted = _permuted_digits(rng, "".join(part.text for line in plan.lines for part in line))
    table = {char: digits[int(permuted.get(char) or char)] for char in string.digits}
    return replace(plan, maps={"body": table, "heading": table})


_LONE_SIGN = re.compile(r"(?<!\d)[.,-](?!\d)|[.,-]$")
_UNLIKE = "abdefghkmnrstuwy"
"""Letters of which none looks like another in any font."""
_PLANS = {
    Garbling.SHIFTED: _shifted,
    Garbling.DIGITS: _digits,
    Garbling.ONE_FONT: _one_font,
    Garbling.HEADING: _heading,
    Garbling.UNMAPPED: _unmapped,
    Garbling.LIGATURES: _ligatures,
    Garbling.BLANKS: _blanks,
    Garbling.BULLETS: _bullets,
    Garbling.SIGNS: _signs,
    Garbling.EXCHANGED: _exchanged,
    Garbling.MERGED: _merged,
    Garbling.SUPERSCRIPTS: _superscripts,
}


@lru_cache(maxsize=32)
def _characters(font: str) -> frozenset[int]:
    return frozenset(TTFont(BytesIO(font_file(font).read_bytes())).getBestCmap())


def _has(font: str, chars: str) -> bool:
    return _characters(font).issuperset(map(ord, chars))


def _drawn(plan: _Plan) -> GarbledPdf:
    writer = PdfWriter()
    glyphs = [[_with_glyphs(part, plan.glyphs) for part in line] for line in plan.lines]
    used: dict[str, str] = {}
    for part in (part for line in glyphs for part in line):
        used[part.font] = used.get(part.font, "") + part.text
    fonts = {
        key: embed(writer, font_file(plan.files[key]), text, plan.maps.get(key), b"F%d" % number)
        for number, (key, text) in enumerate(used.items(), start=2)
    }
    content, y = b"", _PAGE[1] - 90
    for row, line in enumerate(glyphs):
        size = 1.7 * plan.size if row == 0 else plan.size
        x = 70.0
        for part in line:
            content += fonts[part.font].text_at(x, y, part.text, size)
            x += fonts[part.font].width(part.text, size)
        y -= 2.2 * size
    writer.add_page(content, _PAGE, fonts=tuple(font.number for font in fonts.values()))
    printed = tuple("".join(part.text for part in line) for line in plan.lines)
    layer = tuple("".join(_mapped(part, plan) for part in line) for line in glyphs)
    return GarbledPdf(plan.name, writer.build(), tuple(" ".join(line.split()) for line in printed), layer)


def _with_glyphs(part: _Part, glyphs: Mapping[str, str]) -> _Part:
    text = part.text
    for letters, glyph in glyphs.items() if part.font == "body" else ():
        text = text.replace(letters, glyph)
    return replace(part, text=text)


def _mapped(part: _Part, plan: _Plan) -> str:
    table = plan.maps.get(part.font, {})
    return "".join(table.get(char, char) or "" for char in part.text)
