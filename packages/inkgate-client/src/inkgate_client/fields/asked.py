"""The fields that somebody wants of a document: of a document type, a JSON Schema, a pydantic model class or names."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

ModelT = TypeVar("ModelT")
ModelT_co = TypeVar("ModelT_co", covariant=True)


class ModelClass(Protocol[ModelT_co]):
    """A pydantic model class."""

    def model_json_schema(self) -> dict[str, Any]:
        """Returns the model's JSON Schema."""
        ...

    def model_validate(self, obj: object, /) -> ModelT_co:
        """An instance with these values. Raises ValueError."""
        ...


Schema = Mapping[str, Any] | str | ModelClass[Any]
"""A JSON Schema, as an object or as text, or a pydantic model class."""
Wanted = str | Mapping[str, Any] | ModelClass[Any] | Sequence[str] | None
"""A document type such as `receipt`, a JSON Schema as an object or as text, a pydantic model class, or names of fields.
None: the document's type is found.
"""


@dataclass(frozen=True, slots=True)
class WantedFields:
    """The fields to find: at most one of `type`, `schema` and `names`. Without any, the document's type is found.

    Attributes:
        type: of the document, such as `receipt`; empty: none is given.
        schema: a JSON Schema, as an object or as text, or a pydantic model class; None: none is given.
        names: of fields.
        data: values to look up instead of finding some, as an object or as JSON; None: values are found.
    """

    type: str = ""
    schema: Schema | None = None
    names: Sequence[str] = ()
    data: Mapping[str, Any] | str | None = None

    @property
    def json_schema(self) -> Mapping[str, Any] | str | None:
        """The schema, of a class too."""
        schema = self.schema
        return schema if schema is None or isinstance(schema, str | Mapping) else schema.model_json_schema()

    @property
    def model(self) -> ModelClass[Any] | None:
        """The pydantic model class; None if the schema is none."""
        return None if self.schema is None or isinstance(self.schema, str | Mapping) else self.schema

    def or_wanted(self, wanted: Wanted) -> WantedFields:
        """The same, or what `wanted` asks for. Raises ValueError if both ask for something."""
        if wanted is None:
            return self
        if self.type or self.schema is not None or self.names:
            raise ValueError("Give what to find once: by position, or as type, schema or fields.")
        return WantedFields.of(wanted, self.data)

    @classmethod
    def of(cls, wanted: Wanted, data: Mapping[str, Any] | str | None = None) -> WantedFields:
        """What `wanted` asks for. A text that begins with `{` is a JSON Schema."""
        if wanted is None:
            return cls(data=data)
        if isinstance(wanted, str):
            return cls(schema=wanted, data=data) if wanted.lstrip().startswith("{") else cls(wanted, data=data)
        if isinstance(wanted, Sequence):
            return cls(names=tuple(wanted), data=data)
        return cls(schema=wanted, data=data)


def instance_of(schema: ModelClass[ModelT], data: Mapping[str, Any]) -> tuple[ModelT | None, tuple[str, ...]]:
    """The instance of a model class, or None and why the values don't fit, without the values."""
    try:
        return schema.model_validate(data), ()
    except ValueError as error:
        return None, tuple(_reasons(error)) or ("The values don't fit the model.",)


def _reasons(error: ValueError) -> Sequence[str]:
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return []
    return [
        f"/{'/'.join(map(str, wrong['loc']))}: {wrong['msg']}"
        for wrong in error.errors(include_input=False, include_context=False, include_url=False)
    ]


def schema_text(schema: Schema) -> str:
    """The schema as JSON."""
    if isinstance(schema, str):
        return schema
    return json.dumps(schema if isinstance(schema, Mapping) else schema.model_json_schema())
