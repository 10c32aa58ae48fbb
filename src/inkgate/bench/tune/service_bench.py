"""Trials of real services: `inkgate serve` with the settings to try, started, loaded, watched and stopped."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from inkgate.bench.load.pages import LoadPage
from inkgate.bench.load.plan import Load, Plan
from inkgate.bench.load.readings import restarts_of
from inkgate.bench.load.results import Axis, Second
from inkgate.bench.load.run import LoadResult, run
from inkgate.bench.load.service import Serve, ServiceNotStarted, ServiceProcess, last_words, serving
from inkgate.bench.load.target import ProtocolName, Target
from inkgate.bench.tune.demand import DemandProbe, probe_of
from inkgate.bench.tune.heaviest import UploadLimits, heaviest_pages
from inkgate.bench.tune.other_load import OtherLoad
from inkgate.bench.tune.parameters import MAX_NUM_SEQS, companions
from inkgate.bench.tune.results import Purpose, Settings, Trial, TrialOutcome
from inkgate.bench.tune.score import outcome
from inkgate.bench.tune.service_watch import ServiceWatch
from inkgate.bench.tune.task import Step
from inkgate.client import InkgateClient, ServiceError
from inkgate.concurrency import Threads, single_error

if TYPE_CHECKING:  # it needs inkgate[bench]
    from inkgate.bench.tune.accuracy import AccuracyCheck

_PATIENCE = 1.5
"""Deadlines that a client waits. Later answers are useless, and the trial would take longer."""
_PATIENCE_S = 60.0
"""With the heaviest images: what counts is whether the service stays up."""
_WARM_SHARE = 0.25
_LEAST_WARM_S = 5.0
"""An embedded engine answers half as much in its first 5 s: it prepares for every new size of image."""
_WARM_DEADLINES = 2
"""Side by side: until the queues of a service that idled are full again."""
_STATE_S = 10.0
_NO_DEGRADATION: Settings = {"serving.degradation.enabled": False}
"""A trial always offers more than can be answered. Pages are read with full quality nevertheless."""
_FIRST_LIMIT = "serving.adaptive.initial"


@dataclass(frozen=True, slots=True)
class BenchSetup:
    """What all trials of one search share.

    Attributes:
        fixed: settings of every trial, from flags of the command line.
        heaviest_clients: clients that send the heaviest images.
        accuracy: None if there is no ground truth.
    """

    pages: Sequence[LoadPage]
    upload_limits: UploadLimits
    deadline_s: float
    heaviest_clients: int
    config: Path | None = None
    fixed: Settings = field(default_factory=dict)
    accuracy: AccuracyCheck | None = None
    start_s: float = 900.0
    seed: int = 1


class ServiceBench:
    """A Bench of real services. `on_second` is called with every second of the load that is running."""

    def __init__(self, setup: BenchSetup, on_second: Callable[[Second], None] | None = None) -> None:
        self._setup = setup
        self._on_second = on_second
        self._heaviest: tuple[LoadPage, ...] = ()
        self.bottlenecks: list[str] = []
        """Why the load generator was the limit, for each trial in which it was."""

    async def measure(self, step: Step, done: Callable[[Trial], None]) -> None:
        """As Bench has it. The pages come in the order of the setup's seed, the same for all trials."""
        if step.side_by_side:
            await self._side_by_side(step, done)
            return
        for settings in step.turns:
            trial = Trial(0, step.purpose, settings, TrialOutcome.NOT_STARTED, 0.0)
            try:
                async with serving(self.serve(settings)) as service:
                    trial = await self._load(service, trial, self.plan(step.purpose, step.seconds, step.demand))
            except ServiceNotStarted as error:
                trial = replace(trial, why=str(error))
            done(trial)
            if trial.outcome is not TrialOutcome.MEASURED:
                return

    async def _side_by_side(self, step: Step, done: Callable[[Trial], None]) -> None:
        """All services at once, loaded in turn while the others idle: a machine that slows down is fair to all."""
        plan = self.plan(step.purpose, step.seconds, step.demand)
        plan = replace(plan, warm_s=max(plan.warm_s, _WARM_DEADLINES * self._setup.deadline_s))
        trials = [Trial(0, step.purpose, settings, TrialOutcome.NOT_STARTED, 0.0) for settings in step.turns]
        async with AsyncExitStack() as stack:
            services: list[tuple[Settings, ServiceProcess]] = []
            for trial in trials:
                if any(settings == trial.settings for settings, _ in services):
                    continue
                try:
                    service = await stack.enter_async_context(serving(self.serve(trial.settings)))
                except ServiceNotStarted as error:
                    done(replace(trial, why=str(error)))
                    return
                services.append((trial.settings, service))
            for trial in trials:
                service = next(service for settings, service in services if settings == trial.settings)
                measured = await self._load(service, trial, plan)
                done(measured)
                if measured.outcome is not TrialOutcome.MEASURED:
                    return

    async def throughput(self, settings: Settings, clients: int, seconds: float) -> DemandProbe:
        """How much a service with `settings` answers to `clients` who send their next request at once.

        Raises:
            ServiceNotStarted: the service does not come up.
        """
        async with serving(self.serve(settings)) as service:
            plan = Plan(Axis.CONCURRENCY, clients, seconds, _warm_s(seconds), deadline_s=_PATIENCE_S)
            measured = await run(Load(target_of(service), self._setup.pages, plan), self._on_second)
        return probe_of(measured, clients)

    def serve(self, settings: Settings) -> Serve:
        """How a service with `settings` is started."""
        tried = {**_NO_DEGRADATION, **self._setup.fixed, **settings, **companions(settings), **_start_limit(settings)}
        return Serve(tried, self._setup.config, self._setup.start_s)

    async def _load(self, service: ServiceProcess, trial: Trial, plan: Plan) -> Trial:
        """`trial` with what happened under the load of `plan`, accuracy included."""
        began = time.monotonic()
        try:
            with InkgateClient(service.url, timeout_s=_STATE_S) as client:
                first = await Threads("first_look", 1).run(client.state)
                if restarts_of(first):
                    why = f"It did not stay up at its start. {cause_of_death(service.lines)}"
                    return replace(trial, why=why.strip())
                watch = ServiceWatch(client, service.pid, first)
                other_load = OtherLoad()
                measured = await self._put_load(service, watch, trial.purpose, plan)
                if measured.own.bottleneck:
                    self.bottlenecks.append(measured.own.why)
                trial = _with_result(trial, measured, watch, service)
                if (
                    trial.outcome is not TrialOutcome.MEASURED
                ):  # processor time of our dead processes would count as others'
                    return trial
                trial = replace(trial, other_load_cores=other_load.cores())
                if trial.purpose is Purpose.HEAVIEST or self._setup.accuracy is None:
                    return trial
                return replace(trial, accuracy=await self._setup.accuracy.of(service.url, trial.settings))
        except ServiceError as error:  # it was ready, and gone before the load began
            return replace(trial, outcome=TrialOutcome.DIED, seconds=time.monotonic() - began, why=str(error))

    async def _put_load(self, service: ServiceProcess, watch: ServiceWatch, purpose: Purpose, plan: Plan) -> LoadResult:
        """The load, ended early if the service or a process of its engine dies."""
        stop = anyio.Event()
        pages = await self._pages(purpose)
        with single_error():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(watch.run)
                tasks.start_soon(_set_when, stop, service.ended)
                tasks.start_soon(_set_when, stop, watch.died)
                if purpose is Purpose.HEAVIEST:  # don't wait for the last answers, which may take minutes
                    tasks.start_soon(_set_after, stop, plan.window_s)
                measured = await run(Load(target_of(service), pages, plan), self._on_second, stop)
                if not service.ended.is_set():
                    await watch.look()  # what happened at the very end counts, too
                tasks.cancel_scope.cancel()
        return measured

    def plan(self, purpose: Purpose, seconds: float, demand: float) -> Plan:
        """The load of a trial, `seconds` long after it is warm."""
        setup = self._setup
        if purpose is Purpose.HEAVIEST:
            return Plan(
                Axis.CONCURRENCY,
                setup.heaviest_clients,
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
            self._heaviest = await Threads("heaviest", 1).run(
                heaviest_pages, self._setup.pages, self._setup.upload_limits
            )
        return self._heaviest


def cause_of_death(lines: Iterable[str]) -> str:
    """Why the model server died, as its supervisor said; else the last line of the log that reports a failure."""
    kept = tuple(lines)
    for line in reversed(kept):
        if '"model_server_died"' in line:
            event = json.loads(line)
            return f"The model server died: {event.get('cause', '')}. {event.get('reason', '')}".strip()
    return last_words(kept)


def _with_result(trial: Trial, measured: LoadResult, watch: ServiceWatch, service: ServiceProcess) -> Trial:
    """`trial` with what happened under load."""
    why = ""
    ended = TrialOutcome.MEASURED
    if service.ended.is_set():
        ended, why = TrialOutcome.DIED, f"The service ended with status {service.status}. {last_words(service.lines)}"
    elif watch.died.is_set():
        ended, why = TrialOutcome.DIED, cause_of_death(service.lines) or "A process of the engine died under load."
    trial = replace(
        trial,
        outcome=ended,
        seconds=measured.summary.seconds,
        summary=measured.summary,
        server=watch.summary(),
        why=why.strip(),
    )
    return replace(trial, outcome=outcome(trial))


def _start_limit(settings: Settings) -> Settings:
    """The adaptive limit starts at its final value: a trial is too short for it to get there."""
    batch = settings.get(MAX_NUM_SEQS)
    return {_FIRST_LIMIT: batch} if isinstance(batch, int) and batch > 0 else {}


def target_of(service: ServiceProcess) -> Target:
    """The address that the load of a trial goes to."""
    return Target(f"{service.url}/ocr", ProtocolName.OCR)


def _warm_s(seconds: float) -> float:
    """Until queues are full and the engine is warm."""
    return max(_LEAST_WARM_S, seconds * _WARM_SHARE)


async def _set_after(stop: anyio.Event, seconds: float) -> None:
    await anyio.sleep(seconds)
    stop.set()


async def _set_when(stop: anyio.Event, happened: anyio.Event) -> None:
    await happened.wait()
    stop.set()
