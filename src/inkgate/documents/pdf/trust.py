"""Decides what of a page's text layer can replace OCR, line by line. Pure.

The layer is used where nothing speaks against it: OCR is slower but always possible, while users would trust wrong or
missing text. So:

- Invisible text never counts (visibility.py). Text over an image of the page doesn't either: scanners add it by their
  own OCR, which is mostly worse than inkgate's (in the scans examined, one had a tenth of its characters wrong, one had
  no spaces between words).
- A line with a word that its font does not map is read from the pixels.
- A line in a font that may map its characters wrongly (fonts.py) is compared with the pixels.
- Pictures and letters drawn as outlines may contain text that the layer lacks. They are looked at, and read if they
  look like writing.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil, dist, floor

import numpy as np
from numpy.typing import NDArray

from inkgate.documents.pdf.fonts import FontDoubts, drawn_sign
from inkgate.documents.pdf.glyph import Glyph
from inkgate.documents.pdf.ink import PageInk
from inkgate.documents.pdf.normalize import readable
from inkgate.documents.pdf.objects import SCAN_SHARE, FilledShape, PageObjects, image_share
from inkgate.documents.pdf.text_layer import layer_of
from inkgate.page import LineStyle, TextLayer
from inkgate_client.types import Box, Line, Size, Word

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
_MAX_OUTLINES = 6000
"""Maximum outlines examined; a full page has 4,000 letters. Comparing all their boxes takes 0.1 s."""
_CHUNK = 256
_WORD_SEGMENTS = 150
_WORD_SIDES = (2.5, 40.0)
"""Minimum and maximum aspect ratio of a word or a line drawn as one shape."""


def outlined_letters(outlines: Sequence[FilledShape], size: Size) -> int:
    """The number of letters that `outlines` draw on a page of `size`: in rows, or as words in one shape."""
    shown = _apart([outline for outline in outlines if _is_shown(outline, size)][:_MAX_OUTLINES])
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
MAX_UNEXPLAINED = 0.2
"""Maximum share of the page under images without text on them. Logos and small figures stay below."""
MAX_OUTLINES = 0.1
"""Maximum letters drawn as outlines per character of text: a logo stays below, not a cover's title."""
MIN_OUTLINES = 12
_GRID = 100


