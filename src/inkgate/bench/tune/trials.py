"""Trials on real services: `inkgate serve` with the settings to be tried, started, loaded, watched and stopped."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from inkgate.bench.load.pages import LoadPage
from inkgate.bench.load.plan import Load, Plan
from inkgate.bench.load.readings import restarts_of
from inkgate.bench.load.results import Axis, Second
from inkgate.bench.load.run import Measured, run
from inkgate.bench.load.service import Serve, ServiceNotStarted, ServiceProcess, last_words, serving
from inkgate.bench.load.target import ProtocolName, Target
from inkgate.bench.tune.dials import MAX_NUM_SEQS, companions
from inkgate.bench.tune.heaviest import Heaviness, heaviest_pages
from inkgate.bench.tune.others import Others
from inkgate.bench.tune.probe import DemandProbe, probe_of
from inkgate.bench.tune.results import Outcome, Purpose, Settings, Trial
from inkgate.bench.tune.score import outcome
from inkgate.bench.tune.watch import Watched, Watcher
from inkgate.client import InkgateClient, ServiceError
from inkgate.concurrency import Threads, single_error

if TYPE_CHECKING:  # it needs inkgate[bench]
    from inkgate.bench.tune.accuracy import Accuracy

_PATIENCE = 1.5
"""A client waits this many times the deadline: later answers are of no use, and the trial would end later."""
_PATIENCE_S = 60.0
"""For the heaviest images: what counts is whether it stays up."""
_WARM_SHARE = 0.25
_LEAST_WARM_S = 5.0
"""An embedded engine answers half as much in its first 5 s: what it meets for the first time, it prepares for."""
_STATE_S = 10.0
_AS_ASKED: Settings = {"serving.degradation.enabled": False}
"""More is asked than can be answered, always: pages are to be read with all care nevertheless, or speed is bought."""
_FIRST_LIMIT = "serving.adaptive.initial"


@dataclass(frozen=True, slots=True)
class Setup:
    """What all trials of one search share.

    Attributes:
        fixed: settings of every trial: what flags of the command line said.
        at_once: clients that send the heaviest images.
        accuracy: None where there is no ground truth.
    """

    pages: Sequence[LoadPage]
    heaviness: Heaviness
    deadline_s: float
    at_once: int
    config: Path | None = None
    fixed: Settings = field(default_factory=dict)
    accuracy: Accuracy | None = None
    start_s: float = 900.0
    seed: int = 1


class ServiceBench:
    """A Bench of real services, one after another. `on_second` hears how the load of the running trial goes."""

    def __init__(self, setup: Setup, on_second: Callable[[Second], None] | None = None) -> None:
        self._setup = setup
        self._on_second = on_second
        self._heaviest: tuple[LoadPage, ...] = ()
        self._numbers = count(1)
        self.bottlenecks: list[str] = []
        """Why the load generator was the limit, of each trial in which it was."""

    async def try_(self, settings: Settings, purpose: Purpose, seconds: float, demand: float) -> Trial:
        """As Bench has it. The pages come in the order of the setup's seed, the same for all trials."""
        began = time.monotonic()
        trial = Trial(next(self._numbers), purpose, settings, Outcome.NOT_STARTED, 0.0)
        try:
            async with AsyncExitStack() as stack:
                service = await stack.enter_async_context(serving(self.serve(settings)))
                client = stack.enter_context(InkgateClient(service.url, timeout_s=_STATE_S))
                first = await Threads("first_look", 1).run(client.state)
                if restarts_of(first):
                    why = f"It did not stay up at its start. {cause_of_death(service.lines)}"
                    return replace(trial, why=why.strip())
                watched = Watched(first)
                watcher = Watcher(client, service.pid, watched)
                others = Others()
                measured = await self._loaded(service, watcher, watched, purpose, self.plan(purpose, seconds, demand))
                if measured.own.bottleneck:
                    self.bottlenecks.append(measured.own.why)
                trial = _trial(trial, measured, watched, service)
                if trial.outcome is Outcome.MEASURED:  # what a process had taken that has died would count as others'
                    trial = replace(trial, others_cores=others.cores())
                if trial.outcome is Outcome.MEASURED and purpose is not Purpose.HEAVIEST:
                    trial = replace(trial, accuracy=await self._accuracy(service.url, settings))
                return trial
        except ServiceNotStarted as error:
            return replace(trial, why=str(error))
        except ServiceError as error:  # it was ready, and gone before the load began
            return replace(trial, outcome=Outcome.DIED, seconds=time.monotonic() - began, why=str(error))

    async def throughput(self, settings: Settings, clients: int, seconds: float) -> DemandProbe:
        """What a service with `settings` answers to so many clients who ask again at once.

        Raises:
            ServiceNotStarted: it doesn't come up.
        """
        async with serving(self.serve(settings)) as service:
            plan = Plan(Axis.CONCURRENCY, clients, seconds, _warm_s(seconds), deadline_s=_PATIENCE_S)
            measured = await run(Load(target_of(service), self._setup.pages, plan), self._on_second)
        return probe_of(measured, clients)

    def serve(self, settings: Settings) -> Serve:
        """How a service with `settings` is started."""
        tried = {**_AS_ASKED, **self._setup.fixed, **settings, **companions(settings), **_begun(settings)}
        return Serve(tried, self._setup.config, self._setup.start_s)

    async def _loaded(
        self, service: ServiceProcess, watcher: Watcher, watched: Watched, purpose: Purpose, plan: Plan
    ) -> Measured:
        """The load, ended early where the service or what computes in it dies."""
        stop = anyio.Event()
        pages = await self._pages(purpose)
        with single_error():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(watcher.run)
                tasks.start_soon(_set_when, stop, service.ended)
                tasks.start_soon(_set_when, stop, watched.died)
                if purpose is Purpose.HEAVIEST:  # nobody waits for the last of them, which may take minutes
                    tasks.start_soon(_set_after, stop, plan.window_s)
                measured = await run(Load(target_of(service), pages, plan), self._on_second, stop)
                if not service.ended.is_set():
                    await watcher.look()  # what happened at the very end counts, too
                tasks.cancel_scope.cancel()
        return measured

    def plan(self, purpose: Purpose, seconds: float, demand: float) -> Plan:
        """The load of a trial, `seconds` long after it is warm."""
        setup = self._setup
        if purpose is Purpose.HEAVIEST:
            return Plan(
                Axis.CONCURRENCY,
                setup.at_once,
                seconds,
                warm_s=0.0,
                deadline_s=setup.deadline_s,
                timeout_s=max(_PATIENCE_S, setup.deadline_s),
                waits_when_refused=False,
                seed=setup.seed,
            )
        return Plan(
            Axis.RATE,
            demand,
            seconds,
            warm_s=_warm_s(seconds),
            deadline_s=setup.deadline_s,
            timeout_s=setup.deadline_s * _PATIENCE,
            seed=setup.seed,
            tells_deadline=True,
        )

    async def _pages(self, purpose: Purpose) -> Sequence[LoadPage]:
        if purpose is not Purpose.HEAVIEST:
            return self._setup.pages
        if not self._heaviest:
            self._heaviest = await Threads("heaviest", 1).run(heaviest_pages, self._setup.pages, self._setup.heaviness)
        return self._heaviest

    async def _accuracy(self, url: str, settings: Settings) -> float | None:
        return None if self._setup.accuracy is None else await self._setup.accuracy.of(url, settings)


