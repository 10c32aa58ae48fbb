"""Decides doubtful characters by what stands around them: l, I and 1, O and 0 in words and numbers, stray accents,
traditional forms on pages in simplified Chinese and the other way round, and decimal points that were not seen. Pure.

The recognition model reads each character by its shape and a little context. Where its confidence is low, the kind of
word tells more: a digit among letters is a letter, an accent of a language that the page isn't written in is a speck.
Confident characters are never changed, nor are codes that mix letters and digits, addresses of web and mail, or scripts
other than Latin and Chinese. Each rule replaces one character by another, so positions stay; so does the confidence, as
the character stays doubtful.

Of the misread characters of 5,526 lines of the development documents, 31 (3%) are set right, and no right character is
set wrong. Left out, because confidence didn't separate right from wrong: l for ! at the end of a word, 0 for @, u for
n, c for e.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from inkgate.engines.ppocr.han import SIMPLIFIED, TRADITIONAL
from inkgate.engines.ppocr.recognition import RecognizedText
from inkgate.runtimes.base import FloatArray

_DOUBTFUL = 0.9
"""Confidence below which a character may be replaced: `No1` and `Col3a1` of the development pages are read with 0.93
and more, `Te1`, `Shel1` and `P0S` with 0.5 to 0.88."""
_VERY_DOUBTFUL = 0.8
"""The same for a 1 at the end of a word, which may be a footnote mark or number of its own."""
_UNSEEN = 0.5
"""Confidence of a point that was put where the model saw a gap."""
_CERTAIN = 0.97
"""Confidence from which an accent tells of the page's language."""
_EXPLAINED = 0.9
"""Share of the certain accents that the likeliest language must have: specks are read with confidence, too."""
_MIN_LETTERS = 400
"""Letters from which a page without a certain accent is in a language without. French has an accent in 25 letters,
German and Spanish one in 50."""
_MIN_AMOUNTS = 5
"""Amounts of a page from which `17 00` alone on its line is one whose point was not seen. On the development pages all
five such lines are."""

_MIN_FORMS, _MAX_OTHERS = 3, 0.1
"""Certain characters of simplified or traditional Chinese alone by which a page is in it, and how many of the other it
may have for each of them."""
_NOT_CHINESE = re.compile("[\u3041-\u30fa\uac00-\ud7a3]")
"""Kana and Hangul: pages in Japanese or Korean have characters of both kinds."""

_TOKEN = re.compile(r"[^\s]+")
_WORD = re.compile(r"[A-Za-z0-9À-ɏ]+")
_ADDRESS = re.compile(r"@|://|www\.|\.(?:com|org|net|html?)\b", re.IGNORECASE)
_UNIT = re.compile(r"(?<=[0-9]m)1(?![A-Za-z0-9])")
_NUMBER = re.compile(r"[-+($€£]*\d+(?:[.,:/]\d+)+(?:[eE][-+]?\d+)?[-%)]*")
_AMOUNT = re.compile(r"\D{0,4}\d[\d,.' ]*([.,])\d\d\D{0,2}")
_CENTS = re.compile(r"[.,:]\d\d$")
_GAP = re.compile(r"\d{1,4} \d\d")
_ACCENTS: Final = {
    "ca": frozenset("àçèéíïòóúü"),
    "cs": frozenset("áčďéěíňóřšťúůýž"),
    "cy": frozenset("âêîôûŵŷáéíóúàèìòùäëïöü"),
    "da": frozenset("åéó"),
    "de": frozenset("äöüéàâ"),
    "es": frozenset("áéíñóúü"),
    "et": frozenset("äõöüšž"),
    "fi": frozenset("äöåšž"),
    "fr": frozenset("àâçéèêëîïôùûüÿ"),
    "ga": frozenset("áéíóú"),
    "hr": frozenset("čćšž"),
    "hu": frozenset("áéíóöőúüű"),
    "is": frozenset("áéíóúýö"),
    "it": frozenset("àèéìíîòóùú"),
    "lt": frozenset("ąčęėįšųūž"),
    "lv": frozenset("āčēģīķļņšūž"),
    "nl": frozenset("áàâäçéèêëíïîóòôöúûü"),
    "no": frozenset("åéèêóòôâ"),
    "pl": frozenset("ąćęńóśźż"),
    "pt": frozenset("áâãàçéêíóôõúü"),
    "ro": frozenset("ăâîșțşţ"),
    "sk": frozenset("áäčďéíĺľňóôŕšťúýž"),
    "sl": frozenset("čšž"),
    "sq": frozenset("çë"),
    "sv": frozenset("åäöéàü"),
    "tr": frozenset("çğıöşüâîû"),
}
"""Letters with accents of languages in Latin script, as their standard spelling has them, by language (ISO 639-1); with
those of words that the language has taken over from its neighbours. Vietnamese is not among them: a page with its
letters is left as it was read. `ı` counts, though it has no base letter by Unicode."""
_BEFORE_L = frozenset("aeioul")
"""Letters after which a word may well end in l."""
_OF_LOWER = {"0": "o", "1": "l"}
_OF_UPPER = {"0": "O", "1": "I", "5": "S", "8": "B"}
_OF_NUMBER = {"O": "0", "o": "0", "l": "1", "I": "1", "S": "5", "B": "8"}
_FIRST, _LAST = frozenset("OolI"), frozenset("Oo")
"""What may be a digit at a number's ends: S may be a dollar there, B and S codes of tax, l litres."""


