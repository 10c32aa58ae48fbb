"""A load test as it goes on: a picture that is drawn anew every second, or plain lines where there is no terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from inkgate.bench.load.bench import Progress
from inkgate.bench.load.readings import Reading
from inkgate.bench.load.results import Axis, Second, ServerSide, Summary
from inkgate.bench.load.seen import Ended, Seen

_KINDS = 5
"""Of errors, the most frequent ones."""
_BAR = 24
_MANY_ERRORS = 0.001


class LiveView:
    """A Watcher at a terminal; with `with`. What it showed last stays there."""

    def __init__(self, title: str, axis: Axis, console: Console) -> None:
        self._title = title
        self._axis = axis
        self._seen = Seen()
        self._live = Live(console=console, auto_refresh=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def begins(self, progress: Progress) -> None:
        self._seen.begins(progress)
        self._draw()

    def second(self, second: Second, reading: Reading | None) -> None:
        self._seen.second(second, reading)
        self._draw()

    def ended(self, level: float, summary: Summary, server: ServerSide | None) -> None:
        self._seen.ended(level, summary, server)
        self._draw()

    def _draw(self) -> None:
        self._live.update(picture(self._seen, self._title, self._axis), refresh=True)


class PlainLines:
    """A Watcher for a log: a line a second, and one when a run begins and ends. With `with`, as LiveView."""

    def __init__(self, axis: Axis, console: Console) -> None:
        self._axis = axis
        self._console = console
        self._seen = Seen()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return

    def begins(self, progress: Progress) -> None:
        self._seen.begins(progress)
        self._say(_where(progress, self._axis))

    def second(self, second: Second, reading: Reading | None) -> None:
        self._seen.second(second, reading)
        p50, p95, p99 = self._seen.percentiles(0.5, 0.95, 0.99)
        parts = [
            f"{second.at:5.0f} s",
            f"answered {second.answered}/s",
            f"in time {second.in_time}/s",
            f"errors {second.errors}",
            f"in flight {second.in_flight}",
            f"p50 {ms(p50)} p95 {ms(p95)} p99 {ms(p99)}",
            *(f"{name} {value}" for name, value in _said(reading)),
        ]
        self._say("  ".join(parts))

    def ended(self, level: float, summary: Summary, server: ServerSide | None) -> None:
        self._seen.ended(level, summary, server)
        p50 = summary.latency.p50_s if summary.latency else None
        self._say(
            f"{unit(self._axis, level)}: {summary.goodput:.2f} answers in time a second, p50 {ms(p50)}, "
            f"{summary.error_share:.2%} not answered" + (f" ({_errors(summary.errors)})" if summary.errors else "")
        )

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)


def picture(seen: Seen, title: str, axis: Axis) -> RenderableType:
    """All that there is to see: what goes on now, and the curve so far."""
    parts: list[RenderableType] = [Text(title, style="bold")]
    if seen.progress is not None:
        parts += [_along(seen, axis), _now(seen)]
    if seen.kinds:
        parts.append(Text(f"errors: {_errors(seen.kinds)}", style="red"))
    if seen.runs:
        parts += [Text(), curve(seen.runs, axis)]
    return Group(*parts)


def curve(runs: list[Ended], axis: Axis) -> Table:
    """A row for each run that is over, with the columns of what the service said."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    name = "at once" if axis is Axis.CONCURRENCY else "offered/s"
    server = _columns(runs)
    for heading in (name, "answered/s", "in time/s", "p50", "p95", "p99", "errors", *server):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    most = max((run.summary.goodput for run in runs), default=0.0) or 1.0
    for run in runs:
        summary, latency = run.summary, run.summary.latency
        errors = Text(f"{summary.error_share:.2%}", "red" if summary.error_share > _MANY_ERRORS else "")
        times = (latency.p50_s, latency.p95_s, latency.p99_s) if latency else (None, None, None)
        said = dict(_said(run.server))
        figures = (f"{run.level:g}", f"{summary.answered_per_s:.2f}", f"{summary.goodput:.2f}", *map(ms, times))
        table.add_row(
            *figures,
            errors,
            *(said.get(column, "-") for column in server),
            Text("█" * round(12 * summary.goodput / most), style="cyan"),
        )
    return table


def _columns(runs: list[Ended]) -> list[str]:
    """What the service said of any run, in a fixed order."""
    named = {name for run in runs for name, _ in _said(run.server)}
    return [name for name in _NAMES if name in named]


_NAMES = ("KV", "running", "waiting", "preempted", "restarts", "GPU", "GPU memory", "memory")


def _said(said: Reading | ServerSide | None) -> Iterator[tuple[str, str]]:
    """Names and values of what is known."""
    if said is None:
        return
    restarts = said.restarts if isinstance(said, ServerSide) else None
    shares = {"KV": said.kv_share, "GPU": said.gpu_share, "GPU memory": said.gpu_memory_share}
    counts = {"running": said.running, "waiting": said.waiting, "preempted": said.preemptions, "restarts": restarts}
    memory = None if said.memory_mb is None else f"{said.memory_mb / 1000:.1f} GB"
    known = {name: f"{share:.0%}" for name, share in shares.items() if share is not None}
    known |= {name: f"{count:.4g}" for name, count in counts.items() if count is not None}
    known |= {} if memory is None else {"memory": memory}
    yield from ((name, known[name]) for name in _NAMES if name in known)


def _along(seen: Seen, axis: Axis) -> RenderableType:
    """Which run it is, and how far it has come."""
    row = Table.grid(padding=(0, 2))
    progress = seen.progress
    if progress is None:
        return row
    at = seen.last.at if seen.last else 0.0
    phase = "warming up" if at < progress.warm_s else "measuring" if at < progress.seconds else "waiting for the last"
    bar = ProgressBar(total=progress.seconds, completed=min(at, progress.seconds), width=_BAR)
    row.add_row(_where(progress, axis), bar, Text(f"{at:.0f} of {progress.seconds:.0f} s, {phase}", style="dim"))
    return row


def _now(seen: Seen) -> RenderableType:
    last = seen.last
    if last is None:
        return Text()
    p50, p95, p99 = seen.percentiles(0.5, 0.95, 0.99)
    values = [
        ("offered/s", f"{last.offered}"),
        ("answered/s", f"{last.answered}"),
        ("in time/s", f"{last.in_time}"),
        ("in flight", f"{last.in_flight}"),
        *(("p50", ms(p50)), ("p95", ms(p95)), ("p99", ms(p99))),
        ("errors/s", f"{last.errors}"),
        *_said(seen.reading),
    ]
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name, _ in values:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_row(*(value for _, value in values))
    return table


def _errors(kinds: Mapping[str, int]) -> str:
    """The most frequent ones, such as `12 x 503 service_full, 3 others`; empty where there are none."""
    common = Counter(kinds).most_common()
    rest = sum(many for _, many in common[_KINDS:])
    told = [f"{many} x {kind}" for kind, many in common[:_KINDS]]
    return ", ".join([*told, *([f"{rest} others"] if rest else [])])


def _where(progress: Progress, axis: Axis) -> str:
    of = f" of {progress.of}" if progress.of else ""
    if progress.of == 1:
        return unit(axis, progress.level)
    return f"run {progress.number}{of}: {unit(axis, progress.level)}"


def unit(axis: Axis, level: float) -> str:
    """Such as `16 at once` or `2.5 requests/s`."""
    return f"{level:g} at once" if axis is Axis.CONCURRENCY else f"{level:g} requests/s"


def ms(seconds: float | None) -> str:
    """A latency with its unit; `-` for none."""
    if seconds is None:
        return "-"
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
