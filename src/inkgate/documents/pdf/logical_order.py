"""The reading order of lines with Arabic, Hebrew or Persian letters, from their places on the page. Pure.

A PDF says where characters are drawn, which is the visual order; the Unicode Bidirectional Algorithm (UAX 9) maps the
other way, from reading order to places. So each part of a line gets the order that the algorithm would show as it is
shown: of several such orders, the first of `_orders`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from inkgate.documents.pdf.glyph import is_right_to_left

_STRONG, _NUMBERS = "L", {"EN", "AN"}
_SEPARATORS = {"CS", "ES"}
_SIGNS = {"ET"}
_PHONE = re.compile(r"\+\d[\d ().\-]{5,}\d")
"""A telephone number that is set from left to right: the plus sign would stand at its right otherwise."""
_PAIRS = {"(": ")", "[": "]", "{": "}", "«": "»", "‹": "›"}
_CLOSING = {close: opening for opening, close in _PAIRS.items()}
BRACKETS = frozenset((*_PAIRS, *_CLOSING))
_FINAL = frozenset("ךםןףץةى")
"""Letters that only end words."""
_ARTICLE, _ARTICLE_WORD = "\u0627\u0644", 4
"""The article, which words longer than this begin with more often than they end with its reverse."""
_LAM, _ALEFS = "\u0644", frozenset("\u0622\u0623\u0625\u0627\u0671")
RIGHT_LINE_SHARE = 0.5
"""Share of a line's words of right-to-left letters from which it is read from there."""
RIGHT_PAGE_SHARE = 0.2
"""The same on a page whose letters mostly run from right to left."""
LEFT_PAGE_SHARE = 0.7
"""The same on a page whose letters mostly run from left to right."""
MAX_CACHED_PARTS = 2048


def shown_from_right(units: Sequence[str], page_share: float = 0.5) -> bool:
    """Whether a line is read from right to left. `units`: its characters from left to right; `page_share`: share of the
    page's letters that are.
    """
    words = [word for word in "".join(unit[0] for unit in units).split() if any(map(str.isalpha, word))]
    right = sum(any(map(is_right_to_left, word)) for word in words)
    left = len(words) - right
    if not right:
        return False
    ends = _sentence_end(units)
    if ends is not None and left:
        return ends
    least = RIGHT_PAGE_SHARE if page_share > 2 / 3 else LEFT_PAGE_SHARE if page_share < 1 / 3 else RIGHT_LINE_SHARE
    return right >= least * (left + right)


def _sentence_end(units: Sequence[str]) -> bool | None:
    """True if only the line's left end has a mark that ends sentences, False if only the right one has."""
    marks = (".", "!", "?", "؟", "۔", ":", "،", ",")
    at_left, at_right = units[0][0] in marks, units[-1][0] in marks
    return None if at_left == at_right else at_left


def logical_order(units: Sequence[str], *, from_right: bool) -> list[int]:
    """The reading order of `units`, as indexes. `units`: characters of a line, or of their glyphs, from left to right,
    with its spaces; of each, the first character counts.
    """
    text = "".join(unit[0] for unit in units)
    if from_right:
        return _from_right(text, 0)
    order: list[int] = []
    at = 0
    for found in _right_parts(text):
        order.extend(range(at, found[0]))
        order.extend(_from_right(text[found[0] : found[1]], found[0]))
        at = found[1]
    return [*order, *range(at, len(text))]


def _right_parts(text: str) -> Iterator[tuple[int, int]]:
    """Parts of a line from left to right that begin and end with right-to-left letters and have no others."""
    first = last = -1
    for i, char in enumerate(text):
        if is_right_to_left(char):
            first, last = (i if first < 0 else first), i
        elif first >= 0 and unicodedata.bidirectional(char) == _STRONG:
            yield first, last + 1
            first = -1
    if first >= 0:
        yield first, last + 1


def _from_right(text: str, offset: int) -> list[int]:
    """The reading order of text that is read from right to left."""
    order: list[int] = []
    end, before = len(text), ""
    while end:
        start = end - 1
        if is_right_to_left(text[start]):
            before = text[start]
            order.append(offset + start)
        else:
            while start and not is_right_to_left(text[start - 1]):
                start -= 1
            after = text[start - 1] if start else ""
            order.extend(offset + start + i for i in _part_order(text[start:end], before, after))
        end = start
    return order


@lru_cache(maxsize=MAX_CACHED_PARTS)
def _part_order(part: str, before: str, after: str) -> tuple[int, ...]:
    """The reading order of a part without right-to-left letters between two of them, or between one and the end of the
    line.
    """
    backwards = tuple(range(len(part) - 1, -1, -1))
    if not any(unicodedata.bidirectional(char) in {_STRONG, *_NUMBERS} for char in part):
        return backwards
    shown = after + part + before
    first: tuple[int, ...] | None = None
    for order in _orders(part):
        if first is None:
            first = order
        if _shows(before + "".join(part[i] for i in order) + after, shown):
            return order
    return first or backwards


def _shows(text: str, expected: str) -> bool:
    """Whether `text`, read from right to left, is shown as `expected`, whichever way its brackets open."""
    from bidi import get_display  # of pages that need it only: it takes 40 ms to load

    return any(_even(str(get_display(variant, base_dir="R"))) == _even(expected) for variant in (text, _paired(text)))


def _even(text: str) -> str:
    return "".join(_CLOSING.get(char, char) for char in text)


