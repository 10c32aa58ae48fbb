"""Scores of documents summed up, by group and over all. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from inkgate_bench.accuracy.manifest import Entry
from inkgate_bench.accuracy.metrics import CharacterErrors
from inkgate_bench.accuracy.page_structure import StructureCounts, add_counts
from inkgate_bench.accuracy.scores import FileScore


@dataclass(frozen=True, slots=True)
class AccuracySummary:
    """Figures of several files, in [0, 1]; None where no file has the ground truth for it.

    Attributes:
        cer: character error rate of all files as one text, without order-free ones: long ones count more.
        cer_every: the same with order-free files, whose truth has another order than the page.
        cer_uncapped: the same with all edits of a file, even if they are more than its characters.
        cer_folded, cer_folded_every: the same, ignoring case.
        cer_mean, f1, line_recall: means over files with equal weights; `f1` with order-free files.
        order: mean of Kendall's tau over files; `order_matched`: share of the true lines that it was made of.
        column_order: the same over order-free pages in two columns, with the columns' order.
        teds, teds_structure: means over files with tables in the truth; `tabled`: their number.
        nodes, edges: means of F1 over files with a diagram in the truth; `drawn`: their number.
        structure: sums over files whose structure is known.
        lines, lost, doubled: recognised lines, and those that are not in the Markdown, or more than once.
        files: those with any ground truth; `texts` and `boxed`: of them, those with text and with boxes of lines.
        tests_passed, tests: unit tests over all files; `tests_by_type`: passed and all, by type.
        failed: files that were not read, or not completely.
        pages, seconds: sums over all files.
    """

    files: int
    texts: int
    boxed: int
    cer: float | None
    cer_every: float | None
    cer_uncapped: float | None
    cer_folded: float | None
    cer_folded_every: float | None
    cer_mean: float | None
    f1: float | None
    line_recall: float | None
    tests_passed: int
    tests: int
    failed: int
    pages: int
    seconds: float
    order_free: int = 0
    order: float | None = None
    order_matched: float | None = None
    column_order: float | None = None
    tabled: int = 0
    teds: float | None = None
    teds_structure: float | None = None
    lines: int = 0
    lost: int = 0
    doubled: int = 0
    drawn: int = 0
    nodes: float | None = None
    edges: float | None = None
    tests_by_type: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    structure: StructureCounts | None = None

    @property
    def pass_rate(self) -> float | None:
        return self.tests_passed / self.tests if self.tests else None


def summarize(scores: Sequence[FileScore]) -> AccuracySummary:
    """The summary of some files."""
    ordered = [score for score in scores if not score.entry.order_free]
    errors = _pooled(score.errors for score in ordered)
    every = _pooled(score.errors for score in scores)
    folded_errors = _pooled(score.folded_errors for score in ordered)
    folded_every = _pooled(score.folded_errors for score in scores)
    tests = _tests_by_type(scores)
    orders = [score.order for score in scores if score.order is not None]
    lines = sum(order.lines for order in orders)
    tables = [score.tables for score in scores if score.tables is not None]
    diagrams = [score.diagram for score in scores if score.diagram is not None]
    accounts = [score.lines for score in scores if score.lines is not None]
    return AccuracySummary(
        files=len(scores),
        texts=sum(score.errors is not None for score in scores),
        boxed=sum(score.line_recall is not None for score in scores),
        cer=None if errors is None else errors.rate,
        cer_every=None if every is None else every.rate,
        cer_uncapped=None if errors is None else errors.uncapped_rate,
        cer_folded=None if folded_errors is None else folded_errors.rate,
        cer_folded_every=None if folded_every is None else folded_every.rate,
        cer_mean=_mean(score.errors.rate if score.errors else None for score in ordered),
        f1=_mean(score.f1 for score in scores),
        line_recall=_mean(score.line_recall for score in scores),
        tests_passed=sum(passed for passed, _ in tests.values()),
        tests=sum(count for _, count in tests.values()),
        failed=sum(score.error is not None for score in scores),
        pages=sum(score.pages for score in scores),
        seconds=sum(score.seconds for score in scores),
        order_free=len(scores) - len(ordered),
        order=_mean(order.tau for order in orders),
        order_matched=sum(order.matched for order in orders) / lines if lines else None,
        column_order=_mean(score.column_order for score in scores),
        tabled=len(tables),
        teds=_mean(table.teds for table in tables),
        teds_structure=_mean(table.structure for table in tables),
        drawn=len(diagrams),
        nodes=_mean(diagram.nodes for diagram in diagrams),
        edges=_mean(diagram.edges for diagram in diagrams),
        lines=sum(account.lines for account in accounts),
        lost=sum(len(account.lost) for account in accounts),
        doubled=sum(len(account.doubled) for account in accounts),
        tests_by_type=tests,
        structure=add_counts(score.structure for score in scores),
    )


def _tests_by_type(scores: Sequence[FileScore]) -> dict[str, tuple[int, int]]:
    """Passed and all tests, by type in alphabetical order; tests of unknown types don't count."""
    outcomes = [outcome for score in scores for outcome in score.tests if outcome.passed is not None]
    passed = Counter(outcome.type for outcome in outcomes if outcome.passed)
    return {kind: (passed[kind], count) for kind, count in sorted(Counter(each.type for each in outcomes).items())}


GROUPINGS: dict[str, Callable[[Entry], str]] = {
    "file": lambda entry: "PDF" if entry.file.suffix.lower() == ".pdf" else "image",
    "folder": lambda entry: entry.folder,
    "language": lambda entry: entry.language,
    "kind": lambda entry: entry.kind,
    "folder and language": lambda entry: f"{entry.folder}, {entry.language}",
}


def groups(scores: Sequence[FileScore]) -> dict[str, dict[str, AccuracySummary]]:
    """Summaries by grouping and by group, groups in the order of their first file."""
    return {name: _grouped(scores, key) for name, key in GROUPINGS.items()}


def _grouped(scores: Sequence[FileScore], key: Callable[[Entry], str]) -> dict[str, AccuracySummary]:
    members: dict[str, list[FileScore]] = {}
    for score in scores:
        members.setdefault(key(score.entry), []).append(score)
    return {group: summarize(files) for group, files in members.items()}


def _pooled(errors: Iterable[CharacterErrors | None]) -> CharacterErrors | None:
    known = [each for each in errors if each is not None]
    if not known:
        return None
    sums = (
        sum(each.edits for each in known),
        sum(each.characters for each in known),
        sum(each.excess for each in known),
    )
    return CharacterErrors(*sums)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
