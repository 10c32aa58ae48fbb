"""How many requests a trial offers: more than any settings can answer, or all of them would look alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from inkgate.bench.load.run import LoadResult
from inkgate.bench.load.samples import RequestOutcome, ended
from inkgate.bench.load.service import ServiceNotStarted
from inkgate.bench.tune.plan import DEMAND_FACTOR
from inkgate.bench.tune.results import Parameter, Settings, Trial, Value
from inkgate.bench.tune.score import DISTURBED, SATURATED, answered_share, disturbance, usual_other_load

CLIENTS = 32
SECONDS = 6.0
_FASTEST: dict[str, Callable[[Sequence[Value]], Value]] = {
    "engine.ppocr.longest_side": lambda values: values[0],
    "engine.vllm.max_pixels": lambda values: values[0],
    "engine.ppocr.precision": lambda values: "int8" if "int8" in values else values[-1],
    "engine.vllm.managed.max_num_seqs": lambda values: min(values, key=lambda value: abs(float(value) - CLIENTS)),
    "engine.vllm.managed.gpu_memory_utilization": lambda values: values[-1],
}
"""The value of a parameter that is likely to answer most, as far as anyone can know without a trial."""

_CONDITIONS = (
    "The cache was off in all trials, because the same pages come again and again; so was degradation, because a trial "
    "always offers more than can be answered. Clients sent their deadline (X-Inkgate-Timeout), so that the service "
    "refuses at once what it can't answer in time."
)


@dataclass(frozen=True, slots=True)
class DemandProbe:
    """What `clients`, each of which sends its next request at once, got in `seconds`, the warm-up included.

    Attributes:
        per_s: answers a second in the window after the warm-up, whenever they were asked for: if a page takes longer
            than the window, none is both asked for and answered in it.
        answered, unfinished: of all requests; unfinished ones were on their way at the end.
        errors: how often anything else came back, by kind, such as `503 service_full`.
    """

    clients: int
    seconds: float
    per_s: float
    answered: int = 0
    unfinished: int = 0
    errors: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        """As a sentence."""
        parts = [f"{self.answered} were answered"]
        parts += [f"{many} ended with {kind}" for kind, many in self.errors.items()]
        parts += [f"{self.unfinished} were unanswered at the end"] if self.unfinished else []
        sent = self.answered + self.unfinished + sum(self.errors.values())
        return f"{self.clients} clients sent requests for {self.seconds:.0f} s; of {sent} requests {', '.join(parts)}."


def probe_of(measured: LoadResult, clients: int) -> DemandProbe:
    """The result of a closed loop of `clients`."""
    rows, kind_names = measured.samples.rows, measured.samples.kinds
    answered = rows["outcome"] == RequestOutcome.ANSWERED
    ends_s = measured.begins_s + measured.summary.seconds
    counted = answered & (ended(rows) >= measured.begins_s) & (ended(rows) < ends_s)
    kinds = Counter(kind_names[row["kind"]] or RequestOutcome(row["outcome"]).name.lower() for row in rows[~answered])
    unfinished = measured.timeline[-1].in_flight if measured.timeline else 0
    per_s = int(np.count_nonzero(counted)) / measured.summary.seconds
    return DemandProbe(clients, ends_s, per_s, int(np.count_nonzero(answered)), unfinished, dict(kinds.most_common()))


class ProbingBench(Protocol):
    """Starts a service and sends it requests, as ServiceBench does."""

    async def throughput(self, settings: Settings, clients: int, seconds: float) -> DemandProbe:
        """What a service with `settings` answers. Raises ServiceNotStarted."""
        ...


class NothingAnswered(Exception):
    """No page was answered in the probes; the message says what was sent and what came back."""

    def __init__(self, probes: Sequence[tuple[str, DemandProbe]]) -> None:
        results = " ".join(f"With the {name} settings {probe}" for name, probe in probes)
        super().__init__(
            f"No page was answered in time, so the demand of the trials is unknown. {results} Give the search more "
            "--minutes, set the requests a second of each trial with --rate, or see with `inkgate read` how long a "
            "page takes."
        )


def fastest(parameters: Sequence[Parameter], current: Settings) -> Settings:
    """Settings that are likely to answer more than the current ones."""
    return current | {each.path: _FASTEST[each.path](each.values) for each in parameters if each.path in _FASTEST}


async def find_demand(
    bench: ProbingBench, parameters: Sequence[Parameter], current: Settings, seconds: float = SECONDS
) -> float:
    """Requests a second: twice what the better of the current and the likely fastest settings answer.

    CLIENTS clients, each of which sends its next request at once, load either for `seconds`.

    Raises:
        ServiceNotStarted: neither comes up.
        NothingAnswered: of those that came up none answered a page.
    """
    settings = {"current": current}
    if (likely := fastest(parameters, current)) != current:
        settings["likely fastest"] = likely
    probes: list[tuple[str, DemandProbe]] = []
    failed: ServiceNotStarted | None = None
    for name, each in settings.items():
        try:
            probes.append((name, await bench.throughput(each, CLIENTS, seconds)))
        except ServiceNotStarted as error:
            failed = error
    if not probes and failed is not None:
        raise failed
    most = max(probe.per_s for _, probe in probes)
    if most <= 0:
        raise NothingAnswered(probes)
    return DEMAND_FACTOR * most


def notes(trials: Sequence[Trial], bottlenecks: Sequence[str], cores: int) -> tuple[str, ...]:
    """What a reader of the report has to know of the conditions, in sentences."""
    lines = [_CONDITIONS, *_unsaturated(trials), *_disturbed(trials, cores)]
    if bottlenecks:
        lines.append(f"In {len(bottlenecks)} trials the load generator was the limit: {bottlenecks[-1]}")
    return tuple(lines)


def _unsaturated(trials: Sequence[Trial]) -> list[str]:
    most = max((trial.demand or 0.0 for trial in trials), default=0.0)
    unsaturated = [trial for trial in trials if answered_share(trial) > SATURATED]
    before = [trial for trial in unsaturated if (trial.demand or 0.0) < most]
    lines = []
    if before:
        lines.append(
            f"{len(before)} trials answered so much of the demand that it was raised, to {most:.3g} requests a second "
            "in the end. They count only if their settings have no other trial."
        )
    if len(unsaturated) > len(before):
        lines.append(
            f"{len(unsaturated) - len(before)} trials answered more than 65 % of the demand in time: those settings "
            "may be capable of more. Search again with a higher --rate."
        )
    return lines


def _disturbed(trials: Sequence[Trial], cores: int) -> list[str]:
    usual = usual_other_load(trials)
    disturbed = [trial for trial in trials if disturbance(trial, usual, cores) > DISTURBED]
    if not disturbed:
        return []
    most = max(trial.other_load_cores or 0.0 for trial in disturbed)
    line = (
        f"During {len(disturbed)} of {len(trials)} trials other programs used the machine, up to {most:.1f} of its "
        f"{cores} cores; in the quietest trial it was {usual:.1f}. They count only if their settings have no other "
        "trial. Search again with nothing else running."
    )
    return [line]
