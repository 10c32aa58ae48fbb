"""Whether every recognised line stands in the Markdown of its page exactly once. Pure.

Letters and digits are compared (`reduced`): white space, punctuation, hyphens, escapes, tags, pipes and the marks of
headings and lists don't count, so a line may be joined to others, hyphenation undone, or laid out over table cells.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

MIN_PRESENT = 0.9
"""Share of a line's letters and digits that must stand in the Markdown, in pieces of MIN_PIECE or more, for a line
that does not stand there in one piece: a list's bullet read as `o` is dropped, a line is cut by table cells."""
MIN_PIECE = 3
MIN_DOUBLED = 3
"""Letters and digits of a line that can be found doubled: shorter ones are found by chance."""
_CLAIMED = "\0"
_HIDDEN = re.compile(
    r"(?<!\\)!\[(?:[^\]\\]|\\.)*\]\([^)\s]*\)"  # images
    r"|(?<=\])\([a-z]+:[^()\s]*\)"  # addresses of links
    r"|<!--.*?-->|(?<!\\)</?[A-Za-z][^<>]*>",  # comments and tags; a `<` of the page's own is escaped
    re.DOTALL,
)
_WORD = re.compile(r"[^\W_]+")
_ENTITY = re.compile(r"(?<!\\)&#?\w+;")


def reduced(text: str) -> str:
    """The letters and digits of a text in NFKC, case folded, without anything between them."""
    return "".join(_WORD.findall(_folded(text)))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def reduced_markdown(markdown: str) -> str:
    """The same of what Markdown shows: without images' addresses, tags and comments, with entities replaced."""
    return reduced(_shown(markdown))


def _shown(markdown: str) -> str:
    return _ENTITY.sub(lambda match: html.unescape(match[0]), _HIDDEN.sub(" ", markdown))


@dataclass(frozen=True, slots=True)
class LineAccount:
    """How the lines of a page stand in its Markdown.

    Attributes:
        places: for each line, where it begins among the Markdown's letters and digits; None if it is lost or has none.
        lost, doubled: numbers of lines, in order; a line that stands there three times is doubled twice.
    """

    places: tuple[int | None, ...]
    lost: tuple[int, ...]
    doubled: tuple[int, ...]
    counted: int


@dataclass(frozen=True, slots=True)
class LineTotals:
    """Totals of one document: lines that have a letter or digit, and the texts of those lost and doubled."""

    lines: int
    lost: tuple[str, ...] = ()
    doubled: tuple[str, ...] = ()


def account_lines(lines: Sequence[str], markdown: str) -> LineAccount:
    """Claim a place in the Markdown for every line.

    First lines that stand once among the lines and once in the Markdown, then those that follow or precede a line
    with a place, then the rest, long ones first, so that none is found within another's place; last in pieces.
    """
    wanted = [reduced(line) for line in lines]
    text = _UnclaimedText(_shown(markdown))
    places = _anchors(wanted, text)
    _claim_neighbours(wanted, text, places)
    order = sorted((i for i, line in enumerate(wanted) if line), key=lambda i: -len(wanted[i]))
    for claim in (text.claim, text.claim_in_pieces):
        for i in order:
            if i not in places and (place := claim(wanted[i])) is not None:
                places[i] = place
    doubled = []
    for i in order:
        while len(wanted[i]) >= MIN_DOUBLED and text.claim(wanted[i]) is not None:
            doubled.append(i)
    return LineAccount(
        places=tuple(places.get(i) for i in range(len(lines))),
        lost=tuple(sorted(i for i in order if i not in places)),
        doubled=tuple(sorted(doubled)),
        counted=len(order),
    )


def _anchors(wanted: Sequence[str], text: _UnclaimedText) -> dict[int, int]:
    """Places of the lines that can stand in one place only, claimed."""
    every = _UnclaimedText("\n".join(wanted))
    single = [i for i, line in enumerate(wanted) if line and every.stands_once(line) and text.stands_once(line)]
    found = {i: text.claim(wanted[i]) for i in single}
    return {i: place for i, place in found.items() if place is not None}


def _claim_neighbours(wanted: Sequence[str], text: _UnclaimedText, places: dict[int, int]) -> None:
    """Add to `places` the lines that stand right behind the line before them, or right before the one behind."""
    for i, line in enumerate(wanted):
        before = 0 if i == 0 else places[i - 1] + len(wanted[i - 1]) if i - 1 in places else None
        if line and i not in places and before is not None and text.claim_at(line, before):
            places[i] = before
    for i in range(len(wanted) - 2, -1, -1):
        if wanted[i] and i not in places and i + 1 in places:
            place = places[i + 1] - len(wanted[i])
            if text.claim_at(wanted[i], place):
                places[i] = place


class _UnclaimedText:
    """The letters and digits of a text, of which parts are claimed one after the other; none is found again."""

    def __init__(self, text: str) -> None:
        words = _WORD.findall(_folded(text))
        self._bounds = {0, *accumulate(map(len, words))}
        self._text = "".join(words)

    def claim(self, wanted: str) -> int | None:
        """Returns where the first free occurrence of whole words begins, or else the first, now claimed; None if there
        is none. Otherwise 48.00 and 0.00 side by side could be cut after 48.

        Else 48.00 and 0.00 side by side could be cut after 48.
        """
        first = place = self._text.find(wanted)
        while place >= 0:
            if place in self._bounds and place + len(wanted) in self._bounds:
                break
            place = self._text.find(wanted, place + 1)
        place = first if place < 0 else place
        return place if self.claim_at(wanted, place) else None

    def stands_once(self, wanted: str) -> bool:
        """Whether there is exactly one free occurrence, those that overlap counted."""
        place = self._text.find(wanted)
        return place >= 0 and self._text.find(wanted, place + 1) < 0

    def claim_at(self, wanted: str, place: int) -> bool:
        """Whether it stands there and is free; it is now claimed."""
        if place < 0 or not self._text.startswith(wanted, place):
            return False
        self._text = self._text[:place] + _CLAIMED * len(wanted) + self._text[place + len(wanted) :]
        return True

    def claim_in_pieces(self, wanted: str) -> int | None:
        """Claim MIN_PRESENT of the text in pieces that are as long as possible; nothing if there is less.

        Returns where the first of its pieces begins.
        """
        before, first, found, start = self._text, None, 0, 0
        while start < len(wanted):
            length = self._longest(wanted, start)
            if length < min(MIN_PIECE, len(wanted)):
                start += 1
                continue
            place = self.claim(wanted[start : start + length])
            first = place if first is None else first
            found += length
            start += length
        if found >= MIN_PRESENT * len(wanted):
            return first
        self._text = before
        return None

    def _longest(self, wanted: str, start: int) -> int:
        """Length of the longest part from `start` on that is free: by bisection, as parts of what is free are free."""
        low, high = 0, len(wanted) - start
        while low < high:
            middle = (low + high + 1) // 2
            if wanted[start : start + middle] in self._text:
                low = middle
            else:
                high = middle - 1
        return low
