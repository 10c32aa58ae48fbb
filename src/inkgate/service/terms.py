"""Terms of a domain, such as names of drugs: words that were read with little confidence become the terms that they
resemble.

A word of enough confidence is never changed, nor a digit into another one. Resemblance is an edit distance in which
letters that OCR confuses (l and 1, rn and m) cost less. A word that resembles two terms alike stays as it was read.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Final

from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import extract

from inkgate.errors import InputRejected
from inkgate_client.types import Line, PageResult, Word

MIN_CONFIDENCE: Final = 0.9
"""Words of this confidence and more are as they were read."""
MAX_TERMS, MAX_ALIASES, LONGEST_TERM, MAX_FILE_BYTES = 5000, 20, 100, 1 << 20
"""Maximum terms of all files, aliases of a term, characters of a term, and bytes of a file."""
MAX_WORDS: Final = 500
"""Doubtful words of a page that are compared; each takes about a millisecond with 5,000 terms."""
_SHORTEST, _SHORTEST_CHINESE = 4, 3
"""Letters of a word, and of a Chinese term. Shorter ones resemble too much."""
_LONGEST_CHINESE: Final = 20
"""Characters of a Chinese term. Longer ones are not looked for."""
_ALIKE: Final = "0o 0d 0q 1l 1i il 1t 2z 5s 6b 6g 8b 9g 9q 4a 7t 7z ij ce eo ec uv vy nh hb ft gq co ao un nr"
_CONFUSED: Final = frozenset(map(frozenset, _ALIKE.split()))
_MERGED: Final = {"rn": "m", "cl": "d", "vv": "w", "ri": "n", "li": "h", "nn": "m", "ii": "u", "lc": "k"}
_OF_CONFUSED, _OF_MERGED = 0.3, 0.4
"""Costs of confusing letters that look alike, and two letters with one; of others it is 1."""
_SHARE, _MIN_COST = 0.2, 0.6
"""A word may differ from its term by a fifth of the term's letters, or by two that look alike."""
_CLEAR: Final = 0.3
"""Margin by which the best term must be better than the next."""
_NEAREST: Final = 8
_DOUBT_LEFT: Final = 0.5
"""Share of the doubt about a word that remains when it became a term."""
_FAR: Final = 1e9
_AROUND = "\"'“”‘’([{<)]}>.,;:!?，。；：（）、*"


class TermsFileInvalid(ValueError):
    """A file of terms can't be used; the message names it."""


