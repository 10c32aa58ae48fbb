"""A load test while it runs: a table that is redrawn every second, or without a terminal a line a minute."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from inkgate_bench.load.results import SIZES_AN_OCTAVE, Axis, LoadPoint, Second, ServerSide, error_share, mean_goodput
from inkgate_bench.load.steps import RunProgress
from inkgate_bench.load.tables import level_table, level_text, ms, server_columns

RECENT_S = 10
"""Seconds that percentiles are computed of: those of a single one would jump."""
_KINDS = 5
"""Kinds of errors that are named, the most frequent ones."""
_BAR = 24
_MANY_ERRORS = 0.001
_LINE_EVERY_S = 60.0
"""Without a terminal, as `inkgate batch` has it."""


@dataclass
class LiveFigures:
    """A LoadObserver that keeps what is shown. `kinds`: errors of the current run; `runs`: the finished ones."""

    progress: RunProgress | None = None
    last: Second | None = None
    reading: ServerSide | None = None
    recent: deque[Second] = field(default_factory=lambda: deque(maxlen=RECENT_S))
    kinds: Counter[str] = field(default_factory=Counter)
    runs: list[LoadPoint] = field(default_factory=list)

    def begins(self, progress: RunProgress) -> None:
        self.progress = progress
        self.last = None
        self.recent.clear()
        self.kinds.clear()

    def second(self, second: Second, reading: ServerSide | None) -> None:
        self.last = second
        self.reading = reading and replace(reading, restarts=None)  # it counts from the service's start
        self.recent.append(second)
        self.kinds.update(second.kinds)

    def ended(self, run: LoadPoint) -> None:
        self.runs.append(run)

    def percentiles(self) -> dict[str, str]:
        """p50, p95 and p99 of the recent responses, within 2 %."""
        shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
        sizes = [second.sizes for second in self.recent]
        return {name: ms(percentile(sizes, share)) for name, share in shares.items()}


def percentile(sizes: Sequence[Sequence[tuple[int, int]]], share: float) -> float | None:
    """Returns a percentile of latencies by size, as `Second.sizes` has them, in seconds; None without any."""
    counts: Counter[int] = Counter()
    for each in sizes:
        counts.update(dict(each))
    below = 0
    for size in sorted(counts):
        below += counts[size]
        if below >= share * counts.total():
            return float(2 ** ((size + 0.5) / SIZES_AN_OCTAVE) / 1000)  # the middle of its class
    return None


class LiveView(LiveFigures):
    """A LoadObserver that draws on a terminal; use with `with`. The last picture stays."""

    def __init__(self, title: str, axis: Axis, console: Console) -> None:
        super().__init__()
        self._title = title
        self._axis = axis
        self._live = Live(console=console, auto_refresh=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def begins(self, progress: RunProgress) -> None:
        super().begins(progress)
        self._draw()

    def second(self, second: Second, reading: ServerSide | None) -> None:
        super().second(second, reading)
        self._draw()

    def ended(self, run: LoadPoint) -> None:
        super().ended(run)
        self._draw()

    def _draw(self) -> None:
        self._live.update(picture(self, self._title, self._axis), refresh=True)


class PlainLines(LiveFigures):
    """A LoadObserver for a log: a line where a run begins and ends, and one a minute between."""

    def __init__(self, axis: Axis, console: Console) -> None:
        super().__init__()
        self._axis = axis
        self._console = console
        self._next_line = 0.0

    def begins(self, progress: RunProgress) -> None:
        super().begins(progress)
        self._next_line = _LINE_EVERY_S
        self._print(_run_title(progress, self._axis))

    def second(self, second: Second, reading: ServerSide | None) -> None:
        super().second(second, reading)
        if second.at < self._next_line:
            return
        self._next_line = second.at + _LINE_EVERY_S
        parts = [
            f"{second.at:5.0f} s",
            f"answered {second.answered}/s",
            f"in time {second.in_time}/s",
            f"errors {second.errors}",
            f"in flight {second.in_flight}",
            " ".join(f"{name} {value}" for name, value in self.percentiles().items()),
            *(f"{name} {value}" for name, value in server_columns(self.reading).items()),
        ]
        self._print("  ".join(parts))

    def ended(self, run: LoadPoint) -> None:
        super().ended(run)
        for summary in run.runs:
            p50 = summary.latency.p50_s if summary.latency else None
            self._print(
                f"{level_text(self._axis, run.level)}: {summary.goodput:.2f} responses/s in time, p50 {ms(p50)}, "
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


def _finished_runs(runs: Sequence[LoadPoint], axis: Axis) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    names, rows = level_table(runs, axis)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("")
    errors = names.index("errors")
    goodputs = [mean_goodput(run.runs) for run in runs]
    most = max(goodputs) or 1.0
    for run, row, goodput in zip(runs, rows, goodputs, strict=True):
        colour = "red" if error_share(run.runs) > _MANY_ERRORS else ""
        bar = Text("█" * round(12 * goodput / most), style="cyan")
        table.add_row(*row[:errors], Text(row[errors], colour), *row[errors + 1 :], bar)
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