def disambiguate(readings: Sequence[RecognizedText]) -> list[RecognizedText]:
    """The readings of a page's lines with doubtful characters decided, in their order."""
    own, forms = _own_accents(readings), _own_forms(readings)
    points = Counter(match[1] for reading in readings if (match := _AMOUNT.fullmatch(reading.text)))
    point = next((mark for mark, count in points.most_common(1) if count >= _MIN_AMOUNTS), "")
    return [_disambiguated(reading, own, forms, point) for reading in readings]


def _disambiguated(
    reading: RecognizedText, own: frozenset[str] | None, forms: Mapping[str, str], point: str
) -> RecognizedText:
    changes: dict[int, str] = {}
    if point and _GAP.fullmatch(reading.text):
        return _with_point(reading, len(reading.text) - 3, point)
    if reading.text and float(reading.confidences.min()) < _DOUBTFUL:
        for token in _TOKEN.finditer(reading.text):
            if not _ADDRESS.search(token[0]):
                start = token.start()
                found = look_alikes(token[0], reading.confidences[start : token.end()])
                changes |= {start + place: character for place, character in found.items()}
        if own is not None:
            changes |= _specks(reading, own)
    if forms and not reading.text.isascii():
        pairs = enumerate(zip(reading.text, reading.confidences.tolist(), strict=True))
        changes |= {at: forms[each] for at, (each, sure) in pairs if sure < _CERTAIN and each in forms}
    if not changes:
        return reading
    return replace(reading, text="".join(changes.get(at, character) for at, character in enumerate(reading.text)))


def _with_point(reading: RecognizedText, at: int, point: str) -> RecognizedText:
    confidences = reading.confidences.copy()
    confidences[at] = _UNSEEN
    return replace(reading, text=reading.text[:at] + point + reading.text[at + 1 :], confidences=confidences)


def look_alikes(token: str, confidences: FloatArray) -> dict[int, str]:
    """What stands for doubtful letters and digits of a token (n characters with n confidences), by their places."""
    sure = confidences.tolist()
    doubtful = [place for place, confidence in enumerate(sure) if confidence < _DOUBTFUL]
    digits = _digits_of(token, doubtful)
    if digits or not doubtful:
        return digits
    changes = {match.start(): "l" for match in _UNIT.finditer(token) if match.start() in doubtful}
    for word in _WORD.finditer(token):
        places = [at for at in range(word.start(), word.end()) if token[at].isdecimal()]
        if len(places) == 1 and places[0] in doubtful:
            letter = _letter_of(word[0], places[0] - word.start(), sure[places[0]])
            changes |= {places[0]: letter} if letter else {}
    return changes


