"""What to find in a document: a JSON Schema, as leaves that extractors can look for.

Schemas come from anybody, so they are bounded: size, depth, number of leaves, references inside the schema only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final

from inkgate.errors import InputRejected
from inkgate_client.types import JsonValue

MAX_BYTES: Final = 64 * 1024
MAX_DEPTH: Final = 8
MAX_LEAVES: Final = 300
MAX_NODES: Final = 2000
"""References may branch: eight levels of 50 properties each are 50^8 nodes in 2 KB, without any field."""
MAX_LABELS: Final = 40
LONGEST_LABEL: Final = 200
"""Maximum labels of a field, and maximum length of one in characters: each is compared with every line. More and longer
ones are left out."""
MAX_CHOICES: Final = 1000
MAX_QUESTIONS: Final = 100
LONGEST_QUESTION: Final = 100
"""Fields that a model is asked for, and characters of a question."""
MAX_LINES: Final = 10
"""Maximum lines of a text (`x-lines`)."""
MAX_RECOGNISED: Final = 200
"""Words by which a document type is recognised."""
DECIMAL: Final = "decimal"
"""Format of strings that are numbers."""
_KIND_OF_FORMAT: Final = {"date": "date", "time": "time"}
_KIND_OF_TYPE: Final = {"number": "number", "integer": "number", "boolean": "boolean", "string": "text"}
_COMBINED: Final = ("anyOf", "oneOf", "allOf")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_NAMES_KIND: Final = (
    (re.compile(r"(?:^|_)(?:date|datum|fecha)(?:$|_)|日期|date$", re.IGNORECASE), "date"),
    (re.compile(r"(?:^|_)time(?:$|_)|时间", re.IGNORECASE), "time"),
    (re.compile(r"total|amount|subtotal|tax$|price|金额|合计|总计|价税", re.IGNORECASE), "money"),
    (re.compile(r"phone|tel$|mobile|电话", re.IGNORECASE), "phone"),
)
"""Kinds of strings without a format, by their names."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value to find.

    Attributes:
        path: its place in the answer as JSON Pointer: `/total`, `/seller/name`; `/items/-/price` in an array's items.
        kind: `date`, `time`, `money`, `number`, `phone`, `boolean`, `text`.
        json_type: of the schema: `string`, `number`, `integer`, `boolean`, or `object` for an amount with currency.
        labels: what the page may call it, in any language.
        names: of the properties that lead to it, or to its (outermost) array.
        in_array: whether it is in an array, or is one.
        choices: the values that are allowed; empty: any.
        question: what a model is asked for: the first Chinese label, on which OCR models were trained, else a title,
            else the name.
        lines: how many lines the text may have.
    """

    path: str
    kind: str
    json_type: str
    labels: tuple[str, ...]
    names: tuple[str, ...]
    in_array: bool = False
    choices: tuple[JsonValue, ...] = ()
    question: str = ""
    lines: int = 1


@dataclass(frozen=True, slots=True)
class FieldSchema:
    """A checked schema.

    Attributes:
        name: of the document type; empty for a schema of the caller.
        source: the JSON Schema.
        checks: codes of the checks over its fields.
        recognise: words that tell the type, and their points.
        private: documents of this type are papers of a person, which are not cached.
        recognise_kinds: kinds of values that tell the type, and their points.
        max_lines: of a document of this type; 0: any number.
        prose: each document of this type is prose that has some of the words in `recognise`.
    """

    name: str
    leaves: tuple[Leaf, ...]
    source: Mapping[str, Any]
    checks: tuple[str, ...] = ()
    recognise: Mapping[str, float] = field(default_factory=dict)
    private: bool = False
    recognise_kinds: Mapping[str, float] = field(default_factory=dict)
    max_lines: int = 0
    prose: bool = False

    @property
    def required(self) -> tuple[str, ...]:
        """Paths of the properties that the schema requires at its top."""
        listed = self.source.get("required")
        names = {each for each in listed if isinstance(each, str)} if isinstance(listed, list) else set()
        return tuple(leaf.path for leaf in self.leaves if len(leaf.names) == 1 and leaf.names[0] in names)

    @property
    def questions(self) -> dict[str, str]:
        """What a model is asked for, and the paths of the answers. Arrays are not asked for."""
        found: dict[str, str] = {}
        for leaf in self.leaves:
            if leaf.in_array or len(found) >= MAX_QUESTIONS:
                continue
            names = (leaf.question, words_of(" ".join(leaf.names)), leaf.path)
            name = next((name for name in names if name not in found), "")
            if 0 < len(name) <= LONGEST_QUESTION:
                found[name] = leaf.path
        return found

    @classmethod
    def of(cls, schema: object, name: str = "") -> FieldSchema:
        """The leaves of a JSON Schema.

        Raises:
            InputRejected: "schema_invalid", "schema_too_large".
        """
        if not isinstance(schema, Mapping):
            raise invalid("it is not an object")
        try:
            size = len(json.dumps(schema, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        except (TypeError, ValueError, RecursionError) as error:
            raise invalid("it is not JSON") from error
        if size > MAX_BYTES:
            raise InputRejected("schema_too_large", f"The schema has {size:,} bytes; {MAX_BYTES:,} are allowed.")
        leaves = []
        for leaf in _Walk(schema).leaves(schema, _Place()):
            leaves.append(leaf)
            if len(leaves) > MAX_LEAVES:
                raise InputRejected("schema_too_large", f"The schema has more than {MAX_LEAVES} fields.")
        if not leaves:
            raise invalid("it has no properties")
        checks = schema.get("x-checks", ())
        codes = dict.fromkeys(map(str, checks)) if isinstance(checks, list | tuple) else {}
        most = schema.get("x-most-lines")
        return cls(
            name,
            tuple(leaves),
            schema,
            tuple(codes),
            _recognised(schema, "x-recognise"),
            schema.get("x-private") is True,
            _recognised(schema, "x-recognise-kinds"),
            most if isinstance(most, int) and most > 0 else 0,
            schema.get("x-prose") is True,
        )

    @classmethod
    def of_names(cls, names: Sequence[str]) -> FieldSchema:
        """A schema of texts (or what their names say they are), each of which may be missing."""
        properties = {name: {"type": ["string", "null"]} for name in names}
        return cls.of({"type": "object", "properties": properties})


def _recognised(schema: Mapping[str, Any], key: str) -> dict[str, float]:
    """Words and points of `x-recognise`, or kinds and points; what is none is left out."""
    given = schema.get(key)
    if not isinstance(given, Mapping):
        return {}
    pairs = ((word, points) for word, points in given.items() if isinstance(word, str) and _is_number(points))
    return {word: float(points) for word, points in islice(pairs, MAX_RECOGNISED)}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 100


def invalid(why: str) -> InputRejected:
    """The error for a schema that can't be used."""
    return InputRejected("schema_invalid", f"The schema can't be used: {why}.")


