"""Names and addresses of the merchant and the customer: likely lines, joined."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from rapidfuzz import fuzz

from inkgate.fields.folded import fold, glue
from inkgate.fields.rules.candidates import FieldCandidate
from inkgate.fields.rules.rows import PrintedPages
from inkgate.fields.trade import parties
from inkgate.fields.trade.parties import NameLine
from inkgate.fields.trade.words import UNSPACED, concepts_in
from inkgate.runtimes.trees import FloatArray

PARTIES: Final = ("merchant", "customer")
_MIN: Final[Mapping[str, float]] = {
    "merchant_name": 0.005,
    "merchant_address": 0.02,
    "customer_name": 0.05,
    "customer_address": 0.05,
}
"""Probability below which a field is not found."""
MAX_OTHERS: Final = 3
"""Alternatives of a field."""
MIN_OTHER: Final = 0.02
"""Probability from which a value is an alternative."""
_SAME_NAME: Final = 0.4
"""Probability from which the next line, if it is about as high, belongs to the name."""
_AS_HIGH: Final = 0.6
_GOES_ON: Final = 0.15
"""Probability of being of either party's address from which the next line belongs to it: right addresses of
`training.fields` documents are 85.6 %, with the party's own probability 83.7 % at most."""
_IN_ADDRESS: Final = 0.35
"""Probability from which another line near it does."""
_AT_NAME: Final = 10.0
"""How much likelier a line is of the address if the name is in its paragraph, and less likely if the other party's is.
Right addresses of `training.fields` documents: 82.6 % without it, 83.6 % with 10."""
_MIN_NAME: Final = 4
"""Characters of a name that are looked for in other lines."""
_SAME: Final = 85
"""Likeness of names in percent from which one is the other, or a part of it."""
_MOST_SURE: Final = 0.9999
"""Probability that none exceeds where odds are compared."""
_NEAR: Final = 3
"""Rows between lines of an address that are in no paragraph."""
_IS_LABEL: Final = 0.7
"""Share of a line's letters that name a concept from which it is a label, and no name."""
_SURE_PART: Final = 0.5
"""Probability from which a line is a part of an address, though it looks like a label or a number."""
_NUMBERED: Final = re.compile(r"\W*(?:(?:co|reg)\W*no\W*)?\d{4,}\W{0,3}[A-Z]?\W*$", re.IGNORECASE)
"""A line that is a number of registration: (867388-U)."""


def party_fields(
    pages: PrintedPages, wanted: Sequence[str], chance_of: Callable[[str, FloatArray], FloatArray]
) -> dict[str, list[FieldCandidate]]:
    """Names and addresses of the merchant and of the customer. No line is of both. `wanted`: of PARTIES; `chance_of`:
    by a field and the measures of lines, the probability of each.
    """
    lines = parties.lines_on(pages)
    if not lines:
        return {}
    measured = parties.measures(pages, lines)
    fields: dict[str, list[FieldCandidate]] = {}
    names: set[int] = set()
    at_names: dict[str, set[int]] = {}
    for part in ("name", "address"):
        of = {party: chance_of(f"{party}_{part}", measured) for party in PARTIES}
        sure = np.max(list(of.values()), axis=0) >= _SURE_PART
        may = [_may_be_part(line, part, sure=sure[at]) and at not in names for at, line in enumerate(lines)]
        of = {party: np.array(may) * chance for party, chance in of.items()}
        for party in wanted:
            chance = of[party]
            rivals = [each for name, each in of.items() if name != party]
            other = np.max([_of_one(lines, each) if part == "name" else each for each in rivals], axis=0)
            own = np.where(other > chance, chance * (1 - other), chance)
            if own.max() < _MIN[f"{party}_{part}"]:
                continue
            if part == "name":
                chosen = _name_lines(lines, own)
                fields[f"{party}_name"] = _names(lines, own, chosen)
                names |= {at for at in chosen if own[at] >= _SAME_NAME}
                at_names[party] = _groups_with(lines, chosen)
            else:
                others = [groups for name, groups in at_names.items() if name != party]
                near = at_names.get(party, set()).difference(*others)
                far = set[int]().union(*others) - at_names.get(party, set())
                worth = [_AT_NAME if each.group in near else 1 / _AT_NAME if each.group in far else 1 for each in lines]
                either = np.minimum(1.0, chance + other)
                fields[f"{party}_address"] = _addresses(lines, own, either, np.array(worth))
    return fields