def _orders(part: str) -> Iterator[tuple[int, ...]]:
    """Possible reading orders, the most usual first: from right to left, with some tokens from left to right."""
    core = _PHONE.search(part)
    if core is not None:
        yield _mixed_order(part, [core.span()])
        return
    letters = [i for i, char in enumerate(part) if unicodedata.bidirectional(char) == _STRONG]
    if letters:
        for start, end in _cores(part, letters[0], letters[-1] + 1):
            left, right = _numbers(part[:start], _SEPARATORS), _numbers(part[end:], _SEPARATORS)
            yield _mixed_order(part, [*left, (start, end), *((a + end, b + end) for a, b in right)])
    for inside in (_SEPARATORS | _SIGNS, _SEPARATORS, {"CS"}, set[str]()):
        yield _mixed_order(part, _numbers(part, inside))
    yield tuple(range(len(part)))


def _cores(part: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The text from the first to the last Latin letter with what belongs to it: digits, closing brackets, signs."""
    while start and unicodedata.bidirectional(part[start - 1]) in _NUMBERS:
        start -= 1
    last = max((i + 1 for i in range(end, len(part)) if unicodedata.bidirectional(part[i]) in _NUMBERS), default=end)
    for stop in dict.fromkeys((last, end)):
        reach = stop
        while reach < len(part) and (part[reach] in _PAIRS or part[reach] in _CLOSING or part[reach] in "%°"):
            reach += 1
        yield start, stop
        if reach != stop:
            yield start, reach


def _numbers(part: str, inside: set[str]) -> list[tuple[int, int]]:
    """Numbers in a text, with single separators of these classes inside, and signs of these classes at their ends."""
    classes = [unicodedata.bidirectional(char) for char in part]
    spans: list[tuple[int, int]] = []
    at = 0
    while at < len(part):
        if classes[at] not in _NUMBERS:
            at += 1
            continue
        end = at + 1
        while end < len(part) and (
            classes[end] in _NUMBERS
            or (classes[end] in inside & _SEPARATORS and end + 1 < len(part) and classes[end + 1] in _NUMBERS)
        ):
            end += 1
        while end < len(part) and classes[end] in inside & _SIGNS:
            end += 1
        lowest = spans[-1][1] if spans else 0
        while at > lowest and classes[at - 1] in inside & _SIGNS:
            at -= 1
        spans.append((at, end))
        at = end
    return spans


def _mixed_order(part: str, spans: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """The order from right to left, with `spans` from left to right."""
    order: list[int] = []
    end = len(part)
    for start, stop in reversed(spans):
        order.extend(range(end - 1, stop - 1, -1))
        order.extend(range(start, stop))
        end = start
    return (*order, *range(end - 1, -1, -1))


def _paired(text: str) -> str:
    return "".join(with_pairs(list(text)))


def with_pairs(units: Sequence[str], spaces: Sequence[bool] = ()) -> list[str]:
    """Characters in reading order whose brackets open before they close. PDFs name a bracket by its looks or by its
    meaning, which differ in text from right to left.

    `spaces`: whether there is a space before each; empty if unknown. A bracket that stands between a space and a
    character opens, and one between a character and a space closes.
    """
    found = list(units)
    for i, unit in enumerate(found) if spaces else ():
        if unit in BRACKETS:
            before = i == 0 or spaces[i] or found[i - 1] in _PAIRS
            after = i + 1 == len(found) or spaces[i + 1] or found[i + 1] in _CLOSING
            if before != after:
                found[i] = _CLOSING.get(unit, unit) if before else _PAIRS.get(unit, unit)
    for opening, close in _PAIRS.items():
        places = [i for i, unit in enumerate(found) if unit in (opening, close)]
        if len(places) % 2 or _is_balanced([found[i] for i in places], opening):
            continue
        for number, i in enumerate(places):
            found[i] = close if number % 2 else opening
    return found


def _is_balanced(brackets: Sequence[str], opening: str) -> bool:
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket == opening else -1
        if depth < 0:
            return False
    return depth == 0


def glyph_text(text: str, *, in_order: bool = False) -> str:
    """The reading order of a right-to-left glyph's characters. pdfium turns them about, as if each had its own place,
    unless they are `in_order`; some files have them turned about already.
    """
    if len(text) < 2 or not any(map(is_right_to_left, text)):
        return text
    turned = text[::-1]
    if text in _ligatures() and turned not in _ligatures():
        return text
    return min((text, turned) if in_order else (turned, text), key=_faults)


def _faults(text: str) -> int:
    """How much speaks against an order of letters: marks before letters, final letters before others, alef before lam
    in one glyph.
    """
    faults = 4 * (unicodedata.category(text[0]) == "Mn")
    for word in text.split():
        faults += sum(char in _FINAL for char in word[:-1]) + (
            len(word) > _ARTICLE_WORD and word.endswith(_ARTICLE[::-1])
        )
    if len(text) == 2 and text[0] in _ALEFS and text[1] == _LAM:
        faults += 1
    return faults


@lru_cache(maxsize=1)
def _ligatures() -> frozenset[str]:
    """The letters of the ligatures in Unicode's presentation forms, in reading order."""
    return frozenset(
        spelled
        for code in (*range(0xFB1D, 0xFE00), *range(0xFE70, 0xFF00))
        if len(spelled := unicodedata.normalize("NFKC", chr(code)).strip()) > 1
    )
