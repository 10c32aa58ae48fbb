"""Finds fonts that may map their characters wrongly: by their text's language, and by the shapes they draw. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor

import numpy as np

from inkgate.documents.pdf.glyph import Glyph
from inkgate.documents.pdf.ink import GreyPage, Sheet
from inkgate.documents.pdf.normalize import readable
from inkgate.documents.pdf.shapes import Shape, doubtful
from inkgate.documents.pdf.written import looks_written

LEADERS = ".·•_-–—…"
"""Fill characters of tables of contents and forms."""
MIN_ALPHANUMERIC = 0.4
"""Minimum share of letters and digits, without leaders. Mathematics has 0.7."""
MAX_DOUBTED = 0.2
"""Share of a font's letters that may look like others: a decorative font's do."""
_MIN_TELLING = 4
"""Characters of a page by which their kinds tell."""
_FEW = 3
"""Different characters of a font that is used for bullets only, or for so few letters that one of them tells."""
MIN_GUESSED = 0.8
"""Share of a font's characters that it doesn't map from which it maps none, and pdfium takes their codes for them."""
_SAMPLES = 2
"""Shapes of each character of a font that are looked at."""
_MIN_SHAPE_PX = 7.0
"""Height of capitals in the rendered page, in pixels, from which their shapes can be told apart."""
_ALONG = 0.999
"""Least part of a text's direction that is along the page's sides."""
_CAPITAL = 0.7
"""Height of capitals and digits in ems."""
_DINGBATS = frozenset("§¨Øüà")
"""Codes of Wingdings' bullets that are no letters of ASCII. A font that has nothing else is no font of text."""
_BULLET_GAP = 0.15
"""Minimum distance, in ems, of a bullet from its text."""


@dataclass(frozen=True, slots=True)
class FontDoubts:
    """Characters whose fonts may map them wrongly.

    Attributes:
        whole: characters of fonts that may map all of theirs wrongly.
        digits: digits of fonts that are right otherwise, but of whose digits one doesn't look like what the font says.
        guessed: ids of characters that the font doesn't map, but whose codes may be those of their letters.
        bullets: fonts whose characters are no letters, as the layer says, but bullets.
    """

    whole: tuple[Glyph, ...] = ()
    digits: tuple[Glyph, ...] = ()
    guessed: frozenset[int] = frozenset()
    bullets: frozenset[int] = frozenset()

    @classmethod
    def of(cls, visible: Sequence[Glyph], sheet: Sheet | None) -> FontDoubts:
        """The doubts about a page's `visible` characters. `sheet`: the page; without it, only the language tells."""
        fonts: dict[tuple[int, int], list[Glyph]] = {}
        for glyph in visible:
            if not glyph.text.isspace():
                fonts.setdefault((glyph.font, glyph.said), []).append(glyph)
        is_prose = _is_prose([glyph.text for glyph in visible])
        page = sheet.sharp if sheet is not None and any(map(_is_sampled, visible)) else None
        whole: list[Glyph] = []
        digits: list[Glyph] = []
        guessed: set[int] = set()
        bullets: set[int] = set()
        shapes = [[] if page is None else _shapes(own, page) for own in fonts.values()]
        for ((font, said), own), samples, doubted in zip(fonts.items(), shapes, doubtful(shapes), strict=True):
            known = frozenset(shape.text for shape in samples)
            letters = sum(char.isalpha() for char in known)
            wrong = sum(char.isalpha() for char in doubted)
            if not said and _are_bullets(own, doubted, known) and _stand_alone(own, visible):
                bullets.add(font)
                continue
            unmapped = [glyph for glyph in own if not glyph.mapped]
            garbled = not is_prose or not looks_written([glyph.text for glyph in own])
            if garbled or (wrong >= min(_FEW, letters) > 0 and wrong > MAX_DOUBTED * letters):
                whole += own
            elif len(unmapped) >= MIN_GUESSED * len(own):
                # All codes are those of characters, or none is.
                guessed |= {id(glyph) for glyph in unmapped if readable(glyph.text) and glyph.text not in doubted}
                whole += own
            elif any(map(str.isdecimal, doubted)):
                # One letter that looks odd is a matter of taste, one digit a matter of money.
                digits += [glyph for glyph in own if glyph.text.isdecimal()]
        return cls(tuple(whole), tuple(digits), frozenset(guessed), frozenset(bullets))


def _are_bullets(glyphs: Sequence[Glyph], doubted: frozenset[str], known: frozenset[str]) -> bool:
    """Whether a font has few characters, and these are no letters."""
    texts = {glyph.text for glyph in glyphs}
    return texts <= _DINGBATS or (0 < len(known) < _FEW and doubted == known == texts)


def _is_prose(visible: Sequence[str]) -> bool:
    """Whether the page's characters, in whatever fonts, look like a language."""
    telling = {char: times for char, times in Counter(visible).items() if not char.isspace() and char not in LEADERS}
    total = sum(telling.values())
    alphanumeric = sum(times for char, times in telling.items() if char.isalnum())
    if total >= _MIN_TELLING and alphanumeric < MIN_ALPHANUMERIC * total:
        return False
    return looks_written(visible)


def _is_sampled(glyph: Glyph) -> bool:
    char = glyph.text
    return ("0" <= char <= "9" or "A" <= char <= "Z" or "a" <= char <= "z") and max(
        abs(glyph.ux), abs(glyph.uy)
    ) > _ALONG


def _shapes(glyphs: Sequence[Glyph], page: GreyPage) -> list[Shape]:
    """Samples of a font's letters and digits."""
    seen: Counter[str] = Counter()
    done: set[str] = set()
    found = []
    height, width = page.grey.shape
    for glyph in glyphs:
        char = glyph.text
        if char in done:
            continue
        size = max(glyph.size, 1e-3)
        if not _is_sampled(glyph) or size * page.scale * _CAPITAL < _MIN_SHAPE_PX:
            continue
        left, top = floor(glyph.left * page.scale) - 1, floor(glyph.top * page.scale) - 1
        right, bottom = ceil(glyph.right * page.scale) + 1, ceil(glyph.bottom * page.scale) + 1
        if 0 <= left < right <= width and 0 <= top < bottom <= height:
            seen[char] += 1
            if seen[char] == _SAMPLES:
                done.add(char)
            turns, above, below = _upright(glyph)
            found.append(Shape(char, np.rot90(page.grey[top:bottom, left:right], turns), above / size, below / size))
    return found


def _upright(glyph: Glyph) -> tuple[int, float, float]:
    """By how many quarter turns to the left its picture is upright, and its top and bottom over its baseline."""
    if glyph.ux > _ALONG:
        return 0, glyph.y - glyph.top, glyph.y - glyph.bottom
    if glyph.ux < -_ALONG:
        return 2, glyph.bottom - glyph.y, glyph.top - glyph.y
    if glyph.uy > 0:  # downwards
        return 1, glyph.right - glyph.x, glyph.left - glyph.x
    return 3, glyph.x - glyph.left, glyph.x - glyph.right


def _stand_alone(own: Sequence[Glyph], visible: Sequence[Glyph]) -> bool:
    """Whether each character of the font stands before a space, or at a distance from what follows."""
    ours = {id(glyph) for glyph in own}
    for glyph, following in pairwise(visible):
        if id(glyph) not in ours or following.text.isspace():
            continue
        near = glyph.left <= following.left < glyph.right + _BULLET_GAP * glyph.size
        if id(following) in ours or near:
            return False
    return True
