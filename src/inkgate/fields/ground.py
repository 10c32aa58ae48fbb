"""Finds where a value stands on the page.

Values of a kind (dates, amounts, times, numbers) are compared as values: the page's lines are parsed, and only an equal
value counts. One digit changed is another value, however alike the characters are: of dates with one digit changed,
likeness of 0.75 accepts 99.7 %, and comparing values none. Text is compared by its letters and digits: the same, or at
least `MIN_SIMILARITY` alike with all digits the same and no word replaced.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import cast

from rapidfuzz.distance.Levenshtein import editops
from rapidfuzz.fuzz import partial_ratio_alignment

from inkgate.fields.folded import FoldedPage, box_around, fold, parts_of
from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.base import ParsedValue, ValueKind, parse
from inkgate_client.fields.values import Match, Proposal, Source
from inkgate_client.types import Line, Word, box_of_quad

MAX_COPIED_LINES = 20
"""Lines that one copied text may be on."""
MIN_SIMILARITY = 90.0
SHORT, SHORTEST = 8, 4
"""Text of fewer than SHORT letters and digits must be the same, and a word of its own where words have spaces: `male`
is not on a page with `female`. Text shorter than SHORTEST must stand between spaces or marks."""
LONGEST_SIMILAR = 1000
"""Longer text must be the same."""
MAX_SOURCES = 20
"""Maximum places of one value: 0 or 1 stands anywhere."""
_MAX_PLACES = 60
"""Places of one value whose labels are looked at."""
_LONG_LINE = 2000
"""Length of long lines in characters. The words of longer lines are not looked up."""
_LONGEST_LABEL = 200
_WORD_EDITS = 3
"""Most letters of a word that may differ, and a quarter of them: a name is not replaced by another in a long text."""
_PHONE = re.compile(r"\+\d[\d\s()-]{6,20}\d|\(?\d{2,4}\)?-\s?\d{3,4}[\s-]?\d{3,4}")
_BEFORE_PART = re.compile(r"(?:\d[-/:]|[^\W\d_][-/])$")
_BEHIND_PART = re.compile(r"[-/:]\d")


@dataclass(slots=True)
class Effort:
    """What comparing texts by likeness may still cost, in characters of pages for each 64 characters of text.

    200,000 of them took 0.5 ms, so the whole is about half a second. Without effort, texts must be the same.
    """

    left: int = 200_000_000

    def spend(self, page: FoldedPage, target: str) -> bool:
        """Whether it is enough for another comparison."""
        self.left -= len(page.text) * (len(target) // 64 + 1)
        return self.left >= 0


def ground_value(
    pages: Sequence[FoldedPage], value: ParsedValue, kind: ValueKind, labels: Sequence[str] = ()
) -> list[Source]:
    """The places of an equal value, the best first: those near one of the `labels`, then in the order of the page."""
    found: list[tuple[str, FoldedPage, int, ParsedValue]] = []
    target = [folded for label in labels if (folded := fold(label))]
    for page in pages:
        places = page.values(kind)
        equal = {(at, other.start): (at, other) for each in value.readings for at, other in places.get(each, ())}
        for index, other in islice(equal.values(), _MAX_PLACES):
            if not other.agrees(value) or not _is_number(page.lines[index].text, other, kind):
                continue
            label = _label(page, index, other.start, target)
            if kind.name == "money" and not _is_money(value, other, label):
                continue
            found.append((label, page, index, other))
        if len(found) >= _MAX_PLACES:
            break
    best = sorted(found, key=lambda each: not each[0])[:MAX_SOURCES]
    return [
        _source(page, (index,), page.lines[index].text[other.start : other.end], Match.VALUE, label)
        for label, page, index, other in best
    ]


def ground_sum(
    pages: Sequence[FoldedPage], value: ParsedValue, parts: Sequence[Proposal], kind: ValueKind
) -> list[Source]:
    """The places of the numbers whose sum the value is, each in its own line; empty if one is not there, or they make
    another sum.
    """
    found, total = [], Decimal(0)
    for part in parts:
        page = next((page for page in pages if page.page == part.page), None)
        number = parse(kind, part.text)
        if page is None or number is None or len(part.lines) != 1:
            return []
        text = page.lines[part.lines[0]].text
        at = next((each for each in kind.find(text) if each.readings == number.readings), None)
        if at is None:
            return []
        total += cast("Decimal", number.readings[0])
        found.append(_source(page, part.lines, text[at.start : at.end], Match.SUM, part.label))
    return found if total == value.readings[0] else []


def _is_money(value: ParsedValue, other: ParsedValue, label: str) -> bool:
    """A bare 1 is a quantity, not 1.00; and a percentage is no amount."""
    if (value.unit == "%") != (other.unit == "%"):
        return False
    return not value.decimals or bool(other.decimals or other.unit or label)


def _is_number(text: str, value: ParsedValue, kind: ValueKind) -> bool:
    """Whether a whole number is not a part of a date, a time, a telephone number or an identifier (INV-2018)."""
    if kind.name not in {"money", "number"} or value.decimals:
        return True
    around = max(0, value.start - 40)
    ahead, near = text[around : value.start], text[around : value.end + 40]
    if _BEFORE_PART.search(ahead) or _BEHIND_PART.match(text, value.end):
        return False
    start, end = value.start - around, value.end - around
    spans = [match.span() for match in _PHONE.finditer(near)]
    spans += [(each.start, each.end) for name in ("date", "time") for each in KINDS[name].find(near)]
    # 20180330 may be a day and a number.
    return bool(value.unit) or not any(first <= start < last and (first, last) != (start, end) for first, last in spans)


def ground_text(pages: Sequence[FoldedPage], text: str, effort: Effort | None = None) -> list[Source]:
    """The places of a text, the same ones first, then the most similar one of each page."""
    target, breaks = parts_of(text)
    if not target:
        return []
    exact = list(islice((source for page in pages for source in _same(page, target, breaks)), MAX_SOURCES))
    if exact or not SHORT <= len(target) <= LONGEST_SIMILAR:
        return exact
    effort = effort or Effort()
    found = [match for page in pages if (match := _similar(page, target, breaks, effort)) is not None]
    return [match.source for match in sorted(found, key=lambda match: -match.score)][:MAX_SOURCES]


def ground_copied(pages: Sequence[FoldedPage], proposal: Proposal) -> list[Source]:
    """The proposal's own line, if the text is copied from it: 男 in 性别男, which is no word of its own elsewhere.
    Or its own lines, which may not follow each other in rows.
    """
    page = next((page for page in pages if page.page == proposal.page), None)
    if page is None or not 0 < len(proposal.lines) <= MAX_COPIED_LINES:
        return []
    if len(proposal.lines) > 1:
        target, joined = fold(proposal.text), "".join(page.folded[index] for index in proposal.lines)
        return [own_place(page, proposal, Match.EXACT)] if target and target in joined else []
    line = page.lines[proposal.lines[0]]
    if proposal.text not in line.text:
        return []
    return [Source(page.page, proposal.lines, line.box, proposal.text, Match.EXACT, line.confidence, proposal.label)]


def own_place(page: FoldedPage, proposal: Proposal, match: Match) -> Source:
    """The place of the proposal's own lines."""
    lines = [page.lines[index] for index in proposal.lines]
    confidence, box = min(line.confidence for line in lines), box_around([line.box for line in lines])
    return Source(page.page, proposal.lines, box, proposal.text, match, confidence, proposal.label)


