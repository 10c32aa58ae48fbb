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
from inkgate.telemetry.processes import processor_name
from inkgate_bench.accuracy.calibration import calibration_curve
from inkgate_bench.accuracy.fields import JudgedField, field_figures
from inkgate_bench.accuracy.line_accounts import LineTotals
from inkgate_bench.accuracy.page_structure import FIGURE_TITLES
from inkgate_bench.accuracy.results import FORMAT
from inkgate_bench.accuracy.scores import CandidateScores, FileScore, UnscoredDocument
from inkgate_bench.accuracy.summary import AccuracySummary, groups, summarize

FIGURES = (
    *("CER", "with free", "uncapped", "a=A", "F1", "lines", "order", "columns", "TEDS", "structure"),
    *("nodes", "edges", "lost", "doubled", "tests"),
)
"""Columns of a candidate. `with free`: the character error rate with order-free documents, `uncapped`: with all edits,
each where that differs; `a=A`: ignoring case; `columns`: the order of columns of order-free pages; `structure`: TEDS
without text; `nodes` and `edges`: F1 of those of diagrams."""
MAX_WORST = 20
MAX_QUOTED = 5
SUSPECT_F1 = 0.9
SUSPECT_CER = 0.2
"""A document with this F1 or more and this CER or more, both without case, was read in another order than its
truth has: one of the two is wrong."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One run: candidates in the order they were measured, inkgate first, and documents without ground truth."""

    manifest: str
    candidates: tuple[CandidateScores, ...]
    probes: tuple[UnscoredDocument, ...]


def tables(evaluation: Evaluation) -> RenderableType:
    """Tables of documents, groups and all, then failures. Figures that no document has are left out."""
    parts: list[RenderableType] = [_files(evaluation), _groups(evaluation)]
    parts += [part for candidate in evaluation.candidates for part in _structure(candidate, evaluation)]
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


def _structure(candidate: CandidateScores, evaluation: Evaluation) -> list[RenderableType]:
    """Tests by type, structure of pages, lines lost and doubled, calibration and suspicious truths of a candidate."""
    parts: list[RenderableType] = []
    types = summarize(candidate.files).tests_by_type
    if types:
        passed = ", ".join(f"{kind} {one}/{every}" for kind, (one, every) in types.items())
        parts.append(Text(f"{candidate.name}: tests by type: {passed}."))
    if any(score.structure is not None for score in candidate.files):
        parts.append(_page_structure(candidate))
    sums = line_accounts(candidate, evaluation)
    if sums["lines"]:
        parts.append(
            Text(f"{candidate.name}: of {sums['lines']} lines, {sums['lost']} lost and {sums['doubled']} doubled.")
        )
        if sums["worst"]:
            parts.append(_worst(sums["worst"]))
    parts += [
        _curve(f"{candidate.name}: confidence of {part}", curve)
        for part, curve in calibrations(candidate).items()
        if curve["count"]
    ]
    if judged := [each for score in candidate.files for each in score.fields]:
        parts.append(_fields(candidate.name, judged))
    suspects = order_suspects(candidate)
    if suspects:
        parts.append(Text(f"{candidate.name}: another order than the truth's, see `order_free`: {', '.join(suspects)}"))
    return parts


def _page_structure(candidate: CandidateScores) -> Table:
    table = Table(title=f"{candidate.name}: structure of pages", title_justify="left")
    for column in ("kind", "pages", *FIGURE_TITLES.values(), "tables", "false"):
        table.add_column(column, justify="left" if column == "kind" else "right")
    sums = {kind: summary.structure for kind, summary in groups(candidate.files)["kind"].items()}
    sums["all"] = summarize(candidate.files).structure
    for kind, counts in sums.items():
        if counts is not None:
            figures = counts.figures()
            cells = (counts.pages, *(_percent(figures[name]) for name in FIGURE_TITLES), counts.tables)
            table.add_row(Text(kind), *map(str, cells), str(counts.false_tables))
    return table


def _fields(name: str, judged: Sequence[JudgedField]) -> Table:
    figures = field_figures(judged)
    error, ungrounded = _percent(figures["calibration"]["error"]), _percent(figures["ungrounded"])
    title = f"{name}: fields (calibration error {error}, ungrounded {ungrounded})"
    table = Table(title=title, title_justify="left")
    for column in ("field", "wanted", "found", "right", "F1", "exact F1"):
        table.add_column(column, justify="left" if column == "field" else "right")
    for each in figures["by_name"]:
        counts = map(str, (each["wanted"], each["found"], each["right"]))
        table.add_row(Text(each["name"]), *counts, f"{each['f1']:.1f}", f"{each['exact_f1']:.1f}")
    return table


def _worst(worst: Sequence[dict[str, Any]]) -> Table:
    table = Table(title="Lines lost and doubled", title_justify="left")
    for column in ("document", "lines", "lost", "doubled", "such as"):
        table.add_column(column, justify="left" if column in {"document", "such as"} else "right", overflow="fold")
    for file in worst:
        quoted = " | ".join((*file["lost"], *file["doubled"])[:MAX_QUOTED])
        counts = (file["lines"], len(file["lost"]), len(file["doubled"]))
        table.add_row(file["path"], *map(str, counts), Text(quoted))
    return table


