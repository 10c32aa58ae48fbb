"""Finds fonts that may map their characters wrongly: by their text's language, and by the shapes they draw. Pure."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil, floor
from operator import attrgetter

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
_SIGNS = {".": ".", "\u2024": ".", ",": ",", "\u201a": ",", "-": "-", "\u2010": "-", "\u2011": "-", "\u2012": "-",
          "\u2013": "-", "\u2212": "-", "\xad": "-"}  # fmt: skip
"""Signs of numbers that sizes and places tell apart."""
_HIGHEST, _LARGEST = 0.55, 0.6
"""Highest top of a sign over the baseline, and largest height and width, in ems."""
_DASH_FROM, _DASH = 0.1, 1.6
"""Least bottom of a dash over the baseline, in ems, and how many times as wide as high it is."""
_POINT_FROM, _TAIL, _LOW, _ROUND, _SLIM = -0.04, -0.07, 0.3, (0.6, 1.6), 0.8
"""Bottoms of points and commas, top of both, in ems; width of a point, and the largest one of a comma, in heights."""
_FULL_SIZE = (0.15, 0.5)
"""Highest bottom and lowest top of a digit of usual size, in ems."""
_NARROW = 0.8
"""Distance in ems to the next character below which a character is not full-width."""
_OWN_SHAPE = frozenset("045678")
"""Digits that no digit of the same value in another script resembles."""
_IN_CIRCLE = "<circle>"
_LARGER = 1.15
"""Size of the text beside a raised mark, in sizes of the mark."""
_LATIN_LOOK = {
    "Cyrillic": dict(zip("АВЕКМНОРСТХаеорсух", "ABEKMHOPCTXaeopcyx", strict=True)),
    "Greek": dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονκρ", "ABEZHIKMNOPTYXovkp", strict=True)),
}
"""Letters of other scripts that look like Latin ones."""
_MIN_LOOK, _MAX_LOOK = 3, 0.5
"""Least number of such letters that tell, and share of them that may look otherwise."""
_ODD = 0.012
"""Difference in ems of widths, tops or bottoms from which two characters are drawn by different glyphs of a font."""
_MAX_WAYS, _MAX_ODD = 3, 6
"""Most glyphs of a character, and most characters of a font that have several. With more, boxes say nothing."""
_NUMBERS = attrgetter("text", "left", "top", "right", "bottom", "y", "ux", "size", "font", "actual_text")
_IS_SAMPLED = np.array([chr(code).isalnum() and chr(code) not in "ij" for code in range(128)] + [False])


@dataclass(frozen=True, slots=True)
class FontDoubts:
    """Characters whose fonts may map them wrongly.

    Attributes:
        whole: characters of fonts that may map all of theirs wrongly.
        single: characters that may be others, of fonts that are right otherwise: digits and exchanged letters by their
            shapes, points, commas and dashes of numbers by their sizes and places.
        plain: usual digits, by id, that fonts say are superscripts, full-width, or of another script.
        guessed: ids of characters that the font doesn't map, but whose codes may be those of their letters.
        bullets: fonts whose characters are no letters, as the layer says, but bullets.
        scripts: names of scripts, Cyrillic or Greek, of which a font's letters don't look like what it says.
    """

    whole: tuple[Glyph, ...] = ()
    single: tuple[Glyph, ...] = ()
    plain: Mapping[int, str] = field(default_factory=dict)
    guessed: frozenset[int] = frozenset()
    bullets: frozenset[int] = frozenset()
    scripts: tuple[str, ...] = ()

    @classmethod
    def of(cls, visible: Sequence[Glyph], sheet: Sheet | None) -> FontDoubts:
        """The doubts about a page's `visible` characters. `sheet`: the page; without it, only the language tells."""
        fonts: dict[tuple[int, int], list[Glyph]] = {}
        for glyph in visible:
            if not glyph.text.isspace():
                fonts.setdefault((glyph.font, glyph.actual_text), []).append(glyph)
        texts = [glyph.text for glyph in visible]
        is_prose = _is_prose(texts)
        page = sheet.sharp if sheet is not None and any(map(_is_looked_at, visible)) else None
        whole: list[Glyph] = []
        single = list(_wrong_signs(visible))
        chars = set(texts)
        others = any(char.isdigit() and not char.isascii() for char in chars)
        plain, wrong_digits = _plain_digits(visible, page) if others else ({}, [])
        single += wrong_digits
        single += [] if page is None else _drawn_otherwise(visible, page)
        guessed: set[int] = set()
        bullets: set[int] = set()
        shapes = [[] if page is None else _shapes(own, page) for own in fonts.values()]
        for ((font, actual_text), own), samples, doubted in zip(fonts.items(), shapes, doubtful(shapes), strict=True):
            known = frozenset(shape.text for shape in samples)
            letters = sum(char.isalpha() for char in known)
            wrong = sum(char.isalpha() for char in doubted)
            if not actual_text and _are_bullets(own, doubted, known) and _stand_alone(own, visible):
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
            else:
                # One letter that looks odd is a matter of taste, one digit a matter of money.
                digits = any(map(str.isdecimal, doubted))
                exchanged = {char for char, alike in doubted.items() if doubted.get(alike) == char}
                if digits or exchanged:
                    single += [glyph for glyph in own if glyph.text in exchanged or (digits and glyph.text.isdecimal())]
        scripts = () if page is None else _wrong_scripts(fonts.values(), chars, page)
        return cls(tuple(whole), tuple(single), plain, frozenset(guessed), frozenset(bullets), scripts)


