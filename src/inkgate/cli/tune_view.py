"""A search for settings as it goes: a live table at a terminal, a line for each trial elsewhere. On standard error."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from inkgate.bench.load.results import Second
from inkgate.bench.tune.results import Outcome, Parameter, Purpose, Settings, Trial
from inkgate.bench.tune.task import Bench

_SHOWN = 20
"""Of the trials, the last ones."""
_STYLE = {Outcome.MEASURED: "", Outcome.STOPPED: "dim"}
_BAD = "red"


class View:
    """What is shown. `budget_s`: for everything."""

    def __init__(self, budget_s: float, console: Console | None = None) -> None:
        self._console = Console(stderr=True) if console is None else console
        self._live = Live(console=self._console, auto_refresh=False)
        self._budget_s = budget_s
        self._began = time.monotonic()
        self._dials: Sequence[Parameter] = ()
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

    def dials(self, dials: Sequence[Parameter]) -> None:
        """What is searched."""
        self._dials = dials
        for dial in dials:
            self._say(f"{dial.path}: {_span(dial)}: {dial.why}")

    def resumed(self, trials: Sequence[Trial]) -> None:
        """Trials of an earlier run, which goes on."""
        self._trials = list(trials)
        if trials:
            self._say(f"{len(trials)} trials were made before.")

    def note(self, text: str) -> None:
        """Something that stays."""
        self._say(text)

    def begin(self, what: str) -> None:
        """Something that takes a while: shown until the next."""
        self._now, self._load = what, ""
        if not self._console.is_terminal:
            self._say(what)
        self._draw()

    def second(self, second: Second) -> None:
        """One second of the load of what began last."""
        self._load = (
            f"{second.offered} asked, {second.answered} answered, {second.in_time} in time, {second.in_flight} on "
            "their way"
        )
        self._draw()

    def trial(self, trial: Trial) -> None:
        """A trial has ended."""
        self._trials.append(trial)
        if not self._console.is_terminal:
            self._say(f"  {_told(trial)}")
        self._now = self._load = ""
        self._draw()

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _draw(self) -> None:
        if self._live.is_started:
            self._live.update(self._shown(), refresh=True)

    def _shown(self) -> Group:
        table = Table("", *(dial.path.rpartition(".")[2] for dial in self._dials), "in time/s", "p95", "memory", "")
        best = max((_rate(trial) for trial in self._trials if trial.purpose is not Purpose.HEAVIEST), default=0.0)
        for number, trial in list(enumerate(self._trials, 1))[-_SHOWN:]:
            values = (_word(trial.settings.get(dial.path, "")) for dial in self._dials)
            style = "bold" if _rate(trial) >= best > 0 else _STYLE.get(trial.outcome, _BAD)
            table.add_row(f"{number} {trial.purpose}", *values, *_figures(trial), style=style)
        left_s = max(0.0, self._budget_s - (time.monotonic() - self._began))
        status = Text(f"{self._now}  {self._load}".strip())
        hint = Text(f"{left_s / 60:.0f} min left. Ctrl-C ends the search with what there is.", style="dim")
        return Group(table, status, hint)


class ShownBench:
    """A Bench whose trials are shown."""

    def __init__(self, bench: Bench, view: View) -> None:
        self._bench = bench
        self._view = view
        self._demand: float | None = None

    async def try_(self, settings: Settings, purpose: Purpose, seconds: float, demand: float) -> Trial:
        """As Bench has it."""
        if demand != self._demand:
            more = "" if self._demand is None else " from now on, for so much was answered"
            self._view.note(f"{demand:.2f} requests a second are offered in each trial{more}.")
            self._demand = demand
        self._view.begin(f"{purpose}: {_settings(settings)}, {seconds:.0f} s of load")
        trial = await self._bench.try_(settings, purpose, seconds, demand)
        self._view.trial(trial)
        return trial


def _settings(settings: Settings) -> str:
    return ", ".join(f"{path.rpartition('.')[2]} {_word(value)}" for path, value in settings.items())


def _word(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value) or "none"


def _span(dial: Parameter) -> str:
    return ", ".join(_word(value) for value in dial.values)


def _rate(trial: Trial) -> float:
    """Answers in time a second; 0 where it did not stay up."""
    return trial.summary.goodput if trial.summary is not None and trial.outcome is Outcome.MEASURED else 0.0


def _figures(trial: Trial) -> tuple[str, str, str, str]:
    """Answers in time a second, the 95th percentile of latency, memory, and what else there is to say."""
    summary, server = trial.summary, trial.server
    said = "" if trial.outcome is Outcome.MEASURED else f"{trial.outcome}: {trial.why}".removesuffix(": ")
    right = "" if trial.accuracy is None else f"{trial.accuracy:.1%} right "
    return (
        "" if summary is None else f"{summary.goodput:.2f}",
        "" if summary is None or summary.latency is None else f"{summary.latency.p95_s:.2f} s",
        "" if server is None or server.memory_mb is None else f"{server.memory_mb:.0f} MB",
        f"{right}{said}".strip()[:100],
    )


def _told(trial: Trial) -> str:
    rate, p95, memory, said = _figures(trial)
    figures = [f"{rate} in time/s"] if rate else []
    figures += [f"p95 {p95}"] if p95 else []
    return ", ".join([*figures, *(part for part in (memory, said) if part)])
