"""Lines of one or two characters: what they may be by their shape and size, and how sure that is.

A character that stands alone has no word around it that tells l from I from 1, or O from 0, and the recognition model
is as confident there as elsewhere. glyphs.py gives a second opinion on its shape; the page's print tells the size; a
column of numbers tells figures. A reading that these support keeps its confidence; another gets that of its shape, or
gives way where the recognition model is known to err.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from inkgate.engines.ppocr.crops import side_lengths, with_margin
from inkgate.engines.ppocr.glyphs import INK, alphabet, characters, ink_of, probabilities_of
from inkgate.engines.ppocr.lines import LineCrop
from inkgate.engines.ppocr.recognition import RecognizedText, unspaced
from inkgate.runtimes.base import FloatArray

_AGREES = 0.7
"""Probability of a shape from which the recognition model's reading keeps its confidence."""
_AGREES_IN_PAIR = 0.5
"""The same for one of two characters, whose sizes compare."""
_OFF = 0.25
"""How far from the middle between two characters, as part of their width, the gap between them may be."""
_UNSURE_SIZE = frozenset("acemnorsuvwxzijpqyg0otlI1COPSUVWXZ")
"""Characters of a pair that don't tell its size: low ones, and those that may be others."""
_REPLACES, _SURE = 0.75, 0.9
"""Probability of a shape from which it replaces a reading that may be it, and one that was not legible."""
_MIN_INK = 12
"""Pixels of the image below which shapes replace nothing: the network takes small A for ^ and C for ¢."""
_REPLACED, _HELD = 0.85, 0.6
"""Highest confidence of a character that was replaced; confidence of one that only its shape makes legible."""
_WIDE_SIGN, _RAISED_MARK = 1.7, 0.5
"""Width of a sign read as several characters, in heights; height of quotation marks read as II, in ems."""
_LONG = 6
"""Least number of characters of a line that tells how high the page's print is."""
_ENOUGH, _BEGINNING = 8, 8.0
"""Lines that tell it, and how much of them, in heights of the line."""
_X_HEIGHT, _CAP_HEIGHT, _DESCENT, _SMALL_HEIGHT = 0.53, 0.72, 0.21, 0.41
"""Heights in ems of low letters, of capitals and figures, of what hangs down, and of raised characters."""
_SPREAD, _LOWEST, _HIGHEST, _RAISED = 0.07, 0.28, 0.95, 0.45
"""How much faces differ; heights between which print is of the page's size; height below which it is raised."""
_LOW_LETTERS = frozenset("acemnorsuvwxz .,-")
_DESCENDING = frozenset("gjpqy,;()Q")
_RARE = 0.02
"""How usual a character is where others are expected."""
_MIN_HAN = 4
"""Characters of unspaced scripts from which the page has them."""
_NUMBER = re.compile(r"[-+($€£]?\d*[2-9]\d*(?:[.,]\d+)?%?\)?|\d+[.,]\d+")
"""Numbers that can't be l, I, O and the like."""
_SMALL = frozenset("²³¹ªº°")
_DASHES = {"-": 0.28, "–": 0.5, "—": 0.95, "_": 0.5}
"""Widths in ems."""
_THIN = 0.2
"""Height in ems below which a bar is a dash."""
_BAR = "一"
"""The one character of other scripts that nobody tells from a dash."""
_STROKES = frozenset("1lI|¦!i")
_SURE_FIGURES = frozenset("23456789")
_USUAL = 4.0
"""How much more usual than others figures are beside figures, and letters beside letters."""
_ROUND = frozenset("0Oo")
"""Characters that some faces draw as others draw another of them."""
_NARROW_OR_ROUND = frozenset("0O1iI")
"""What letters with accents are read as, if not as their base."""
_ALIKE = (
    "1lI|¦!i¡[](){}/\\'´`,.:;¹jJtrfÌÍÎÏìíîï7",
    "0OoQD°ºÒÓÔÕÖØÙÚÛÜòóôõöø©®¤@",
    "6Gb",
    "9gq",
    "8B&ß",
    "5Ss§$",
    "2Zz~²",
    "3³",
    "4A",
    "aª",
    "Xx×*",
    "VvYyU^><",
    "EÆ£€F",
    "f£ſ",
    "pPþÞ",
    "DÐ",
    "R®",
    "uµH",
    "Cc©¢(",
    "-–—_¯~=¬",
    '"”¨',
    "da¤",
    "L¿",
    "Y¥",
    "N",
    "+÷±",
    ".·•,",
    "°o",
    "n¶",
)
"""Characters that the recognition model confuses with each other where they stand alone, besides those of one base."""
_MIN_WEIGHT = 1e-3
_READ_AS = {
    **dict.fromkeys(("1½", "1½2", "1½/2", "1/2", "½2", "12"), "½"),
    **dict.fromkeys(("1/4", "1½4", "14", "1¼"), "¼"),
    **dict.fromkeys(("3/4", "34", "3½4"), "¾"),
    "AE": "Æ",
    "ae": "æ",
    "æe": "æ",
    "II": '"',
    '""': '"',
    "11": '"',
    "βB": "ß",
    "...": "…",
}
"""What is read for one character."""