def cause_of_death(lines: Iterable[str]) -> str:
    """Why the model server died, as its supervisor had it last; else the last line that tells of a failure."""
    kept = tuple(lines)
    for line in reversed(kept):
        if '"model_server_died"' in line:
            event = json.loads(line)
            return f"The model server died: {event.get('cause', '')}. {event.get('reason', '')}".strip()
    return last_words(kept)


def _trial(trial: Trial, measured: Measured, watched: Watched, service: ServiceProcess) -> Trial:
    """`trial` with what was seen under load."""
    why = ""
    ended = Outcome.MEASURED
    if service.ended.is_set():
        ended, why = Outcome.DIED, f"The service ended with status {service.status}. {last_words(service.lines)}"
    elif watched.died.is_set():
        ended, why = Outcome.DIED, cause_of_death(service.lines) or "A process of the engine died under load."
    trial = replace(
        trial,
        outcome=ended,
        seconds=measured.summary.seconds,
        summary=measured.summary,
        server=watched.summary(),
        why=why.strip(),
    )
    return replace(trial, outcome=outcome(trial))


def _begun(settings: Settings) -> Settings:
    """The limit that finds itself begins where it would arrive: a trial of some seconds would not see it there."""
    seats = settings.get(MAX_NUM_SEQS)
    return {_FIRST_LIMIT: seats} if isinstance(seats, int) and seats > 0 else {}


def target_of(service: ServiceProcess) -> Target:
    """Where the load of a trial goes."""
    return Target(f"{service.url}/ocr", ProtocolName.OCR)


def _warm_s(seconds: float) -> float:
    """Until a load above the capacity shows what it always will: queues are full by then, and the engine is warm."""
    return max(_LEAST_WARM_S, seconds * _WARM_SHARE)


async def _set_after(stop: anyio.Event, seconds: float) -> None:
    await anyio.sleep(seconds)
    stop.set()


async def _set_when(stop: anyio.Event, happened: anyio.Event) -> None:
    await happened.wait()
    stop.set()
