"""Finds fonts that may map their characters wrongly: by their text's language, and by the shapes they draw. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from inkgate.documents.pdf.glyph import Glyph
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
_SAMPLES = 2
"""Shapes of each character of a font that are looked at."""
_MIN_SHAPE_PX = 7.0
"""Height of capitals in the rendered page, in pixels, from which their shapes can be told apart."""
_CAPITAL = 0.7
"""Height of capitals and digits in ems."""
_BULLET_GAP = 0.15
"""Minimum distance, in ems, of a bullet from its text."""


@dataclass(frozen=True, slots=True)
class GreyPage:
    """A rendered page, (H, W) uint8, with `scale` of its pixels per pixel of the page."""

    grey: NDArray[np.uint8]
    scale: float


@dataclass(frozen=True, slots=True)
class FontDoubts:
    """Characters whose fonts may map them wrongly.

    Attributes:
        at: the characters. Among them are those that the font does not map, but that have the code of a letter.
        bullets: fonts whose characters are no letters, as the layer says, but bullets.
    """

    at: tuple[Glyph, ...] = ()
    bullets: frozenset[int] = frozenset()

    @classmethod
    def of(cls, visible: Sequence[Glyph], render: Callable[[], GreyPage] | None) -> FontDoubts:
        """The doubts about a page's `visible` characters. `render`: the page, at 150 dpi or so; None: without it, only
        the language tells.
        """
        own: dict[int, list[Glyph]] = {}
        for glyph in visible:
            if not glyph.text.isspace():
                own.setdefault(glyph.font, []).append(glyph)
        wrong = {font for font, glyphs in own.items() if not looks_written(glyph.text for glyph in glyphs)}
        if not wrong and not _is_prose(visible):
            wrong = set(own)
        digits, bullets = set[int](), set[int]()
        page = render() if render is not None and any(map(_is_sampled, visible)) else None
        for font, glyphs in own.items():
            shapes = [] if page is None else _shapes(glyphs, page)
            doubted = doubtful(shapes)
            if not doubted:
                continue
            known = {shape.text for shape in shapes}
            letters = {char for char in known if char.isalpha()}
            if doubted == known and len(known) < _FEW and _stand_alone(glyphs, visible):
                bullets.add(font)
            elif len(doubted & letters) > (0 if len(letters) <= _FEW else max(1.0, MAX_DOUBTED * len(letters))):
                wrong.add(font)
            elif any(char.isdecimal() for char in doubted):
                digits.add(font)
        at = [
            glyph
            for font in (wrong | digits) - bullets
            for glyph in own[font]
            if font in wrong or glyph.text.isdecimal()
        ]
        return cls((*at, *_guessed(visible)), frozenset(bullets))


def _is_prose(visible: Sequence[Glyph]) -> bool:
    """Whether the page's characters, in whatever fonts, look like a language."""
    telling = [glyph.text for glyph in visible if not glyph.text.isspace() and glyph.text not in LEADERS]
    if len(telling) >= _MIN_TELLING and sum(map(str.isalnum, telling)) < MIN_ALPHANUMERIC * len(telling):
        return False
    return looks_written(glyph.text for glyph in visible)


def _guessed(visible: Sequence[Glyph]) -> Iterator[Glyph]:
    """Characters without a mapping whose codes are those of text, but not those that begin a line of mapped text: these
    are bullets.
    """
    for at, glyph in enumerate(visible):
        if glyph.mapped or not readable(glyph.text):
            continue
        before, after = visible[max(at - 1, 0) : at], visible[at + 1 : at + 3]
        begins = all(each.text.isspace() or not _beside(each, glyph) for each in before)
        is_bullet = begins and len(after) == 2 and after[0].text == " " and after[1].mapped and _beside(after[1], glyph)
        if not is_bullet:
            yield glyph


def _beside(a: Glyph, b: Glyph) -> bool:
    return abs(a.y - b.y) < b.size / 2


def _is_sampled(glyph: Glyph) -> bool:
    char = glyph.text
    return ("0" <= char <= "9" or "A" <= char <= "Z" or "a" <= char <= "z") and glyph.ux > 0.999


def _shapes(glyphs: Sequence[Glyph], page: GreyPage) -> list[Shape]:
    """Samples of a font's letters and digits."""
    seen: Counter[str] = Counter()
    found = []
    height, width = page.grey.shape
    for glyph in glyphs:
        char, size = glyph.text, max(glyph.size, 1e-3)
        if not _is_sampled(glyph) or seen[char] >= _SAMPLES or size * page.scale * _CAPITAL < _MIN_SHAPE_PX:
            continue
        left, top = floor(glyph.left * page.scale) - 1, floor(glyph.top * page.scale) - 1
        right, bottom = ceil(glyph.right * page.scale) + 1, ceil(glyph.bottom * page.scale) + 1
        if 0 <= left < right <= width and 0 <= top < bottom <= height:
            seen[char] += 1
            above, below = (glyph.y - glyph.top) / size, (glyph.y - glyph.bottom) / size
            found.append(Shape(char, page.grey[top:bottom, left:right], above, below))
    return found


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
