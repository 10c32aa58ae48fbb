"""Values that a machine-readable zone has for the fields of a schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from inkgate.fields.codes.mrz import Mrz, find_mrz
from inkgate.fields.codes.names import field_of, single_fields
from inkgate.fields.codes.printed import MRZ_PRINTED, printed_check
from inkgate.fields.rules.extractor import propose
from inkgate.fields.schema import FieldSchema
from inkgate_client.fields.values import CODE, Check, Proposal
from inkgate_client.types import PageResult

MRZ_CHECK: Final = "mrz_check_digits"
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


def code_proposals(pages: Sequence[PageResult], schema: FieldSchema) -> dict[str, list[Proposal]]:
    """Proposals by path. Only for schemas that have the check: other papers have numbers of their own."""
    zone = _zone(pages, schema)
    if zone is None:
        return {}
    found = {}
    for path, name in _paths(schema).items():
        if name in zone.values:
            found[path] = [Proposal(zone.values[name], CODE, 1.0, zone.page, zone.lines, zone.layout)]
    return found


def code_checks(pages: Sequence[PageResult], schema: FieldSchema) -> tuple[Check, ...]:
    """The check of the zone's check digits, if the schema has it, and of the printed part against it. The first is
    about the fields whose digit fails, or about all if only the composite one does.
    """
    zone = _zone(pages, schema)
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
    printed = printed_check(zone, pages, leaves, propose(pages, schema))
    return (digits,) if printed is None else (digits, printed)


def _zone(pages: Sequence[PageResult], schema: FieldSchema) -> Mrz | None:
    return find_mrz(pages) if MRZ_CHECK in schema.checks else None


def _paths(schema: FieldSchema) -> Mapping[str, str]:
    """The zone's values by the paths of the schema's fields."""
    leaves = single_fields(schema)
    return {leaf.path: name for name in _OF_ZONE if (leaf := field_of(name, leaves)) is not None}
