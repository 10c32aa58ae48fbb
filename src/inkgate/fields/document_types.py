"""Document types: the shipped ones, those of installed packages, and those of the operator's folders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

import yaml

from inkgate.errors import InputRejected
from inkgate.fields.rules.candidates import FieldCandidate
from inkgate.fields.rules.rows import PrintedPages
from inkgate.fields.schema import FieldSchema
from inkgate.settings.extensions import load_extension, registered
from inkgate_client.fields.values import Check, FieldValue, Proposal
from inkgate_client.types import PageResult

GROUP: Final = "inkgate.document_types"
"""Entry points that name a TypePackage."""

SHIPPED: Final = Path(__file__).parent / "types"
_LOADER: Final = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
"""libyaml's is ten times faster: each start of a service reads the shipped types."""


FieldRules = Callable[[PrintedPages], Mapping[str, Sequence[FieldCandidate]]]
"""Finds candidates for the fields of a type, by the field's name, the best first."""
FieldCheck = Callable[[Mapping[str, FieldValue]], Check | None]
"""Checks fields, by path. Returns None if those that it compares were not found."""
CodeValues = Callable[[Sequence[PageResult], FieldSchema], Mapping[str, Sequence[Proposal]]]
"""Proposes what a code on the pages says, by path; nothing if there is no such code."""
CodeChecks = Callable[[Sequence[PageResult], FieldSchema], Sequence[Check]]
"""Checks fields by a code on the pages. Returns nothing if there is no such code."""


@dataclass(frozen=True, slots=True)
class PrintedCode:
    """What a paper prints in letters for machines, such as the zone of a passport.

    Attributes:
        check: code of the check that is made wherever the code was read. Only schemas that name it have the code.
        values: its values.
        checks: its checks.
        contradiction: code of the check that fails where code and print differ: either may be right.
        unread: note of an extraction whose pages lack the code.
    """

    check: str
    values: CodeValues
    checks: CodeChecks
    contradiction: str
    unread: str


@dataclass(frozen=True, slots=True)
class TypePackage:
    """Document types of another package.

    Attributes:
        folder: has a YAML file for each type.
        rules: by type. A type whose fields have no labels, or are in prose, needs rules.
        checks: by code, as `x-checks` names them.
        codes: that papers print for machines.
        type_of: the name of the type that a code on the pages tells; empty if none does.
    """

    folder: Path
    rules: Mapping[str, FieldRules] = field(default_factory=dict)
    checks: Mapping[str, FieldCheck] = field(default_factory=dict)
    codes: Sequence[PrintedCode] = ()
    type_of: Callable[[Sequence[PageResult]], str] | None = None


@cache
def type_packages() -> tuple[TypePackage, ...]:
    """The document types of installed packages. Blocking.

    Raises:
        InputRejected: "extension_invalid": an entry point can't be imported, or names something else.
    """
    found = [(name, load_extension(name, f"{GROUP}: {name}", GROUP)) for name in sorted(registered(GROUP))]
    for name, package in found:
        if not isinstance(package, TypePackage):
            raise InputRejected("extension_invalid", f"`{GROUP}`: {name} is no TypePackage.")
    return tuple(package for _, package in found)


@cache
def package_rules() -> Mapping[str, FieldRules]:
    """The rules of installed packages, by document type."""
    return {name: rules for package in type_packages() for name, rules in package.rules.items()}


@cache
def package_checks() -> Mapping[str, FieldCheck]:
    """The checks of installed packages, by code."""
    return {code: check for package in type_packages() for code, check in package.checks.items()}


def codes_of(schema: FieldSchema) -> tuple[PrintedCode, ...]:
    """The codes of installed packages that papers of this schema print."""
    return tuple(code for package in type_packages() for code in package.codes if code.check in schema.checks)


class TypeFileInvalid(ValueError):
    """A file of a document type can't be used; the message names it."""


@dataclass(frozen=True, slots=True)
class DocumentTypes:
    """The known types by name."""

    schemas: Mapping[str, FieldSchema]

    @classmethod
    def load(cls, folders: Iterable[Path] = ()) -> DocumentTypes:
        """The shipped types, those of packages and those of the folders; later ones override earlier ones of the same
        name. Blocking.

        Raises:
            TypeFileInvalid: a file is no YAML, or no schema.
            InputRejected: as `type_packages`.
        """
        found: dict[str, FieldSchema] = {}
        for folder in (SHIPPED, *(package.folder for package in type_packages()), *folders):
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
            more = "" if type_packages() else " The package inkgate-papers has more."
            raise InputRejected("type_unknown", f"There is no document type of this name; there are {known}.{more}")
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
