"""Words whose letters are set apart, as in headings: I N V O I C E. Pure.

pdfium takes the gaps between such letters for spaces. The gaps between words are wider, so these tell the words.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import groupby, pairwise
from statistics import median

from inkgate.documents.pdf.glyph import is_cjk
from inkgate.documents.pdf.runs import CharacterRun, PlacedCharacter, same_line

MIN_GAP = 0.13
"""Minimum gap between any two letters of a line that is set wide, in ems. Usual text has pairs that nearly touch."""
WORD_GAP = 0.2
"""Minimum difference between the gaps of words and of letters, in ems: the narrowest spaces are as wide."""
DIGIT_GAP = 0.27
"""The same between digits: a 1 has more space beside it."""
MIN_JOINED_GAP = 0.25
"""Minimum gap between letters, in ems, from which the next word may be further away than usual. Digits of typewriter
fonts are up to 0.2 apart."""
MIN_LETTERS = 4
MIN_SINGLE = 5
"""Minimum letters of a word that the file has as single letters with spaces; bold ones may be a letter shorter."""
MIN_DIFFERENT = 3
"""Minimum of different letters in it: Y N Y N Y are answers."""
MAX_WORD_GAP = (2.0, 0.7)
"""Maximum gap between words: this many times that between letters, plus this many ems."""
SAME_SIZE = 1.05
_VOWELS = frozenset("aeiouyаеёиоуыэюяієαεηιουω")
_MONTHS = frozenset({"jfmamjjasond", "efmamjjasond", "gfmamglasond"})
_CHOICES = "f"
"""Letters up to this one are choices and notes: A C B."""


def word_gaps(pieces: Sequence[PlacedCharacter], spaces: Sequence[bool]) -> list[bool]:
    """Whether there is a space before each character of a line: `spaces`, or by the gaps if the line is set wide."""
    if not _is_wide(pieces):
        return list(spaces)
    gaps = _gaps(pieces)
    found = [False, *_wider(pieces, gaps)]
    return found if sum(found) < sum(spaces) and _reads(pieces, found, spaces) else list(spaces)


def joined_words(chains: Sequence[list[CharacterRun]]) -> list[list[CharacterRun]]:
    """The chains, with words of one line together if both are set so wide that the gap between them is a space."""
    wide = [number for number, chain in enumerate(chains) if _is_word(chain)]
    wide.sort(key=lambda number: (chains[number][0].angle, round(_base(chains[number])), chains[number][0].u0))
    following = {first: second for first, second in pairwise(wide) if _follows(chains[first], chains[second])}
    led = set(following.values())
    found: list[list[CharacterRun]] = []
    for number, chain in enumerate(chains):
        if number not in led:
            line, at = list(chain), number
            while at in following:
                at = following[at]
                line.extend(chains[at])
            found.append(line)
    return found


def _base(chain: Sequence[CharacterRun]) -> float:
    return chain[0].pieces[0].base


def _gaps(pieces: Sequence[PlacedCharacter]) -> list[float]:
    return [(after.u0 - before.u1) / max(before.size, after.size, 1e-6) for before, after in pairwise(pieces)]


def _wider(pieces: Sequence[PlacedCharacter], gaps: Sequence[float]) -> list[bool]:
    """Returns for each gap whether it is wider than those of letters."""
    usual = median(gaps)
    return [
        gap > usual + (DIGIT_GAP if before.text.isdigit() and after.text.isdigit() else WORD_GAP)
        for gap, (before, after) in zip(gaps, pairwise(pieces), strict=True)
    ]


def _is_set_wide(pieces: Sequence[PlacedCharacter]) -> bool:
    """Whether all letters are apart. Usual text is not from its first letters on."""
    return not any(after.u0 - before.u1 < MIN_GAP * max(before.size, after.size) for before, after in pairwise(pieces))


def _is_wide(pieces: Sequence[PlacedCharacter]) -> bool:
    if len(pieces) < MIN_LETTERS or not _is_set_wide(pieces):
        return False
    letters = sum(piece.text[0].isalpha() for piece in pieces)
    return letters >= MIN_LETTERS and 2 * letters >= len(pieces) and not any(is_cjk(piece.text[0]) for piece in pieces)


def _is_word(chain: Sequence[CharacterRun]) -> bool:
    """Whether a chain is a word, or several, that are set so wide that others may be further away than usual."""
    pieces = chain[0].pieces if len(chain) == 1 else [piece for run in chain for piece in run.pieces]
    if len(pieces) < 2 or chain[0].vertical or not _is_set_wide(pieces):
        return False
    if 3 * sum(piece.text.isalnum() for piece in pieces) < 2 * len(pieces):
        return False
    return median(_gaps(pieces)) >= MIN_JOINED_GAP and not any(is_cjk(piece.text[0]) for piece in pieces)


def _follows(chain: Sequence[CharacterRun], other: Sequence[CharacterRun]) -> bool:
    first, second = ([piece for run in part for piece in run.pieces] for part in (chain, other))
    last, start = first[-1], second[0]
    if chain[0].angle != other[0].angle or not same_line(last, start, last.base, start.base):
        return False
    low, high = sorted((last.size, start.size))
    if high > SAME_SIZE * low or last.bold != start.bold or len(first) + len(second) <= MIN_LETTERS:
        return False
    spacing = min(median(_gaps(first)), median(_gaps(second)))
    times, more = MAX_WORD_GAP
    gap = (start.u0 - last.u1) / max(high, 1e-6)
    is_text = 2 * sum(piece.text.isalpha() for piece in first) >= len(first)
    return is_text and spacing + WORD_GAP < gap <= times * spacing + more


def _reads(pieces: Sequence[PlacedCharacter], found: Sequence[bool], spaces: Sequence[bool]) -> bool:
    """Whether the words are better than the file's: these are broken, and are no single letters of a table."""
    words, given = _words(pieces, found), _words(pieces, spaces)
    if not any(len(word) == 1 and word.isalpha() for word in given) or not all(map(_is_cased, words)):
        return False
    if not all(spaces[1:]):
        return True
    least = MIN_SINGLE - 1 if all(piece.bold for piece in pieces) else MIN_SINGLE
    longest = max((word.casefold() for word in words if word.isalpha()), key=len, default="")
    return (
        len(longest) >= least
        and len(set(longest)) >= MIN_DIFFERENT
        and longest not in _MONTHS
        and max(longest) > _CHOICES
        and list(longest) != sorted(longest)
        and all(_has_vowel(word.casefold()) for word in words if word.isalpha() and len(word) > MIN_DIFFERENT)
    )


def _is_cased(word: str) -> bool:
    """Whether the letters after the first are all small, or all are capitals."""
    return not word.isalpha() or word[1:] == word[1:].lower() or word == word.upper()


def _words(pieces: Sequence[PlacedCharacter], spaces: Sequence[bool]) -> list[str]:
    number = 0
    numbered = []
    for piece, spaced in zip(pieces, spaces, strict=True):
        number += spaced
        numbered.append((number, piece.text))
    return ["".join(text for _, text in group) for _, group in groupby(numbered, key=lambda item: item[0])]


def _has_vowel(word: str) -> bool:
    return any(unicodedata.normalize("NFD", char)[0] in _VOWELS for char in word)
