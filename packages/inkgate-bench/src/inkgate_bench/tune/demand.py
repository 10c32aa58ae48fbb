"""How many requests a trial offers: more than any settings can answer, or all of them would look alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from inkgate_bench.load.run import LoadResult
from inkgate_bench.load.samples import RequestOutcome, ended
from inkgate_bench.load.service import ServiceNotStarted
from inkgate_bench.tune import parameters as known
from inkgate_bench.tune.plan import DEMAND_FACTOR
from inkgate_bench.tune.results import Parameter, Settings, Value

CLIENTS = 32
_FASTEST: Mapping[str, Callable[[Sequence[Value]], Value]] = {
    known.LONGEST_SIDE: lambda values: values[0],
    known.MAX_PIXELS: lambda values: values[0],
    known.PRECISION: lambda values: "int8" if "int8" in values else values[-1],
    known.MAX_NUM_SEQS: lambda values: min(values, key=lambda value: abs(float(value) - CLIENTS)),
    known.GPU_MEMORY: lambda values: values[-1],
}
"""The value of a parameter that is likely to answer most, as far as anyone can know without a trial."""


class ProbingBench(Protocol):
    """Starts a service and sends it requests, as ServiceBench does."""

    async def probe(self, settings: Settings, clients: int, seconds: float) -> LoadResult:
        """What a service with `settings` answers to `clients` that send their next request at once.

        Raises:
            ServiceNotStarted: the service does not come up.
        """
        ...


class NothingAnswered(Exception):
    """No page was answered in the probes; the message says what was sent and what came back."""

    def __init__(self, probes: Mapping[str, LoadResult]) -> None:
        results = " ".join(f"With the {name} settings {_responses(probe)}" for name, probe in probes.items())
        super().__init__(
            f"No page was answered in time, so the demand of the trials is unknown. {results} Give the search more "
            "--minutes, set the requests a second of each trial with --rate, or see with `inkgate read` how long a "
            "page takes."
        )


async def find_demand(
    bench: ProbingBench, parameters: Sequence[Parameter], current: Settings, seconds: float = 6.0
) -> float:
    """Requests a second: twice what the better of the current and the likely fastest settings answer.

    CLIENTS clients, each of which sends its next request at once, load either for `seconds`.

    Raises:
        ServiceNotStarted: neither comes up.
        NothingAnswered: of those that came up none answered a page.
    """
    probes: dict[str, LoadResult] = {}
    failed: ServiceNotStarted | None = None
    settings = {"current": current, "likely fastest": fastest(parameters, current)}
    for name, each in settings.items():
        if name == "current" or each != current:
            try:
                probes[name] = await bench.probe(each, CLIENTS, seconds)
            except ServiceNotStarted as error:
                failed = error
    if not probes and failed is not None:
        raise failed
    most = max(map(answered_per_s, probes.values()))
    if most <= 0:
        raise NothingAnswered(probes)
    return DEMAND_FACTOR * most


def fastest(parameters: Sequence[Parameter], current: Settings) -> Settings:
    """Settings that are likely to answer more than the current ones."""
    return current | {each.path: _FASTEST[each.path](each.values) for each in parameters if each.path in _FASTEST}


def answered_per_s(probe: LoadResult) -> float:
    """Answers a second in the window, whenever they were asked for: if a page takes longer than the window, none is
    both asked for and answered in it.
    """
    rows, seconds = probe.samples.rows, probe.summary.seconds
    answered = ended(rows[rows["outcome"] == RequestOutcome.ANSWERED])
    in_window = (answered >= probe.begins_s) & (answered < probe.begins_s + seconds)
    return int(np.count_nonzero(in_window)) / seconds


def _responses(probe: LoadResult) -> str:
    """What came back in a probe, the warm-up included, as a sentence."""
    rows, kinds = probe.samples.rows, probe.samples.kinds
    answered = rows["outcome"] == RequestOutcome.ANSWERED
    errors = Counter(kinds[row["kind"]] or RequestOutcome(row["outcome"]).name.lower() for row in rows[~answered])
    unfinished = probe.timeline[-1].in_flight if probe.timeline else 0
    parts = [f"{int(np.count_nonzero(answered))} were answered"]
    parts += [f"{count} ended with {kind}" for kind, count in errors.most_common()]
    parts += [f"{unfinished} were unanswered at the end"] if unfinished else []
    seconds = probe.begins_s + probe.summary.seconds
    sent = len(rows) + unfinished
    return f"{CLIENTS} clients sent requests for {seconds:.0f} s; of {sent} requests {', '.join(parts)}."