@dataclass(frozen=True, slots=True)
class TermChange:
    """A change of a line: what it says now, and what was read."""

    page: int
    line: int
    text: str
    read_as: str


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms, and their parts by which they are looked up.

    Attributes:
        forms: terms and aliases as they are printed.
        tokens: words of forms in Latin letters and their like, casefolded: which forms they are in, and where.
        masked: Chinese forms with one of their characters left out, and the forms.
    """

    forms: tuple[str, ...]
    tokens: Mapping[str, tuple[tuple[tuple[str, ...], int], ...]] = field(default_factory=dict)
    masked: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, forms: Iterable[str]) -> Terms:
        """Terms of these forms."""
        tokens: dict[str, list[tuple[tuple[str, ...], int]]] = {}
        masked: dict[str, set[str]] = {}
        unique = tuple(dict.fromkeys(" ".join(form.split()) for form in forms))
        for form in unique:
            if _is_chinese(form):
                for at in range(len(form) if len(form) >= _SHORTEST_CHINESE else 0):
                    masked.setdefault(_without(form, at), set()).add(form)
                continue
            words = tuple(form.split())
            for at, word in enumerate(words):
                tokens.setdefault(word.casefold(), []).append((words, at))
        return cls(
            unique,
            {word: tuple(places) for word, places in tokens.items()},
            {key: frozenset(found) for key, found in masked.items()},
        )

    @classmethod
    def load(cls, files: Iterable[Path]) -> Terms:
        """The terms of TOML files: tables `[[terms]]` with `term`, `aliases` and `kind`. Blocking.

        Raises:
            TermsFileInvalid: a file can't be read, has another form, or is too large.
        """
        return cls.of([form for file in files for form in _forms_in(file)])

    def correct(self, page: PageResult) -> tuple[PageResult, list[TermChange]]:
        """The page with the terms in its lines, and the changes. A page without any is the same object."""
        if not (self.tokens or self.masked):
            return page, []
        lines, changes, left = list(page.lines), list[TermChange](), MAX_WORDS
        for index, line in enumerate(page.lines):
            doubtful = [at for at, word in enumerate(line.words) if word.confidence < MIN_CONFIDENCE and word.text][
                :left
            ]
            left -= len(doubtful)
            for at in doubtful:
                found = self._latin(line.words, at) or self._chinese(line.words, at)
                if found is not None:
                    start, words = found
                    lines[index], change = _changed(lines[index], start, words)
                    changes += [TermChange(page.index, index, *change)] if change else []
        return (replace(page, lines=tuple(lines)), changes) if changes else (page, [])

    def _latin(self, words: Sequence[Word], at: int) -> tuple[int, list[str]] | None:
        """The first of the words that become a term, and what they become."""
        read = words[at].text.strip(_AROUND).casefold()
        if len(read) < _SHORTEST or read in self.tokens or read.isdigit():
            return None
        most = max(_MIN_COST, _SHARE * len(read))
        near = extract(
            read,
            self.tokens.keys(),
            scorer=Levenshtein.distance,
            score_cutoff=int(most / _OF_CONFUSED),
            limit=_NEAREST,
            processor=None,
        )
        scored: dict[tuple[int, tuple[str, ...]], float] = {}
        for token, _, _ in near:
            cost = distance(read, token)
            for form, place in self.tokens[token] if cost <= max(_MIN_COST, _SHARE * len(token)) else ():
                if len(token) >= _SHORTEST and _fits(words, at - place, form, at):
                    key = (at - place, form)
                    scored[key] = min(cost, scored.get(key, _FAR))
        best = sorted(scored.items(), key=lambda each: (each[1], -len(each[0][1])))
        if not best or any(
            cost < best[0][1] + _CLEAR and form[at - start] != best[0][0][1][at - best[0][0][0]]
            for (start, form), cost in best[1:]
        ):
            return None
        start, form = best[0][0]
        return start, [_as_printed(words[start + place].text, token) for place, token in enumerate(form)]

    def _chinese(self, words: Sequence[Word], at: int) -> tuple[int, list[str]] | None:
        if len(words[at].text) != 1 or not _is_chinese(words[at].text):
            return None
        found: set[tuple[int, str]] = set()
        for start in range(at, max(-1, at - _LONGEST_CHINESE), -1):
            if len(words[start].text) != 1:
                break
            text = "".join(takewhile(_is_single, (word.text for word in words[start : start + _LONGEST_CHINESE])))
            for end in range(max(_SHORTEST_CHINESE, at - start + 1), len(text) + 1):
                forms = self.masked.get(_without(text[:end], at - start), frozenset())
                if text[:end] in forms:
                    return None  # it is a term as it was read
                found |= {(start, form) for form in forms}
        if len({form[at - start] for start, form in found}) != 1:
            return None
        start, form = min(found)
        return start, list(form)


def load_terms(files: Sequence[str], setting: str) -> Terms | None:
    """The terms of the files that a setting names; None without files. Blocking.

    Raises:
        InputRejected: "feature_unavailable": a file can't be used.
    """
    if not files:
        return None
    try:
        return Terms.load(map(Path, files))
    except TermsFileInvalid as error:
        raise InputRejected("feature_unavailable", f"`{setting}`: {error}") from error


def distance(read: str, term: str) -> float:
    """The cost of reading the term as `read`; very large where a digit would become another one, or be lost."""
    row = [sum(_alone(letter) for letter in term[:at]) for at in range(len(term) + 1)]
    rows = [row]
    for i, letter in enumerate(read, start=1):
        row = [rows[-1][0] + _alone(letter)]
        for j, expected in enumerate(term, start=1):
            costs = [
                rows[i - 1][j - 1] + _swap(letter, expected),
                rows[i - 1][j] + _alone(letter),
                row[j - 1] + _alone(expected),
            ]
            if i > 1 and _MERGED.get(read[i - 2 : i]) == expected:
                costs.append(rows[i - 2][j - 1] + _OF_MERGED)
            if j > 1 and _MERGED.get(term[j - 2 : j]) == letter:
                costs.append(rows[i - 1][j - 2] + _OF_MERGED)
            row.append(min(costs))
        rows.append(row)
    return rows[-1][-1]


def _alone(letter: str) -> float:
    return _FAR if letter.isdigit() else 1.0


def _swap(letter: str, expected: str) -> float:
    if letter == expected:
        return 0.0
    if frozenset((letter, expected)) in _CONFUSED:
        return _OF_CONFUSED
    return _FAR if letter.isdigit() or expected.isdigit() else 1.0


def _fits(words: Sequence[Word], start: int, form: Sequence[str], at: int) -> bool:
    """Whether the words are those of the form, but for the one at `at`."""
    if start < 0 or start + len(form) > len(words):
        return False
    own = (word.text.strip(_AROUND).casefold() for word in words[start : start + len(form)])
    return all(start + place == at or mine == form[place].casefold() for place, mine in enumerate(own))


def _as_printed(read: str, token: str) -> str:
    """The token with the marks around the word, and in capitals if the word is."""
    core = read.strip(_AROUND)
    at = read.find(core)
    return read[:at] + (token.upper() if core.isupper() else token) + read[at + len(core) :]


def _changed(line: Line, start: int, words: Sequence[str]) -> tuple[Line, tuple[str, str] | None]:
    """The line with other words from `start`, and what it says there now and was read as."""
    old = line.words[start : start + len(words)]
    places, end = [], 0
    for word in line.words[: start + len(words)]:
        begin = line.text.find(word.text, end)
        if begin < 0:
            return line, None
        end = begin + len(word.text)
        places.append((begin, end))
    text, parts = line.text, list(line.words)
    for at in range(len(words) - 1, -1, -1):
        begin, end = places[start + at]
        text = text[:begin] + words[at] + text[end:]
        if words[at] != old[at].text:
            sure = 1 - _DOUBT_LEFT * (1 - old[at].confidence)
            parts[start + at] = replace(old[at], text=words[at], confidence=sure)
    first, last = places[start][0], places[start + len(words) - 1][1]
    now = text[first : last + len(text) - len(line.text)]
    if now == line.text[first:last]:
        return line, None
    return replace(line, text=text, words=tuple(parts)), (now, line.text[first:last])


def _forms_in(file: Path) -> Iterator[str]:
    try:
        if file.stat().st_size > MAX_FILE_BYTES:
            raise TermsFileInvalid(f"{file}: larger than {MAX_FILE_BYTES:,} bytes")
        content = tomllib.loads(file.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise TermsFileInvalid(f"{file}: {error}") from error
    entries = content.get("terms")
    if not isinstance(entries, list) or len(entries) > MAX_TERMS:
        raise TermsFileInvalid(f"{file}: it has no tables [[terms]], or more than {MAX_TERMS:,}")
    for number, entry in enumerate(entries, start=1):
        forms = [entry.get("term"), *entry.get("aliases", ())] if _is_entry(entry) else []
        if not forms or len(forms) > MAX_ALIASES + 1 or not all(map(_is_form, forms)):
            raise TermsFileInvalid(
                f"{file}: entry {number}: `term` and up to {MAX_ALIASES} `aliases` must be texts of up to "
                f"{LONGEST_TERM} characters"
            )
        yield from forms


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict) or not set(entry) <= {"term", "aliases", "kind"}:
        return False
    return isinstance(entry.get("aliases", []), list) and isinstance(entry.get("kind", ""), str)


def _is_form(form: object) -> bool:
    return isinstance(form, str) and 0 < len(form.strip()) <= LONGEST_TERM


def _is_single(text: str) -> bool:
    return len(text) == 1


def _is_chinese(text: str) -> bool:
    return all("\u4e00" <= letter <= "\u9fff" for letter in text)


def _without(text: str, at: int) -> str:
    return f"{text[:at]}\0{text[at + 1 :]}"