@dataclass(frozen=True, slots=True)
class _Place:
    """A node's place in the answer."""

    path: str = ""
    names: tuple[str, ...] = ()
    in_array: bool = False
    depth: int = 0

    def inner(self, name: str) -> _Place:
        """The place of a property."""
        escaped = name.replace("~", "~0").replace("/", "~1")
        names = self.names if self.in_array else (*self.names, name)
        return _Place(f"{self.path}/{escaped}", names, self.in_array, self.depth + 1)

    def items(self) -> _Place:
        """The place of an array's items."""
        return _Place(f"{self.path}/-", self.names, in_array=True, depth=self.depth + 1)


@dataclass(slots=True)
class _Walk:
    """Finds the leaves. `root`: what references point into. `seen`: nodes until now."""

    root: Mapping[str, Any]
    seen: int = 0

    def leaves(self, node: object, place: _Place, labels: tuple[str, ...] = ()) -> Iterator[Leaf]:
        if place.depth > MAX_DEPTH:
            raise invalid(f"it is nested deeper than {MAX_DEPTH} levels, or refers to itself")
        self.seen += 1
        if self.seen > MAX_NODES:
            raise InputRejected("schema_too_large", f"The schema has more than {MAX_NODES:,} nodes.")
        node = self._resolved(node)
        kind = node.get("x-kind") if place.path else None
        labels = (*_labels_of(node), *labels)
        if isinstance(kind, str) and kind != "rows" and _type_of(node) != "array":
            yield _leaf(node, place, kind, labels)
        elif isinstance(properties := node.get("properties"), Mapping):
            for name, child in properties.items():
                yield from self.leaves(child, place.inner(str(name)), (words_of(str(name)),))
        elif not place.path:
            raise invalid("it is not the schema of an object with properties")
        elif "items" in node:
            yield from self.leaves(node["items"], place.items())
        elif _type_of(node) == "array":
            yield _leaf(node, replace(place, in_array=True), "text", labels)
        else:
            yield _leaf(node, place, _kind_of(node, place.path), labels)

    def _resolved(self, node: object) -> Mapping[str, Any]:
        """The node behind references, `allOf` of one schema, and `anyOf: [.., null]`, as pydantic writes them."""
        for _ in range(MAX_DEPTH):
            if not isinstance(node, Mapping):
                raise invalid("a property is not an object")
            if "$ref" in node:
                node = {**{key: value for key, value in node.items() if key != "$ref"}, **self._referred(node["$ref"])}
                continue
            key = next((key for key in _COMBINED if isinstance(node.get(key), list)), None)
            if key is None:
                return node
            real = [each for each in node[key] if isinstance(each, Mapping) and each.get("type") != "null"]
            if sorted(str(each.get("type")) for each in real) == ["number", "string"]:
                real = [{"type": "string", "format": DECIMAL}]  # pydantic's Decimal: the string is exact
            if len(real) != 1:
                raise invalid("only alternatives of one schema and null are supported")
            node = {**{name: value for name, value in node.items() if name != key}, **real[0]}
        raise invalid(f"its references are chained more than {MAX_DEPTH} times")

    def _referred(self, pointer: object) -> Mapping[str, Any]:
        # The errors don't repeat the pointer: schemas are not for logs.
        if not isinstance(pointer, str) or not pointer.startswith("#/"):
            raise invalid("only references into itself (#/...) are followed")
        node: object = self.root
        for part in pointer[2:].split("/"):
            name = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(node, Mapping) or name not in node:
                raise invalid("a reference leads nowhere")
            node = node[name]
        if not isinstance(node, Mapping):
            raise invalid("a reference leads to what is no object")
        return node


