"""An evaluation as tables for people and as a JSON document for programs."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

import inkgate
from inkgate.bench.accuracy.scores import (
    AccuracySummary,
    CandidateScores,
    FileScore,
    UnscoredDocument,
    groups,
    summarize,
)
from inkgate.telemetry.processes import processor_name

FIGURES = ("CER", "uncapped", "a=A", "F1", "lines", "tests")
"""Columns of a candidate. `uncapped`: the character error rate with all edits, where that differs; `a=A`:
ignoring case."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One run: candidates in the order they were measured, inkgate first, and documents without ground truth."""

    manifest: str
    candidates: tuple[CandidateScores, ...]
    probes: tuple[UnscoredDocument, ...]


def tables(evaluation: Evaluation) -> RenderableType:
    """Tables of documents, groups and all, then failures. Figures that no document has are left out."""
    parts: list[RenderableType] = [_files(evaluation), _groups(evaluation)]
    if evaluation.probes:
        parts.append(_probes(evaluation.probes))
    failures = [
        f"{candidate.name}: {score.entry.path}: {score.error}"
        for candidate in evaluation.candidates
        for score in candidate.files
        if score.error is not None
    ]
    if failures:
        parts.append(Text("\n".join(["Not read, or not completely:", *failures])))
    parts.append(Text(_footnote(evaluation)))
    return Group(*parts)


def _files(evaluation: Evaluation) -> Table:
    table, shown = _headed("Documents", evaluation.candidates, "document")
    for scores in zip(*(candidate.files for candidate in evaluation.candidates), strict=True):
        table.add_row(scores[0].entry.path, *_cells([summarize([score]) for score in scores], shown))
    return table


def _groups(evaluation: Evaluation) -> Table:
    table, shown = _headed("Groups", evaluation.candidates, "group", "files")
    summaries = [groups(candidate.files) for candidate in evaluation.candidates]
    for grouping, first in summaries[0].items():
        for group, summary in first.items():
            cells = _cells([each[grouping][group] for each in summaries], shown)
            table.add_row(f"{grouping}: {group}", str(summary.files), *cells)
        table.add_section()
    every = [summarize(candidate.files) for candidate in evaluation.candidates]
    table.add_row("all", str(every[0].files), *_cells(every, shown), style="bold")
    return table


def _headed(title: str, candidates: Sequence[CandidateScores], *first: str) -> tuple[Table, tuple[str, ...]]:
    """An empty table with its columns, and the figures that it shows of each candidate."""
    table = Table(title=title, title_justify="left")
    for column in first:
        table.add_column(column, justify="left" if column == first[0] else "right", overflow="fold")
    every = [_figures(summarize(candidate.files)) for candidate in candidates]
    shown = tuple(figure for figure in FIGURES if any(figures[figure] for figures in every))
    for candidate in candidates:
        for figure in shown:
            table.add_column(f"{candidate.name}\n{figure}", justify="right", no_wrap=True)
    return table, shown


def _cells(summaries: Sequence[AccuracySummary], shown: Sequence[str]) -> list[str]:
    return [_figures(summary)[figure] for summary in summaries for figure in shown]


def _figures(summary: AccuracySummary) -> dict[str, str]:
    tests = f"{summary.tests_passed}/{summary.tests}" if summary.tests else ""
    uncapped = None if summary.cer_uncapped == summary.cer else summary.cer_uncapped
    shares = (summary.cer, uncapped, summary.cer_folded, summary.f1, summary.line_recall)
    return dict(zip(FIGURES, [*map(_percent, shares), tests], strict=True))


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}"


def _probes(probes: Sequence[UnscoredDocument]) -> RenderableType:
    """How many documents without ground truth behaved as the manifest says, and a table of the others."""
    odd = [probe for probe in probes if not probe.as_expected]
    result = f"{len(probes) - len(odd)} of {len(probes)} documents without ground truth behaved as the manifest says."
    if not odd:
        return Text(result)
    table = Table()
    for column in ("document", "manifest", "here"):
        table.add_column(column, overflow="fold")
    for probe in odd:
        table.add_row(probe.entry.path, "opens" if probe.entry.opens else "does not open", probe.error or "read")
    return Group(Text(result), table)


def _footnote(evaluation: Evaluation) -> str:
    speeds = ", ".join(
        f"{candidate.name} {candidate.version} {candidate.pages_per_s:.2f} pages/s ({candidate.parallel} at a time)"
        for candidate in evaluation.candidates
    )
    return f"Whole documents, file to text, models loaded before: {speeds}. In percent; see docs/guides/accuracy.md."


def as_json(evaluation: Evaluation) -> dict[str, Any]:
    """The evaluation as plain values, with what it was measured on; shares in [0, 1], times in seconds."""
    return {
        "inkgate": inkgate.__version__,
        "manifest": evaluation.manifest,
        "machine": machine(),
        "candidates": [_candidate(candidate) for candidate in evaluation.candidates],
        "unscored": [_probe(probe) for probe in evaluation.probes],
    }


def machine() -> dict[str, Any]:
    """The machine that this runs on."""
    return {
        "system": platform.platform(),
        "processor": processor_name(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }


def _candidate(candidate: CandidateScores) -> dict[str, Any]:
    return {
        "name": candidate.name,
        "version": candidate.version,
        "seconds": round(candidate.seconds, 3),
        "pages_per_s": round(candidate.pages_per_s, 4),
        "documents_at_once": candidate.parallel,
        "all": _summary(summarize(candidate.files)),
        "groups": {
            grouping: {group: _summary(summary) for group, summary in found.items()}
            for grouping, found in groups(candidate.files).items()
        },
        "files": [_file(score) for score in candidate.files],
    }


def _summary(summary: AccuracySummary) -> dict[str, Any]:
    return {**asdict(summary), "pass_rate": summary.pass_rate}


def _file(score: FileScore) -> dict[str, Any]:
    return {
        "path": score.entry.path,
        "folder": score.entry.folder,
        "language": score.entry.language,
        "kind": score.entry.kind,
        "cer": score.errors.rate if score.errors else None,
        "cer_uncapped": score.errors.uncapped_rate if score.errors else None,
        "cer_folded": score.folded_errors.rate if score.folded_errors else None,
        "characters": score.errors.characters if score.errors else None,
        "f1": score.f1,
        "f1_of": score.token,
        "line_recall": score.line_recall,
        "tests": [asdict(outcome) for outcome in score.tests],
        "pages": score.pages,
        "seconds": round(score.seconds, 3),
        "sources": list(score.sources),
        "error": score.error,
    }


def _probe(probe: UnscoredDocument) -> dict[str, Any]:
    return {
        "path": probe.entry.path,
        "opens_by_manifest": probe.entry.opens,
        "pages": probe.pages,
        "error": probe.error,
        "as_expected": probe.as_expected,
    }
