"""Progress of a search on standard error: a live table at a terminal, else a line for each trial."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from inkgate.bench.load.results import Second
from inkgate.bench.tune.results import Parameter, Purpose, Step, Trial, TrialOutcome, settings_text
from inkgate.bench.tune.search import Bench

_SHOWN = 20
"""Of the trials, the last ones."""
_STYLE = {TrialOutcome.MEASURED: "", TrialOutcome.STOPPED: "dim"}
_BAD = "red"


class TuneProgress:
    """Shows the search. `budget_s`: for everything."""

    def __init__(self, budget_s: float, console: Console | None = None) -> None:
        self._console = Console(stderr=True) if console is None else console
        self._live = Live(console=self._console, auto_refresh=False)
        self._budget_s = budget_s
        self._began = time.monotonic()
        self._parameters: Sequence[Parameter] = ()
        self._trials: list[Trial] = []
        self._now = ""
        self._load = ""

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._now = self._load = ""
        self._draw()
        if self._console.is_terminal:
            self._live.stop()

    def parameters(self, parameters: Sequence[Parameter]) -> None:
        """What is searched."""
        self._parameters = parameters
        for each in parameters:
            self.note(f"{each.path}: {', '.join(map(_word, each.values))}: {each.why}")

    def resumed(self, trials: Sequence[Trial]) -> None:
        """The trials of the search that is resumed."""
        self._trials = list(trials)
        if trials:
            self.note(f"{len(trials)} trials are in the journal already.")

    def note(self, text: str) -> None:
        """A line that stays."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def begin(self, what: str) -> None:
        """Something that takes a while, shown until the next."""
        self._now, self._load = what, ""
        if not self._console.is_terminal:
            self.note(what)
        self._draw()

    def second(self, second: Second) -> None:
        """One second of the running load."""
        self._load = (
            f"{second.offered} sent, {second.answered} answered, {second.in_time} in time, {second.in_flight} in flight"
        )
        self._draw()

    def trial(self, trial: Trial) -> None:
        """A trial has ended."""
        self._trials.append(trial)
        if not self._console.is_terminal:
            self.note(f"  {_line(trial)}")
        self._now = self._load = ""
        self._draw()

    def _draw(self) -> None:
        if self._live.is_started:
            self._live.update(self._shown(), refresh=True)

    def _shown(self) -> Group:
        table = Table(
            "", *(each.path.rpartition(".")[2] for each in self._parameters), "in time/s", "p95", "memory", ""
        )
        best = max((_rate(trial) for trial in self._trials if trial.purpose is not Purpose.HEAVIEST), default=0.0)
        for number, trial in list(enumerate(self._trials, 1))[-_SHOWN:]:
            values = (_word(trial.settings.get(each.path, "")) for each in self._parameters)
            style = "bold" if _rate(trial) >= best > 0 else _STYLE.get(trial.outcome, _BAD)
            table.add_row(f"{number} {trial.purpose}", *values, *_figures(trial), style=style)
        left_s = max(0.0, self._budget_s - (time.monotonic() - self._began))
        status = Text(f"{self._now}  {self._load}".strip())
        hint = Text(
            f"{left_s / 60:.0f} min left. Ctrl-C ends the search with a report of the trials so far.", style="dim"
        )
        return Group(table, status, hint)


class ShownBench:
    """A Bench that shows its trials."""

    def __init__(self, bench: Bench, view: TuneProgress) -> None:
        self._bench = bench
        self._view = view
        self._demand: float | None = None

    async def measure(self, step: Step, done: Callable[[Trial], None]) -> None:
        """As Bench has it."""
        if step.demand != self._demand:
            why = "" if self._demand is None else " from now on, because so many were answered"
            self._view.note(f"Each trial offers {step.demand:.2f} requests a second{why}.")
            self._demand = step.demand
        if step.side_by_side:
            self._view.note("The next trials run side by side: both services are up, and loaded in turn.")
        waiting = iter(step.turns)

        def begin() -> None:
            if (settings := next(waiting, None)) is not None:
                self._view.begin(f"{step.purpose}: {settings_text(settings)}, {step.seconds:.0f} s of load")

        def show(trial: Trial) -> None:
            self._view.trial(trial)
            done(trial)
            if trial.outcome is TrialOutcome.MEASURED:
                begin()

        begin()
        await self._bench.measure(step, show)


def _word(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value) or "none"


def _rate(trial: Trial) -> float:
    """Answers in time a second; 0 if the service did not stay up."""
    return trial.summary.goodput if trial.summary is not None and trial.outcome is TrialOutcome.MEASURED else 0.0


def _figures(trial: Trial) -> tuple[str, str, str, str]:
    """Answers in time a second, the 95th percentile of latency, memory, and a remark."""
    summary, server = trial.summary, trial.server
    said = "" if trial.outcome is TrialOutcome.MEASURED else f"{trial.outcome}: {trial.why}".removesuffix(": ")
    right = "" if trial.accuracy is None else f"{trial.accuracy:.1%} correct "
    return (
        "" if summary is None else f"{summary.goodput:.2f}",
        "" if summary is None or summary.latency is None else f"{summary.latency.p95_s:.2f} s",
        "" if server is None or server.memory_mb is None else f"{server.memory_mb:.0f} MB",
        f"{right}{said}".strip()[:100],
    )


def _line(trial: Trial) -> str:
    rate, p95, memory, said = _figures(trial)
    figures = [f"{rate} in time/s"] if rate else []
    figures += [f"p95 {p95}"] if p95 else []
    return ", ".join([*figures, *(part for part in (memory, said) if part)])
