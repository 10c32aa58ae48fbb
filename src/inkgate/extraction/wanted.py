"""Checks what a caller wants to know of a document."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import Any, Final

from inkgate.errors import InputRejected
from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.rules.form_fields import MARKS
from inkgate.fields.schema import FieldSchema, Leaf
from inkgate_client.fields.asked import WantedFields
from inkgate_client.fields.values import Proposal

Json = dict[str, Any]
GIVEN: Final = "given"
"""Origin of values that the caller sent to be verified."""


@dataclass(frozen=True, slots=True)
class CheckedFields:
    """A request that was checked. `schema`: None: the document is classified. `given`: values to look up, by path;
    None: values are found.
    """

    schema: FieldSchema | None
    given: Mapping[str, Sequence[Proposal]] | None = None

    @property
    def private(self) -> bool:
        """Whether the pages may be papers of a person, which are not cached."""
        return self.schema is None or self.schema.private


def wanted_fields(request: WantedFields, types: DocumentTypes) -> CheckedFields:
    """Checks a request. Blocking: schemas may be large.

    Raises:
        InputRejected: "options_invalid", "type_unknown", "schema_invalid", "schema_too_large".
    """
    given = [bool(request.type), request.schema is not None, bool(request.names)]
    if sum(given) > 1:
        raise InputRejected("options_invalid", "Send only one of `type`, `schema` and `fields`.")
    schema = _schema(request, types)
    if request.data is None:
        return CheckedFields(schema)
    if schema is None:
        raise InputRejected("options_invalid", "Values are verified against one of `type`, `schema` and `fields`.")
    data = _object(request.data, "options_invalid", "`data` is not JSON")
    if not isinstance(data, Mapping):
        raise InputRejected("options_invalid", "`data` must be an object with the values to verify.")
    texts = {leaf.path: _text_at(data, leaf) for leaf in schema.leaves if not leaf.in_array}
    return CheckedFields(schema, {path: [Proposal(text, GIVEN, 1.0)] for path, text in texts.items() if text})


def _schema(request: WantedFields, types: DocumentTypes) -> FieldSchema | None:
    if request.type:
        return types.named(request.type)
    if (schema := request.json_schema) is not None:
        return FieldSchema.of(_object(schema, "schema_invalid", "The schema can't be used: it is not JSON"))
    return FieldSchema.of_names(request.names) if request.names else None


def _object(value: str | Mapping[str, Any], code: str, refused: str) -> object:
    """JSON that a form has as text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InputRejected(code, f"{refused}.") from error


def _refuse(constant: str) -> object:
    """NaN and Infinity, which are not JSON."""
    raise ValueError(constant)


def _text_at(data: Mapping[str, Any], leaf: Leaf) -> str:
    """The value of a leaf as text; empty if it is missing, null, or not a text, a number, or the boolean of a box."""
    value: object = data
    for name in leaf.names:
        value = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(value, float):
        return f"{Decimal(repr(value)):f}" if isfinite(value) else repr(value)
    if isinstance(value, bool):
        return MARKS[value] if leaf.kind == "boolean" else ""
    return str(value) if isinstance(value, str | int) else ""
