"""`data` and `status` of an extraction, by its fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from inkgate.fields.items import array_of
from inkgate.fields.lists import is_list
from inkgate.fields.schema import FieldSchema, Leaf
from inkgate_client.fields.values import Check, ExtractionStatus, FieldStatus, FieldValue

_DOUBTFUL: Final = frozenset({FieldStatus.UNCERTAIN, FieldStatus.INVALID, FieldStatus.CONFLICT, FieldStatus.UNGROUNDED})


def is_doubtful(field: FieldValue) -> bool:
    """Whether a person has to look at the field."""
    return field.status in _DOUBTFUL


def status_of(fields: Mapping[str, FieldValue], checks: Sequence[Check], *, lost: bool) -> ExtractionStatus:
    """`lost`: whether a page could not be read; it may have had better values."""
    found = any(field.value is not None for field in fields.values())
    failed = any(not check.passed for check in checks)
    doubt = lost or failed or not found or any(map(is_doubtful, fields.values()))
    return ExtractionStatus.NEEDS_REVIEW if doubt else ExtractionStatus.COMPLETE


def data_of(schema: FieldSchema, fields: Mapping[str, FieldValue], counts: Mapping[str, int]) -> dict[str, object]:
    """`data`: every property of the schema, null where nothing was found. `counts`: items by the paths of arrays."""
    data: dict[str, object] = {}
    for leaf in schema.leaves:
        at, name = object_of(data, leaf), leaf.names[-1]
        if not leaf.in_array:
            at[name] = fields[leaf.path].value
            continue
        if is_list(leaf):
            prefix = f"{leaf.path[:-2]}/"
            at[name] = [field.value for path, field in fields.items() if path.startswith(prefix)]
            continue
        rows = cast("list[dict[str, object]]", at.setdefault(name, [{} for _ in range(counts.get(array_of(leaf), 0))]))
        for number, row in enumerate(rows):
            field = fields.get(item_path(leaf, number))
            _put(row, leaf, None if field is None else field.value)
    return data


def object_of(data: dict[str, object], leaf: Leaf) -> dict[str, object]:
    """The object in `data` that has the leaf, or its array. Makes those on the way to it."""
    return _inner(data, leaf.names[:-1])


def item_path(leaf: Leaf, number: int) -> str:
    """The path of the leaf in an item: `/items/3/amount`."""
    return leaf.path.replace("/-/", f"/{number}/", 1)


def names_in(pointer: str) -> list[str]:
    """What stands between the slashes of a JSON Pointer, without its escapes. Empty before the first slash."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")]


def _put(row: dict[str, object], leaf: Leaf, value: object) -> None:
    """Puts the value of a leaf into its item."""
    *parents, name = names_in(leaf.path.partition("/-/")[2])
    _inner(row, parents)[name] = value


def _inner(data: dict[str, object], names: Sequence[str]) -> dict[str, object]:
    for name in names:
        data = cast("dict[str, object]", data.setdefault(name, {}))
    return data
