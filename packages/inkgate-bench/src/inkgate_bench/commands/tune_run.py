"""A search for settings from the options of the command to its report."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import anyio
import psutil
from pydantic import TypeAdapter
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from inkgate.cli.interrupts import stop_on_signal
from inkgate.settings import Settings as Tree
from inkgate_bench.accuracy.manifest import load_manifest
from inkgate_bench.load import LoadImpossible
from inkgate_bench.load.pages import LoadPage, load_pages
from inkgate_bench.load.report import this_machine
from inkgate_bench.load.results import Second
from inkgate_bench.load.service import ServiceNotStarted
from inkgate_bench.reports.files import write_report
from inkgate_bench.tune.demand import NothingAnswered, find_demand
from inkgate_bench.tune.measures import AccuracyCheck
from inkgate_bench.tune.parameters import NothingToTune, SearchScope, for_time, search_scope
from inkgate_bench.tune.results import (
    Parameter,
    Purpose,
    SearchTask,
    Step,
    Targets,
    Trial,
    TrialOutcome,
    TuneReport,
    settings_text,
)
from inkgate_bench.tune.search import Bench, Journal, JournalMismatch, search
from inkgate_bench.tune.service_bench import BenchSetup, ServiceBench
from inkgate_client.concurrency import single_error
from inkgate_client.whole_files import write_whole

_SHOWN = 20
"""Number of the latest trials that are shown."""
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


T = TypeVar("T")
_REPORT = TypeAdapter(TuneReport)
_TRIAL_S = {"vllm": 75.0, "ppocr": 30.0}
"""The approximate time of a trial, start included: it decides how many parameters there is time for."""
_PROBES_SHARE = 0.1
_MAX_PROBE_S = 6.0


class TuneFailed(Exception):
    """The search can't be made. `misuse`: the options are wrong; else the service failed."""

    def __init__(self, message: str, *, misuse: bool = True) -> None:
        super().__init__(message)
        self.misuse = misuse


@dataclass(frozen=True, slots=True)
class TuneOptions:
    """The options of the command. `budget_s`: for everything; what a resumed search took before counts."""

    pages: Path
    targets: Targets
    budget_s: float
    parameters: tuple[str, ...]
    rate: float | None
    manifest: Path | None
    heaviest: bool
    engine: str | None
    output: Path
    resume: Path | None
    seed: int
    config: Path | None
    began: str

    @property
    def journal(self) -> Path:
        return self.resume or self.output / "trials.jsonl"


async def run(options: TuneOptions, tree: Tree) -> TuneReport:
    """The report, written to `options.output`. SIGINT and SIGTERM end the search with the trials so far.

    Raises:
        TuneFailed: the search can't be made.
    """
    stop = anyio.Event()
    with single_error():
        async with anyio.create_task_group() as tasks:
            await tasks.start(stop_on_signal, stop)
            try:
                report = await _search(options, tree, stop)
            except LoadImpossible as error:
                raise TuneFailed(str(error), misuse=False) from error
            tasks.cancel_scope.cancel()
    write_whole(options.output / "report.json", _REPORT.dump_json(report, indent=1) + b"\n", parents=True)
    if report.chosen is not None:
        write_whole(options.output / "inkgate.toml", report.fragment.encode(), parents=True)
    write_report(report, options.output / "report.html")  # last: drawing takes seconds
    return report


async def _search(options: TuneOptions, tree: Tree, stop: anyio.Event) -> TuneReport:
    try:
        pages = load_pages(options.pages)
        accuracy = None if options.manifest is None else _accuracy(options.manifest)
        scope = search_scope(tree, ground_truth=accuracy is not None, names=options.parameters)
        journal = None if options.resume is None else _resumed(options, scope.engine, _hash(pages))
        options.output.mkdir(parents=True, exist_ok=True)
        if journal is None and not options.parameters:
            scope = _fewer(scope, options.budget_s)
    except (LoadImpossible, NothingToTune, JournalMismatch, ValueError, OSError) as error:
        raise TuneFailed(str(error)) from error
    setup = BenchSetup(
        pages=pages,
        limits=scope.limits,
        deadline_s=(options.targets if journal is None else journal.task.targets).deadline_s,
        config=options.config,
        fixed={} if options.engine is None else {"engine.name": options.engine},
        accuracy=accuracy,
        start_s=tree.engine.vllm.managed.start_s,
        seed=options.seed if journal is None else journal.task.seed,
    )
    with TuneProgress(options.budget_s) as view:
        view.parameters(scope.parameters if journal is None else journal.task.parameters)
        bench = ServiceBench(setup, view.second)
        if journal is None:
            journal = await _begun(options, scope, bench, view, stop)
        view.resumed(journal.trials)
        return await search(ShownBench(bench, view), journal, stop=stop)


