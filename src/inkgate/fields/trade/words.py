"""What invoices and receipts call their parts: labels as concepts, in any of the languages of words.yaml.

A text is compared word by word. Of two names that overlap, the longer one counts: `sub total` is no total.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

import yaml
from rapidfuzz import fuzz, process

from inkgate.fields.kinds.base import plain

LONGEST_LABEL: Final = 120
"""Maximum length in characters. More of a text is not looked at."""
_TOKEN: Final = re.compile(r"[^\W_]+|#")
UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uff66-\uff9f]")
"""Scripts without spaces between words."""
_MIN_FUZZY: Final = 5
"""Characters from which a word may be misread."""
_SHORTEST: Final = 3
"""Letters of an abbreviation with dots: `n.o` are two words."""
_SIMILAR: Final = 84.0
"""Similarity in percent from which a word counts as a misread one."""
_AS_LETTERS: Final = str.maketrans("015", "ols")
"""Digits that stand for letters in misread words."""
_CACHED: Final = 8192
Concepts = Mapping[str, float]
"""Shares of a text's characters that name a concept, by concept."""


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """Attributes:
    phrases: concepts by the words of a name; those with the same first word are looked up by it.
    unspaced: concepts by names in scripts without spaces, the longest first.
    prefixes: concepts of single words of which only the beginning is given.
    words, known: those of five letters and more, of which one may be misread.
    """

    phrases: Mapping[str, Mapping[tuple[str, ...], tuple[str, ...]]]
    unspaced: Mapping[str, tuple[str, ...]]
    prefixes: Mapping[str, tuple[str, ...]]
    words: tuple[str, ...]
    known: frozenset[str]


def words_of(text: str) -> list[str]:
    """The words of a text without case, accents and punctuation; runs of Chinese or Japanese stay together."""
    spread = unicodedata.normalize("NFKD", plain(text[:LONGEST_LABEL]).casefold().replace("ł", "l"))
    if not text.isascii():
        spread = "".join(each for each in spread if not unicodedata.combining(each))
        spread = unicodedata.normalize("NFC", spread)
    return _TOKEN.findall(spread)


@cache
def _vocabulary() -> _Vocabulary:
    with (Path(__file__).parent / "words.yaml").open(encoding="utf-8") as file:
        loaded = yaml.safe_load(file)
    phrases: dict[str, dict[tuple[str, ...], list[str]]] = {}
    unspaced: dict[str, list[str]] = {}
    prefixes: dict[str, list[str]] = {}
    for concept, languages in loaded.items():
        for name in (str(each) for names in languages.values() for each in names):
            words = tuple(words_of(name))
            if not words:
                continue
            if name.endswith("*"):
                prefixes.setdefault(words[0], []).append(concept)
            elif UNSPACED.search(name):
                unspaced.setdefault("".join(words), []).append(concept)
            else:
                named = phrases.setdefault(words[0], {}).setdefault(words, [])
                if concept not in named:
                    named.append(concept)
    known = {word for by in phrases.values() for words in by for word in words if len(word) >= _MIN_FUZZY}
    return _Vocabulary(
        {first: {words: tuple(named) for words, named in by.items()} for first, by in phrases.items()},
        {name: tuple(unspaced[name]) for name in sorted(unspaced, key=len, reverse=True)},
        {name: tuple(named) for name, named in prefixes.items()},
        tuple(sorted(known)),
        frozenset(known),
    )


def concepts_in(text: str) -> Concepts:
    """The concepts that a text names. Its digits don't count."""
    return _concepts_in(text[:LONGEST_LABEL])


@lru_cache(maxsize=_CACHED)
def _concepts_in(text: str) -> Concepts:
    words = words_of(text)
    letters = sum(len(word) for word in words if not word.isdigit())
    found: dict[str, float] = {}
    for concept, characters in _named(words):
        found[concept] = min(1.0, found.get(concept, 0.0) + characters / max(1, letters))
    return MappingProxyType(found)


def _named(words: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Concepts with the characters that name them, each part of the text for the longest name."""
    known, at = _vocabulary(), 0
    words = list(_abbreviated([_respelled(word) for word in words]))
    while at < len(words):
        word = words[at]
        if UNSPACED.search(word):
            yield from _unspaced(known, word)
            at += 1
            continue
        by = known.phrases.get(word, {})
        best = max((each for each in by if tuple(words[at : at + len(each)]) == each), key=len, default=())
        if best:
            named = by[best]
        else:
            named = next((each for start, each in known.prefixes.items() if word.startswith(start)), ())
        for concept in named:
            yield concept, sum(map(len, best)) or len(word)
        at += max(1, len(best))


def _abbreviated(words: Sequence[str]) -> Iterator[str]:
    """The words, in which the letters of a known abbreviation are one: A.B.N."""
    known, at = _vocabulary().phrases, 0
    while at < len(words):
        end = at
        while end < len(words) and len(words[end]) == 1 and words[end].isalpha():
            end += 1
        joined, letters = "".join(words[at:end]), tuple(words[at:end])
        is_known = len(letters) >= _SHORTEST and (joined,) in known.get(joined, {})
        is_known &= letters not in known.get(words[at], {})
        yield joined if is_known else words[at]
        at = end if is_known else at + 1


def _unspaced(known: _Vocabulary, word: str) -> Iterator[tuple[str, int]]:
    at = 0
    while at < len(word):
        name = next((name for name in known.unspaced if word.startswith(name, at)), "")
        for concept in known.unspaced.get(name, ()):
            yield concept, len(name)
        at += max(1, len(name))


@lru_cache(maxsize=_CACHED)
def _respelled(word: str) -> str:
    """The word of a name that this one may be, misread by one letter or two; else itself."""
    known = _vocabulary()
    if len(word) < _MIN_FUZZY or word.isdigit() or word in known.known:
        return word
    word = word.translate(_AS_LETTERS)
    found = process.extractOne(word, known.words, scorer=fuzz.ratio, score_cutoff=_SIMILAR)
    return word if found is None else str(found[0])