def disambiguated(
    read: Sequence[tuple[LineCrop, RecognizedText]], min_confidence: float
) -> list[tuple[LineCrop, RecognizedText]]:
    """The lines of a page, in their order; those of one or two characters are as sure as these characters' look allows,
    and what was misread is replaced.

    `min_confidence`: confidence of legible lines. A line that was legible stays so.
    """
    if not any(is_brief(reading.text) for _, reading in read):
        return list(read)
    return disambiguated_on(PageContext.of(read), read, min_confidence)


def disambiguated_on(
    page: PageContext, read: Sequence[tuple[LineCrop, RecognizedText]], min_confidence: float
) -> list[tuple[LineCrop, RecognizedText]]:
    """Does what `disambiguated` does, given what the page tells."""
    brief = [(at, inks_of(*read[at], page.em)) for at in range(len(read)) if is_brief(read[at][1].text)]
    rows = iter(probabilities_of([ink for _, inks in brief for ink in inks]))
    lines = list(read)
    for at, inks in brief:
        item, reading = read[at]
        scale = _scale_of(item)
        sizes = [(ink.shape[0] * scale, ink.shape[1] * scale) for ink in inks]
        em = page.em if len(inks) == 1 else _em_of_pair(reading.text.replace(" ", ""), sizes) or page.em
        weights = [next(rows) * page.priors(item.quad, *size, em) for size in sizes]
        if len(weights) == 1:
            figure = page.is_in_column(item.quad)
            lines[at] = item, _judged(reading, weights[0], min_confidence, page, max(sizes[0]), figure=figure)
        elif len(weights) == 2:
            lines[at] = item, _judged_pair(reading, weights, min_confidence, page)
    return lines


def is_brief(text: str) -> bool:
    """Whether a line has one or two characters, or what is often read for one."""
    letters = text.replace(" ", "")
    return 0 < len(letters) < 3 or letters in _READ_AS


def inks_of(item: LineCrop, reading: RecognizedText, em: float) -> list[FloatArray]:
    """The ink of the one or the two characters of a brief line; none where two touch or nothing is seen.

    `em`: size of the page's print; 0 if it isn't known.
    """
    ink = ink_of(item.pixels)
    if ink is None:
        return []
    letters = reading.text.replace(" ", "")
    if len(letters) == 1 or (_READ_AS.get(letters) == '"' and ink.shape[0] * _scale_of(item) < _RAISED_MARK * em):
        return [ink]
    halves = _halves(ink, item, reading) if len(letters) == 2 else []
    if halves or letters not in _READ_AS or _READ_AS[letters] == '"' or ink.shape[1] > _WIDE_SIGN * ink.shape[0]:
        return halves
    return [] if "/" in letters and reading.confidence >= _SURE else [ink]