def _curve(title: str, curve: dict[str, Any]) -> Table:
    table = Table(title=f"{title} (calibration error {_percent(curve['error'])})", title_justify="left")
    for column in ("confidence", "mean", "count", "text right", "right in text and order"):
        table.add_column(column, justify="right")
    for each in curve["bins"]:
        shares = (each["confidence"], each["text_right"], each["right"])
        mean, text_right, right = map(_percent, shares)
        table.add_row(f"{each['low']:.2f} to {each['high']:.2f}", mean, str(each["count"]), text_right, right)
    return table


def line_accounts(candidate: CandidateScores, evaluation: Evaluation) -> dict[str, Any]:
    """Lines of all documents of a candidate, of inkgate's also without ground truth, and the worst documents."""
    documents: list[tuple[str, LineTotals | None]] = [(score.entry.path, score.lines) for score in candidate.files]
    if candidate is evaluation.candidates[0]:
        documents += [(probe.entry.path, probe.lines) for probe in evaluation.probes]
    known = [(path, totals) for path, totals in documents if totals is not None]
    odd = [(path, totals) for path, totals in known if totals.lost or totals.doubled]
    odd.sort(key=lambda pair: -len(pair[1].lost) - len(pair[1].doubled))
    return {
        "lines": sum(totals.lines for _, totals in known),
        "lost": sum(len(totals.lost) for _, totals in known),
        "doubled": sum(len(totals.doubled) for _, totals in known),
        "worst": [{"path": path, **_totals(totals)} for path, totals in odd[:MAX_WORST]],
    }


def calibrations(candidate: CandidateScores) -> dict[str, dict[str, Any]]:
    """The calibration curves of blocks and of pages."""
    blocks = [part for score in candidate.files for part in score.blocks_judged]
    pages = [part for score in candidate.files for part in score.pages_judged]
    return {"blocks": asdict(calibration_curve(blocks)), "pages": asdict(calibration_curve(pages))}


def order_suspects(candidate: CandidateScores) -> list[str]:
    """Documents not marked `order_free` whose words were read, but in another order than the truth's."""
    return [
        score.entry.path
        for score in candidate.files
        if not score.entry.order_free
        and score.f1 is not None
        and score.folded_errors is not None
        and score.f1 >= SUSPECT_F1
        and score.folded_errors.rate >= SUSPECT_CER
    ]


def _totals(totals: LineTotals | None) -> dict[str, Any]:
    if totals is None:
        return {"lines": None, "lost": [], "doubled": []}
    return {"lines": totals.lines, "lost": list(totals.lost), "doubled": list(totals.doubled)}


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
    every = None if summary.cer_every == summary.cer else summary.cer_every
    uncapped = None if summary.cer_uncapped == summary.cer else summary.cer_uncapped
    shares = (
        *(summary.cer, every, uncapped, summary.cer_folded, summary.f1, summary.line_recall),
        *(summary.order, summary.column_order, summary.teds, summary.teds_structure, summary.nodes, summary.edges),
    )
    counts = [str(count) if summary.lines else "" for count in (summary.lost, summary.doubled)]
    return dict(zip(FIGURES, [*map(_percent, shares), *counts, tests], strict=True))


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
        "format": FORMAT,
        "inkgate": inkgate.__version__,
        "manifest": evaluation.manifest,
        "machine": machine(),
        "candidates": [_candidate(candidate, evaluation) for candidate in evaluation.candidates],
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


def _candidate(candidate: CandidateScores, evaluation: Evaluation) -> dict[str, Any]:
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
        "calibration": calibrations(candidate),
        "line_accounts": line_accounts(candidate, evaluation),
        "order_suspects": order_suspects(candidate),
        "fields": field_figures([each for score in candidate.files for each in score.fields]),
        "files": [_file(score) for score in candidate.files],
    }


def _summary(summary: AccuracySummary) -> dict[str, Any]:
    structure = None if summary.structure is None else summary.structure.figures()
    return {**asdict(summary), "pass_rate": summary.pass_rate, "structure_figures": structure}


def _file(score: FileScore) -> dict[str, Any]:
    return {
        "path": score.entry.path,
        "folder": score.entry.folder,
        "language": score.entry.language,
        "kind": score.entry.kind,
        "order_free": score.entry.order_free,
        "cer": score.errors.rate if score.errors else None,
        "cer_uncapped": score.errors.uncapped_rate if score.errors else None,
        "cer_folded": score.folded_errors.rate if score.folded_errors else None,
        "characters": score.errors.characters if score.errors else None,
        "f1": score.f1,
        "f1_of": score.token,
        "line_recall": score.line_recall,
        "order": score.order.tau if score.order else None,
        "order_matched": score.order.matched if score.order else None,
        "order_lines": score.order.lines if score.order else None,
        "column_order": score.column_order,
        "teds": score.tables.teds if score.tables else None,
        "teds_structure": score.tables.structure if score.tables else None,
        "nodes": score.diagram.nodes if score.diagram else None,
        "edges": score.diagram.edges if score.diagram else None,
        "structure": asdict(score.structure) if score.structure else None,
        "fields": [asdict(each) for each in score.fields],
        **_totals(score.lines),
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
        **_totals(probe.lines),
    }
