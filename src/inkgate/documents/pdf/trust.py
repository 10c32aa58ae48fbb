"""Decides whether a page's text layer can replace OCR. Pure.

The text layer is used only if nothing speaks against it: OCR is slower but always possible, while users would trust
wrong or missing text. So:

- Invisible text, or text under an image, never counts. Scanners add it by their own OCR, which is mostly worse than
  inkgate's (in the scans examined, one had a tenth of its characters wrong, one had no spaces between words).
- Fonts must map the characters, and the characters must look like a language.
- Images without text on them, and letters drawn as outlines, may contain text that the layer lacks.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from inkgate.documents.pdf.glyph import Glyph, is_cjk
from inkgate.documents.pdf.normalize import readable
from inkgate.documents.pdf.objects import FilledShape, PageObjects
from inkgate.types import Box, Line, Size

_LATIN = dict(
    zip(
        "abcdefghijklmnopqrstuvwxyz",
        (9.0, 1.3, 3.1, 4.3, 13.5, 1.3, 1.9, 2.6, 7.5, 0.6, 1.4, 4.6, 2.8, 7.3, 6.2, 2.4, 0.3, 6.4, 6.3, 6.4, 4.2, 1.5,
         0.8, 0.2, 0.9, 1.0),
        strict=True,
    )
)  # fmt: skip
"""Letter frequencies in percent, about the mean of the European languages in Latin script (rounded from published
tables)."""
MIN_LETTERS = 80
"""Minimum number of letters for a judgement."""
MIN_CORRELATION = 0.4
"""Correlation with `_LATIN`. Single sentences in 12 languages have 0.53 (pinyin) to 0.88, longer texts more. Shuffled
letters have 0 on average, and 0.4 in three percent of cases."""
VOWELS = (0.25, 0.65)
"""Share of a, e, i, o, u, y: 0.36 (Czech) to 0.6 (Hawaiian) in text. Half of the shuffled texts that pass the other
test have less."""
MAX_ACCENTED = 0.5
"""Share of Latin letters beyond a to z. Vietnamese has 0.3; Cyrillic or Greek read as Latin-1 has 0.9."""
MIN_COMMON_HAN = 0.8
"""Share of Han characters that are common in a Chinese or Japanese standard. Text has 0.95 and more, random characters
0.36."""
MAX_MIXED = 0.15
"""Share of adjacent letters that belong to different scripts."""


def looks_written(text: Iterable[str]) -> bool:
    """False if the letters can't be any language; True if they can, or if there are too few.

    Not detected: shuffled letters in other scripts than Latin, or common Han characters replaced by common ones.
    """
    characters = list(text)
    letters = Counter(char for char in characters if char.isalpha())
    return _latin_is_plausible(letters) and _han_is_plausible(letters) and _scripts_stay_apart(characters)


def _latin_is_plausible(letters: Counter[str]) -> bool:
    seen: Counter[str] = Counter()
    accented = 0
    for char, times in letters.items():
        if char < "\u0250" or "\u1e00" <= char < "\u1f00":
            base = unicodedata.normalize("NFKD", char.casefold())[0]
            seen[base] += times
            accented += times if char > "\x7f" else 0
    total = sum(seen.values())
    if total < MIN_LETTERS:
        return True
    if accented > MAX_ACCENTED * total:
        return False
    vowels = sum(seen[char] for char in "aeiouy")
    if not VOWELS[0] * total <= vowels <= VOWELS[1] * total:
        return False
    return _correlation([seen[char] for char in _LATIN], list(_LATIN.values())) >= MIN_CORRELATION


def _correlation(left: list[int], right: list[float]) -> float:
    mean_left, mean_right = sum(left) / len(left), sum(right) / len(right)
    pairs = [(a - mean_left, b - mean_right) for a, b in zip(left, right, strict=True)]
    scale = math.sqrt(sum(a * a for a, _ in pairs) * sum(b * b for _, b in pairs))
    return sum(a * b for a, b in pairs) / scale if scale else 0.0


def _han_is_plausible(letters: Counter[str]) -> bool:
    han = {char: times for char, times in letters.items() if "\u3400" <= char <= "\u9fff"}
    total = sum(han.values())
    if total < MIN_LETTERS / 4:
        return True
    common = sum(times for char, times in han.items() if _is_common_han(char))
    return common >= MIN_COMMON_HAN * total


def _is_common_han(char: str) -> bool:
    """In level 1 of GB 2312, of Big5 or of JIS X 0208: some 7,000 of the 21,000 in Unicode's first block."""
    for codec, first, last in (("gb2312", 0xB0A1, 0xD7F9), ("big5", 0xA440, 0xC67E), ("euc_jp", 0xB0A1, 0xCFD3)):
        try:
            code = int.from_bytes(char.encode(codec), "big")
        except UnicodeEncodeError:
            continue
        if first <= code <= last:
            return True
    return False