def _halves(ink: FloatArray, item: LineCrop, reading: RecognizedText) -> list[FloatArray]:
    """The ink left and right of the gap between two characters; none if there is no gap."""
    places = [place for letter, place in zip(reading.text, reading.positions.tolist(), strict=True) if letter != " "]
    columns = np.flatnonzero(ink.max(axis=0) < INK)
    if not len(columns):
        return []
    # Positions are along the crop, and the ink lies in its middle.
    middle = sum(places) / 2 * item.pixels.shape[1] - (item.pixels.shape[1] - ink.shape[1]) / 2
    cut = int(columns[np.abs(columns - middle).argmin()])
    if abs(cut - middle) > _OFF * ink.shape[1]:
        return []
    halves = [half for half in (_trimmed(ink[:, :cut]), _trimmed(ink[:, cut:])) if half is not None]
    return halves if len(halves) == 2 else []


def _trimmed(ink: FloatArray) -> FloatArray | None:
    """Ink without the empty rows and columns around it."""
    seen = ink > INK
    rows, columns = np.flatnonzero(seen.any(axis=1)), np.flatnonzero(seen.any(axis=0))
    if not len(rows):
        return None
    return ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def _scale_of(item: LineCrop) -> float:
    """Pixels of the image per pixel of a line's crop."""
    _, heights = side_lengths(with_margin(item.quad)[None])
    return float(heights[0]) / int(item.pixels.shape[0])


def _em_of_pair(letters: str, sizes: Sequence[tuple[float, float]]) -> float:
    """The size of the print of a pair by its figures, capitals and high letters; 0 if it has none."""
    found = [
        high / _height_in_ems(letter)
        for letter, (high, _) in zip(letters, sizes, strict=False)
        if letter.isascii() and letter.isalnum() and letter not in _UNSURE_SIZE
    ]
    return max(found, default=0.0)


def _judged(
    reading: RecognizedText, weights: FloatArray, min_confidence: float, page: PageContext, size: float, *, figure: bool
) -> RecognizedText:
    """The reading of a lone character, given how likely each character of the network is there.

    `size`: the longer side of its ink in pixels of the image. `figure`: it stands in a column of numbers.
    """
    text, sure = reading.text.replace(" ", ""), reading.confidence
    likely, best, most = _likelihoods(text, weights)
    if text in _ROUND and not figure:
        likely = min(likely, _REPLACED)
    elif likely >= _AGREES:
        return reading if sure >= min_confidence or likely < _SURE else _one(reading, text, _HELD)
    replaces = _REPLACES if text not in characters() else _SURE
    if (
        most >= (replaces if sure >= min_confidence else _SURE)
        and size >= _MIN_INK
        and _may_be(text, best, page, doubtful=sure < _SURE)
    ):
        return _one(reading, best, max(min(most, _REPLACED), min_confidence))
    if len(text) > 1 and best in _READ_AS.values():
        return _one(reading, text, max(min(sure, 1 - most), min_confidence))
    if text not in characters() and (page.has_han or len(text) > 1) and text != _BAR:
        return reading
    return reading if sure < min_confidence else _one(reading, text, max(min(sure, likely), min_confidence))


def _judged_pair(
    reading: RecognizedText, weights: Sequence[FloatArray], min_confidence: float, page: PageContext
) -> RecognizedText:
    """The reading of two characters, given how likely each character of the network is in both places.

    Words such as `of` and `No` stay as they were read.
    """
    word = reading.text.isalpha() and reading.text[1:].islower()
    if reading.confidence < min_confidence or page.has_han or word:
        return reading
    letters, confidences = list(reading.text), reading.confidences.copy()
    places = [place for place, letter in enumerate(letters) if letter != " "]
    both = [letters[place] for place in places]
    for place, weight, other in zip(places, weights, reversed(both), strict=True):
        text = letters[place]
        likely, best, most = _likelihoods(text, weight * _beside(other, word=text.isalpha()))
        if likely >= _AGREES_IN_PAIR:
            continue
        if most >= _SURE and text in characters() and _may_be(text, best, page, doubtful=False):
            letters[place], likely = best, min(most, _REPLACED)
        confidences[place] = max(min(float(confidences[place]), likely), min_confidence)
    if np.array_equal(confidences, reading.confidences):
        return reading
    return RecognizedText("".join(letters), confidences, reading.positions)


