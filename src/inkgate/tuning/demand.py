"""How much is asked of the service in each trial: more than any settings can answer, or they would all look alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from inkgate.loadtest.service import ServiceNotStarted
from inkgate.tuning.others import disturbance, usual_others
from inkgate.tuning.results import Dial, Settings, Trial, Value
from inkgate.tuning.saturation import ABOVE, bears_more
from inkgate.tuning.trials import ServiceBench

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
    "The cache was off in all trials: pages that come again would have been answered from it; so was the ladder of "
    "degradation, for more was always asked than could be answered. Clients said their "
    "deadline (X-Inkgate-Timeout), so that what can't be in time is refused at once."
)


def fast(dials: Sequence[Dial], current: Settings) -> Settings:
    """Settings that are likely to answer more than the current ones."""
    return current | {dial.path: _FAST[dial.path](dial.values) for dial in dials if dial.path in _FAST}


async def find_demand(bench: ServiceBench, dials: Sequence[Dial], current: Settings, seconds: float = SECONDS) -> float:
    """Requests a second: ABOVE times what the better of the current and the likely fastest settings answer.

    Each is asked by CLIENTS clients who ask again at once (a closed loop), for `seconds`.

    Raises:
        ServiceNotStarted: neither comes up.
    """
    tried = [current] if fast(dials, current) == current else [current, fast(dials, current)]
    found = []
    failed: ServiceNotStarted | None = None
    for settings in tried:
        try:
            found.append(await bench.throughput(settings, CLIENTS, seconds))
        except ServiceNotStarted as error:
            failed = error
    if not found and failed is not None:
        raise failed
    return ABOVE * max(found)


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