def _scripts_stay_apart(characters: list[str]) -> bool:
    """Whether scripts change only at spaces, as in real text. Chinese, Japanese and Korean may mix with any script."""
    pairs = mixed = 0
    before = ""
    for char in characters:
        script = _script(char)
        if script and before:
            pairs += 1
            mixed += script != before
        before = script
    return pairs < MIN_LETTERS or mixed <= MAX_MIXED * pairs


def _script(char: str) -> str:
    """The name of a letter's script; empty for characters common to all scripts."""
    if not char.isalpha() or is_cjk(char) or unicodedata.category(char) == "Lm":
        return ""
    code = ord(char)
    if code < 0x250 or 0x1E00 <= code < 0x1F00:
        return "latin"
    if 0x1100 <= code < 0x1200 or 0xAC00 <= code < 0xD7B0 or 0x1D400 <= code < 0x1D800 or 0x2100 <= code < 0x2190:
        return ""
    return unicodedata.name(char, "?").split(" ", 1)[0]


_SHORTEST = 4
"""Minimum letters in a row. Dots, arrows and cells of drawings form rows too, but seldom as long and varied."""
_SHAPES = 3
"""Minimum different letters among them."""
_GAP = 1.2
"""Maximum distance to the next letter, in heights of the taller one, including spaces between words."""
_BASELINE = 0.05
"""Maximum difference of adjacent letters' bottoms, in heights of the taller one."""
_HEIGHTS = 2.2
"""Maximum height ratio of adjacent letters: capitals next to small letters."""
_LETTER_SEGMENTS = 30
"""Segments per letter in a shape. Outlines of Vera, DejaVu and Times have 9 (l) to 99 (g), most of them 30 to 60."""
_OVERLAPS = 2
"""Maximum letters that a letter overlaps: italics do, and the dots of i and j are within their boxes."""
_MOST = 6000
"""Maximum outlines examined; a full page has 4,000 letters. Comparing all their boxes takes 0.1 s."""
_CHUNK = 256
_WORD_SEGMENTS = 150
_WORD_SIDES = (2.5, 40.0)
"""Minimum and maximum aspect ratio of a word or a line drawn as one shape."""


def outlined_letters(outlines: Sequence[FilledShape], size: Size) -> int:
    """The number of letters that `outlines` draw on a page of `size`: in rows, or as words in one shape."""
    shown = _apart([outline for outline in outlines if _is_shown(outline, size)][:_MOST])
    single = [outline for outline in shown if _width(outline) <= _WORD_SIDES[0] * _height(outline)]
    rows = sum(len(row) for row in _rows(single) if len(row) >= _SHORTEST and _varied(row))
    return rows + sum(_letters_of_word(outline) for outline in shown)


def _is_shown(outline: FilledShape, size: Size) -> bool:
    left, top, right, bottom = outline.box
    return left >= 0 and right <= size.width and top >= 0 and bottom <= size.height


def _apart(outlines: Sequence[FilledShape]) -> list[FilledShape]:
    """Outlines that few others overlap: letters are next to each other, parts of a drawing overlap."""
    if not outlines:
        return []
    boxes = np.array([outline.box for outline in outlines], np.float32)
    left, top, right, bottom = boxes.T
    overlaps = np.zeros(len(boxes), np.int64)
    for start in range(0, len(boxes), _CHUNK):
        part = boxes[start : start + _CHUNK, :, None]
        across = (part[:, 0] < right) & (left < part[:, 2])
        along = (part[:, 1] < bottom) & (top < part[:, 3])
        overlaps[start : start + _CHUNK] = (across & along).sum(axis=1) - 1
    return [outline for outline, count in zip(outlines, overlaps, strict=True) if count <= _OVERLAPS]


def _varied(row: Sequence[FilledShape]) -> bool:
    return len({outline.segments for outline in row}) >= _SHAPES


def _rows(outlines: Sequence[FilledShape]) -> Iterator[list[FilledShape]]:
    """Rows of outlines: each one starts where the previous one ends, with bottoms on one line."""
    open_rows: list[list[FilledShape]] = []
    for outline in sorted(outlines, key=lambda outline: outline.box[0]):
        for row in open_rows:
            if _follows(row[-1], outline):
                row.append(outline)
                break
        else:
            open_rows.append([outline])
        left = outline.box[0]
        done = [row for row in open_rows if left - row[-1].box[2] > _GAP * _HEIGHTS * _height(row[-1])]
        if done:
            yield from done
            open_rows = [row for row in open_rows if not any(row is other for other in done)]
    yield from open_rows


def _follows(before: FilledShape, after: FilledShape) -> bool:
    low, high = sorted((_height(before), _height(after)))
    gap = after.box[0] - before.box[2]
    return (
        high <= _HEIGHTS * low
        and abs(after.box[3] - before.box[3]) <= _BASELINE * high
        and -0.3 * high <= gap <= _GAP * high
    )


