"""Whether confidences mean something: of parts read with 0.9, nine in ten should be right. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rapidfuzz.distance import Levenshtein

from inkgate_bench.accuracy.metrics import CJK_SHARE, Token, closed_folded, is_spaceless, token_counts, token_of

MAX_WRONG = 0.05
"""Edits by character up to which a block or page is right."""
MIN_KNOWN = 0.9
"""Share of a block's tokens that must stand in the truth for its text to be right wherever it stands."""
MIN_WORDS_RIGHT = 0.97
"""F1 of its words above which the text of a page is right, see words_f1."""
MIN_JUDGED = 100
"""Letters; a shorter text has its spaces: it may be a list of words."""
EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 1.0)
MAX_ALIGNED = 4_000_000_000
"""Pairs of characters of one alignment: about ten seconds. Longer documents are not judged."""


@dataclass(frozen=True, slots=True)
class JudgedPart:
    """A block or page with its confidence, and whether it is right: by its text alone, and by text and order."""

    confidence: float
    text_right: bool
    right: bool


@dataclass(frozen=True, slots=True)
class ConfidenceBin:
    """Parts whose confidence is from `low` on and below `high` (the last bin includes it), with means and shares."""

    low: float
    high: float
    count: int
    confidence: float
    text_right: float
    right: float


@dataclass(frozen=True, slots=True)
class CalibrationCurve:
    """The bins that have parts, and the mean distance of confidence and share right, weighted by parts."""

    count: int
    bins: tuple[ConfidenceBin, ...]
    error: float | None


def judge_blocks(truth: str, blocks: Sequence[tuple[str, float | None]]) -> tuple[JudgedPart, ...]:
    """The blocks of a document, `(text, confidence)` in its order, judged by its truth.

    The whole text is aligned with the truth by the fewest edits. A block is right if at most MAX_WRONG of its
    characters were edited there; one in the wrong place is not, since an alignment doesn't cross itself. Blocks
    without text or confidence are left out.
    """
    wanted = closed_folded(truth)
    parts = [closed_folded(text) for text, _ in blocks]
    read = "".join(parts)
    if len(wanted) * len(read) > MAX_ALIGNED:
        return ()
    edits = _edits_by_character(read, wanted)
    token = token_of(truth)
    known = token_counts(truth, token)
    judged = []
    start = 0
    for (text, confidence), part in zip(blocks, parts, strict=True):
        wrong = edits[start + len(part)] - edits[start]
        start += len(part)
        if part and confidence is not None:
            tokens = token_counts(text, token)
            text_right = (tokens & known).total() >= MIN_KNOWN * tokens.total()
            right = wrong <= MAX_WRONG * len(part)
            judged.append(JudgedPart(confidence, text_right or right, right))
    return tuple(judged)


def _edits_by_character(read: str, wanted: str) -> list[int]:
    """Returns for each place of what was read the edits before it; what is missing counts at the character
    before it.
    """
    edits = [0] * (len(read) + 1)
    for operation in Levenshtein.editops(read, wanted):
        # Between two blocks, what is missing is nobody's: at the start of a block it would count for the one before.
        place = operation.src_pos if operation.tag != "insert" else max(0, operation.src_pos - 1)
        edits[min(place + 1, len(read))] += 1
    for place in range(1, len(edits)):
        edits[place] += edits[place - 1]
    return edits


def judge_page(truth: str, text: str, confidence: float | None) -> JudgedPart | None:
    """The page, right if its character error rate without case is at most MAX_WRONG; None without confidence."""
    if confidence is None:
        return None
    wanted, got = closed_folded(truth), closed_folded(text)
    right = Levenshtein.distance(wanted, got) <= MAX_WRONG * len(wanted)
    token = token_of(truth)
    known, tokens = token_counts(truth, token), token_counts(text, token)
    total = known.total() + tokens.total()
    return JudgedPart(confidence, right or 2 * (known & tokens).total() >= MIN_KNOWN * total, right)


def words_f1(truth: str, text: str) -> float:
    """F1 of the words of both as multisets, in [0, 1]: whether a page was read right, whatever its order. Nothing in
    both: 1.

    Words are as `words_of` has them. Where the truth lacks its spaces, pairs of letters and digits replace them.
    """
    if lacks_spaces(truth):
        wanted, got = (_pairs(each) for each in (truth, text))
    else:
        wanted, got = (Counter(words_of(each)) for each in (truth, text))
    total = wanted.total() + got.total()
    return 2 * (wanted & got).total() / total if total else 1.0


def is_left_unread(truth: str, text: str) -> bool:
    """Whether what is wrong with a text is what it lacks: so much that it is wrong, though its own words are right."""
    wanted, got = (_pairs(each) if lacks_spaces(truth) else Counter(words_of(each)) for each in (truth, text))
    known = (wanted & got).total()
    return known <= MIN_WORDS_RIGHT * wanted.total() and known >= MIN_WORDS_RIGHT * got.total()


def words_of(text: str) -> Iterator[str]:
    """Numbers with the points, commas, colons and slashes between their digits, such as `1,284.50` and `10:58`, and
    runs of letters with their apostrophes, in small letters and NFKC.

    All else parts words, and whether a space does is not judged between digits and letters, as in `2 x` and `RM 5`. A
    character of a script without spaces is a word.
    """
    for word in _WORDS.findall(unicodedata.normalize("NFKC", text.translate(_LIKE)).casefold()):
        if is_spaceless(word[0]):
            yield from word
        else:
            yield word


_LIKE = {ord(character): "'" for character in "\u2018\u2019\u02bc\u2032\u00b4`"} | {0xAD: "-"}
"""Apostrophes, which differ in print by a hair, and hyphens that are not always printed."""
_SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0002ffff"
_LETTER = rf"(?:(?![{_SPACELESS}])[^\W\d_])"
_WORDS = re.compile(rf"\d+(?:[.,:/]\d+)*|{_LETTER}+(?:'{_LETTER}+)*|[{_SPACELESS}]+")


def lacks_spaces(truth: str) -> bool:
    letters = [letter for letter in truth if letter.isalpha()]
    if len(letters) < MIN_JUDGED:
        return False
    spaceless = sum(map(is_spaceless, letters)) >= CJK_SHARE * len(letters)
    return not spaceless and token_of(truth) is Token.BIGRAMS


def _pairs(text: str) -> Counter[str]:
    return token_counts("".join(filter(str.isalnum, text.translate(_LIKE))), Token.BIGRAMS)


def calibration_curve(parts: Sequence[JudgedPart]) -> CalibrationCurve:
    """The parts in bins by EDGES; empty bins are left out. `error` is the expected calibration error."""
    bins = []
    for low, high in pairwise(EDGES):
        held = [part for part in parts if low <= part.confidence < high or part.confidence == high == EDGES[-1]]
        if held:
            bins.append(
                ConfidenceBin(
                    low,
                    high,
                    len(held),
                    sum(part.confidence for part in held) / len(held),
                    sum(part.text_right for part in held) / len(held),
                    sum(part.right for part in held) / len(held),
                )
            )
    gap = sum(each.count * abs(each.confidence - each.right) for each in bins)
    return CalibrationCurve(len(parts), tuple(bins), gap / len(parts) if parts else None)