def _groups_with(lines: Sequence[NameLine], chosen: Sequence[int]) -> set[int]:
    """The paragraphs in which a name is: the chosen lines."""
    name = fold("".join(lines[at].text for at in chosen))
    texts = ((each.group, fold(each.text)) for each in lines)
    return {group for group, text in texts if 2 * len(text) >= len(name) >= _MIN_NAME and is_same(text, name)}


def is_same(name: str, other: str) -> bool:
    """Whether one of two folded names is the other, or a part of it."""
    return bool(name and other) and fuzz.partial_ratio(name, other) >= _SAME


def _of_one(lines: Sequence[NameLine], chance: FloatArray) -> FloatArray:
    """The probability of each line (N,) where only one of them, wherever it stands, is the name."""
    best = int(chance.argmax())
    name, found = fold(lines[best].text), chance.copy()
    for at in map(int, np.flatnonzero(chance >= MIN_OTHER)):
        if not is_same(fold(lines[at].text), name):
            found[at] = _alone(float(chance[at]), [float(chance[best])])
    return found


def _alone(chance: float, others: Iterable[float]) -> float:
    """The probability of one of several that exclude each other, by the odds of each."""
    odds = [min(p, _MOST_SURE) / (1 - min(p, _MOST_SURE)) for p in (chance, *others)]
    return float(odds[0] / sum(odds)) if odds[0] else 0.0


def _may_be_part(line: NameLine, part: str, *, sure: bool) -> bool:
    """Whether a line may be a part of a name or address: it has letters, and is neither a label nor a number. Units and
    towns may be called like labels (Unit 8, Porto), and postcodes are numbers: if it is `sure`, they are an address.
    """
    if not any(map(str.isalpha, line.text)) and not parties.has_postcode(line.whole):
        return False
    if part == "address" and not sure and parties.is_web(line.text):
        return False
    if (part == "address" and sure) or (part == "name" and parties.has_form(line.text)):
        return True
    return max(concepts_in(line.text).values(), default=0.0) < _IS_LABEL and not _NUMBERED.match(line.text)


def _name_lines(lines: Sequence[NameLine], chance: FloatArray) -> list[int]:
    """The likeliest line of a name, with those that it goes on in: likely ones about as high, in the same script, that
    don't say it again; and a legal form alone is always of the name before it.
    """
    best = int(chance.argmax())
    chosen = [best]
    for at in _run(lines, chance, best, _SAME_NAME):
        known = fold(lines[best].text)
        text = fold(lines[at].text)
        same_script = _is_han(lines[at].text) == _is_han(lines[best].text)
        again = known in text or text in known
        if at != best and same_script and not again and _is_as_high(lines[at], lines[best]):
            chosen.append(at)
    first, last = min(chosen, key=lambda at: lines[at].at), max(chosen, key=lambda at: lines[at].at)
    before, behind = _beside(lines, first, lines[first].at - 1), _beside(lines, last, lines[last].at + 1)
    if before >= 0 and chance[before] > 0 and parties.is_form(lines[first].text):
        chosen.append(before)
    if behind >= 0 and parties.is_form(lines[behind].text) and _is_as_high(lines[behind], lines[last]):
        chosen.append(behind)
    return sorted(set(chosen))


def _is_han(text: str) -> bool:
    """Whether more than half of the letters are of a script without spaces."""
    return 2 * len(UNSPACED.findall(text)) > sum(map(str.isalpha, text))


def _names(lines: Sequence[NameLine], chance: FloatArray, chosen: Sequence[int]) -> list[FieldCandidate]:
    """The name of the chosen lines, and what else it may be."""
    order = [int(at) for at in np.argsort(-chance)]
    others = [at for at in order if at not in chosen and chance[at] >= MIN_OTHER][:MAX_OTHERS]
    name = fold("".join(lines[at].text for at in chosen))
    rivals: dict[str, float] = {}
    for at in order:
        if at not in chosen and chance[at] >= MIN_OTHER and not is_same(text := fold(lines[at].text), name):
            rivals.setdefault(text, float(chance[at]))
    alone = _alone(max(float(chance[at]) for at in chosen), rivals.values())
    best = _joined([lines[at] for at in chosen], alone * _is_whole(lines, chance, chosen))
    return [best, *(_joined([lines[at]], float(chance[at])) for at in others)]


