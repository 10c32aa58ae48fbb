"""An evaluation as its JSON file holds it, for reports and for the comparison of two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter

from inkgate_bench.accuracy.calibration import CalibrationCurve
from inkgate_bench.accuracy.summary import AccuracySummary

FORMAT = "inkgate.eval/1"


@dataclass(frozen=True, slots=True)
class FileFigures:
    """The figures of one document; None without ground truth. `lost` and `doubled`: texts of lines."""

    path: str
    folder: str = "-"
    language: str = "-"
    kind: str = "-"
    order_free: bool = False
    cer: float | None = None
    cer_folded: float | None = None
    f1: float | None = None
    line_recall: float | None = None
    order: float | None = None
    column_order: float | None = None
    teds: float | None = None
    lines: int | None = None
    lost: tuple[str, ...] = ()
    doubled: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class LineSums:
    """Recognised lines of all documents with Markdown, also of those without ground truth."""

    lines: int = 0
    lost: int = 0
    doubled: int = 0
    worst: tuple[FileFigures, ...] = ()


@dataclass(frozen=True, slots=True)
class CandidateFigures:
    """The figures of one candidate. `order_suspects`: paths of documents whose truth may have another order."""

    name: str
    version: str
    pages_per_s: float
    all: AccuracySummary
    groups: Mapping[str, Mapping[str, AccuracySummary]]
    files: tuple[FileFigures, ...]
    calibration: Mapping[str, CalibrationCurve] = field(default_factory=dict)
    line_accounts: LineSums = field(default_factory=LineSums)
    order_suspects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AccuracyReport:
    """One run of `inkgate eval`, inkgate first among the candidates."""

    manifest: str
    candidates: tuple[CandidateFigures, ...]
    inkgate: str = ""
    machine: Mapping[str, object] = field(default_factory=dict)


_REPORT = TypeAdapter(AccuracyReport)


def read_report(document: Mapping[str, object]) -> AccuracyReport:
    """The report of the JSON document of an evaluation; other keys are ignored. Raises ValidationError."""
    return _REPORT.validate_python(document)