def _digits_of(token: str, doubtful: Sequence[int]) -> dict[int, str]:
    """Digits for the doubtful letters of an amount, date, time or measurement, or amid the digits of a word."""
    alike = {place: _OF_NUMBER[token[place]] for place in doubtful if token[place] in _OF_NUMBER}
    if not alike:
        return {}
    whole = "".join(alike.get(place, character) for place, character in enumerate(token))
    first = 0 not in alike or token[0] in _FIRST
    last = len(token) - 1 not in alike or (token[-1] in _LAST and bool(_CENTS.search(whole)))
    certain = sum(character.isdecimal() for character in token)
    if _NUMBER.fullmatch(whole) and first and last and certain > len(alike):
        return alike
    words = [(word.start(), word[0]) for word in _WORD.finditer(token)]
    return {at: digit for at, digit in alike.items() if any(_is_amid_digits(word, at - start) for start, word in words)}


def _is_amid_digits(word: str, at: int) -> bool:
    """Whether the character at that place stands between digits and is the only one that is none, of four or more."""
    return 0 < at < len(word) - 1 and len(word) > 3 and (word[:at] + word[at + 1 :]).isdecimal()


def _letter_of(word: str, at: int, confidence: float) -> str:
    """The letter for a word's only digit, which is doubtful; empty if it may be a digit."""
    if at < 1 or len(word) < 3:
        return ""
    digit, before, last = word[at], word[at - 1], at == len(word) - 1
    if (word[:at] + word[at + 1 :]).isupper():
        return "" if last else _OF_UPPER.get(digit, "")
    if last:
        return "l" if digit == "1" and before in _BEFORE_L and confidence < _VERY_DOUBTFUL else ""
    return _OF_LOWER.get(digit, "") if word[at + 1].islower() else ""


def _base(character: str) -> str:
    """The ASCII letter of a letter with an accent; empty of all others."""
    parts = unicodedata.normalize("NFD", character)
    return parts[0] if len(parts) > 1 and parts[0].isascii() and parts[0].isalpha() else ""


def _own_accents(readings: Sequence[RecognizedText]) -> frozenset[str] | None:
    """The letters with accents (lower case) of the languages that the page may be in; None if that is unknown."""
    letters, certain = 0, Counter[str]()
    for reading in readings:
        letters += sum(character.isascii() and character.isalpha() for character in reading.text)
        if not reading.text.isascii():
            pairs = zip(reading.text, reading.confidences.tolist(), strict=True)
            certain.update(character.lower() for character, sure in pairs if sure >= _CERTAIN and _base(character))
    if not certain:
        return frozenset() if letters >= _MIN_LETTERS else None
    explained = {alphabet: sum(certain[letter] for letter in alphabet) for alphabet in _ACCENTS.values()}
    most = max(explained.values())
    if most < _EXPLAINED * certain.total():
        return None
    return frozenset().union(*(alphabet for alphabet, count in explained.items() if count == most))


def _own_forms(readings: Sequence[RecognizedText]) -> Mapping[str, str]:
    """The page's own form of each character that it can't have, if it is in simplified or in traditional Chinese."""
    simple = traditional = 0
    for reading in readings:
        if not reading.text.isascii():
            if _NOT_CHINESE.search(reading.text):
                return {}
            for character, sure in zip(reading.text, reading.confidences.tolist(), strict=True):
                if sure >= _CERTAIN:
                    simple += character in TRADITIONAL
                    traditional += character in SIMPLIFIED
    if simple >= _MIN_FORMS and traditional <= _MAX_OTHERS * simple:
        return SIMPLIFIED
    return TRADITIONAL if traditional >= _MIN_FORMS and simple <= _MAX_OTHERS * traditional else {}


def _specks(reading: RecognizedText, own: frozenset[str]) -> dict[int, str]:
    """Base letters for doubtful letters with accents that the page's languages don't have."""
    if reading.text.isascii():
        return {}
    pairs = enumerate(zip(reading.text, reading.confidences.tolist(), strict=True))
    return {
        at: _base(character)
        for at, (character, sure) in pairs
        if sure < _DOUBTFUL and character.lower() not in own and _base(character)
    }