def _letters_of_word(outline: FilledShape) -> int:
    narrow, wide = _WORD_SIDES
    ratio = _width(outline) / _height(outline)
    return outline.segments // _LETTER_SEGMENTS if outline.segments >= _WORD_SEGMENTS and narrow < ratio <= wide else 0


def _width(outline: FilledShape) -> float:
    return outline.box[2] - outline.box[0]


def _height(outline: FilledShape) -> float:
    return max(outline.box[3] - outline.box[1], 1e-6)


MIN_CHARACTERS = 16
"""Minimum visible characters, without spaces. Pages with fewer have a number, a stamp, or nothing: OCR is quick."""
MAX_UNREADABLE = 0.04
"""Maximum share of characters that fonts don't map, or map to nothing. Mathematics has up to 0.01."""
MIN_ALPHANUMERIC = 0.4
"""Minimum share of letters and digits, without leaders. Mathematics has 0.7."""
MAX_UNEXPLAINED = 0.2
"""Maximum share of the page under images without text on them. Logos and small figures stay below."""
SCAN_SHARE = 0.85
"""Share of the page under images from which it counts as a scan, or a picture with captions."""
MAX_OUTLINES = 0.1
"""Maximum letters drawn as outlines (outlines.py) per character of text: a logo stays below, not a cover's title."""
MIN_OUTLINES = 12
_LEADERS = ".·•_-–—…"
"""Fill characters of tables of contents and forms."""
_GRID = 100


class TextTrust(StrEnum):
    """`trusted`, or the reason why not."""

    TRUSTED = "trusted"
    EMPTY = "too few characters"
    UNMAPPED = "characters that fonts don't map"
    GARBLED = "letters that make no sense"
    SCAN = "an image covers the page"
    IMAGES = "images without text on them"
    OUTLINES = "letters drawn as outlines"


def judge(visible: Sequence[Glyph], lines: Sequence[Line], objects: PageObjects, size: Size) -> TextTrust:
    """Judges whether `lines`, made of the `visible` characters, are the page's text."""
    inked = [glyph for glyph in visible if not glyph.text.isspace()]
    if len(inked) < MIN_CHARACTERS:
        return TextTrust.EMPTY
    if sum(not _is_readable(glyph) for glyph in inked) > MAX_UNREADABLE * len(inked):
        return TextTrust.UNMAPPED
    telling = [glyph.text for glyph in inked if glyph.text not in _LEADERS]
    if sum(char.isalnum() for char in telling) < MIN_ALPHANUMERIC * len(telling):
        return TextTrust.GARBLED
    if not looks_written(glyph.text for glyph in visible):
        return TextTrust.GARBLED
    if outlined_letters(objects.outlines, size) > max(MIN_OUTLINES, MAX_OUTLINES * len(inked)):
        return TextTrust.OUTLINES
    return _images(lines, objects, size)


def _is_readable(glyph: Glyph) -> bool:
    return glyph.mapped and readable(glyph.text) != ""


def _images(lines: Sequence[Line], objects: PageObjects, size: Size) -> TextTrust:
    images = _painted([image.box for image in objects.images], size)
    if images.mean() >= SCAN_SHARE:
        return TextTrust.SCAN
    around: list[Box] = []
    for line in lines:
        left, top, right, bottom = line.box
        reach = 0.7 * min(bottom - top, right - left)  # space between lines counts as text
        around.append((left - reach, top - reach, right + reach, bottom + reach))
    unexplained = images & ~_painted(around, size)
    return TextTrust.IMAGES if unexplained.mean() > MAX_UNEXPLAINED else TextTrust.TRUSTED


def _painted(boxes: Sequence[Box], size: Size) -> NDArray[np.bool_]:
    """A coarse map of the page, (100, 100) bool: True within `boxes`."""
    grid = np.zeros((_GRID, _GRID), np.bool_)
    across, along = _GRID / size.width, _GRID / size.height
    for left, top, right, bottom in boxes:
        columns = slice(max(0, round(left * across)), max(0, round(right * across)))
        rows = slice(max(0, round(top * along)), max(0, round(bottom * along)))
        grid[rows, columns] = True
    return grid


def image_resolution(objects: PageObjects, size: Size) -> float | None:
    """The resolution in dots per inch of a page with only scanned images; None for other pages."""
    if objects.text_order or objects.others:
        return None
    large = [image for image in objects.images if _share(image.box, size) >= 0.1]
    if not large or _painted([image.box for image in large], size).mean() < SCAN_SHARE:
        return None
    return max(image.dpi for image in large)


def _share(box: Box, size: Size) -> float:
    return (box[2] - box[0]) * (box[3] - box[1]) / size.pixels