def _likelihoods(text: str, weights: FloatArray) -> tuple[float, str, float]:
    """How likely a reading is among what may be read so, the likeliest character, and its probability.

    Shapes that the recognition model doesn't confuse with what it read don't count against it: on photographs the
    network is wrong more often.
    """
    probabilities = weights / max(float(weights.sum()), 1e-9)
    known = characters()
    best = int(probabilities.argmax())
    most, shape = float(probabilities[best]), alphabet()[best]
    if text not in known:
        return 0.0, shape, most
    own, alike = float(probabilities[known[text]]), _alike(text)
    others = float(probabilities[[known[other] for other in alike]].sum()) if alike else 0.0
    return (own + _MIN_WEIGHT) / (own + others + _MIN_WEIGHT), shape, most


@cache
def _alike(text: str) -> tuple[str, ...]:
    """The characters of the network that the recognition model may read as `text`."""
    groups = [group for group in _ALIKE if text in group]
    base = unicodedata.normalize("NFD", text)[0].lower()
    return tuple(
        other
        for other in characters()
        if other != text
        and (any(other in group for group in groups) or unicodedata.normalize("NFD", other)[0].lower() == base)
    )


@cache
def _beside(other: str, *, word: bool) -> FloatArray:
    """How usual each character of the network is beside another. `word`: it was read as a letter."""
    if other in _SURE_FIGURES:
        return np.array([_USUAL if letter.isdecimal() else 1.0 for letter in characters()], np.float32)
    if word and other.isalpha():
        letters = [letter.isalpha() and letter not in _SMALL for letter in characters()]
        return np.array([_USUAL if letter else 1.0 for letter in letters], np.float32)
    return np.ones(len(characters()), np.float32)


def _differ(text: str, shape: str) -> bool:
    """Whether two characters that are confused have different shapes in most faces: 1 and 7, not 1 and l."""
    same = text.lower() == shape.lower() or {text, shape} <= _ROUND or {text, shape} <= _STROKES
    return shape in _alike(text) and not same


def _may_be(text: str, shape: str, page: PageContext, *, doubtful: bool) -> bool:
    """Whether what was read as `text` may be the character whose shape it has. `doubtful`: it was read unsurely."""
    if len(text) > 1:
        return shape in _READ_AS.get(text, "")
    if shape.isascii() and shape.isalnum():
        return not page.has_han and (text not in characters() or (doubtful and _differ(text, shape)))
    if text in _STROKES and shape in _STROKES:
        return False
    base = unicodedata.normalize("NFD", shape)[0]
    if base.isalpha() and base.isascii() and base != shape:
        return unicodedata.normalize("NFD", text)[0].lower() == base.lower() or text in _NARROW_OR_ROUND
    return shape in _alike(text) if text in characters() else not page.has_han


def _one(reading: RecognizedText, text: str, confidence: float) -> RecognizedText:
    """The reading with another text of one character or of as many, and another confidence."""
    if len(text) == len(reading.text):
        return RecognizedText(text, np.full(len(text), confidence, np.float32), reading.positions)
    middle = np.array([float(reading.positions.mean())], np.float32)
    return RecognizedText(text, np.array([confidence], np.float32), middle)


