"""Document types: the shipped ones, and those of the operator's folders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from inkgate.errors import InputRejected
from inkgate.fields.schema import FieldSchema

SHIPPED: Final = Path(__file__).parent / "types"
_LOADER: Final = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
"""libyaml's is ten times faster: each start of a service reads the shipped types."""


class TypeFileInvalid(ValueError):
    """A file of a document type can't be used; the message names it."""


@dataclass(frozen=True, slots=True)
class DocumentTypes:
    """The known types by name."""

    schemas: Mapping[str, FieldSchema]

    @classmethod
    def load(cls, folders: Iterable[Path] = ()) -> DocumentTypes:
        """The shipped types and those of the folders, whose files override types of the same name. Blocking.

        Raises:
            TypeFileInvalid: a file is no YAML, or no schema.
        """
        found: dict[str, FieldSchema] = {}
        for folder in (SHIPPED, *folders):
            for file in sorted(folder.glob("*.yaml")):
                schema = _read(file)
                found[schema.name] = schema
        return cls(found)

    def named(self, name: str) -> FieldSchema:
        """The schema of a type.

        Raises:
            InputRejected: "type_unknown", with the known names.
        """
        if name not in self.schemas:
            known = ", ".join(sorted(self.schemas))
            raise InputRejected("type_unknown", f"There is no document type of this name; there are {known}.")
        return self.schemas[name]


def _read(file: Path) -> FieldSchema:
    try:
        content = yaml.load(file.read_text("utf-8"), _LOADER)  # noqa: S506 - both loaders are safe ones
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise TypeFileInvalid(f"{file}: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("name", ""), str):
        raise TypeFileInvalid(f"{file}: not a document type: it has no keys, or its name is no text")
    title = content.pop("title", None)  # of the type, by language: not a label of a field
    try:
        return FieldSchema.of({**content, "x-title": title}, content.get("name") or file.stem)
    except InputRejected as error:
        raise TypeFileInvalid(f"{file}: {error.detail}") from error
