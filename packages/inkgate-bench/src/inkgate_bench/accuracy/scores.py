"""Scores: every candidate reads every document, then its text is compared with the ground truth and summed up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

from inkgate.errors import InkgateError, InputRejected, error_class
from inkgate.fields.document_types import DocumentTypes
from inkgate_bench.accuracy.bench_tests import PageTestResult, run_tests
from inkgate_bench.accuracy.calibration import JudgedPart
from inkgate_bench.accuracy.candidates import Candidate, OwnReader, Transcript
from inkgate_bench.accuracy.diagram_similarity import DiagramSimilarity, diagram_similarity
from inkgate_bench.accuracy.fields import JudgedField, judge_fields, schema_for
from inkgate_bench.accuracy.line_accounts import LineTotals
from inkgate_bench.accuracy.manifest import Entry, ManifestInvalid, load_fields, load_lines, load_tests, load_text
from inkgate_bench.accuracy.metrics import CharacterErrors, Token, character_errors, f1, line_recall, token_of
from inkgate_bench.accuracy.page_structure import StructureCounts
from inkgate_bench.accuracy.reading_order import OrderScore
from inkgate_bench.accuracy.structure import (
    account_pages,
    judge_parts,
    page_orders,
    score_columns,
    score_diagram,
    score_pages,
    score_tables,
)
from inkgate_bench.accuracy.structure_truth import load_structure
from inkgate_bench.accuracy.table_similarity import TableSimilarity, table_similarity
from inkgate_client.concurrency import Threads
from inkgate_client.many import read_many

Progress = Callable[[str, Entry], None]
"""Called with a candidate's name and each document that it has finished."""


@dataclass(frozen=True, slots=True)
class FileScore:
    """The scores of one candidate on one document. A figure without its ground truth is None.

    Attributes:
        errors, folded_errors: character errors with and without case; all characters if the document was not read.
        f1, line_recall: in [0, 1], see metrics.py; 0 if the document was not read.
        tests: results of its unit tests; all failed if the document was not read.
        seconds: wall time from its bytes to the last page.
        order: Kendall's tau over its lines; None for order-free documents, whose `column_order` may be known instead.
        diagram: F1 of nodes and edges; 0 if the document was not read, None for candidates without Markdown.
        tables: TEDS; 0 if the document was not read, None for candidates without Markdown.
        lines: recognised lines in its Markdown; None without Markdown.
        pages_judged, blocks_judged: with their confidences; of order-free documents none.
        structure: of its Markdown, or of its text for candidates without; nothing found if the document was not read.
        fields: of inkgate; all missing if the document was not read.
        error: why the document, or a page of it, was not read.
    """

    entry: Entry
    errors: CharacterErrors | None
    folded_errors: CharacterErrors | None
    f1: float | None
    token: Token | None
    line_recall: float | None
    tests: tuple[PageTestResult, ...]
    pages: int
    seconds: float
    sources: tuple[str, ...] = ()
    error: str | None = None
    order: OrderScore | None = None
    column_order: float | None = None
    tables: TableSimilarity | None = None
    lines: LineTotals | None = None
    pages_judged: tuple[JudgedPart, ...] = ()
    blocks_judged: tuple[JudgedPart, ...] = ()
    fields: tuple[JudgedField, ...] = ()
    diagram: DiagramSimilarity | None = None
    structure: StructureCounts | None = None


@dataclass(frozen=True, slots=True)
class CandidateScores:
    """All scores of one candidate. `seconds`: wall time of all documents together, after the models were loaded."""

    name: str
    version: str
    files: tuple[FileScore, ...]
    seconds: float
    parallel: int

    @property
    def pages_per_s(self) -> float:
        """Pages that were read per second, from file to text: a rate of whole documents, not of a model."""
        return sum(score.pages for score in self.files) / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class UnscoredDocument:
    """The result of a document without ground truth, which is only read for failures.

    `as_expected`: it was read; or it was refused with an error code, and the manifest says that it can't be opened.
    `lines`: recognised lines in its Markdown; None without Markdown.
    """

    entry: Entry
    pages: int
    error: str | None
    as_expected: bool
    lines: LineTotals | None = None


@dataclass(frozen=True, slots=True)
class _Attempt:
    transcript: Transcript | None
    seconds: float
    error: str | None
    refused: bool = False


def check_truths(entries: Sequence[Entry]) -> None:
    """Load every ground truth once, so that an invalid one is reported before anything is read, not after an hour.

    Raises:
        ManifestInvalid: one is invalid.
    """
    for entry in entries:
        if entry.text:
            load_text(entry.text)
        if entry.lines:
            load_lines(entry.lines)
        if entry.tests:
            run_tests(load_tests(entry.tests), "")
        if entry.fields:
            load_fields(entry.fields)
        if entry.structure:
            load_structure(entry.structure)
        if entry.tables and table_similarity(load_text(entry.tables), "") is None:
            raise ManifestInvalid(f"{entry.tables.name} has no table.")
        if entry.diagram and diagram_similarity(load_text(entry.diagram), "") is None:
            raise ManifestInvalid(f"{entry.diagram.name} is no flowchart in Mermaid.")


