"""How little a text looks like words: character pairs, case and scripts, without a dictionary."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise

from inkgate.layout.doubt_data import PAIRS

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_EDGE = len(_LETTERS)
_ODD_PAIRS = 5.0
"""Mean surprise of a word's character pairs, in bits, from which it does not look like a word: 3 in 100 of the words of
dev's ground truths reach it, and most of words whose letters are drawn by chance."""
_ACRONYM = 5
"""Words of up to so many capitals are not judged: GST, VIII, NASDAQ."""
_MIN_JUDGED = 8
"""Characters; less says nothing."""
_MAX_FLIPS = 2
"""Changes from lower to upper case within a word; McDonald and iPhone have one."""
_CODE = re.compile(r"[@\\_=<>{}\[\]|#$%^+*]|://|www\.|\.\w{2,4}$|\w/\w|\(\)|\w\.\w")
_TRIM = "\"'.,;:!?()[]{}<>*-–—_/\\|·•…«»“”‘’„¿¡、。，；：！？（）《》「」『』【】"
_INNER = frozenset("-'’.&/‐\u00ad·()®™,:;")
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_KANA_HANGUL = re.compile(r"[\u3040-\u30ff\uac00-\ud7af]")


def surprise(text: str) -> float:
    """The share of characters, in [0, 1], in words that don't look like words of any language known here.

    Numbers, codes, addresses of the web and scripts that are not known (all but Latin and Han) are not judged; a text
    of these only has no surprise.
    """
    odd, judged = 0.0, 0
    hans = len(_HAN.findall(text))
    among_latin = hans * 4 < sum(character.isalpha() for character in text) and not _KANA_HANGUL.search(text)
    for token in text.split():
        share, weight = _token(token, among_latin=among_latin)
        odd += share * weight
        judged += weight
    return odd / judged if judged >= _MIN_JUDGED else 0.0


def _token(token: str, *, among_latin: bool) -> tuple[float, int]:
    """Whether a token is odd, from 0 to 1, and the characters judged for it; 0: it can't be judged."""
    hans = _HAN.findall(token)
    if hans:
        return sum(among_latin or not _is_common(han) for han in hans) / len(hans), len(hans)
    word = token.strip(_TRIM)
    if len(word) == 1 or _CODE.search(word) or not any(map(str.isalpha, word)) or not _is_latin(word):
        return 0.0, 0
    if len(word) <= _ACRONYM and word.isupper():
        return 0.0, 0
    if any(character.isdigit() for character in word):
        return _with_digits(word)
    return float(_is_odd(word)), len(word)


def _with_digits(word: str) -> tuple[float, int]:
    """Codes such as F16 and A4B7 are not judged; digits among small letters are odd."""
    inside = re.search(r"[a-zà-ÿ]\d+[a-zà-ÿ]|[a-zà-ÿ]{2}\d[A-Za-z]", word)
    return (1.0, len(word)) if inside else (0.0, 0)


def _is_odd(word: str) -> bool:
    flips = sum(a.islower() and b.isupper() for a, b in pairwise(word))
    strange = sum(not character.isalpha() and character not in _INNER for character in word)
    return flips >= _MAX_FLIPS or strange > 0 or pair_surprise(word) >= _ODD_PAIRS


@lru_cache(maxsize=4096)
def pair_surprise(word: str) -> float:
    """Mean surprise of the character pairs of a Latin word, in bits; its accents and case don't count."""
    codes = [_EDGE, *(_LETTERS.find(letter) for letter in _folded(word)), _EDGE]
    levels = [int(PAIRS[a * (_EDGE + 1) + b]) for a, b in pairwise(codes) if a >= 0 and b >= 0]
    return sum(levels) / len(levels) if levels else 0.0


def _folded(word: str) -> str:
    plain = unicodedata.normalize("NFKD", word).casefold()
    return "".join(character for character in plain if not unicodedata.combining(character))


def _is_latin(word: str) -> bool:
    return word.isascii() or all(
        unicodedata.name(letter, "").startswith("LATIN") for letter in word if letter.isalpha()
    )


@lru_cache(maxsize=4096)
def _is_common(han: str) -> bool:
    """Whether it is of the first level of GB 2312 or of Big5: the 3,755 or 5,401 characters in daily use."""
    try:
        if 0xB0 <= han.encode("gb2312")[0] <= 0xD7:
            return True
    except UnicodeEncodeError:
        pass
    try:
        return 0xA4 <= han.encode("big5")[0] <= 0xC6
    except UnicodeEncodeError:
        return False