@dataclass(frozen=True, slots=True)
class PageContext:
    """What a page tells of its lone characters.

    Attributes:
        has_han: it has text in a script that the network doesn't know.
        em: size of the print of its longer lines, in pixels; 0 if it has fewer than two.
        numbers: (N, 4, 2), its short lines that are surely numbers.
    """

    has_han: bool
    em: float
    numbers: FloatArray

    @classmethod
    def of(cls, read: Sequence[tuple[LineCrop, RecognizedText]]) -> PageContext:
        long = [
            (item, reading.text) for item, reading in read if len(reading.text) >= _LONG and reading.confidence > 0.9
        ]
        sizes = [_em_of(item, text) for item, text in long[:: max(len(long) // _ENOUGH, 1)]]
        numbers = [item.quad for item, reading in read if _NUMBER.fullmatch(reading.text) and reading.confidence > 0.9]
        han = sum(unspaced(character) for _, reading in read for character in reading.text if len(reading.text) > 1)
        return cls(
            han >= _MIN_HAN,
            float(np.median(sizes)) if len(sizes) > 1 else 0.0,
            np.stack(numbers) if numbers else np.zeros((0, 4, 2), np.float32),
        )

    def priors(self, quad: FloatArray, high: float, wide: float, em: float) -> FloatArray:
        """How usual each character of the network is at a place, by the size of its ink and in a column of numbers.

        `em`: size of the print there; 0 if it isn't known.
        """
        heights, figures = _expected()
        if em and (_LOWEST < high / em < _HIGHEST):
            fit = np.exp(-0.5 * ((high / em - heights) / _SPREAD) ** 2).clip(_RARE)
            weights = np.where(np.isnan(heights), np.nanmax(fit), fit)
        else:
            weights = np.where(heights < _RAISED, _RARE, 1.0)
        if em and high < _THIN * em and wide > high:
            for dash, width in _DASHES.items():
                weights[characters()[dash]] *= max(math.exp(-0.5 * ((wide / em - width) / (0.2 * width)) ** 2), _RARE)
        if self.is_in_column(quad):
            weights = np.where(figures, weights, weights * _RARE)
        return np.asarray(weights, np.float32)

    def is_in_column(self, quad: FloatArray) -> bool:
        """Whether the place is in a column of numbers: two others at least have its left, right or middle."""
        if len(self.numbers) < 3:
            return False
        left, right = quad[:, 0].min(), quad[:, 0].max()
        height = quad[:, 1].max() - quad[:, 1].min()
        lefts, rights = self.numbers[:, :, 0].min(axis=1), self.numbers[:, :, 0].max(axis=1)
        near = np.minimum(np.abs(lefts - left), np.abs(rights - right))
        near = np.minimum(near, np.abs((lefts + rights) - (left + right)) / 2)
        apart = np.abs(self.numbers[:, :, 1].mean(axis=1) - quad[:, 1].mean()) > 0.5 * height
        return int(((near < 0.5 * height) & apart).sum()) >= 2


def _em_of(item: LineCrop, text: str) -> float:
    """The size of a line's print, in pixels of the image, by the beginning of the line; 0 without ink."""
    height, width = item.pixels.shape[:2]
    part = min(_BEGINNING * height / width, 1.0)
    ink = ink_of(item.pixels[:, : math.ceil(width * part)])
    if ink is None:
        return 0.0
    return float(ink.shape[0] * _scale_of(item) / _height_in_ems(text[: math.ceil(len(text) * part)]))


def _height_in_ems(text: str) -> float:
    """How high the ink of a text is: from its highest to its lowest letters."""
    above = _X_HEIGHT if set(text) <= _LOW_LETTERS else _CAP_HEIGHT
    return above + (_DESCENT if set(text) & _DESCENDING else 0.0)


@cache
def _expected() -> tuple[FloatArray, NDArray[np.bool_]]:
    """Returns for each character of the network its height in ems, NaN where faces differ, and whether it is of
    numbers.
    """
    heights = np.full(len(characters()), np.nan, np.float32)
    for character, place in characters().items():
        if character in _SMALL:
            heights[place] = _SMALL_HEIGHT
        elif character.isascii() and character.isalnum():
            heights[place] = _height_in_ems(character)
    figures = [character.isdecimal() or character in _DASHES for character in characters()]
    return heights, np.array(figures)
