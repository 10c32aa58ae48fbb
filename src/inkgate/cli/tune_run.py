"""A search for settings from its beginning to its end, however that comes."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import anyio

from inkgate.bench.load.impossible import LoadImpossible
from inkgate.bench.load.machine import this_machine
from inkgate.bench.load.pages import LoadPage, load_pages
from inkgate.bench.load.service import ServiceNotStarted
from inkgate.bench.tune.demand import NothingAnswered, find_demand, notes
from inkgate.bench.tune.dials import for_time
from inkgate.bench.tune.journal import Journal, JournalMismatch, read_task
from inkgate.bench.tune.prepare import NothingToTune, Prepared, prepared
from inkgate.bench.tune.results import Settings, Targets, TuneReport
from inkgate.bench.tune.search import search
from inkgate.bench.tune.task import Task
from inkgate.bench.tune.trials import ServiceBench, Setup
from inkgate.cli.interrupts import stop_when_told
from inkgate.cli.tune_files import write_found
from inkgate.cli.tune_view import ShownBench, View
from inkgate.concurrency import single_error
from inkgate.errors import install_extra
from inkgate.settings import Settings as Tree

if TYPE_CHECKING:
    from inkgate.bench.tune.accuracy import Accuracy

T = TypeVar("T")
_TRIAL_S = {"vllm": 75.0, "ppocr": 30.0}
"""About what a trial takes, start included, before any was made: how many dials there is time for."""
_PROBES_SHARE = 0.1
_MOST_PROBE_S = 6.0


class CantTune(Exception):
    """There can be no search; `misuse`: because of what was asked for, not of what happened."""

    def __init__(self, message: str, *, misuse: bool = True) -> None:
        super().__init__(message)
        self.misuse = misuse


@dataclass(frozen=True, slots=True)
class Asked:
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

    def like(self, task: Task) -> Asked:
        """The same for what an earlier search was asked for, which goes on."""
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


async def run(asked: Asked, tree: Tree) -> TuneReport:
    """What was found, written to `asked.output`; after SIGINT or SIGTERM what there is by then.

    Raises:
        CantTune: there can be no search.
    """
    stop = anyio.Event()
    with single_error():
        async with anyio.create_task_group() as tasks:
            await tasks.start(stop_when_told, stop)
            try:
                report = await _found(asked, tree, stop)
            except LoadImpossible as error:
                raise CantTune(str(error), misuse=False) from error
            tasks.cancel_scope.cancel()
    write_found(report, asked.output)
    return report


async def _found(asked: Asked, tree: Tree, stop: anyio.Event) -> TuneReport:
    try:
        pages = load_pages(asked.pages)
        accuracy = None if asked.manifest is None else _accuracy(asked.manifest)
        ready = prepared(tree, ground_truth=accuracy is not None, names=asked.parameters)
        resumed = None if asked.resume is None else read_task(asked.resume)
    except (LoadImpossible, NothingToTune, JournalMismatch, ValueError, OSError) as error:
        raise CantTune(str(error)) from error
    if resumed is not None:
        asked = asked.like(resumed)
        ready = replace(ready, parameters=resumed.parameters, current=resumed.current)
    elif not asked.parameters:
        ready = _fewer(ready, asked.budget_s)
    asked.output.mkdir(parents=True, exist_ok=True)
    setup = _setup(asked, tree, ready, pages, accuracy)
    began = anyio.current_time()
    with View(asked.budget_s) as view:
        view.dials(ready.parameters)
        bench = ServiceBench(setup, view.second)
        demand = asked.rate or await _demand(bench, ready, asked, view, stop)
        task = _task(asked, ready, pages, demand, asked.budget_s - (anyio.current_time() - began))
        report = await _searched(task, bench, asked, view, stop)
    return replace(report, notes=(*report.notes, *notes(report.trials, bench.bottlenecks, report.machine.cores)))


async def _searched(task: Task, bench: ServiceBench, asked: Asked, view: View, stop: anyio.Event) -> TuneReport:
    with ExitStack() as opened:
        try:
            # Without a demand there is nothing that could be resumed.
            journal = opened.enter_context(Journal(task, asked.journal if task.demand else None))
        except (JournalMismatch, OSError) as error:
            raise CantTune(str(error)) from error
        view.resumed([row.trial for row in journal.rows])
        return await search(task, ShownBench(bench, view), journal, stop=stop)


async def _demand(bench: ServiceBench, ready: Prepared, asked: Asked, view: View, stop: anyio.Event) -> float:
    """Requests a second for all trials; 0 where it was ended before it was known."""
    view.begin("how much is to be asked for: the current settings and likely faster ones, asked as much as they answer")
    seconds = min(_MOST_PROBE_S, max(2.0, asked.budget_s * _PROBES_SHARE / 2))
    try:
        found = await _unless(stop, lambda: find_demand(bench, ready.parameters, ready.current, seconds))
    except (ServiceNotStarted, NothingAnswered) as error:
        raise CantTune(str(error), misuse=False) from error
    return 0.0 if found is None else found


def _accuracy(manifest: Path) -> Accuracy:
    try:
        from inkgate.bench.accuracy.manifest import load_manifest
        from inkgate.bench.tune.accuracy import Accuracy
    except ModuleNotFoundError as error:
        raise CantTune(f"{error.name} is not installed: {install_extra('bench')}.") from error
    found = Accuracy(load_manifest(manifest))
    if not found.entries:
        raise CantTune(f"{manifest} has no document with a true text.")
    return found


def _fewer(ready: Prepared, budget_s: float) -> Prepared:
    """As many dials as there is time for, the most important ones."""
    kept = for_time(ready.parameters, budget_s, _TRIAL_S[ready.engine])
    return replace(ready, parameters=kept, current={dial.path: ready.current[dial.path] for dial in kept})


def _setup(asked: Asked, tree: Tree, ready: Prepared, pages: tuple[LoadPage, ...], accuracy: Accuracy | None) -> Setup:
    fixed: Settings = {} if asked.engine is None else {"engine.name": asked.engine}
    return Setup(
        pages=pages,
        heaviness=ready.heaviness,
        deadline_s=asked.deadline_s,
        at_once=ready.at_once,
        config=asked.config,
        fixed=fixed,
        accuracy=accuracy,
        start_s=tree.engine.vllm.managed.start_s,
        seed=asked.seed,
    )


def _task(asked: Asked, ready: Prepared, pages: tuple[LoadPage, ...], demand: float, budget_s: float) -> Task:
    return Task(
        engine=ready.engine,
        parameters=ready.parameters,
        current=ready.current,
        targets=asked.targets,
        pages=hashlib.sha256(b"".join(hashlib.sha256(page.content).digest() for page in pages)).hexdigest()[:16],
        demand=demand,
        budget_s=budget_s,
        began=asked.began,
        machine=this_machine(),
        heaviest=asked.heaviest,
        seed=asked.seed,
        rises=asked.rises,
    )


async def _unless(stop: anyio.Event, work: Callable[[], Awaitable[T]]) -> T | None:
    """What `work` gives; None where `stop` was set before."""
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
