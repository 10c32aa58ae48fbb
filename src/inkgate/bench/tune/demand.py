"""How much is asked of the service in each trial: more than any settings can answer, or they would all look alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from inkgate.bench.load.service import ServiceNotStarted
from inkgate.bench.tune.others import disturbance, usual_others
from inkgate.bench.tune.probe import DemandProbe
from inkgate.bench.tune.results import Parameter, Settings, Trial, Value
from inkgate.bench.tune.saturation import ABOVE, bears_more

DISTURBED = 0.1
"""Share of the machine that others took beyond what they always do from which on a reader is told."""
CLIENTS = 32
SECONDS = 6.0
_FAST: dict[str, Callable[[Sequence[Value]], Value]] = {
    "engine.ppocr.longest_side": lambda values: values[0],
    "engine.vllm.max_pixels": lambda values: values[0],
    "engine.ppocr.precision": lambda values: "int8" if "int8" in values else values[-1],
    "engine.vllm.managed.max_num_seqs": lambda values: min(values, key=lambda value: abs(float(value) - CLIENTS)),
    "engine.vllm.managed.gpu_memory_utilization": lambda values: values[-1],
}
"""The value of a dial with which most is answered, as far as one can know without a trial."""


_CONDITIONS = (
    "The cache was off in all trials: pages that come again would have been answered from it; so was degradation, "
    "for more was always asked than could be answered. Clients said their "
    "deadline (X-Inkgate-Timeout), so that what can't be in time is refused at once."
)


def fast(dials: Sequence[Parameter], current: Settings) -> Settings:
    """Settings that are likely to answer more than the current ones."""
    return current | {dial.path: _FAST[dial.path](dial.values) for dial in dials if dial.path in _FAST}


class ProbingBench(Protocol):
    """Starts a service and asks it, as ServiceBench does."""

    async def throughput(self, settings: Settings, clients: int, seconds: float) -> DemandProbe:
        """What a service with `settings` answers. Raises ServiceNotStarted."""
        ...


class NothingAnswered(Exception):
    """No page was answered while the demand was looked for; the message says what was asked and what came back."""

    def __init__(self, tried: Sequence[tuple[str, DemandProbe]]) -> None:
        said = " ".join(f"With the {name} settings {probe}" for name, probe in tried)
        super().__init__(
            f"No page was answered in time to tell how much to ask for. {said} Give the search more --minutes, say how "
            "many requests a second each trial gets with --rate, or see with `inkgate read` how long a page takes."
        )


async def find_demand(
    bench: ProbingBench, dials: Sequence[Parameter], current: Settings, seconds: float = SECONDS
) -> float:
    """Requests a second: ABOVE times what the better of the current and the likely fastest settings answer.

    Each is asked by CLIENTS clients who ask again at once (a closed loop), for `seconds`.

    Raises:
        ServiceNotStarted: neither comes up.
        NothingAnswered: of those that came up none answered a page.
    """
    tried = {"current": current}
    if (likely := fast(dials, current)) != current:
        tried["likely fastest"] = likely
    found: list[tuple[str, DemandProbe]] = []
    failed: ServiceNotStarted | None = None
    for name, settings in tried.items():
        try:
            found.append((name, await bench.throughput(settings, CLIENTS, seconds)))
        except ServiceNotStarted as error:
            failed = error
    if not found and failed is not None:
        raise failed
    most = max(probe.per_s for _, probe in found)
    if most <= 0:
        raise NothingAnswered(found)
    return ABOVE * most


def notes(trials: Sequence[Trial], bottlenecks: Sequence[str], cores: int) -> tuple[str, ...]:
    """What a reader of the report has to know of how it was measured, in sentences."""
    said = [_CONDITIONS]
    said += _borne(trials)
    said += _disturbed(trials, cores)
    if bottlenecks:
        said.append(f"In {len(bottlenecks)} trials the load generator was the limit: {bottlenecks[-1]}")
    return tuple(said)


def _borne(trials: Sequence[Trial]) -> list[str]:
    """That some trials were asked for too little, and what came of it."""
    most = max((trial.demand or 0.0 for trial in trials), default=0.0)
    borne = [trial for trial in trials if bears_more(trial)]
    after = [trial for trial in borne if (trial.demand or 0.0) < most]
    told = []
    if after:
        told.append(
            f"In {len(after)} trials so much of what was asked for was answered in time that more was asked for "
            f"afterwards, {most:.3g} requests a second in the end. Those trials count less."
        )
    if len(borne) > len(after):
        told.append(
            f"In {len(borne) - len(after)} trials more than 65 % of what was asked for was answered in time: "
            "those settings may bear more than was measured. Search again with a higher --rate."
        )
    return told


def _disturbed(trials: Sequence[Trial], cores: int) -> list[str]:
    """That others used the machine during some trials."""
    usual = usual_others(trials)
    found = [trial for trial in trials if disturbance(trial, usual, cores) > DISTURBED]
    if not found:
        return []
    most = max(trial.others_cores or 0.0 for trial in found)
    told = (
        f"During {len(found)} of {len(trials)} trials other programs used the machine, up to {most:.1f} of its {cores} "
        f"cores, where in others it was {usual:.1f}. Those trials count less; search again with nothing else running."
    )
    return [told]