def _same(page: FoldedPage, target: str, breaks: set[int]) -> Iterator[Source]:
    at = page.text.find(target)
    while at >= 0:
        end = at + len(target)
        if _is_whole(page, at, end, breaks):
            yield _source_of_range(page, at, end, Match.EXACT)
            at = page.text.find(target, end)
        else:
            at = page.text.find(target, at + 1)


def _is_whole(page: FoldedPage, start: int, end: int, breaks: set[int]) -> bool:
    """Whether the range cuts no number, nor joins two of different lines; and no word, if it is short."""
    if end - start < SHORTEST and not (start in page.breaks and end in page.breaks):
        return False
    text = page.text
    joins = (each for each in page.line_starts_within(start, end) if each - start not in breaks)
    if any(text[each - 1 : each + 1].isdigit() for each in joins):
        return False
    for at in (start, end):
        if 0 < at < len(text) and at not in page.breaks:
            before, behind = text[at - 1], text[at]
            if before.isdigit() and behind.isdigit():
                return False
            if end - start < SHORT and _is_spaced(before) and _is_spaced(behind):
                return False
    return True


def _is_spaced(letter: str) -> bool:
    """Whether the letter is of a script with spaces between words."""
    return letter.isalpha() and (letter < "\u0e00" or "\uac00" <= letter <= "\ud7a3")


