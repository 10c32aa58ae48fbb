"""Two evaluations of the same documents, before and after a change: the differences by group and by document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from inkgate_bench.accuracy.results import AccuracyReport, CandidateFigures, FileFigures
from inkgate_bench.accuracy.summary import AccuracySummary

FIGURES: Mapping[str, Callable[[AccuracySummary], float | None]] = {
    "CER": lambda summary: _percent(summary.cer),
    "with free": lambda summary: _percent(summary.cer_every) if summary.cer_every != summary.cer else None,
    "a=A": lambda summary: _percent(summary.cer_folded),
    "F1": lambda summary: _percent(summary.f1),
    "lines": lambda summary: _percent(summary.line_recall),
    "order": lambda summary: _percent(summary.order),
    "columns": lambda summary: _percent(summary.column_order),
    "TEDS": lambda summary: _percent(summary.teds),
    "wrong next": lambda summary: _structure(summary, "wrong_successors"),
    "headings": lambda summary: _structure(summary, "headings"),
    "paragraphs": lambda summary: _structure(summary, "paragraphs"),
    "lost": lambda summary: summary.lost if summary.lines else None,
    "doubled": lambda summary: summary.doubled if summary.lines else None,
    "tests": lambda summary: summary.tests_passed if summary.tests else None,
}
"""What is compared: percentages and counts. LESS_IS_BETTER has those of which less is better."""
LESS_IS_BETTER = frozenset({"CER", "with free", "a=A", "wrong next", "lost", "doubled"})
MAX_NAMED = 15
"""Documents that are named, those that changed most first."""
_MIN_SHOWN = 0.05


class NotComparable(ValueError):
    """The two evaluations have no document, or no candidate, in common."""


@dataclass(frozen=True, slots=True)
class FigureChange:
    """A figure before and after; None where it was not measured. `name`: one of FIGURES."""

    name: str
    before: float | None
    after: float | None

    @property
    def change(self) -> float | None:
        return None if self.before is None or self.after is None else self.after - self.before

    @property
    def gain(self) -> float:
        """The change, positive where it is better; 0 where unknown or too small to be shown."""
        change = self.change or 0.0
        if abs(change) < _MIN_SHOWN:
            return 0.0
        return -change if self.name in LESS_IS_BETTER else change

    def __str__(self) -> str:
        if self.after is None:
            return "" if self.before is None else f"({_number(self.before, self.name)} before)"
        shown = _number(self.after, self.name)
        if self.change is None or abs(self.change) < _MIN_SHOWN:
            return shown
        sign = "+" if self.change > 0 else "−"
        return f"{shown} ({sign}{_number(abs(self.change), self.name)})"


@dataclass(frozen=True, slots=True)
class GroupChange:
    """The changes of one group; `files` in the later run."""

    group: str
    files: int
    changes: tuple[FigureChange, ...]


@dataclass(frozen=True, slots=True)
class FileChange:
    """The changes of one document: `CER`, `F1`, `order`, `columns`, `TEDS`, `lost`, `doubled`."""

    path: str
    changes: tuple[FigureChange, ...]


@dataclass(frozen=True, slots=True)
class EvaluationDifference:
    """Two runs of one candidate.

    Attributes:
        names: of both files; groups: the last is `all`, if both runs have the same documents.
        files: documents with a change, the worst losses first.
        missing: documents that only one of the runs has; their groups are left out.
    """

    names: tuple[str, str]
    candidate: str
    groups: tuple[GroupChange, ...]
    files: tuple[FileChange, ...]
    missing: tuple[str, ...]


def compare_evaluations(
    before: AccuracyReport, after: AccuracyReport, names: tuple[str, str] = ("before", "after")
) -> EvaluationDifference:
    """The first candidate that both have, group by group.

    Raises:
        NotComparable: they have no candidate or no document in common.
    """
    old_by_name = {candidate.name: candidate for candidate in before.candidates}
    new = next((candidate for candidate in after.candidates if candidate.name in old_by_name), None)
    if new is None:
        raise NotComparable("The two evaluations have no candidate in common.")
    old = old_by_name[new.name]
    paths, old_paths = {file.path for file in new.files}, {file.path for file in old.files}
    if not paths & old_paths:
        raise NotComparable("The two evaluations have no document in common.")
    missing = [file for file in (*old.files, *new.files) if file.path in paths ^ old_paths]
    uneven = {group for file in missing for group in _groups_of(file)}
    groups = tuple(group for group in _groups(old, new) if group.group not in uneven)
    return EvaluationDifference(names, new.name, groups, _files(old, new), tuple(file.path for file in missing))


def _groups_of(file: FileFigures) -> tuple[str, ...]:
    """The groups of a document, as summary.GROUPINGS makes them."""
    return (
        "all",
        f"file: {'PDF' if file.path.lower().endswith('.pdf') else 'image'}",
        f"folder: {file.folder}",
        f"language: {file.language}",
        f"kind: {file.kind}",
        f"folder and language: {file.folder}, {file.language}",
    )


def _groups(old: CandidateFigures, new: CandidateFigures) -> Iterator[GroupChange]:
    for grouping, groups in new.groups.items():
        for group, summary in groups.items():
            before = old.groups.get(grouping, {}).get(group)
            if before is not None:
                yield GroupChange(f"{grouping}: {group}", summary.files, _changes(before, summary))
    yield GroupChange("all", new.all.files, _changes(old.all, new.all))


def _changes(before: AccuracySummary, after: AccuracySummary) -> tuple[FigureChange, ...]:
    return tuple(FigureChange(name, of(before), of(after)) for name, of in FIGURES.items())


def _files(old: CandidateFigures, new: CandidateFigures) -> tuple[FileChange, ...]:
    before = {file.path: file for file in old.files}
    found = []
    for file in new.files:
        if file.path in before:
            pairs = zip(_figures_of(before[file.path]).items(), _figures_of(file).values(), strict=True)
            changes = tuple(FigureChange(name, one, other) for (name, one), other in pairs)
            if any(change.gain for change in changes):
                found.append(FileChange(file.path, changes))
    return tuple(sorted(found, key=lambda file: min(change.gain for change in file.changes)))


def _figures_of(file: FileFigures) -> dict[str, float | None]:
    counted = file.lines is not None
    return {
        "CER": None if file.order_free else _percent(file.cer),
        "F1": _percent(file.f1),
        "order": _percent(file.order),
        "columns": _percent(file.column_order),
        "TEDS": _percent(file.teds),
        "lost": float(len(file.lost)) if counted else None,
        "doubled": float(len(file.doubled)) if counted else None,
    }


def difference_tables(found: EvaluationDifference) -> RenderableType:
    """The differences for a terminal: every group, then the documents that changed most."""
    parts: list[RenderableType] = [_table("Groups", found)]
    if found.files:
        table = Table(title="Documents that changed", title_justify="left")
        table.add_column("document", overflow="fold")
        for change in found.files[0].changes:
            table.add_column(change.name, justify="right", no_wrap=True)
        for file in _most_changed(found.files):
            table.add_row(file.path, *map(_coloured, file.changes))
        parts.append(table)
    if found.missing:
        named = ", ".join(found.missing[:5])
        parts.append(
            Text(f"{len(found.missing)} documents are in one run only, groups with them left out: {named} ...")
        )
    parts.append(Text(f"{found.candidate}: {found.names[1]}, in brackets the change from {found.names[0]}."))
    return Group(*parts)


def _most_changed(files: Sequence[FileChange]) -> list[FileChange]:
    """The worst losses, then the best gains."""
    if len(files) <= 2 * MAX_NAMED:
        return list(files)
    return [*files[:MAX_NAMED], *files[-MAX_NAMED:]]


def _table(title: str, found: EvaluationDifference) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("group", overflow="fold")
    table.add_column("files", justify="right")
    shown = [i for i, name in enumerate(FIGURES) if any(str(group.changes[i]) for group in found.groups)]
    for name in (list(FIGURES)[i] for i in shown):
        table.add_column(name, justify="right", no_wrap=True)
    for group in found.groups:
        style = "bold" if group.group == "all" else None
        cells = [_coloured(group.changes[i]) for i in shown]
        table.add_row(group.group, str(group.files), *cells, style=style)
    return table


def _coloured(change: FigureChange) -> Text:
    style = "green" if change.gain > 0 else "red" if change.gain < 0 else ""
    return Text(str(change), style=style)


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _structure(summary: AccuracySummary, figure: str) -> float | None:
    return None if summary.structure is None else _percent(summary.structure.figures()[figure])


def _number(value: float, name: str) -> str:
    return f"{value:.0f}" if name in {"lost", "doubled", "tests"} else f"{value:.1f}"
