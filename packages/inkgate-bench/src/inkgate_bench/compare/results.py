"""The results of a comparison of engines: plain values, and the same as a table, Markdown, CSV and JSON.

Times in seconds, memory in MB of a million bytes; a share is 0 to 1; None: unknown.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from pydantic import TypeAdapter
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from inkgate_bench.load.results import (
    Latency,
    LoadSummary,
    MachineInfo,
    OwnLimits,
    compare_goodput,
    count_errors,
    error_share,
)
from inkgate_bench.statistics import StatisticsError, Verdict

FORMAT = "inkgate.compare-engines/1"
_KINDS_OF_ERRORS = 4


@dataclass(frozen=True, slots=True)
class EngineAccuracy:
    """The accuracy on the documents whose text is known; docs/guides/accuracy.md explains the figures.

    Attributes:
        documents: that were compared; unread: of them those that failed, or a page of which failed.
        cer: character error rate; f1: of words; line_recall: share of lines that were found.
        tests_passed, tests: unit tests.
    """

    documents: int
    unread: int
    cer: float | None
    f1: float | None
    line_recall: float | None
    tests_passed: int = 0
    tests: int = 0


@dataclass(frozen=True, slots=True)
class EngineResult:
    """One contender.

    Attributes:
        name: from the command line; model, engine: as the service reports them.
        started_here: whether it was started for the comparison; start_s: from then until it was ready.
        runs: one a round; own: of the load generator, in its worst run.
        memory_mb: peak resident memory of all its processes; gpu_memory_mb: peak memory of all GPUs beyond what was
            used before the start.
        why_not: why it was not measured to the end; empty where it was.
        notes: what a reader should know.
    """

    name: str
    model: str = ""
    engine: str = ""
    started_here: bool = False
    start_s: float | None = None
    runs: tuple[LoadSummary, ...] = ()
    own: OwnLimits | None = None
    memory_mb: float | None = None
    gpu_memory_mb: float | None = None
    accuracy: EngineAccuracy | None = None
    why_not: str = ""
    notes: tuple[str, ...] = ()

    @property
    def answered_per_s(self) -> float | None:
        """Responses per second over all rounds."""
        seconds = sum(run.seconds for run in self.runs)
        return sum(run.answered for run in self.runs) / seconds if seconds else None

    @property
    def goodput(self) -> float | None:
        """Successful responses within the deadline per second, over all rounds."""
        seconds = sum(run.seconds for run in self.runs)
        return sum(run.in_time for run in self.runs) / seconds if seconds else None

    @property
    def error_share(self) -> float | None:
        """The share of the requests of all rounds without a successful response."""
        return error_share(self.runs) if self.runs else None

    @property
    def errors(self) -> Counter[str]:
        """How often by kind, over all rounds."""
        return count_errors(self.runs)

    @property
    def p50_s(self) -> float | None:
        """The median over rounds of a round's median."""
        return _median([latency.p50_s for latency in self._latencies])

    @property
    def p95_s(self) -> float | None:
        """The median over rounds of a round's 95th percentile."""
        return _median([latency.p95_s for latency in self._latencies])

    @property
    def _latencies(self) -> list[Latency]:
        return [run.latency for run in self.runs if run.latency is not None]


def _median(values: list[float]) -> float | None:
    return median(values) if values else None


@dataclass(frozen=True, slots=True)
class EngineComparison:
    """All contenders, in the order of the command line.

    Attributes:
        began: in UTC, ISO 8601.
        pages: number of files; megabytes: of all of them.
        clients: of the closed loop; seconds: of a run; rounds: runs of each contender.
        partial: it was interrupted.
    """

    began: str
    pages: int
    megabytes: float
    clients: int
    seconds: float
    rounds: int
    deadline_s: float
    machine: MachineInfo
    engines: tuple[EngineResult, ...]
    partial: bool = False
    format: str = field(default=FORMAT)


_COMPARISON: TypeAdapter[EngineComparison] = TypeAdapter(EngineComparison)
Value = float | int | None


@dataclass(frozen=True, slots=True)
class _Column:
    """`name`: in CSV, with its unit; `title`: for people, with the value as `text`."""

    name: str
    title: str
    value: Callable[[EngineResult], Value]
    text: Callable[[float], str]


