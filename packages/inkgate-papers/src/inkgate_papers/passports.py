"""Fields of passports and identity cards: what their machine-readable zone says, and whether the print agrees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from rapidfuzz.distance.Hamming import distance as hamming

from inkgate.fields.codes.names import field_of, single_fields
from inkgate.fields.document_types import PrintedCode
from inkgate.fields.folded import FoldedPage, fold
from inkgate.fields.ground import ground_text, ground_value
from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.base import parse
from inkgate.fields.rules.extractor import propose
from inkgate.fields.schema import FieldSchema, Leaf
from inkgate_client.fields.values import CODE, Check, Proposal
from inkgate_client.types import PageResult
from inkgate_papers.mrz import Mrz, find_mrz

_TYPES: Final = {"TD3": "passport", "TD2": "id_card", "TD1": "id_card"}
"""Types by the layout of their machine-readable zone."""
MRZ_CHECK: Final = "mrz_check_digits"
MRZ_PRINTED: Final = "mrz_matches_print"
ZONE_NOT_READ: Final = "zone_not_read"
"""Note: the paper has no readable zone, so that its values come from the print alone, and no check digit holds them."""
_OF_ZONE: Final = (
    "surname",
    "given_names",
    "number",
    "nationality",
    "issuing_country",
    "birth_date",
    "expiry_date",
    "sex",
    "personal_number",
)
"""Values of a zone."""
_COMPARED: Final = frozenset({"number", "surname", "given_names", "birth_date", "expiry_date"})
"""Values of a zone that the printed part has in the same form. Nationality and state may be in words."""

_LONGEST, _MAX_OTHER = 200, 2
"""Characters of a line that are looked at for a number, and of the number that may differ."""


def type_by_zone(pages: Sequence[PageResult]) -> str:
    """The type of a paper whose zone is valid; empty for others."""
    zone = find_mrz(pages)
    return _TYPES[zone.layout] if zone is not None and zone.valid else ""


def _values(pages: Sequence[PageResult], schema: FieldSchema) -> dict[str, list[Proposal]]:
    zone = find_mrz(pages)
    if zone is None:
        return {}
    found = {}
    for path, name in _paths(schema).items():
        if name in zone.values:
            found[path] = [Proposal(zone.values[name], CODE, 1.0, zone.page, zone.lines, zone.layout)]
    return found


def _checks(pages: Sequence[PageResult], schema: FieldSchema) -> tuple[Check, ...]:
    """The check of the zone's check digits, and of the printed part against it if the schema has that. The first is
    about the fields whose digit fails, or about all if only the composite one does.
    """
    zone = find_mrz(pages)
    if zone is None:
        return ()
    failed = [name for name, holds in zone.checks.items() if not holds]
    paths = _paths(schema)
    concerned = tuple(path for path, name in paths.items() if not failed or name in failed) or tuple(paths)
    detail = f"{zone.layout}: {', '.join(failed)} wrong" if failed else f"{zone.layout}: all hold"
    digits = Check(MRZ_CHECK, not failed, concerned, detail)
    if MRZ_PRINTED not in schema.checks:
        return (digits,)
    leaves = {paths[leaf.path]: leaf for leaf in schema.leaves if leaf.path in paths}
    printed = _printed_check(zone, pages, leaves, propose(pages, schema))
    return (digits,) if printed is None else (digits, printed)


def _paths(schema: FieldSchema) -> Mapping[str, str]:
    """The zone's values by the paths of the schema's fields."""
    leaves = single_fields(schema)
    return {leaf.path: name for name in _OF_ZONE if (leaf := field_of(name, leaves)) is not None}


def _printed_check(
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


ZONE: Final = PrintedCode(MRZ_CHECK, _values, _checks, contradiction=MRZ_PRINTED, unread=ZONE_NOT_READ)
"""The zone, for the schemas that have the check of its digits: other papers have numbers of their own."""
