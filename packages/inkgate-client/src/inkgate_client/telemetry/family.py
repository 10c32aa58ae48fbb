"""Declarations of metrics.

Names end in their base unit; counters end in `_total`. The four names without `inkgate_` are those that dashboards of
other OCR services use.

A metric of the State is declared once, as the field that has its value (telemetry/state.py). The field is in `/state`,
and its help in the OpenAPI document; telemetry/state_collector.py makes the metric and the catalogue out of the
declaration, and scripts/write_docs.py the documentation. A metric of events is declared where the events are counted
(telemetry/metrics.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from enum import StrEnum
from functools import cache
from operator import attrgetter
from typing import Any, TypedDict, TypeVar, Unpack, dataclass_transform

T = TypeVar("T")

_KEY = "declaration"


class Kind(StrEnum):
    """A Prometheus metric type."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Family:
    """A metric with its labels.

    Attributes:
        name: the name in queries.
        labels: for a metric of a field, those of its class come first.
        buckets: upper bounds of a histogram.
        value: converts the value of the field, which is not None; None takes the value as it is.
        whole: converts the reading that has the field instead.
        panel: whether a dashboard shows the metric. False if another metric shows the same better.
        section: the heading in docs/reference/metrics.md.
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    value: Callable[[Any], Any] | None = None
    whole: Callable[[Any], Any] | None = None
    panel: bool = True
    section: str = ""


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a field of a reading is besides its value in `/state`.

    Attributes:
        families: the metrics that have its value.
        label: the label of all metrics of the class that has its value.
        section: the heading of its metrics and of those of the readings in it.
        latest: only the last of the readings in it has metrics.
        read: takes the value from the owner (`read_from`); None takes the owner's attribute of the same name.
    """

    families: tuple[Family, ...] = ()
    label: str = ""
    section: str = ""
    latest: bool = False
    read: Callable[[Any], Any] | None = None


class Options(TypedDict, total=False):
    """The options of a declared field: see Family, Declaration and dataclasses.field. `also`: another metric of it."""

    value: Callable[[Any], Any]
    whole: Callable[[Any], Any]
    panel: bool
    also: Any
    section: str
    latest: bool
    default: Any
    default_factory: Callable[[], Any]


# ruff: noqa: ANN401 - as dataclasses.field, these functions return what the annotation of the field says


def gauge(name: str, help_: str, *labels: str, **options: Unpack[Options]) -> Any:
    """A field that is a gauge. With `labels`, its value is a mapping, with one level for each of them."""
    return declared(options, Family(name, Kind.GAUGE, help_, labels))


def counter(name: str, help_: str, *labels: str, **options: Unpack[Options]) -> Any:
    """A field that is a counter. With `labels`, its value is a mapping, with one level for each of them."""
    return declared(options, Family(name, Kind.COUNTER, help_, labels))


def histogram(name: str, help_: str, buckets: tuple[float, ...], **options: Unpack[Options]) -> Any:
    """A field that is a histogram: a mapping from sizes to numbers of observations."""
    return declared(options, Family(name, Kind.HISTOGRAM, help_, buckets=buckets))


def label(name: str, **options: Unpack[Options]) -> Any:
    """A field whose value is a label of all metrics of its class."""
    return declared(options, label=name)


def part(**options: Unpack[Options]) -> Any:
    """A field that is a reading, or several. Without options, it needs no declaration."""
    return declared(options)


def declared(
    options: Options, family: Family | None = None, label: str = "", read: Callable[[Any], Any] | None = None
) -> Any:
    """A field with a Declaration."""
    families: tuple[Family, ...] = ()
    if family is not None:
        value, whole = options.get("value"), options.get("whole")
        families = (replace(family, value=value, whole=whole, panel=options.get("panel", True)),)
    if "also" in options:
        families += declaration_of(options["also"]).families
    declaration = Declaration(families, label, options.get("section", ""), options.get("latest", False), read)
    metadata: dict[str, object] = {_KEY: declaration}
    if families and families[0].value is None and families[0].whole is None:
        metadata["description"] = families[0].help  # pydantic copies it into the OpenAPI document
    return field(
        default=options.get("default", MISSING),
        default_factory=options.get("default_factory", MISSING),
        metadata=metadata,
    )


def read_from(kind: type[T], owner: object, **known: object) -> T:
    """A reading of `owner`. `known`: values of fields that are not read from it.

    Raises:
        AttributeError: `owner` lacks a field that is not known.
    """
    hashable: Any = kind
    readers = _readers(hashable)
    return kind(**known, **{name: read(owner) for name, read in readers.items() if name not in known})


@cache
def _readers(kind: type[Any]) -> dict[str, Callable[[Any], Any]]:
    return {each.name: declaration_of(each).read or attrgetter(each.name) for each in fields(kind)}


def declaration_of(each: Field[Any]) -> Declaration:
    """The Declaration of a field; an empty one if it has none."""
    declaration: Declaration = each.metadata.get(_KEY, _NOTHING)
    return declaration


_NOTHING = Declaration()


@dataclass_transform(frozen_default=True, field_specifiers=(counter, field, gauge, histogram, label, part))
def reading(kind: type[T]) -> type[T]:
    """Makes `kind` a frozen dataclass of values that are read together."""
    return dataclass(frozen=True, slots=True)(kind)
