"""Lines joined to running text: hyphens at line ends removed or kept. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

_CJK = re.compile(r"[\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uff60]")
HYPHENS = ("-", "\u00ad", "\u2010")
_COMPOUND = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)+")
_WORD = re.compile(r"[^\W\d_]+")
# From the start of the word only: else a line of a million letters takes minutes.
_LAST = re.compile(r"(?<![^\W_])([^\W_]+)[-\u00ad\u2010]$")
_FIRST = re.compile(r"[^\W_]+")
_CONJUNCTIONS = frozenset("and or to und oder bzw bis et ou y o e en of".split())  # noqa: SIM905
"""Words that follow a hyphen that stands for a part left out: "pre- and postwar", "Vor- und Nachteile"."""
_SHORT_CAPITALS = 2
"""Capitals up to this number before a hyphen are an abbreviation ("X-RAY", "EU-"), not part of a word in capitals."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words of a document as it writes them within a line, in lower case.

    Attributes:
        words: written without hyphens.
        compounds: written with them, such as `well-known`.
    """

    words: frozenset[str] = frozenset()
    compounds: frozenset[str] = frozenset()

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """The words of these lines. Words that a line's end may have cut are not counted."""
        words: set[str] = set()
        compounds: set[str] = set()
        for text in texts:
            whole = _LAST.sub("", text.strip().lower())
            compounds.update(_plain(found) for found in _COMPOUND.findall(whole))
            words.update(_WORD.findall(_COMPOUND.sub(" ", whole)))
        return cls(frozenset(words), frozenset(compounds))


NO_WORDS = Vocabulary()


def join_lines(texts: Sequence[str], known: Vocabulary = NO_WORDS) -> str:
    """Lines of a paragraph as flowing text, without the hyphens of words that were broken at a line's end.

    No space is added between CJK characters. `known`: decides whether a hyphen is part of a compound.
    """
    flow = ""
    for text in (text.strip() for text in texts):
        if not flow or not text:
            flow += text
        elif flow[-1] in HYPHENS and (joined := _hyphenated(flow, text, known)) is not None:
            flow = joined
        elif _CJK.match(flow[-1]) and _CJK.match(text[0]):
            flow += text
        else:
            flow += " " + text
    return flow


def _hyphenated(flow: str, text: str, known: Vocabulary) -> str | None:
    """`flow`, which ends in a hyphen, continued with `text`; None if the hyphen ends no word that goes on there."""
    before, after = _LAST.search(flow), _FIRST.match(text)
    if before is None or after is None:
        return None
    start, rest = before[1], after[0]
    if rest.lower() in _CONJUNCTIONS:
        return None
    broken = rest[0].islower() and start[-1].isalpha()
    broken |= start.isupper() and rest.isupper() and start.isalpha() and len(start) > _SHORT_CAPITALS
    if not broken:  # a compound of names or with a number: "Franco-German", "COVID-19", "18-year"
        return flow + text
    joined, compound = (start + rest).lower(), f"{start}-{rest}".lower()
    if flow[-1] != "\u00ad" and compound in known.compounds and joined not in known.words:
        return flow + text
    return flow[:-1] + text


def _plain(compound: str) -> str:
    return compound.replace("\u2010", "-")