class TextTrust(StrEnum):
    """`trusted`, `partly`, or the reason why the page is read from its pixels."""

    TRUSTED = "trusted"
    PARTLY = "parts of it are read from pixels"
    EMPTY = "no visible characters"
    FEW = "too few characters"
    UNMAPPED = "characters that fonts don't map"
    GARBLED = "letters that make no sense"
    SCAN = "an image covers the page"
    IMAGES = "images without text on them"
    OUTLINES = "letters drawn as outlines"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What of a text layer counts. `layer`: None if the page is to be read from its pixels alone."""

    layer: TextLayer | None
    verdict: TextTrust


def judge(
    visible: Sequence[Glyph], doubts: FontDoubts, objects: PageObjects, size: Size, ink: PageInk | None = None
) -> Judgement:
    """Judges the layer of the `visible` characters.

    `ink`: the rendered page; without it, a page with pictures, outlined letters or few characters is read from its
    pixels, since they may be writing that the layer lacks.
    """
    texts = Counter(glyph.text for glyph in visible)
    inked = sum(times for text, times in texts.items() if not text.isspace())
    if image_share(objects, size) >= SCAN_SHARE:
        return Judgement(None, TextTrust.SCAN)
    if not inked:
        return Judgement(None, TextTrust.EMPTY)
    if ink is None:
        verdict = _without_ink(layer_of(visible).lines, inked, objects, size)
        if verdict is not TextTrust.TRUSTED:
            return Judgement(None, verdict)
    usual = all(readable(text) or text.isspace() for text in texts) and all(glyph.mapped for glyph in visible)
    if doubts.bullets or doubts.plain or not usual:
        visible = [_marked(glyph, doubts) for glyph in visible]
    layer = _sorted(layer_of(visible), doubts)
    if not layer.lines and not layer.doubtful:
        return Judgement(None, TextTrust.UNMAPPED)
    if ink is not None:
        known = [line.box for line in (*layer.lines, *layer.doubtful)]
        layer = replace(layer, pictures=tuple(other_writing(ink.without_text, ink.scale, [*known, *layer.unread])))
    if layer.doubtful and not layer.lines:
        return Judgement(layer, TextTrust.GARBLED)
    complete = not (layer.doubtful or layer.unread or layer.pictures)
    return Judgement(layer, TextTrust.TRUSTED if complete else TextTrust.PARTLY)


def _without_ink(lines: Sequence[Line], characters: int, objects: PageObjects, size: Size) -> TextTrust:
    """The verdict on a page that was not rendered: what might be writing counts as writing."""
    if characters < MIN_CHARACTERS:
        return TextTrust.FEW
    if outlined_letters(objects.outlines, size) > max(MIN_OUTLINES, MAX_OUTLINES * characters):
        return TextTrust.OUTLINES
    return _images(lines, objects, size)


_UNKNOWN = "\u2bd1"
"""Stands for a character that the font does not map, while lines are made: the uncertainty sign, which no text has."""
_LETTER_HEIGHT = (0.55, 0.95)
"""Height in ems of a lone character without a mapping that may be a letter or digit; bullets are lower, brackets and
operators of mathematics lower or higher."""
MIN_UNKNOWN = 3
"""Characters without a mapping that stand together and are a word."""
_BULLET = "•"


def _marked(glyph: Glyph, doubts: FontDoubts) -> Glyph:
    """The character as lines are made of it: those without a mapping as _UNKNOWN."""
    if glyph.text.isspace() or id(glyph) in doubts.guessed:
        return glyph
    if id(glyph) in doubts.plain:
        return glyph._replace(text=doubts.plain[id(glyph)])
    if glyph.font in doubts.bullets:
        return glyph._replace(text=_BULLET)
    return glyph if _is_readable(glyph) or _is_ignorable(glyph) else glyph._replace(text=_UNKNOWN)


def _is_ignorable(glyph: Glyph) -> bool:
    """Control and format characters that a font maps rightly and that are no text; not a drawn dash without a name."""
    if not glyph.mapped or glyph.text == "\ufffd" or unicodedata.category(glyph.text) not in {"Cc", "Cf"}:
        return False
    return drawn_sign(glyph) != "-"


def _is_readable(glyph: Glyph) -> bool:
    return glyph.mapped and readable(glyph.text) != ""


def _sorted(layer: TextLayer, doubts: FontDoubts) -> TextLayer:
    """The layer's lines, trusted, doubtful and unread apart."""
    whole, single = _by_line(doubts.whole, layer.lines), _by_line(doubts.single, layer.lines)
    trusted: list[Line] = []
    styles: list[LineStyle] = []
    doubtful: list[Line] = []
    suspects: list[str] = []
    unread: list[Box] = []
    for number, line in enumerate(layer.lines):
        known = _without_unknown(line)
        if _lacks_letters(line, layer.styles[number].size):
            unread.append(line.box)
        elif known is None:
            continue
        elif number in whole or number in single:
            doubtful.append(known)
            suspects.append("" if number in whole else single[number])
        else:
            trusted.append(known)
            styles.append(layer.styles[number])
    return TextLayer(tuple(trusted), tuple(styles), tuple(doubtful), tuple(suspects), tuple(unread), spans=layer.spans)


def _lacks_letters(line: Line, size: float) -> bool:
    """Whether some character without a mapping belongs to a word, or may be one. `size`: of the line's font."""
    if _UNKNOWN not in line.text:
        return False
    return len(line.words) < 2 or any(_may_be_letters(word, size) for word in line.words if _UNKNOWN in word.text)


def _may_be_letters(word: Word, size: float) -> bool:
    others = word.text.replace(_UNKNOWN, "")
    if len(word.text) - len(others) >= MIN_UNKNOWN or any(map(str.isalnum, others)):
        return True
    top, bottom = word.quad[0], word.quad[3]
    least, most = _LETTER_HEIGHT
    return least * size <= dist(top, bottom) <= most * size


def _without_unknown(line: Line) -> Line | None:
    """The line without its lone characters that have no mapping; None if nothing is left."""
    if _UNKNOWN not in line.text:
        return line
    text = " ".join(line.text.replace(_UNKNOWN, "").split())
    if not text:
        return None
    words = tuple(
        replace(word, text=known) for word in line.words if (known := word.text.replace(_UNKNOWN, "")).strip()
    )
    return replace(line, text=text, words=words)


