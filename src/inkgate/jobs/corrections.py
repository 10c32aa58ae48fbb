"""Corrections of fields by people: whether the schema allows them, and `data` with them."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import date
from math import isfinite
from typing import Final, cast

from inkgate.errors import InputRejected
from inkgate.fields.items import MAX_ITEMS
from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.base import parse
from inkgate.fields.result import names_in
from inkgate.fields.schema import FieldSchema, Leaf
from inkgate_client.types import JsonValue

LONGEST_VALUE: Final = 4000
"""Maximum length in characters."""
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_INDEX = re.compile(r"0|[1-9]\d{0,3}", re.ASCII)
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
}


def check_corrections(schema: FieldSchema, values: Mapping[str, object]) -> dict[str, JsonValue]:
    """The values, by JSON Pointers into `data`, if the schema allows them; None says that the document has no value.

    Raises:
        InputRejected: "options_invalid". The message has neither values nor names, which are the caller's.
    """
    leaves = {leaf.path: leaf for leaf in schema.leaves}
    checked: dict[str, JsonValue] = {}
    for number, (path, value) in enumerate(values.items(), start=1):
        leaf = leaves.get(path) or leaves.get(_general(path))
        if leaf is None:
            raise _refused(number, "the schema has no value at its path")
        if value is not None and (why := next(_mismatches(leaf, value), "")):
            raise _refused(number, why)
        checked[path] = cast("JsonValue", value)
    return checked


def _refused(number: int, why: str) -> InputRejected:
    return InputRejected("options_invalid", f"`fields`: entry {number} can't be kept: {why}.")


def _general(path: str) -> str:
    """The path of the leaf that a value in an array belongs to: `/items/-/amount` for `/items/3/amount`."""
    return "/".join("-" if _INDEX.fullmatch(part) else part for part in path.split("/"))


def _mismatches(leaf: Leaf, value: object) -> Iterator[str]:
    """Why the value does not fit."""
    types = _TYPES.get(leaf.json_type, (str,))
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        yield f"it must be a value of the type {leaf.json_type if leaf.json_type in _TYPES else 'string'}, or null"
    if isinstance(value, float) and not isfinite(value):
        yield "it must be a finite number"
    if leaf.choices and value not in leaf.choices:
        yield "it must be one of the schema's values, or null"
    if isinstance(value, str):
        yield from _mismatches_of_text(leaf, value)


def _mismatches_of_text(leaf: Leaf, value: str) -> Iterator[str]:
    if not value.strip() or len(value) > LONGEST_VALUE:
        yield f"it must have up to {LONGEST_VALUE:,} characters, and one that is no space"
    if leaf.kind == "date" and not _is_date(value):
        yield "it must be a date such as 2026-11-25"
    if leaf.kind in {"money", "number", "time"} and parse(KINDS[leaf.kind], value) is None:
        yield f"it must be a value of the kind {leaf.kind}"


def _is_date(value: str) -> bool:
    try:
        return bool(_DATE.fullmatch(value) and date.fromisoformat(value))
    except ValueError:
        return False


def with_corrections(data: Mapping[str, object], values: Mapping[str, JsonValue]) -> dict[str, object]:
    """A copy of `data` with the values. A value of the first row behind an array's last one adds a row. Rows at an
    array's end are removed if the values leave nothing but null in them.

    Raises:
        InputRejected: "options_invalid": an array has no such row.
    """
    changed = copy.deepcopy(dict(data))
    for number, (path, value) in enumerate(values.items(), start=1):
        _put(changed, path, value, number)
    _remove_emptied(changed, values)
    return changed


def with_kept_corrections(data: Mapping[str, object], values: Mapping[str, JsonValue]) -> dict[str, object]:
    """Returns what `with_corrections` returns, without the values that `data` has no place for: corrections of a job
    outlive its first extraction, and a later one may have fewer rows, or be of another document type.
    """
    changed = copy.deepcopy(dict(data))
    for number, (path, value) in enumerate(values.items(), start=1):
        if _parts(path)[0] in changed:
            with suppress(InputRejected):
                _put(changed, path, value, number)
    _remove_emptied(changed, values)
    return changed


def _remove_emptied(changed: Mapping[str, object], values: Mapping[str, JsonValue]) -> None:
    """Removes rows at the ends of arrays in which nothing but null is left, where values made them null."""
    for path in (path for path, value in values.items() if value is None):
        target: object = changed
        for part in _parts(path):
            if isinstance(target, list):
                while target and _is_null(target[-1]):
                    target.pop()
                break
            target = target.get(part) if isinstance(target, dict) else None


def _is_null(value: object) -> bool:
    """Whether a value is null, or an object of such values."""
    return value is None or (isinstance(value, dict) and all(map(_is_null, value.values())))


def _parts(path: str) -> list[str]:
    return names_in(path)[1:]


def _put(changed: dict[str, object], path: str, value: JsonValue, number: int) -> None:
    """Raises InputRejected."""
    *parents, name = _parts(path)
    target: object = changed
    for at, parent in enumerate(parents):
        following = parents[at + 1] if at + 1 < len(parents) else name
        target = _inner(target, parent, [] if _is_row(target, parent, following) else {}, number)
    _set(target, name, value, number)


def _is_row(target: object, parent: str, following: str) -> bool:
    """Whether a missing parent is an array."""
    return isinstance(target, dict) and parent not in target and bool(_INDEX.fullmatch(following))


def _inner(target: object, name: str, empty: object, number: int) -> object:
    """The object or array below `target`, which is made if it is missing."""
    if isinstance(target, dict):
        if not isinstance(target.get(name), dict | list):
            target[name] = empty
        return target[name]
    rows = cast("list[object]", target)
    index = _row(rows, name, number)
    if index == len(rows):
        rows.append({})
    if not isinstance(rows[index], dict | list):
        rows[index] = {}
    return rows[index]


def _set(target: object, name: str, value: JsonValue, number: int) -> None:
    if isinstance(target, dict):
        target[name] = value
        return
    rows = cast("list[object]", target)
    index = _row(rows, name, number)
    rows[index : index + 1] = [value]


def _row(rows: list[object], name: str, number: int) -> int:
    index = int(name) if _INDEX.fullmatch(name) else MAX_ITEMS
    if index > len(rows) or index >= MAX_ITEMS:
        raise _refused(number, f"its array has {len(rows)} rows, and rows are added one by one")
    return index
