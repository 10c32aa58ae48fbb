"""Documents for property tests: of the published schema's shape and near it, as a client might send them."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from importlib.resources import files
from typing import Any

import orjson
from hypothesis import strategies as st

_SCHEMA = orjson.loads(files("inkgate_client.formats").joinpath("schema.json").read_bytes())
_MAX_ITEMS = 2
_SIZES = (1, 1, 2, 2, 3, 5, 20)
_LARGE_SIZES = (63, 64, 200, 1000, 1000, 16_385, 200_000, 200_000, 200_001, 0, -1, 10**9, 10**30)
_TEXTS = (
    *("", "x", "Ink & Gate", "=1+1", "-12.50", "a\tb\nc", "\u202e\x00\x01", "文字", "שלום", "مرحبا"),
    *("<script>alert(1)</script>", "](javascript:x)", "$x^2$", "| a | b |", "graph TD; a-->b", "x" * 20_000),
    *("#" * 40, "* " * 400, "`" * 300, "**a" * 300, "<table>" * 100, "[" * 300, "data:image/png;base64,AAAA"),
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==",
)
_WRONG: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 10**6, 10**18, 10**400, -(10**9), 1e308, -1e-300, "", "x", "9" * 4000, "\ud800"),
    *([], {}, [0], [[]], {"a": 1}, [[0, 0]] * 4, [1e308] * 4),
)


@st.composite
def _tables(draw: st.DrawFn) -> dict[str, Any]:
    """Tables, of which most are right. By the schema alone hardly any would be."""
    large = st.sampled_from(_LARGE_SIZES) if draw(st.integers(0, 4)) == 0 else st.sampled_from(_SIZES)
    rows, columns = draw(st.permutations([draw(large), draw(st.sampled_from(_SIZES))]))
    cells = []
    places = st.tuples(st.integers(0, max(min(rows, 30) - 1, 0)), st.integers(0, max(min(columns, 30) - 1, 0)))
    for row, column in draw(st.lists(places, max_size=4, unique=True)):
        spans = {"row_span": draw(_spans(rows - row)), "column_span": draw(_spans(columns - column))}
        cells.append({**draw(_of(_SCHEMA["$defs"]["table_cell"])), "row": row, "column": column, **spans})
    return {"rows": rows, "columns": columns, "continues": draw(st.booleans()), "cells": cells, "html": ""}


def _spans(most: int) -> st.SearchStrategy[int]:
    """Spans of a cell, of which some make it lie on others."""
    return st.sampled_from([1] * 9 + [2, most])


@st.composite
def _objects(draw: st.DrawFn, node: dict[str, Any]) -> dict[str, Any]:
    made = {name: draw(_of(each)) for name, each in node.get("properties", {}).items()}
    if not made and draw(st.booleans()):  # of any keys
        made = {draw(st.sampled_from(_TEXTS)): draw(_of(node.get("additionalProperties", {})))}
    return made


def _numbers(node: dict[str, Any]) -> st.SearchStrategy[Any]:
    low, high = node.get("minimum", -5), node.get("maximum", 2000)
    between = (low, high, (low + high) / 3) if node.get("type") == "number" else (low, high, (low + high) // 3)
    return st.sampled_from((*between, *between, *between, 10**6))


def _of(node: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401, PLR0911 - a schema; a case for each of its forms
    """Values of a schema."""
    if not isinstance(node, dict):
        return st.sampled_from(_WRONG)
    if reference := node.get("$ref"):
        name = reference.rpartition("/")[2]
        return _tables() if name == "table" else st.deferred(lambda: _of(_SCHEMA["$defs"][name]))
    if forms := node.get("anyOf"):
        return st.one_of([_of(form) for form in forms])
    if "const" in node:
        return st.just(node["const"])
    if "enum" in node:
        return st.sampled_from(node["enum"])
    kinds = node.get("type", "null")
    if isinstance(kinds, list):
        return st.one_of([_of({**node, "type": kind}) for kind in kinds])
    match kinds:
        case "object":
            return _objects(node)
        case "array":
            low, high = node.get("minItems", 0), node.get("maxItems", _MAX_ITEMS)
            items = _of(node.get("items", {}))
            return st.sampled_from([low, low, high]).flatmap(lambda size: st.lists(items, min_size=size, max_size=size))
        case "string":
            return st.sampled_from(_TEXTS)
        case "integer" | "number":
            return _numbers(node)
        case "boolean":
            return st.booleans()
    return st.none()


@st.composite
def documents(draw: st.DrawFn) -> Any:  # noqa: ANN401 - JSON
    """Documents as JSON values: a third of the schema, the others with up to three values that are wrong, missing, or
    in another's place.
    """
    document = draw(_of(_SCHEMA))
    for _ in range(draw(st.sampled_from([0, 1, 1, 2, 3]))):
        places = [(container, key) for container in _containers(document) for key in _keys(container)]
        container, key = draw(st.sampled_from(places))
        how = draw(st.integers(0, 4))
        if how == 0:
            del container[key]
        elif how == 1:
            other, its = draw(st.sampled_from(places))
            container[key] = deepcopy(other[its])
        elif how == 2 and isinstance(container, list):
            container += container * 40
        else:
            container[key] = deepcopy(draw(st.sampled_from(_WRONG)))
    return document


def _containers(value: Any) -> Iterator[Any]:  # noqa: ANN401 - JSON
    """All dicts and lists in a JSON value."""
    if isinstance(value, dict | list):
        yield value
        for item in value.values() if isinstance(value, dict) else value:
            yield from _containers(item)


def _keys(container: Any) -> list[Any]:  # noqa: ANN401 - JSON
    return list(container) if isinstance(container, dict) else list(range(len(container)))
