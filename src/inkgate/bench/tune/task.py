"""What a search is asked for, its steps, and the port through which it measures them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from inkgate.bench.load.results import MachineInfo
from inkgate.bench.tune.results import Parameter, Purpose, Settings, Targets, Trial


@dataclass(frozen=True, slots=True)
class Step:
    """One trial, or several that belong together.

    Attributes:
        turns: the settings of each trial, in this order; a value for every parameter.
        seconds: of load in each trial; demand: requests a second that are offered.
        side_by_side: all services are up at once and loaded in turn; else each trial starts its own.
    """

    turns: tuple[Settings, ...]
    purpose: Purpose
    seconds: float
    demand: float
    side_by_side: bool = False


class Bench(Protocol):
    """Something that can be started with settings and put under load: a real service, or a simulated one."""

    async def measure(self, step: Step, done: Callable[[Trial], None]) -> None:
        """Run the trials of `step` and pass each to `done` as soon as it has ended.

        With `Purpose.HEAVIEST` the load is the heaviest images that pages and limits allow. Death and failure to start
        are outcomes, not exceptions; the first of them ends the step. The search sets `number` and `demand` of a trial.
        When cancelled, the bench leaves no process behind.
        """
        ...


@dataclass(frozen=True, slots=True)
class Task:
    """What is searched, where and for whom.

    Attributes:
        engine: `vllm` or `ppocr`.
        parameters: what may be set, the most important first; current: the values in use, of all parameters.
        pages: a hash of the pages' contents.
        demand: requests a second that are offered at first, more than any settings can answer; rises: more is offered
            if that turns out to be too little.
        budget_s: for everything, starts included; what a resumed search took before counts.
        began: moment in UTC, ISO 8601.
        heaviest: whether the chosen settings have to stay up under the heaviest images.
        free_memory_mb: what the services of a side-by-side comparison may take together.
        seed: of arrivals.
    """

    engine: str
    parameters: tuple[Parameter, ...]
    current: Settings
    targets: Targets
    pages: str
    demand: float
    budget_s: float
    began: str
    machine: MachineInfo
    heaviest: bool = True
    seed: int = 1
    rises: bool = False
    free_memory_mb: float = 0.0