@dataclass(frozen=True, slots=True)
class _SimilarText:
    score: float
    source: Source


def _similar(page: FoldedPage, target: str, breaks: set[int], effort: Effort) -> _SimilarText | None:
    if len(page.text) < len(target) - 1 or not effort.spend(page, target):
        return None
    alignment = partial_ratio_alignment(target, page.text, score_cutoff=MIN_SIMILARITY)
    if alignment is None or alignment.score < MIN_SIMILARITY:
        return None
    start, end = alignment.dest_start, alignment.dest_end
    text = page.text[start:end]
    if _digits(text) != _digits(target) or not _is_whole(page, start, end, breaks):
        return None
    if not _same_words(target, breaks, text):
        return None
    return _SimilarText(alignment.score, _source_of_range(page, start, end, Match.SIMILAR))


def _same_words(target: str, breaks: set[int], text: str) -> bool:
    """Whether no word differs in more letters than misreading explains; words with digits may not differ at all."""
    bounds = sorted(breaks)
    edits = Counter(bisect_right(bounds, min(edit.src_pos, len(target) - 1)) for edit in editops(target, text))
    for at, count in edits.items():
        word = target[bounds[at - 1] : bounds[at]]
        most = 0 if _digits(word) else max(1, min(_WORD_EDITS, len(word) // 4))
        if count > most:
            return False
    return True


def _digits(text: str) -> str:
    """Digits and the numerals of other scripts: 三 is not 五."""
    return "".join(filter(str.isnumeric, text))


def source_of(page: FoldedPage, index: int, text: str, match: Match, label: str = "") -> Source:
    """The place of a text in one line of a page."""
    return _source(page, (index,), text, match, label)


def _source_of_range(page: FoldedPage, start: int, end: int, match: Match) -> Source:
    lines = page.lines_at(start, end)
    return _source(page, lines, " ".join(page.lines[index].text for index in lines), match)


def _source(page: FoldedPage, indexes: tuple[int, ...], text: str, match: Match, label: str = "") -> Source:
    """The source; around its words where the line has them and the text is a part of it."""
    lines = [page.lines[index] for index in indexes]
    parts = _words(lines[0], text) if len(lines) == 1 and len(lines[0].text) <= _LONG_LINE else []
    boxes = [box_of_quad(part.quad) for part in parts] or [line.box for line in lines]
    confidences = [part.confidence for part in parts] or [line.confidence for line in lines]
    return Source(page.page, indexes, box_around(boxes), text, match, min(confidences), label)


def _words(line: Line, text: str) -> list[Word]:
    """The words of the line that hold the text; empty if the engine gave none."""
    target, at, found = fold(text), 0, []
    start = fold(line.text).find(target)
    if not target or start < 0:
        return []
    for word in line.words:
        length = len(fold(word.text))
        if length and at < start + len(target) and at + length > start:
            found.append(word)
        at += length
    return found


def _label(page: FoldedPage, index: int, start: int, target: Sequence[str]) -> str:
    """The label of a value that begins at `start` of a line: in the line before it, left of it, or above it."""
    if not target:
        return ""
    line = page.lines[index]
    ahead = line.text[max(0, start - _LONGEST_LABEL) : start]
    if _names(fold(ahead), target):
        return ahead.strip()
    for other in page.leading(index):
        if _names(page.folded[other][:_LONGEST_LABEL], target):
            return page.lines[other].text
    return ""


def _names(folded: str, target: Sequence[str]) -> bool:
    return any(label in folded for label in target)
