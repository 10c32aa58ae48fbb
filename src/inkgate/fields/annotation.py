"""What a model says of a picture, in the form of a schema. Pure.

Unlike fields of a document, its values have no place on the page: they describe what is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from math import isfinite
from typing import Final, cast

from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.base import parse
from inkgate.fields.schema import FieldSchema, Leaf
from inkgate_client.types import JsonValue

_TRUTHS: Final = {"true": True, "yes": True, "是": True, "false": False, "no": False, "否": False}


def annotation(schema: FieldSchema, answers: Mapping[str, object]) -> dict[str, object]:
    """Every property of the schema: null where the model says nothing that the schema allows, and an empty array for
    arrays, which models are not asked for. `answers`: values by question, from anybody.
    """
    questions = schema.questions
    by_path = {questions[question]: value for question, value in answers.items() if question in questions}
    data: dict[str, object] = {}
    for leaf in schema.leaves:
        *parents, name = leaf.names
        at = data
        for parent in parents:
            at = cast("dict[str, object]", at.setdefault(parent, {}))
        at[name] = [] if leaf.in_array else _value(leaf, by_path.get(leaf.path))
    return data


def _value(leaf: Leaf, given: object) -> JsonValue:
    if isinstance(given, float) and not isfinite(given):
        return None
    text = str(given).strip() if isinstance(given, str | int | float) else ""
    value: JsonValue = None
    if leaf.json_type == "boolean":
        value = _TRUTHS.get(text.lower())
    elif leaf.json_type in {"number", "integer"}:
        value = _number(leaf, given if isinstance(given, int | float) else text)
    elif leaf.json_type == "string":
        value = text or None
    if value is None or not leaf.choices:
        return value
    return next((each for each in leaf.choices if _same(each, value)), None)


def _number(leaf: Leaf, given: str | float) -> int | float | None:
    number: object = None
    if not isinstance(given, str):
        number = None if isinstance(given, bool) else Decimal(repr(given))
    elif (found := parse(KINDS["number"], given)) is not None:
        number = found.readings[0]
    if not isinstance(number, Decimal) or not isfinite(float(number)):
        return None
    if number == int(number):
        return int(number)
    return None if leaf.json_type == "integer" else float(number)


def _same(choice: JsonValue, value: JsonValue) -> bool:
    if isinstance(choice, str) and isinstance(value, str):
        return choice.casefold() == value.casefold()
    return type(choice) is type(value) and choice == value
