"""Whether the printed part of a paper says what its machine-readable zone says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from rapidfuzz.distance.Hamming import distance as hamming

from inkgate.fields.codes.mrz import Mrz
from inkgate.fields.folded import FoldedPage, fold
from inkgate.fields.ground import ground_text, ground_value
from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.base import parse
from inkgate.fields.schema import Leaf
from inkgate_client.fields.values import Check, Proposal
from inkgate_client.types import PageResult

MRZ_PRINTED: Final = "mrz_matches_print"
_COMPARED: Final = frozenset({"number", "surname", "given_names", "birth_date", "expiry_date"})
"""Values of a zone that the printed part has in the same form. Nationality and state may be in words."""

_LONGEST, _MAX_OTHER = 200, 2
"""Characters of a line that are looked at for a number, and of the number that may differ."""


def printed_check(
    zone: Mrz,
    pages: Sequence[PageResult],
    leaves: Mapping[str, Leaf],
    printed: Mapping[str, Sequence[Proposal]],
) -> Check | None:
    """A check about the values that stand nowhere outside of the zone although a label there names another one.

    Args:
        zone: of the paper.
        pages: of the document.
        leaves: by the names of the zone's values.
        printed: what rules found by labels, by path.
    """
    page = next((page for page in pages if page.index == zone.page), None)
    if page is None:
        return None
    rest = replace(page, lines=tuple(line for at, line in enumerate(page.lines) if at not in zone.lines))
    folded = [FoldedPage.of(rest)]
    same, other = [], []
    for name, value in zone.values.items():
        leaf = leaves.get(name)
        if leaf is None or name not in _COMPARED or not zone.checks.get(name, True):
            continue
        if _stands_in(folded, leaf.kind, value):
            same.append(leaf.path)
        elif (name == "number" and _nearly_stands_in(folded, value)) or any(
            _is_another(leaf.kind, each, zone) for each in printed.get(leaf.path, ())[:1]
        ):
            other.append(leaf.path)
    if not same and not other:
        return None
    detail = f"{len(same)} of {len(same) + len(other)} values are printed"
    return Check(MRZ_PRINTED, not other, tuple(other or same), detail)


def _stands_in(pages: Sequence[FoldedPage], kind: str, value: str) -> bool:
    parser = KINDS.get(kind)
    if parser is None:
        return bool(ground_text(pages, value)) or (
            len(fold(value)) < 4 and any(fold(value) in page.folded for page in pages)
        )
    parsed = parse(parser, value)
    return parsed is not None and bool(ground_value(pages, parsed, parser))


def _nearly_stands_in(pages: Sequence[FoldedPage], number: str) -> bool:
    """Whether a word of the page is the number with one or two other characters."""
    folded = fold(number)
    words = (word for page in pages for line in page.lines for word in map(fold, line.text[:_LONGEST].split()))
    return any(len(word) == len(folded) and 0 < hamming(word, folded) <= _MAX_OTHER for word in words)


def _is_another(kind: str, printed: Proposal, zone: Mrz) -> bool:
    """Whether a label's value is one of this kind, and in letters that the zone has."""
    if printed.page == zone.page and set(printed.lines) & set(zone.lines):
        return False
    parser = KINDS.get(kind)
    return parse(parser, printed.text) is not None if parser is not None else printed.text.isascii()
