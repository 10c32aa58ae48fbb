"""What a search is asked for, and the port through which it tries settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from inkgate.bench.load.results import Machine
from inkgate.bench.tune.results import Parameter, Purpose, Settings, Targets, Trial


class Bench(Protocol):
    """Something that can be started with settings and put under load: a real service, or a simulated one."""

    async def try_(self, settings: Settings, purpose: Purpose, seconds: float, demand: float) -> Trial:
        """Starts it with `settings`, loads it for `seconds`, stops it, and says what came of it.

        `settings` hold a value for every dial and every current setting. The load is `demand` requests a second; with
        `Purpose.HEAVIEST` it is the heaviest images that pages and limits allow, as many at once as come. Death and
        failure to start are outcomes, not exceptions; `number` and `demand` of the trial are set by the search.
        Cancelled at any moment, it leaves no process behind.
        """
        ...


@dataclass(frozen=True, slots=True)
class Task:
    """What is searched, where and for whom.

    Attributes:
        engine: `vllm` or `ppocr`; parameters: what may be set; current: the settings in use, of all dials.
        pages: a hash of the pages' contents; demand: requests a second that are offered in each trial, above what any
            settings can answer; rises: more where that turns out to be too little, see saturation.py.
        budget_s: for everything, starts included; time that a journal says was spent before counts.
        began: moment in UTC, ISO 8601.
        heaviest: whether what is recommended is to be shown to stay up under the heaviest images.
        seed: of every random choice.
    """

    engine: str
    parameters: tuple[Parameter, ...]
    current: Settings
    targets: Targets
    pages: str
    demand: float
    budget_s: float
    began: str
    machine: Machine
    heaviest: bool = True
    seed: int = 1
    rises: bool = False
