"""Whether characters look like a language, or like what a wrong map of a font makes of one. Pure."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from inkgate.documents.pdf.glyph import is_cjk

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
_CYRILLIC = dict(
    zip(
        "абвгдежзийклмнопрстуфхцчшщъыьэюя",
        (12.6, 1.3, 4.1, 1.1, 3.6, 8.2, 0.7, 2.6, 6.4, 0.7, 3.8, 3.4, 2.9, 7.6, 7.8, 3.5, 5.3, 4.1, 5.8, 2.5, 0.5, 0.4,
         1.1, 1.2, 0.7, 0.2, 0.3, 1.2, 0.9, 0.3, 0.3, 1.6),
        strict=True,
    )
)  # fmt: skip
_GREEK = dict(
    zip(
        "αβγδεζηθικλμνξοπρστυφχψω",
        (11.2, 0.5, 2.3, 2.4, 9.5, 0.2, 6.2, 1.2, 8.6, 3.3, 2.6, 4.3, 6.0, 0.3, 9.9, 3.7, 4.8, 7.7, 7.1, 4.0, 0.9, 1.5,
         0.1, 1.7),
        strict=True,
    )
)  # fmt: skip
"""Letter frequencies in percent, counted in the messages of programs: the mean of six Slavic languages, and Greek."""
_OTHER_SCRIPTS = (
    ("Cyrillic", "\u0400", "\u052f", _CYRILLIC, "аеёиоуыэюяіїєөүұәўӳӑӗӱӯӣъ"),
    ("Greek", "\u0370", "\u03ff", _GREEK, "αεηιουω"),
)
MIN_OTHER_CORRELATION = 0.2
"""Correlation with `_CYRILLIC` or `_GREEK`: 0.26 and more in 499 of 500 parts of 80 letters of ten languages; 0.2 in a
tenth of texts whose letters are shifted or shuffled."""
_FOREIGN, MAX_FOREIGN = "өүұқғңһәӣӯҳҷ", 0.03
"""Letters that no Slavic language has, and their share from which other frequencies count, such as Mongolian's."""
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


def looks_written(characters: Sequence[str]) -> bool:
    """False if the letters can't be any language; True if they can, or if there are too few.

    Not detected: shuffled letters in other scripts than Latin (see `garbled_script`), or common Han characters replaced
    by common ones.
    """
    letters = Counter({char: times for char, times in Counter(characters).items() if char.isalpha()})
    if not _latin_is_plausible(letters):
        return False
    return "".join(letters).isascii() or (_han_is_plausible(letters) and _scripts_stay_apart(characters))


def garbled_script(text: Iterable[str]) -> str:
    """The name of the script, Cyrillic or Greek, whose letters can't be any language; empty if there is none."""
    letters: Counter[str] = Counter()
    for char, times in Counter(text).items():
        base = char.casefold()
        if base not in _CYRILLIC:
            base = unicodedata.normalize("NFD", base)[0].replace("ς", "σ")
        letters[base] += times if base.isalpha() else 0
    for name, first, last, usual, vowels in _OTHER_SCRIPTS:
        own = {char: times for char, times in letters.items() if first <= char <= last}
        total = sum(own.values())
        if total < MIN_LETTERS:
            continue
        share = sum(own.get(char, 0) for char in vowels) / total
        foreign = sum(own.get(char, 0) for char in _FOREIGN)
        likeness = _correlation([own.get(char, 0) for char in usual], list(usual.values()))
        if not VOWELS[0] <= share <= VOWELS[1] or (foreign <= MAX_FOREIGN * total and likeness < MIN_OTHER_CORRELATION):
            return name
    return ""


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
    """Whether the character is in level 1 of GB 2312, of Big5 or of JIS X 0208: some 7,000 of the 21,000 in Unicode's
    first block.
    """
    for codec, first, last in (("gb2312", 0xB0A1, 0xD7F9), ("big5", 0xA440, 0xC67E), ("euc_jp", 0xB0A1, 0xCFD3)):
        try:
            code = int.from_bytes(char.encode(codec), "big")
        except UnicodeEncodeError:
            continue
        if first <= code <= last:
            return True
    return False


def _scripts_stay_apart(characters: Sequence[str]) -> bool:
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


@lru_cache(maxsize=8192)
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