def _resumed(options: TuneOptions, engine: str, pages: str) -> Journal:
    """The search to continue, with its own targets, parameters, demand and seed, within the new limit of time."""
    journal = Journal.resume(options.journal)
    task = journal.task
    if (task.engine, task.pages) != (engine, pages):
        raise JournalMismatch(
            f"{options.journal} is of another search: engine {task.engine} and pages {task.pages} then, {engine} and "
            f"{pages} now. Give the same options again, or start over."
        )
    free_mb = psutil.virtual_memory().available / 1e6
    journal.task = replace(
        task, budget_s=options.budget_s, heaviest=options.heaviest, machine=this_machine(), free_memory_mb=free_mb
    )
    return journal


async def _begun(
    options: TuneOptions, scope: SearchScope, bench: ServiceBench, view: TuneProgress, stop: anyio.Event
) -> Journal:
    """A new search; its demand is measured unless --rate was given."""
    began = anyio.current_time()
    demand = options.rate or await _demand(bench, scope, options, view, stop)
    task = SearchTask(
        engine=scope.engine,
        parameters=scope.parameters,
        current=scope.current,
        targets=options.targets,
        pages=_hash(bench.setup.pages),
        demand=demand,
        budget_s=options.budget_s - (anyio.current_time() - began),
        began=options.began,
        machine=this_machine(),
        heaviest=options.heaviest,
        seed=options.seed,
        rises=options.rate is None,
        free_memory_mb=psutil.virtual_memory().available / 1e6,
    )
    if not demand:  # it was stopped before; it can't be resumed
        return Journal(task)
    try:
        return Journal.begin(task, options.journal)
    except (JournalMismatch, OSError) as error:
        raise TuneFailed(str(error)) from error


async def _demand(
    bench: ServiceBench, scope: SearchScope, options: TuneOptions, view: TuneProgress, stop: anyio.Event
) -> float:
    """Requests a second for the first trials; 0 if the search was stopped before it was known."""
    view.begin("Finding the demand: loading the current settings, and likely faster ones")
    seconds = min(_MAX_PROBE_S, max(2.0, options.budget_s * _PROBES_SHARE / 2))
    try:
        found = await _unless(stop, lambda: find_demand(bench, scope.parameters, scope.current, seconds))
    except (ServiceNotStarted, NothingAnswered) as error:
        raise TuneFailed(str(error), misuse=False) from error
    return found or 0.0


def _accuracy(manifest: Path) -> AccuracyCheck:
    check = AccuracyCheck(load_manifest(manifest))
    if not check.entries:
        raise TuneFailed(f"{manifest} has no document with a true text.")
    return check


def _fewer(scope: SearchScope, budget_s: float) -> SearchScope:
    """Returns as many parameters as there is time for, the most important ones."""
    kept = for_time(scope.parameters, budget_s, _TRIAL_S[scope.engine])
    return replace(scope, parameters=kept, current={each.path: scope.current[each.path] for each in kept})


def _hash(pages: Sequence[LoadPage]) -> str:
    """Returns a hash of the pages' contents."""
    return hashlib.sha256(b"".join(hashlib.sha256(page.content).digest() for page in pages)).hexdigest()[:16]


async def _unless(stop: anyio.Event, work: Callable[[], Awaitable[T]]) -> T | None:
    """The result of `work`; None if `stop` was set before."""
    found: T | None = None

    async def cancel() -> None:
        await stop.wait()
        tasks.cancel_scope.cancel()

    with single_error():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cancel)
            found = await work()
            tasks.cancel_scope.cancel()
    return found
