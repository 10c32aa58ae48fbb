"""Words of labels: which of them count, and how well two labels fit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from rapidfuzz.fuzz import ratio

from inkgate.fields.schema import words_of


def _set(words: str) -> frozenset[str]:
    """The words between spaces."""
    return frozenset(words.split())


LABEL_WORDS: Final = _set(
    """name names address street city town state province country zip postal postcode code phone telephone mobile fax
    email account number no date signature title occupation employer amount total tax income nationality birth sex
    gender id tin ssn ein adresse anschrift straße strasse ort plz telefon datum vorname nachname unterschrift nom
    prénom prenom rue ville téléphone nombre apellido apellidos dirección ciudad teléfono fecha firma naam adres
    plaats"""
)
"""Words that labels of forms have, and values without a digit seldom do."""
ADDRESS: Final = _set("address addr adresse anschrift dirección indirizzo adres endereço 地址 住址")
ADDRESS_PARTS: Final = _set(
    """street city town state province country zip postal postcode straße strasse ort plz rue ville calle ciudad
    provincia via città straat plaats woonplaats"""
)
NAME: Final = _set("name names nom nombre naam nome 姓名 名称")
_STOP: Final = _set(
    """a an and the of to for or in on at by from your s is if de du des la le les der die das und von für el los y"""
)
_TYPE_WORDS: Final = _set("amount amt number no nr num value code flag field box text")
"""Words that names of fields have and labels may lack."""
_ASIDE: Final = re.compile(r"\([^)]{0,200}\)")
_IN_NUMBER: Final = re.compile(r"(?<=\d)[,.](?=\d{3})")
_BOX_NUMBER: Final = re.compile(r"^\s*\d{1,2}[a-z]?[.)]?\s+(?=[^\W\d_])")
_ALIKE: Final = 80.0
_SHORTEST_ALIKE: Final = 5
_MAX_WORDS: Final = 40
_PREFIX: Final = 0.6
_STORED: Final = 1024


@lru_cache(maxsize=_STORED)
def label_words(label: str) -> tuple[str, ...]:
    """The words of a field's label that count, in their order."""
    return _words(label)


def _words(text: str) -> tuple[str, ...]:
    plain = _IN_NUMBER.sub("", text.replace("’", "'").replace("'s", " ").replace("'S", " "))
    return tuple(word for word in words_of(plain).split() if word not in _STOP)[:_MAX_WORDS]


def words_in(text: str) -> frozenset[str]:
    """The words of a label that count, in lower case; without the number of its box and without asides in brackets."""
    return frozenset(_words(_ASIDE.sub(" ", _BOX_NUMBER.sub("", text[:400]))))


def fit(field_label: str, label: frozenset[str], of: frozenset[str] = frozenset()) -> float:
    """How well the words of a label fit a field's, from 0 to 1; 0 if one of the field's words is in neither label.

    `of`: words of the box's first label; they count for less.
    """
    words = label_words(field_label)
    if not words or not label:
        return 0.0
    needed = [word for word in words if word not in _TYPE_WORDS] or list(words)
    used: set[str] = set()
    borrowed = 0
    for word in words:
        match = _match(word, label)
        if match is not None:
            used.add(match)
        elif word in needed:
            if _match(word, of) is None:
                return 0.0
            borrowed += 1
    if not used:
        return 0.0
    missing = sum(word not in needed for word in words) - sum(word in used for word in words if word not in needed)
    share = len(used) / len(label)
    return float(share**0.25 * 0.85**borrowed * 0.95 ** max(0, missing))


def _match(word: str, among: Iterable[str]) -> str | None:
    """The word itself, or one that differs by an ending or a misread letter."""
    listed: Sequence[str] = among if isinstance(among, tuple) else tuple(among)
    if word in listed:
        return word
    best: tuple[float, str] | None = None
    for other in listed:
        shorter, longer = sorted((word, other), key=len)
        if len(shorter) >= 4 and longer.startswith(shorter) and len(shorter) >= _PREFIX * len(longer):
            return other
        if len(shorter) >= _SHORTEST_ALIKE and not any(map(str.isdigit, word + other)):
            score = ratio(word, other, score_cutoff=_ALIKE)
            if score and (best is None or score > best[0]):
                best = (score, other)
    return None if best is None else best[1]
