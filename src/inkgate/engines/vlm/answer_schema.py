"""The JSON Schema of extracted fields: a server that can forces the model to answer in it; every answer is checked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import anyio

MAX_CHARACTERS = 4000
"""A longer value is none of the schema's."""
BLANK_TAIL = 200
"""Blanks at the end of an answer after which it is stopped. A grammar of JSON allows any number between two values; a
model that was not trained to write JSON may write nothing else."""
_REFUSAL_S = 600.0
"""Seconds for which a server that refused a schema gets none: it may be replaced by one that takes it."""


def prompt_name(name: str) -> str:
    """A field's name as the prompt writes it, in one line between single quotes."""
    return " ".join(name.replace("'", "’").split())


@dataclass(frozen=True, slots=True)
class FieldAnswer:
    """The answer to a question about fields. `names`: of the fields, as requested."""

    names: tuple[str, ...]

    @property
    def response_format(self) -> dict[str, object]:
        """`response_format` of a chat request (OpenAI's structured outputs): each field is a text or null.

        Texts have no maximum length here: a grammar that counts characters takes seconds to compile.
        """
        names = list(dict.fromkeys(prompt_name(name) for name in self.names))
        schema = {
            "type": "object",
            "properties": {name: {"type": ["string", "null"]} for name in names},
            "required": names,
            "additionalProperties": False,
        }
        return {"type": "json_schema", "json_schema": {"name": "fields", "schema": schema, "strict": True}}

    def checked(self, fields: Mapping[str, object]) -> Mapping[str, object]:
        """Returns the requested values by the names in the question; a value that is none of the schema's is None."""
        return {name: _value(fields[key]) for name in self.names if (key := self._key(name, fields)) is not None}

    @staticmethod
    def _key(name: str, fields: Mapping[str, object]) -> str | None:
        return next((key for key in (name, prompt_name(name)) if key in fields), None)


def _value(value: object) -> object:
    if isinstance(value, str):
        return value if len(value) <= MAX_CHARACTERS else None
    return value if isinstance(value, int | float) else None


def answer_names(names: Sequence[str]) -> FieldAnswer | None:
    """The answer about these fields; None if there are none."""
    return FieldAnswer(tuple(names)) if names else None


def completed(text: str) -> str | None:
    """A JSON object that lacks only its end; None if it lacks more or nothing."""
    whole = text.rstrip().removesuffix(",") + "}"
    try:
        return whole if isinstance(json.loads(whole), dict) else None
    except (ValueError, RecursionError):
        return None


@dataclass(slots=True)
class SchemaSupport:
    """Knows whether a schema is worth sending: not for a while after a server refused one. Used from one event loop."""

    _refused_until: float = field(default=-1.0)

    @property
    def expected(self) -> bool:
        return anyio.current_time() >= self._refused_until

    def refused(self) -> None:
        """A request failed with a schema and succeeded without."""
        self._refused_until = anyio.current_time() + _REFUSAL_S