def _leaf(node: Mapping[str, Any], place: _Place, kind: str, labels: tuple[str, ...]) -> Leaf:
    listed = [node["const"]] if "const" in node else node.get("enum")
    choices = listed[: MAX_CHOICES + 1] if isinstance(listed, list) else []
    if len(choices) > MAX_CHOICES:
        raise InputRejected("schema_too_large", f"An `enum` of the schema has more than {MAX_CHOICES:,} values.")
    named = tuple(dict.fromkeys(label for label in labels if label and len(label) <= LONGEST_LABEL))
    allowed = tuple(each for each in choices if isinstance(each, str | int | float))
    # The property's own name is the last label, and always kept.
    named = named if len(named) <= MAX_LABELS else (*named[: MAX_LABELS - 1], named[-1])
    kind_of_json = _type_of(node) or "string"
    question, lines = _question(node, named), node.get("x-lines")
    most = min(lines, MAX_LINES) if isinstance(lines, int) and lines > 0 else 1
    return Leaf(place.path, kind, kind_of_json, named, place.names, place.in_array, allowed, question, most)


def _question(node: Mapping[str, Any], labels: Sequence[str]) -> str:
    listed = node.get("x-labels")
    chinese = listed.get("zh") if isinstance(listed, Mapping) else None
    first = chinese[0] if isinstance(chinese, list) and chinese else node.get("title")
    text = first if isinstance(first, str) else next(iter(labels[-1:]), "")
    return " ".join(text.split())


def words_of(name: str) -> str:
    """The words of a property's name: `merchantName` and `merchant_name` are `merchant name`."""
    return " ".join(_WORDS.findall(name)).lower() or name


def _labels_of(node: Mapping[str, Any]) -> list[str]:
    """Labels by `x-labels` (a list, or lists by language) and `title`."""
    listed = node.get("x-labels", ())
    if isinstance(listed, Mapping):
        listed = [label for labels in listed.values() if isinstance(labels, list) for label in labels[:MAX_LABELS]]
    labels = [each for each in listed[:MAX_LABELS] if isinstance(each, str)] if isinstance(listed, list) else []
    title = node.get("title")
    return [*labels, title] if isinstance(title, str) else labels


def _type_of(node: Mapping[str, Any]) -> str:
    """The type that is not null; empty if there is none."""
    types = node.get("type", "")
    if isinstance(types, list):
        types = next((each for each in types if each != "null"), "")
    return types if isinstance(types, str) else ""


def _kind_of(node: Mapping[str, Any], path: str) -> str:
    found = _KIND_OF_FORMAT.get(str(node.get("format", ""))) or _KIND_OF_TYPE.get(_type_of(node), "text")
    if found == "text":
        name = path.rsplit("/", 1)[-1]
        named = next((kind for pattern, kind in _NAMES_KIND if pattern.search(name)), "text")
        return "number" if named != "money" and node.get("format") == DECIMAL else named
    return found
