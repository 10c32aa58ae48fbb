"""A comparison as a table for a terminal, Markdown or CSV, and as JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from inkgate.bench.compare.results import EngineAccuracy, EngineComparison, EngineResult
from inkgate.bench.load.repeats import compare_goodput
from inkgate.bench.statistics import StatisticsError, Verdict

_COMPARISON: TypeAdapter[EngineComparison] = TypeAdapter(EngineComparison)
_KINDS_OF_ERRORS = 4

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


def from_json(content: bytes) -> EngineComparison:
    """What `as_json` wrote. Raises pydantic.ValidationError."""
    return _COMPARISON.validate_json(content)


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
"""By suffix."""