def _are_bullets(glyphs: Sequence[Glyph], doubted: Collection[str], known: frozenset[str]) -> bool:
    """Whether a font has few characters, and these are no letters."""
    texts = {glyph.text for glyph in glyphs}
    return texts <= _DINGBATS or (0 < len(known) < _FEW and set(doubted) == known == texts)


def _is_prose(visible: Sequence[str]) -> bool:
    """Whether the page's characters, in whatever fonts, look like a language."""
    telling = {char: times for char, times in Counter(visible).items() if not char.isspace() and char not in LEADERS}
    total = sum(telling.values())
    alphanumeric = sum(times for char, times in telling.items() if char.isalnum())
    if total >= _MIN_TELLING and alphanumeric < MIN_ALPHANUMERIC * total:
        return False
    return looks_written(visible)


def _is_looked_at(glyph: Glyph) -> bool:
    """Whether the character's picture tells something."""
    return _is_sampled(glyph) or glyph.text.isdigit() or any(glyph.text in latin for latin in _LATIN_LOOK.values())


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
    """Returns by how many quarter turns to the left its picture is upright, and its top and bottom over its
    baseline.
    """
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


def _wrong_signs(visible: Sequence[Glyph]) -> Iterator[Glyph]:
    """Points, commas and dashes beside digits that have the size and place of another of these."""
    for at, glyph in enumerate(visible):
        if glyph.text not in _SIGNS:
            continue
        around = (*visible[max(at - 1, 0) : at], *visible[at + 1 : at + 2])
        if any(other.text.isdecimal() for other in around) and drawn_sign(glyph) not in {"", _SIGNS[glyph.text]}:
            yield glyph


def drawn_sign(glyph: Glyph) -> str:
    """Which of `.,-` the character is drawn like; empty if like none of them."""
    wide, above, below = _place(glyph)
    high = above - below
    if not (0 < high < _LARGEST and 0 < wide < _LARGEST and above < _HIGHEST):
        return ""
    if below > _DASH_FROM and wide > _DASH * high:
        return "-"
    if above > _LOW:
        return ""
    if below > _POINT_FROM and _ROUND[0] < wide / high < _ROUND[1]:
        return "."
    return "," if below < _TAIL and wide < _SLIM * high else ""


def _place(glyph: Glyph) -> tuple[float, float, float]:
    """The width of a character's box, and its top and bottom over the baseline, in ems."""
    _, above, below = _upright(glyph)
    level = abs(glyph.ux) > abs(glyph.uy)
    wide = glyph.right - glyph.left if level else glyph.bottom - glyph.top
    size = max(glyph.size, 1e-3)
    return wide / size, above / size, below / size


def _plain_digits(visible: Sequence[Glyph], page: GreyPage | None) -> tuple[dict[int, str], list[Glyph]]:
    """The digits, by id, that the page shows as usual ones while their fonts say otherwise; and those that may have
    another value.
    """
    fonts: dict[tuple[int, bool], list[tuple[Glyph, str]]] = {}
    narrow: set[int] = set()
    for at, glyph in enumerate(visible):
        if glyph.text.isascii() or not glyph.text.isdigit() or _IN_CIRCLE in unicodedata.decomposition(glyph.text):
            continue
        following = visible[at + 1] if at + 1 < len(visible) else None
        char = unicodedata.normalize("NFKC", glyph.text)
        _, above, below = _place(glyph)
        if len(char) == 1 and below < _FULL_SIZE[0] and above > _FULL_SIZE[1] and not _may_be_mark(visible, at):
            fonts.setdefault((glyph.font, char.isascii()), []).append((glyph, str(unicodedata.digit(char))))
            narrow.update([glyph.font] if _is_narrow(glyph, following) else [])
    if page is None or not fonts:
        return {}, []
    digits = [
        [(glyph, digit) for glyph, digit in found if glyph.font in narrow or not _is_full_width(glyph)]
        for found in fonts.values()
    ]
    shapes = [_shapes([glyph._replace(text=digit) for glyph, digit in found], page) for found in digits]
    plain: dict[int, str] = {}
    wrong: list[Glyph] = []
    for (_, same), found, known, doubted in zip(fonts, digits, shapes, doubtful(shapes), strict=True):
        seen = {shape.text for shape in known}
        if doubted:
            wrong += [glyph for glyph, _ in found if same]
        elif seen and (same or seen & _OWN_SHAPE):
            plain.update({id(glyph): digit for glyph, digit in found})
    return plain, wrong