async def score(candidate: Candidate, entries: Sequence[Entry], progress: Progress) -> CandidateScores:
    """The candidate's scores on the entries that have ground truth, in their order.

    Texts are compared after the last document was read, so that comparing doesn't count as the candidate's time.

    Raises:
        ManifestInvalid: a ground truth is invalid.
    """
    scored = [entry for entry in entries if entry.scored]
    started = perf_counter()
    attempts = await _attempts(candidate, scored, progress)
    seconds = perf_counter() - started
    threads = Threads("compare", 1)
    own = isinstance(candidate, OwnReader)
    files = [await threads.run(_compare, entry, attempt, own) for entry, attempt in zip(scored, attempts, strict=True)]
    return CandidateScores(candidate.name, candidate.version, tuple(files), seconds, candidate.parallel)


async def transcribe(
    candidate: Candidate, entries: Sequence[Entry], progress: Progress
) -> tuple[Transcript | None, ...]:
    """What the candidate reads of each entry; None if it was not read."""
    return tuple(attempt.transcript for attempt in await _attempts(candidate, entries, progress))


async def probe(candidate: Candidate, entries: Sequence[Entry], progress: Progress) -> tuple[UnscoredDocument, ...]:
    """Read the entries without ground truth, in their order, for failures."""
    unscored = [entry for entry in entries if not entry.scored]
    attempts = await _attempts(candidate, unscored, progress)
    threads = Threads("compare", 1)
    pairs = zip(unscored, attempts, strict=True)
    return tuple([await threads.run(_probe, entry, attempt) for entry, attempt in pairs])


async def _attempts(candidate: Candidate, entries: Sequence[Entry], progress: Progress) -> list[_Attempt]:
    async def attempt(entry: Entry) -> _Attempt:
        made = await _attempt(candidate, entry)
        progress(candidate.name, entry)
        return made

    async with read_many(attempt, entries, candidate.parallel) as outcomes:
        return [outcome.result async for outcome in outcomes]


async def _attempt(candidate: Candidate, entry: Entry) -> _Attempt:
    started = perf_counter()
    try:
        transcript = await candidate.read(entry)
    except InkgateError as error:
        refused = isinstance(error, InputRejected)
        return _Attempt(None, perf_counter() - started, error.code, refused)
    except Exception as error:  # noqa: BLE001  # the border of one document: a tool that fails on it read nothing
        return _Attempt(None, perf_counter() - started, f"{type(error).__name__}: {error}")
    seconds = perf_counter() - started
    failures = transcript.failures
    refused = bool(failures) and all(issubclass(error_class(failure.code), InputRejected) for failure in failures)
    return _Attempt(transcript, seconds, "; ".join(map(str, failures)) or None, refused)


def _compare(entry: Entry, attempt: _Attempt, finds_fields: bool) -> FileScore:
    truth = load_text(entry.text) if entry.text else None
    read = attempt.transcript
    text = read.text if read else ""
    pages_judged, blocks_judged = judge_parts(truth, read) if truth and read and not entry.order_free else ((), ())
    return FileScore(
        entry=entry,
        errors=None if truth is None else character_errors(truth, text),
        folded_errors=None if truth is None else character_errors(truth, text, fold_case=True),
        f1=None if truth is None else f1(truth, text) if read else 0.0,
        token=None if truth is None else token_of(truth),
        line_recall=_line_recall(entry, read),
        tests=_tests(entry, read),
        pages=read.pages if read else 0,
        seconds=attempt.seconds,
        sources=read.sources if read else (),
        error=attempt.error,
        order=None if truth is None or entry.order_free else page_orders(truth, read),
        column_order=score_columns(read) if entry.order_free and read else None,
        tables=None if entry.tables is None else score_tables(load_text(entry.tables), read),
        lines=None if read is None else account_pages(read),
        pages_judged=pages_judged,
        blocks_judged=blocks_judged,
        diagram=None if entry.diagram is None else score_diagram(load_text(entry.diagram), read),
        structure=None if entry.structure is None else score_pages(load_structure(entry.structure), read),
        fields=read.fields if read else _missing_fields(entry) if finds_fields else (),
    )


def _missing_fields(entry: Entry) -> tuple[JudgedField, ...]:
    if entry.fields is None:
        return ()
    truth = load_fields(entry.fields)
    return judge_fields(None, truth, schema_for(truth, DocumentTypes.load(), entry.document_type))


def _line_recall(entry: Entry, read: Transcript | None) -> float | None:
    if entry.lines is None:
        return None
    lines = load_lines(entry.lines)
    return line_recall(lines, read.lines) if read else 0.0


def _tests(entry: Entry, read: Transcript | None) -> tuple[PageTestResult, ...]:
    if entry.tests is None:
        return ()
    tests = load_tests(entry.tests)
    if read is None:  # else every `absent` would pass
        return tuple(
            PageTestResult(str(test.get("id", "")), str(test["type"]), passed=False, reason="not read")
            for test in tests
        )
    return run_tests(tests, read.text if read.markdown is None else read.markdown)


def _probe(entry: Entry, attempt: _Attempt) -> UnscoredDocument:
    whole = attempt.transcript is not None and attempt.error is None
    return UnscoredDocument(
        entry=entry,
        pages=attempt.transcript.pages if attempt.transcript else 0,
        error=attempt.error,
        as_expected=whole if entry.opens else whole or attempt.refused,
        lines=None if attempt.transcript is None else account_pages(attempt.transcript),
    )
