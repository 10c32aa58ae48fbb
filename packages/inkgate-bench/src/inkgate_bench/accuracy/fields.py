"""Scores of fields: what was found against what the document says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.folded import fold
from inkgate.fields.kinds import KINDS
from inkgate.fields.schema import FieldSchema
from inkgate_bench.accuracy.calibration import JudgedPart, calibration_curve
from inkgate_client.fields.values import FieldStatus, FieldValue

SURE = 0.95
"""Confidence from which fields are said to be right in at least 97 %."""
_TICKED = {"selected": True, "unselected": False, "true": True, "false": False}
"""How truths say whether a box is ticked."""


SAME_NAMES: Final = {
    "company": "merchant_name",
    "store_name": "merchant_name",
    "issuer": "merchant_name",
    "address": "merchant_address",
    "store_addr": "merchant_address",
    "tel": "phone",
    "amount": "total",
    "amount_untaxed": "subtotal",
    "vat": "vat_id",
    "date_due": "due_date",
}
"""Names of fields in ground truths of others, and those of the shipped document types."""
MISSING: Final = FieldValue("", "text", FieldStatus.NOT_FOUND)
MAX_NAMES: Final = 100
_MIN_COVERED: Final = 0.5


@dataclass(frozen=True, slots=True)
class JudgedField:
    """A field of a document, found or wanted or both.

    Attributes:
        name: of the field.
        wanted: the document has it.
        found: it has a value.
        right: the value is one that the truth has, as a value of its kind; text by its letters and digits.
        exact: the printed text is the truth's, character by character.
        confidence: of the value; None without one.
        ungrounded: a value was proposed that is not in the document.
    """

    name: str
    wanted: bool
    found: bool
    right: bool
    exact: bool
    confidence: float | None = None
    ungrounded: bool = False


@dataclass(frozen=True, slots=True)
class FieldScore:
    """The score of the fields of one name. F1: of right (or exact) values, in percent; a value that nobody wanted
    counts against it.
    """

    name: str
    wanted: int
    found: int
    right: int
    exact: int

    @property
    def f1(self) -> float:
        return _f1(self.right, self.wanted, self.found)

    @property
    def exact_f1(self) -> float:
        return _f1(self.exact, self.wanted, self.found)


def schema_for(truth: Mapping[str, object], types: DocumentTypes, named: str = "") -> FieldSchema:
    """What is asked of a document: the type that is `named`, else the one that has most of the truth's names, if these
    are half of them (of two types, the one with fewer fields); else the names.
    """
    if named:
        return types.named(named)
    covered = {name: _covered(truth, schema) for name, schema in sorted(types.schemas.items())}
    best = max(covered, key=lambda name: (covered[name], -len(types.schemas[name].leaves)), default="")
    if truth and best and covered[best] >= _MIN_COVERED * len(truth):
        return types.schemas[best]
    return FieldSchema.of_names(list(truth)[:MAX_NAMES])


def _covered(truth: Mapping[str, object], schema: FieldSchema) -> int:
    paths = {leaf.path for leaf in schema.leaves if not leaf.in_array}
    return sum(_path(name) in paths or _path(SAME_NAMES.get(name, name)) in paths for name in truth)


def _path(name: str) -> str:
    return "/" + name.replace("~", "~0").replace("/", "~1")


def judge_fields(
    found: Mapping[str, FieldValue] | None, truth: Mapping[str, object], schema: FieldSchema
) -> tuple[JudgedField, ...]:
    """The fields of a document that the truth has and the schema asks for. `found`: by path; None: it was not read.
    Fields that a type does not have are not judged, nor are lists of items.
    """
    paths = {leaf.path for leaf in schema.leaves if not leaf.in_array}
    judged = []
    for name, wanted in truth.items():
        path = _path(name)
        if path not in paths and schema.name:
            path = _path(SAME_NAMES.get(name, name))
        if path in paths:
            judged.append(judge(name, (found or {}).get(path, MISSING), wanted))
    return tuple(judged)


def ungrounded_share(judged: Iterable[JudgedField]) -> float | None:
    """Returns the share of the fields for which only values were proposed that are not in the document; None: no
    fields.
    """
    every = list(judged)
    return sum(each.ungrounded for each in every) / len(every) if every else None


def field_figures(judged: Sequence[JudgedField]) -> dict[str, Any]:
    """The figures for JSON: F1 in percent by name and of all, calibration, and the share ungrounded."""
    parts = [
        JudgedPart(each.confidence, each.right, each.right)
        for each in judged
        if each.confidence is not None and each.wanted
    ]
    return {
        "by_name": [{**asdict(score), "f1": score.f1, "exact_f1": score.exact_f1} for score in scores(judged)],
        "calibration": asdict(calibration_curve(parts)),
        "ungrounded": ungrounded_share(judged),
    }


def judge(name: str, field: FieldValue, truth: object) -> JudgedField:
    """`truth`: a text, or a list of texts of which any may be meant; a text may have several values."""
    texts = [str(each) for each in (truth if isinstance(truth, list) else [truth]) if each not in (None, "")]
    found = field.value is not None
    text = (field.text or "").strip()
    return JudgedField(
        name,
        wanted=bool(texts),
        found=found,
        right=found and any(_same(field, each) for each in texts),
        exact=found and any(text == each.strip() for each in texts),
        confidence=field.confidence if found else None,
        ungrounded=field.status.value == "ungrounded",
    )


def _same(field: FieldValue, truth: str) -> bool:
    if field.kind == "boolean":
        return field.value is _TICKED.get(truth.strip().lower())
    kind = KINDS.get(field.kind)
    if kind is None or field.text is None:
        # Words may stand in another order in the truth, as of labels on two columns.
        own, true = fold(str(field.value)), fold(truth)
        return own == true or sorted(fold(word) for word in str(field.value).split()) == sorted(
            fold(word) for word in truth.split()
        )
    # The document may have told which of several readings is meant, and a sum has several numbers.
    shown = str(field.value) if kind.name in {"date", "currency", "money"} else field.text
    readings = {reading for value in kind.find(shown) for reading in value.readings[:1]}
    return any(readings & set(value.readings) for value in kind.find(truth))


def scores(judged: Iterable[JudgedField]) -> list[FieldScore]:
    """Returns scores by name, in the order of the names' first fields; the last is `all`."""
    by_name: dict[str, list[JudgedField]] = {}
    every = list(judged)
    for each in every:
        by_name.setdefault(each.name, []).append(each)
    return [_score(name, fields) for name, fields in [*by_name.items(), ("all", every)]]


def _score(name: str, fields: Sequence[JudgedField]) -> FieldScore:
    return FieldScore(
        name,
        sum(each.wanted for each in fields),
        sum(each.found for each in fields),
        sum(each.right for each in fields),
        sum(each.exact for each in fields),
    )


def _f1(right: int, wanted: int, found: int) -> float:
    return 200 * right / (wanted + found) if wanted + found else 0.0


def curve(judged: Iterable[JudgedField], bounds: Sequence[float]) -> Mapping[float, tuple[int, int]]:
    """Fields with a value and a truth by confidence: the number of fields from each bound up to the next, and how many
    of them are right.
    """
    kept = [each for each in judged if each.confidence is not None and each.wanted]
    found: dict[float, tuple[int, int]] = {}
    for low, high in zip(bounds, [*bounds[1:], 2.0], strict=True):
        inside = [each for each in kept if low <= (each.confidence or 0.0) < high]
        found[low] = (len(inside), sum(each.right for each in inside))
    return found