def _by_line(glyphs: Sequence[Glyph], lines: Sequence[Line]) -> dict[int, str]:
    """The different characters in each line, by its number; without lines that have none of them."""
    if not glyphs or not lines:
        return {}
    x = np.array([(glyph.left + glyph.right) / 2 for glyph in glyphs], np.float32)
    y = np.array([(glyph.top + glyph.bottom) / 2 for glyph in glyphs], np.float32)
    found = {}
    for number, line in enumerate(lines):
        left, top, right, bottom = line.box
        inside = np.flatnonzero((x >= left) & (x <= right) & (y >= top) & (y <= bottom))
        if inside.size:
            found[number] = "".join(sorted({glyphs[at].text for at in inside.tolist()}))
    return found


_CELL = 8
"""Pixels of a side of the cells in which other ink is sought: about 2 mm at 100 dpi."""
_EDGE = 40
"""Difference of neighbouring grey levels that is an edge."""
_MIN_EDGES = 6
"""Edges of a cell, both across and down, that may be of letters; rules have them in one direction only."""
_MIN_CELLS = 3
"""Cells in a row that may be a word."""
_ACROSS, _DOWN = 3, 2
"""Cells between parts that belong together."""
_MAX_PICTURES = 100


def other_writing(without_text: NDArray[np.uint8], scale: float, known: Sequence[Box]) -> list[Box]:
    """Parts of a page that may be writing although they are not of the text layer: pictures, outlined letters.

    Args:
        without_text: (H, W), the page in grey without its text objects.
        scale: its pixels per pixel of the page.
        known: boxes in pixels of the page that are read anyway.

    Returns:
        Boxes in pixels of the page, at most _MAX_PICTURES. What they show is to be looked at closer.
    """
    rows, columns = (side // _CELL for side in without_text.shape)
    if not rows or not columns:
        return []
    if without_text.min() == without_text.max():
        return []
    grey = without_text[: rows * _CELL, : columns * _CELL]
    cells = _of_cells(np.maximum, grey) - _of_cells(np.minimum, grey) > _EDGE
    for box in known:
        left, top, right, bottom = (edge * scale / _CELL for edge in box)
        cells[max(floor(top), 0) : max(ceil(bottom), 0), max(floor(left), 0) : max(ceil(right), 0)] = False
    found = np.nonzero(cells)
    squares = grey.reshape(rows, _CELL, columns, _CELL)[found[0], :, found[1]].astype(np.int16)
    across, down = (np.abs(np.diff(squares, axis=axis)) > _EDGE for axis in (2, 1))
    cells[found] = np.minimum(across.sum(axis=(1, 2)), down.sum(axis=(1, 2))) >= _MIN_EDGES
    pixels = _CELL / scale
    boxes = [(a * pixels, b * pixels, c * pixels, d * pixels) for a, b, c, d in _clusters(cells)]
    return sorted(boxes, key=lambda box: (box[2] - box[0]) * (box[3] - box[1]), reverse=True)[:_MAX_PICTURES]


def _of_cells(function: np.ufunc, grey: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The function of each cell's pixels. Rows first, which is several times faster than cells at once."""
    by_row = function.reduce(grey.reshape(grey.shape[0] // _CELL, _CELL, -1), axis=1)
    found: NDArray[np.uint8] = function.reduce([by_row[:, column::_CELL] for column in range(_CELL)])
    return found


def _clusters(cells: NDArray[np.bool_]) -> list[tuple[int, int, int, int]]:
    """Boxes (left, top, right, bottom), in cells, of cells near to each other that are long enough for a word."""
    open_boxes: list[list[int]] = []
    done: list[list[int]] = []
    for row in np.flatnonzero(cells.any(axis=1)).tolist():
        columns = np.flatnonzero(cells[row]).tolist()
        runs: list[list[int]] = []
        for column in columns:
            if runs and column - runs[-1][1] <= _ACROSS:
                runs[-1][1] = column
            else:
                runs.append([column, column])
        done += [box for box in open_boxes if row - box[3] > _DOWN]
        open_boxes = [box for box in open_boxes if row - box[3] <= _DOWN]
        for left, right in runs:
            touching = [box for box in open_boxes if left - _ACROSS <= box[2] and box[0] <= right + _ACROSS]
            whole = [min([left, *(b[0] for b in touching)]), min([row, *(b[1] for b in touching)]),
                     max([right, *(b[2] for b in touching)]), row]  # fmt: skip
            open_boxes = [box for box in open_boxes if all(box is not other for other in touching)] + [whole]
    found = done + open_boxes
    return [(a, b, c + 1, d + 1) for a, b, c, d in found if max(c - a, d - b) + 1 >= _MIN_CELLS]


def _images(lines: Sequence[Line], objects: PageObjects, size: Size) -> TextTrust:
    images = _painted([image.box for image in objects.images], size)
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