def _may_be_mark(visible: Sequence[Glyph], at: int) -> bool:
    """Whether a superscript is smaller than the text beside it: some files draw marks of footnotes as small digits."""
    if _is_full_width(visible[at]) or visible[at].text.isdecimal():
        return False
    before = next((glyph for glyph in reversed(visible[:at]) if not _is_in_number(glyph)), None)
    after = next((glyph for glyph in visible[at + 1 :] if not _is_in_number(glyph)), None)
    sizes = [glyph.size for glyph in (before, after) if glyph is not None]
    return not sizes or max(sizes) > _LARGER * visible[at].size


def _is_in_number(glyph: Glyph) -> bool:
    return glyph.text.isspace() or glyph.text in ".," or (glyph.text.isdigit() and not glyph.text.isascii())


def _is_full_width(glyph: Glyph) -> bool:
    return unicodedata.east_asian_width(glyph.text) == "F"


def _is_narrow(glyph: Glyph, following: Glyph | None) -> bool:
    """Whether the next character is nearer than it can be to a full-width one."""
    if following is None or following.text.isspace():
        return False
    away = (following.x - glyph.x) * glyph.ux + (following.y - glyph.y) * glyph.uy
    return 0 < away < _NARROW * glyph.size


def _drawn_otherwise(visible: Sequence[Glyph], page: GreyPage) -> list[Glyph]:
    """Letters and digits that have other sizes or places than others of their kind in their font, and another shape."""
    uneven = _uneven(visible)
    kinds = Counter(glyphs[0].font for glyphs in uneven)
    odd: list[list[Glyph]] = []
    for glyphs in uneven:
        if kinds[glyphs[0].font] > _MAX_ODD:
            continue
        ways: list[list[Glyph]] = []
        for glyph in glyphs:
            for way in ways:
                if max(abs(a - b) for a, b in zip(_place(glyph), _place(way[0]), strict=True)) < _ODD:
                    way.append(glyph)
                    break
            else:
                ways.append([glyph])
        odd += ways if len(ways) <= _MAX_WAYS else []
    if not odd:
        return []
    found = doubtful([_shapes(way, page) for way in odd])
    return [glyph for way, doubted in zip(odd, found, strict=True) if doubted for glyph in way]


def _uneven(visible: Sequence[Glyph]) -> list[list[Glyph]]:
    """The level letters and digits of ASCII that don't always have the same size and place in a font, by kind; without
    i and j, which lose their dots beside f, and without parts of ligatures, which have the same box.
    """
    texts, lefts, tops, rights, bottoms, bases, along, sizes, fonts, actual_text = zip(
        *map(_NUMBERS, visible), strict=True
    )
    codes = np.fromiter(map(ord, texts), np.int64, len(texts))
    left, top, right, bottom, base, size = map(np.array, (lefts, tops, rights, bottoms, bases, sizes))
    level = (np.array(along) > _ALONG) & (np.array(actual_text) == 0)
    at = np.flatnonzero(level & _IS_SAMPLED[np.minimum(codes, len(_IS_SAMPLED) - 1)])
    alone = (left[at] != left[at - 1]) | (right[at] != right[at - 1])
    alone &= (left[at] != left[(at + 1) % len(codes)]) | (right[at] != right[(at + 1) % len(codes)])
    at = at[alone]
    if not len(at):
        return []
    _, font = np.unique(np.array(fonts, np.int64)[at], return_inverse=True)
    kinds = font * len(_IS_SAMPLED) + codes[at]
    order = np.argsort(kinds, kind="stable")
    at, kinds = at[order], kinds[order]
    places = np.stack([right - left, base - top, base - bottom])[:, at] / np.maximum(size[at], 1e-3)
    starts = np.flatnonzero(np.diff(kinds, prepend=-1))
    spread = np.maximum.reduceat(places, starts, axis=1) - np.minimum.reduceat(places, starts, axis=1)
    parts = np.split(at, starts[1:])
    uneven = np.flatnonzero(spread.max(axis=0) >= _ODD)
    return [[visible[place] for place in parts[number]] for number in uneven.tolist()]


def _wrong_scripts(fonts: Iterable[Sequence[Glyph]], chars: set[str], page: GreyPage) -> tuple[str, ...]:
    """The scripts of which most letters of a font that should look like Latin ones don't. `chars`: of all fonts."""
    wrong = []
    fonts = list(fonts)
    for name, latin in _LATIN_LOOK.items():
        if len(chars & latin.keys()) < _MIN_LOOK:
            continue
        alike = [[glyph._replace(text=latin[glyph.text]) for glyph in own if glyph.text in latin] for own in fonts]
        shapes = [_shapes(own, page) for own in alike if len({glyph.text for glyph in own}) >= _MIN_LOOK]
        for known, doubted in zip(shapes, doubtful(shapes), strict=True):
            seen = {shape.text for shape in known}
            if len(seen) >= _MIN_LOOK and len(doubted) > _MAX_LOOK * len(seen) and name not in wrong:
                wrong.append(name)
    return tuple(wrong)