def _of(read: Callable[[EngineAccuracy], Value]) -> Callable[[EngineResult], Value]:
    return lambda engine: None if engine.accuracy is None else read(engine.accuracy)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _seconds(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms" if seconds < 10 else f"{seconds:.1f} s"


def _rate(rate: float) -> str:
    return f"{rate:.1f}" if rate >= 1 else f"{rate:.2f}"


def _whole(value: float) -> str:
    return f"{value:,.0f}"


COLUMNS: tuple[_Column, ...] = (
    _Column("answered_per_s", "answered/s", lambda engine: engine.answered_per_s, _rate),
    _Column("in_time_per_s", "in time/s", lambda engine: engine.goodput, _rate),
    _Column("p50_s", "p50", lambda engine: engine.p50_s, _seconds),
    _Column("p95_s", "p95", lambda engine: engine.p95_s, _seconds),
    _Column("error_share", "errors", lambda engine: engine.error_share, _percent),
    _Column("memory_mb", "memory, MB", lambda engine: engine.memory_mb, _whole),
    _Column("gpu_memory_mb", "GPU, MB", lambda engine: engine.gpu_memory_mb, _whole),
    _Column("start_s", "start", lambda engine: engine.start_s, lambda seconds: f"{seconds:.0f} s"),
    _Column("cer", "CER", _of(lambda accuracy: accuracy.cer), _percent),
    _Column("f1", "F1", _of(lambda accuracy: accuracy.f1), _percent),
    _Column("line_recall", "lines", _of(lambda accuracy: accuracy.line_recall), _percent),
    _Column("tests_passed", "tests", _of(lambda accuracy: accuracy.tests_passed if accuracy.tests else None), _whole),
    _Column("unread", "unread", _of(lambda accuracy: accuracy.unread), _whole),
)


def as_json(comparison: EngineComparison) -> bytes:
    """All of it."""
    return _COMPARISON.dump_json(comparison, indent=1)


def as_csv(comparison: EngineComparison) -> str:
    """A row for each contender with every column, unrounded; empty where unknown."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["engine", "model", "computed_by", *(column.name for column in COLUMNS), "why_not"])
    for engine in comparison.engines:
        figures = [column.value(engine) for column in COLUMNS]
        writer.writerow([engine.name, engine.model, engine.engine, *figures, engine.why_not])
    return out.getvalue()


def as_markdown(comparison: EngineComparison) -> str:
    """The columns that are known of at least one contender, how it was measured, and remarks."""
    columns = _known(comparison.engines)
    rows = [["engine", "reads", *(column.title for column in columns)]]
    rows.append(["---"] * len(rows[0]))
    rows += [[engine.name, _reads(engine), *_cells(engine, columns)] for engine in comparison.engines]
    table = "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows)
    notes = "".join(f"- {note}\n" for note in remarks(comparison))
    return f"{table}\n\n{conditions(comparison)}\n" + (f"\n{notes}" if notes else "")


def as_table(comparison: EngineComparison) -> RenderableType:
    """The same for a terminal."""
    columns = _known(comparison.engines)
    table = Table()
    table.add_column("engine", overflow="fold")
    table.add_column("reads", overflow="fold")
    for column in columns:
        table.add_column(column.title, justify="right", no_wrap=True)
    for engine in comparison.engines:
        table.add_row(Text(engine.name), Text(_reads(engine)), *_cells(engine, columns))  # names may look like markup
    return Group(table, Text(conditions(comparison)), *(Text(f"- {remark}") for remark in remarks(comparison)))


def conditions(comparison: EngineComparison) -> str:
    """How it was measured."""
    machine = comparison.machine
    rounds = f" in each of {comparison.rounds} rounds" if comparison.rounds > 1 else ""
    gpus = f", {', '.join(machine.gpus)}" if machine.gpus else ""
    return (
        f"{comparison.pages} files ({comparison.megabytes:.1f} MB), {comparison.clients} clients in a closed loop, "
        f"{comparison.seconds:g} s{rounds}; latency target {comparison.deadline_s:g} s. {machine.cores} cores of "
        f"{machine.processor}{gpus}. {comparison.began}"
        + (" Interrupted: the results are partial." if comparison.partial else "")
    )


def remarks(comparison: EngineComparison) -> tuple[str, ...]:
    """Whether the fastest engine really is, and per engine: failures, notes, a generator that was the limit, errors."""
    sentences = _speed_remarks(comparison)
    for engine in comparison.engines:
        sentences += [f"{engine.name}: {text}" for text in (engine.why_not, *engine.notes) if text]
        if engine.own is not None and engine.own.bottleneck:
            sentences.append(f"{engine.name}: the load generator was the bottleneck: {engine.own.why}.")
        kinds = engine.errors.most_common(_KINDS_OF_ERRORS)
        if kinds:
            sentences.append(f"{engine.name}: errors: {', '.join(f'{kind} ({times})' for kind, times in kinds)}.")
    return tuple(sentences)


def _speed_remarks(comparison: EngineComparison) -> list[str]:
    """How much slower each engine is than the fastest, with its 95 % interval, by Welch's test on their rounds."""
    measured = [engine for engine in comparison.engines if engine.runs]
    if len(measured) < 2:
        return []
    fastest = max(measured, key=lambda engine: engine.goodput or 0.0)
    return [_slower(engine, fastest) for engine in measured if engine is not fastest]


def _slower(engine: EngineResult, fastest: EngineResult) -> str:
    subject = f"{engine.name} against {fastest.name}, responses/s in time"
    try:
        ratio = compare_goodput(fastest.runs, engine.runs)
    except (StatisticsError, ModuleNotFoundError) as error:
        return f"{subject}: {error}."
    interval = f"{ratio.ratio:.2f}x (95 % interval {ratio.low:.2f} to {ratio.high:.2f})"
    verdict = {
        Verdict.DIFFERENT: "",
        Verdict.EQUAL: ": equally fast",
        Verdict.UNCLEAR: ": not distinguishable; more rounds may tell",
    }[ratio.verdict]
    return f"{subject}: {interval}{verdict}."


def _known(engines: Sequence[EngineResult]) -> tuple[_Column, ...]:
    return tuple(column for column in COLUMNS if any(column.value(engine) is not None for engine in engines))


def _cells(engine: EngineResult, columns: Sequence[_Column]) -> list[str]:
    values = [(column, column.value(engine)) for column in columns]
    return ["" if value is None else column.text(value) for column, value in values]


def _reads(engine: EngineResult) -> str:
    return ", ".join(part for part in (engine.model, engine.engine) if part)


FORMS: dict[str, Callable[[EngineComparison], bytes]] = {
    ".json": as_json,
    ".csv": lambda comparison: as_csv(comparison).encode(),
    ".md": lambda comparison: as_markdown(comparison).encode(),
}
"""Forms of the report by suffix."""
