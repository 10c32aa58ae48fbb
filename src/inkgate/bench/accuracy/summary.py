"""Scores summed up: in all, and by kind of file, folder, language and kind of document. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from inkgate.bench.accuracy.manifest import Entry
from inkgate.bench.accuracy.metrics import CharacterErrors
from inkgate.bench.accuracy.run import FileScore


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures of several files, in [0, 1]; None where no file has the ground truth that is needed.

    Attributes:
        cer: character error rate of all files as if they were one: long ones count more.
        cer_uncapped: the same, with all edits of each file, also where they are more than its characters.
        cer_folded: as `cer`, whatever the case.
        cer_mean, f1, line_recall: means over files, each counting the same.
        files: how many have any ground truth; `texts` and `boxed`: how many have text, and lines with boxes.
        tests_passed, tests: unit tests over all files.
        failed: files of which something was not read.
        pages, seconds: over all files; seconds are those of the single documents, summed.
    """

    files: int
    texts: int
    boxed: int
    cer: float | None
    cer_uncapped: float | None
    cer_folded: float | None
    cer_mean: float | None
    f1: float | None
    line_recall: float | None
    tests_passed: int
    tests: int
    failed: int
    pages: int
    seconds: float

    @property
    def pass_rate(self) -> float | None:
        return self.tests_passed / self.tests if self.tests else None


def summarize(scores: Sequence[FileScore]) -> Summary:
    """The summary of some files."""
    outcomes = [outcome.passed for score in scores for outcome in score.tests if outcome.passed is not None]
    return Summary(
        files=len(scores),
        texts=sum(score.errors is not None for score in scores),
        boxed=sum(score.line_recall is not None for score in scores),
        cer=_rate(_pooled(score.errors for score in scores)),
        cer_uncapped=_uncapped_rate(_pooled(score.errors for score in scores)),
        cer_folded=_rate(_pooled(score.folded_errors for score in scores)),
        cer_mean=_mean(score.errors.rate if score.errors else None for score in scores),
        f1=_mean(score.f1 for score in scores),
        line_recall=_mean(score.line_recall for score in scores),
        tests_passed=sum(outcomes),
        tests=len(outcomes),
        failed=sum(score.error is not None for score in scores),
        pages=sum(score.pages for score in scores),
        seconds=sum(score.seconds for score in scores),
    )


GROUPINGS: dict[str, Callable[[Entry], str]] = {
    "file": lambda entry: "PDF" if entry.file.suffix.lower() == ".pdf" else "image",
    "folder": lambda entry: entry.folder,
    "language": lambda entry: entry.language,
    "kind": lambda entry: entry.kind,
    "folder and language": lambda entry: f"{entry.folder}, {entry.language}",
}


def groups(scores: Sequence[FileScore]) -> dict[str, dict[str, Summary]]:
    """Summaries by grouping and by group, groups in the order of their first file."""
    return {name: _grouped(scores, key) for name, key in GROUPINGS.items()}


def _grouped(scores: Sequence[FileScore], key: Callable[[Entry], str]) -> dict[str, Summary]:
    members: dict[str, list[FileScore]] = {}
    for score in scores:
        members.setdefault(key(score.entry), []).append(score)
    return {group: summarize(files) for group, files in members.items()}


def _pooled(errors: Iterable[CharacterErrors | None]) -> CharacterErrors | None:
    known = [each for each in errors if each is not None]
    if not known:
        return None
    return CharacterErrors(
        sum(each.edits for each in known),
        sum(each.characters for each in known),
        sum(each.excess for each in known),
    )


def _rate(errors: CharacterErrors | None) -> float | None:
    return None if errors is None else errors.rate


def _uncapped_rate(errors: CharacterErrors | None) -> float | None:
    return None if errors is None else errors.uncapped_rate


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