def _is_as_high(line: NameLine, other: NameLine) -> bool:
    return min(line.height, other.height) >= _AS_HIGH * max(line.height, other.height)


def _run(lines: Sequence[NameLine], chance: FloatArray, at: int, least: float) -> list[int]:
    """A line with those before and behind it, in its group, that may be a part of the same text."""
    run = [at]
    for step in (-1, 1):
        place, other = lines[at].at + step, at
        while (other := _beside(lines, at, place)) >= 0 and chance[other] >= least:
            run.append(other)
            place += step
    return sorted(run)


def _beside(lines: Sequence[NameLine], at: int, place: int) -> int:
    """The line at that place of the group; -1 without one."""
    group = lines[at].group
    return next((number for number, each in enumerate(lines) if each.group == group and each.at == place), -1)


def _addresses(
    lines: Sequence[NameLine], chance: FloatArray, either: FloatArray, worth: FloatArray
) -> list[FieldCandidate]:
    """The likeliest address, and others. `either` (N,): the probability that a line is of an address, whosever it is;
    `worth` (N,): what the odds of each line are multiplied by.
    """
    likely = np.minimum(chance, _MOST_SURE)
    odds = worth * likely / (1 - likely)
    likely = odds / (1 + odds)
    first: dict[int, int] = {}
    for at in map(int, np.argsort(-likely)):
        first.setdefault(lines[at].group, at)
    found: list[FieldCandidate] = []
    known: set[str] = set()
    best, *others = first.values()
    for at in (best, *(each for each in others if likely[each] >= MIN_OTHER)):
        kept = _address_lines(lines, chance, either, at)
        texts = {fold(lines[each].text) for each in kept}
        if len(found) <= MAX_OTHERS and not texts & known:
            own = {lines[each].group for each in kept}
            rest = (each for group, each in first.items() if group not in own and fold(lines[each].text) not in texts)
            p = _alone(float(likely[at]), likely[list(rest)]) * _is_whole(lines, either, kept)
            found.append(_joined([lines[each] for each in kept], p, whole=True))
            known |= texts
    return found


def _address_lines(lines: Sequence[NameLine], chance: FloatArray, either: FloatArray, best: int) -> list[int]:
    """A line of an address and those it goes on in; without a postcode there, likely lines near it, too."""
    chosen = _run(lines, either, best, _GOES_ON)
    if not any(parties.has_postcode(lines[at].whole) for at in chosen):
        likely = [int(at) for at in np.flatnonzero(chance >= _IN_ADDRESS)]
        chosen += [at for at in likely if at not in chosen and _is_near(lines[at], lines[best])]
    seen: dict[str, int] = {}
    for at in sorted(chosen, key=lambda at: (lines[at].row, lines[at].cell.box[0], lines[at].start)):
        seen.setdefault(fold(lines[at].text), at)
    return list(seen.values())


def _is_whole(lines: Sequence[NameLine], chance: FloatArray, chosen: Sequence[int]) -> float:
    """The probability that a name or address has these lines and no others: each belongs to it, and those before and
    behind them don't. Legal forms alone count as the line that they go on with.
    """
    inside = [chance[at] for at in chosen if not parties.is_form(lines[at].text)] or [chance[at] for at in chosen]
    edges = {_beside(lines, at, lines[at].at + step) for at in chosen for step in (-1, 1)} - {-1, *chosen}
    texts = {fold(lines[at].text) for at in chosen}
    outside = [1 - chance[at] for at in edges if fold(lines[at].text) not in texts]
    return float(np.prod(inside) * np.prod(outside))


def _is_near(line: NameLine, other: NameLine) -> bool:
    return line.page == other.page and abs(line.row - other.row) <= _NEAR


def _joined(lines: Sequence[NameLine], p: float, *, whole: bool = False) -> FieldCandidate:
    text = ""
    for at, line in enumerate(lines):
        part = line.whole if whole else line.text
        before = lines[at - 1] if at else None
        if before is not None and before.cell is line.cell and before.end <= line.start:
            text += line.cell.text[before.start + len(before.whole) : line.start] + part  # as it is printed
        else:
            text += (glue(text, part) if text else "") + part
    first = lines[0]
    return FieldCandidate(
        text.strip(" ,;"), first.page, first.row, tuple(each.cell.line for each in lines), first.label, None, p
    )
