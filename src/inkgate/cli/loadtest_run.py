"""The load test of `inkgate loadtest` from the first request to its report."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import anyio

from inkgate.cli.interrupts import stop_when_told

if TYPE_CHECKING:
    from inkgate.bench.load.bench import Bench
    from inkgate.bench.load.climb import Steps
    from inkgate.bench.load.live import LiveView, PlainLines
    from inkgate.bench.load.plan import Load, Plan
    from inkgate.bench.load.results import Axis, LoadReport
    from inkgate.bench.load.steps import Stepped


@dataclass(frozen=True, slots=True)
class Course:
    """What the options say of the load test beside its load.

    Attributes:
        steps: None for one load alone.
        metrics_url: of a vLLM behind the service; empty where that is the service, or there is none.
        asked: the options as they are reported.
        processes: that send.
    """

    steps: Steps | None
    max_error: float
    metrics_url: str
    asked: Mapping[str, str]
    processes: int = 1


def steps_of(levels: str | None, rates: str | None, repeats: int, plan: Plan) -> tuple[Steps | None, Plan]:
    """What `--steps` and `--rate-steps` ask for, and the plan along the axis that they mean.

    Raises:
        LoadImpossible: they contradict each other or the plan, or are not understood.
    """
    from dataclasses import replace

    from inkgate.bench.load.climb import Steps, parse_steps
    from inkgate.bench.load.impossible import LoadImpossible
    from inkgate.bench.load.plan import Arrivals
    from inkgate.bench.load.results import Axis

    if levels is None and rates is None:
        if repeats > 1:
            raise LoadImpossible("--repeats is for --steps and --rate-steps.")
        return None, plan
    if levels is not None and rates is not None:
        raise LoadImpossible("--steps and --rate-steps are different loads: give one of them.")
    if plan.arrivals in {Arrivals.RAMP, Arrivals.REPLAY}:
        raise LoadImpossible("A ramp or recorded traffic can't be taken in steps.")
    axis = Axis.CONCURRENCY if levels is not None else Axis.RATE
    found = parse_steps(levels or rates or "", axis)
    first = plan.level if plan.axis is axis else 1.0
    return Steps(found, repeats, first), replace(plan, axis=axis, level=found[0] if found else first)


async def measure(load: Load, course: Course) -> LoadReport:
    """Puts the load on the service and shows it meanwhile, until it is over or interrupted."""
    from inkgate.bench.load.bench import Bench
    from inkgate.bench.load.processes import run_in_processes
    from inkgate.bench.load.report import Circumstances, assemble
    from inkgate.bench.load.run import run
    from inkgate.bench.load.scrape import Scraper, sources

    began = datetime.now(UTC)
    stop = anyio.Event()
    with ExitStack() as opened:
        found = opened.enter_context(sources(load.target.origin, load.target.key, course.metrics_url))
        view = _view(f"{load.target.url} ({load.target.protocol})", load.plan.axis)
        opened.enter_context(view)
        send = run if course.processes == 1 else partial(run_in_processes, processes=course.processes)
        bench = Bench(send, Scraper(found), view, stop, course.max_error)
        async with anyio.create_task_group() as tasks:
            await tasks.start(stop_when_told, stop)
            stepped = await _all(load, course, bench)
            tasks.cancel_scope.cancel()
    return assemble(load, stepped, Circumstances(began, course.max_error, course.asked))


async def _all(load: Load, course: Course, bench: Bench) -> Stepped:
    from inkgate.bench.load.steps import run_once, run_steps

    return await (run_once(load, bench) if course.steps is None else run_steps(load, course.steps, bench))


def _view(title: str, axis: Axis) -> LiveView | PlainLines:
    from rich.console import Console

    from inkgate.bench.load.live import LiveView, PlainLines

    console = Console(stderr=True)
    # what is printed in the end goes to standard output: a file there still leaves a terminal to watch at
    return LiveView(title, axis, console) if console.is_terminal else PlainLines(axis, console)
