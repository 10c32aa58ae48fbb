"""A load test while it runs: a table that is redrawn every second, or plain lines without a terminal."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from inkgate.bench.load.knee import level_text
from inkgate.bench.load.readings import COLUMNS, ServiceReading, server_columns
from inkgate.bench.load.results import SIZES_AN_OCTAVE, Axis, LoadSummary, Second, ServerSide
from inkgate.bench.load.steps import RunProgress

RECENT_S = 10
"""Seconds that percentiles are computed of: those of a single one would jump."""
_KINDS = 5
"""Kinds of errors that are named, the most frequent ones."""
_BAR = 24
_MANY_ERRORS = 0.001


@dataclass(frozen=True, slots=True)
class FinishedRun:
    level: float
    summary: LoadSummary
    server: ServerSide | None


@dataclass(slots=True)
class LiveFigures:
    """A LoadObserver that keeps what is shown. `kinds`: errors of the current run."""

    progress: RunProgress | None = None
    last: Second | None = None
    reading: ServiceReading | None = None
    recent: deque[Second] = field(default_factory=lambda: deque(maxlen=RECENT_S))
    kinds: Counter[str] = field(default_factory=Counter)
    runs: list[FinishedRun] = field(default_factory=list)

    def begins(self, progress: RunProgress) -> None:
        self.progress = progress
        self.last = None
        self.recent.clear()
        self.kinds.clear()

    def second(self, second: Second, reading: ServiceReading | None) -> None:
        self.last = second
        self.reading = reading
        self.recent.append(second)
        self.kinds.update(second.kinds)

    def ended(self, level: float, summary: LoadSummary, server: ServerSide | None) -> None:
        self.runs.append(FinishedRun(level, summary, server))

    def percentiles(self) -> dict[str, str]:
        """p50, p95 and p99 of the recent responses, within 2 %."""
        shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
        sizes = [second.sizes for second in self.recent]
        return {name: ms(percentile(sizes, share)) for name, share in shares.items()}


def percentile(sizes: Sequence[Sequence[tuple[int, int]]], share: float) -> float | None:
    """Of latencies by size, as `Second.sizes` has them, in seconds; None without any."""
    counts: Counter[int] = Counter()
    for each in sizes:
        counts.update(dict(each))
    below = 0
    for size in sorted(counts):
        below += counts[size]
        if below >= share * counts.total():
            return float(2 ** ((size + 0.5) / SIZES_AN_OCTAVE) / 1000)  # the middle of its class
    return None


class LiveView:
    """A LoadObserver that draws on a terminal; use with `with`. The last picture stays."""

    def __init__(self, title: str, axis: Axis, console: Console) -> None:
        self._title = title
        self._axis = axis
        self._figures = LiveFigures()
        self._live = Live(console=console, auto_refresh=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def begins(self, progress: RunProgress) -> None:
        self._figures.begins(progress)
        self._draw()

    def second(self, second: Second, reading: ServiceReading | None) -> None:
        self._figures.second(second, reading)
        self._draw()

    def ended(self, level: float, summary: LoadSummary, server: ServerSide | None) -> None:
        self._figures.ended(level, summary, server)
        self._draw()

    def _draw(self) -> None:
        self._live.update(picture(self._figures, self._title, self._axis), refresh=True)


class PlainLines:
    """A LoadObserver for a log: a line a second, and one where a run begins and ends. Use with `with`."""

    def __init__(self, axis: Axis, console: Console) -> None:
        self._axis = axis
        self._console = console
        self._figures = LiveFigures()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return

    def begins(self, progress: RunProgress) -> None:
        self._figures.begins(progress)
        self._print(_run_title(progress, self._axis))

    def second(self, second: Second, reading: ServiceReading | None) -> None:
        self._figures.second(second, reading)
        parts = [
            f"{second.at:5.0f} s",
            f"answered {second.answered}/s",
            f"in time {second.in_time}/s",
            f"errors {second.errors}",
            f"in flight {second.in_flight}",
            " ".join(f"{name} {value}" for name, value in self._figures.percentiles().items()),
            *(f"{name} {value}" for name, value in server_columns(reading).items()),
        ]
        self._print("  ".join(parts))

    def ended(self, level: float, summary: LoadSummary, server: ServerSide | None) -> None:
        self._figures.ended(level, summary, server)
        p50 = summary.latency.p50_s if summary.latency else None
        self._print(
            f"{level_text(self._axis, level)}: {summary.goodput:.2f} responses/s in time, p50 {ms(p50)}, "
            f"{summary.error_share:.2%} errors" + (f" ({_error_list(summary.errors)})" if summary.errors else "")
        )

    def _print(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)


def picture(figures: LiveFigures, title: str, axis: Axis) -> RenderableType:
    """The current run, and a row for each finished one."""
    parts: list[RenderableType] = [Text(title, style="bold")]
    if figures.progress is not None:
        parts += [_progress_bar(figures.progress, figures.last, axis), _current(figures)]
    if figures.kinds:
        parts.append(Text(f"errors: {_error_list(figures.kinds)}", style="red"))
    if figures.runs:
        parts += [Text(), _finished_runs(figures.runs, axis)]
    return Group(*parts)


def _finished_runs(runs: Sequence[FinishedRun], axis: Axis) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    columns = [server_columns(run.server) for run in runs]
    names = [name for name in COLUMNS if any(name in row for row in columns)]
    for heading in (level_heading(axis), "answered/s", "in time/s", "p50", "p95", "p99", "errors", *names):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    most = max(run.summary.goodput for run in runs) or 1.0
    for run, server in zip(runs, columns, strict=True):
        summary, latency = run.summary, run.summary.latency
        table.add_row(
            f"{run.level:g}",
            f"{summary.answered_per_s:.2f}",
            f"{summary.goodput:.2f}",
            *map(ms, (latency.p50_s, latency.p95_s, latency.p99_s) if latency else (None, None, None)),
            Text(f"{summary.error_share:.2%}", "red" if summary.error_share > _MANY_ERRORS else ""),
            *(server.get(name, "-") for name in names),
            Text("█" * round(12 * summary.goodput / most), style="cyan"),
        )
    return table


def _progress_bar(progress: RunProgress, last: Second | None, axis: Axis) -> RenderableType:
    at = last.at if last else 0.0
    phase = "warming up" if at < progress.warm_s else "measuring" if at < progress.seconds else "waiting for responses"
    bar = ProgressBar(total=progress.seconds, completed=min(at, progress.seconds), width=_BAR)
    row = Table.grid(padding=(0, 2))
    row.add_row(_run_title(progress, axis), bar, Text(f"{at:.0f} of {progress.seconds:.0f} s, {phase}", style="dim"))
    return row


def _current(figures: LiveFigures) -> RenderableType:
    last = figures.last
    if last is None:
        return Text()
    values = {
        "offered/s": f"{last.offered}",
        "answered/s": f"{last.answered}",
        "in time/s": f"{last.in_time}",
        "in flight": f"{last.in_flight}",
        **figures.percentiles(),
        "errors/s": f"{last.errors}",
        **server_columns(figures.reading),
    }
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in values:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_row(*values.values())
    return table


def _error_list(kinds: Mapping[str, int]) -> str:
    """The most frequent ones, such as `12 x 503 service_full, 3 others`."""
    common = Counter(kinds).most_common()
    rest = sum(count for _, count in common[_KINDS:])
    named = [f"{count} x {kind}" for kind, count in common[:_KINDS]]
    return ", ".join([*named, *([f"{rest} others"] if rest else [])])


def _run_title(progress: RunProgress, axis: Axis) -> str:
    level = level_text(axis, progress.level)
    if progress.of == 1:
        return level
    return f"run {progress.number}{f' of {progress.of}' if progress.of else ''}: {level}"


def level_heading(axis: Axis) -> str:
    """The heading of a column of levels."""
    return "clients" if axis is Axis.CONCURRENCY else "offered/s"


def ms(seconds: float | None) -> str:
    """A latency with its unit; `-` for none."""
    if seconds is None:
        return "-"
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
