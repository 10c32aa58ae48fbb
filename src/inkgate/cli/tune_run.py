"""A search for settings from the options of the command to its report."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import anyio
import psutil

from inkgate.bench.load import LoadImpossible
from inkgate.bench.load.pages import LoadPage, load_pages
from inkgate.bench.load.report import this_machine
from inkgate.bench.load.service import ServiceNotStarted
from inkgate.bench.tune.demand import NothingAnswered, find_demand, notes
from inkgate.bench.tune.journal import Journal, JournalMismatch, read_task
from inkgate.bench.tune.parameters import for_time
from inkgate.bench.tune.prepare import NothingToTune, SearchScope, search_scope
from inkgate.bench.tune.results import Settings, Targets, TuneReport
from inkgate.bench.tune.search import search
from inkgate.bench.tune.service_bench import BenchSetup, ServiceBench
from inkgate.bench.tune.task import Task
from inkgate.cli.interrupts import stop_on_signal
from inkgate.cli.tune_files import write_results
from inkgate.cli.tune_view import ShownBench, TuneProgress
from inkgate.concurrency import single_error
from inkgate.errors import install_extra
from inkgate.settings import Settings as Tree

if TYPE_CHECKING:
    from inkgate.bench.tune.accuracy import AccuracyCheck

T = TypeVar("T")
_TRIAL_S = {"vllm": 75.0, "ppocr": 30.0}
"""About what a trial takes, start included: it decides how many parameters there is time for."""
_PROBES_SHARE = 0.1
_MOST_PROBE_S = 6.0


class TuneFailed(Exception):
    """The search can't be made. `misuse`: the options are wrong; else the service failed."""

    def __init__(self, message: str, *, misuse: bool = True) -> None:
        super().__init__(message)
        self.misuse = misuse


@dataclass(frozen=True, slots=True)
class TuneOptions:
    """The options of the command."""

    pages: Path
    deadline_s: float
    max_error: float
    budget_s: float
    objective: str
    price: float | None
    parameters: tuple[str, ...]
    rate: float | None
    rises: bool
    manifest: Path | None
    least_accuracy: float | None
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

    def like(self, task: Task) -> TuneOptions:
        """These options with the targets, demand and seed of the earlier search that is resumed."""
        targets = task.targets
        return replace(
            self,
            deadline_s=targets.deadline_s,
            max_error=targets.max_error,
            objective=targets.objective,
            price=targets.price_per_hour,
            least_accuracy=targets.least_accuracy,
            rate=task.demand,
            rises=task.rises,
            seed=task.seed,
            began=task.began,
        )

    @property
    def targets(self) -> Targets:
        return Targets(self.deadline_s, self.max_error, self.objective, self.price, self.least_accuracy)


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
    write_results(report, options.output)
    return report


async def _search(options: TuneOptions, tree: Tree, stop: anyio.Event) -> TuneReport:
    try:
        pages = load_pages(options.pages)
        accuracy = None if options.manifest is None else _accuracy(options.manifest)
        ready = search_scope(tree, ground_truth=accuracy is not None, names=options.parameters)
        resumed = None if options.resume is None else read_task(options.resume)
    except (LoadImpossible, NothingToTune, JournalMismatch, ValueError, OSError) as error:
        raise TuneFailed(str(error)) from error
    if resumed is not None:
        options = options.like(resumed)
        ready = replace(ready, parameters=resumed.parameters, current=resumed.current)
    elif not options.parameters:
        ready = _fewer(ready, options.budget_s)
    options.output.mkdir(parents=True, exist_ok=True)
    setup = _setup(options, tree, ready, pages, accuracy)
    began = anyio.current_time()
    with TuneProgress(options.budget_s) as view:
        view.parameters(ready.parameters)
        bench = ServiceBench(setup, view.second)
        demand = options.rate or await _demand(bench, ready, options, view, stop)
        task = _task(options, ready, pages, demand, options.budget_s - (anyio.current_time() - began))
        report = await _with_journal(task, bench, options, view, stop)
    return replace(report, notes=(*report.notes, *notes(report.trials, bench.bottlenecks, report.machine.cores)))


async def _with_journal(
    task: Task, bench: ServiceBench, options: TuneOptions, view: TuneProgress, stop: anyio.Event
) -> TuneReport:
    with ExitStack() as opened:
        try:
            # A search that was stopped before its demand was known can't be resumed.
            journal = opened.enter_context(Journal(task, options.journal if task.demand else None))
        except (JournalMismatch, OSError) as error:
            raise TuneFailed(str(error)) from error
        view.resumed([row.trial for row in journal.rows])
        return await search(task, ShownBench(bench, view), journal, stop=stop)


async def _demand(
    bench: ServiceBench, ready: SearchScope, options: TuneOptions, view: TuneProgress, stop: anyio.Event
) -> float:
    """Requests a second for the first trials; 0 if the search was stopped before it was known."""
    view.begin("Finding the demand: loading the current settings, and likely faster ones")
    seconds = min(_MOST_PROBE_S, max(2.0, options.budget_s * _PROBES_SHARE / 2))
    try:
        found = await _unless(stop, lambda: find_demand(bench, ready.parameters, ready.current, seconds))
    except (ServiceNotStarted, NothingAnswered) as error:
        raise TuneFailed(str(error), misuse=False) from error
    return 0.0 if found is None else found


def _accuracy(manifest: Path) -> AccuracyCheck:
    try:
        from inkgate.bench.accuracy.manifest import load_manifest
        from inkgate.bench.tune.accuracy import AccuracyCheck
    except ModuleNotFoundError as error:
        raise TuneFailed(f"{error.name} is not installed: {install_extra('bench')}.") from error
    found = AccuracyCheck(load_manifest(manifest))
    if not found.entries:
        raise TuneFailed(f"{manifest} has no document with a true text.")
    return found


def _fewer(ready: SearchScope, budget_s: float) -> SearchScope:
    """As many parameters as there is time for, the most important ones."""
    kept = for_time(ready.parameters, budget_s, _TRIAL_S[ready.engine])
    return replace(ready, parameters=kept, current={each.path: ready.current[each.path] for each in kept})


def _setup(
    options: TuneOptions, tree: Tree, ready: SearchScope, pages: tuple[LoadPage, ...], accuracy: AccuracyCheck | None
) -> BenchSetup:
    fixed: Settings = {} if options.engine is None else {"engine.name": options.engine}
    return BenchSetup(
        pages=pages,
        upload_limits=ready.upload_limits,
        deadline_s=options.deadline_s,
        heaviest_clients=ready.heaviest_clients,
        config=options.config,
        fixed=fixed,
        accuracy=accuracy,
        start_s=tree.engine.vllm.managed.start_s,
        seed=options.seed,
    )


def _task(
    options: TuneOptions, ready: SearchScope, pages: tuple[LoadPage, ...], demand: float, budget_s: float
) -> Task:
    return Task(
        engine=ready.engine,
        parameters=ready.parameters,
        current=ready.current,
        targets=options.targets,
        pages=hashlib.sha256(b"".join(hashlib.sha256(page.content).digest() for page in pages)).hexdigest()[:16],
        demand=demand,
        budget_s=budget_s,
        began=options.began,
        machine=this_machine(),
        heaviest=options.heaviest,
        seed=options.seed,
        rises=options.rises,
        free_memory_mb=psutil.virtual_memory().available / 1e6,
    )


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
