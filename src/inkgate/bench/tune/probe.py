"""What a service answers to clients who ask again at once, before any trial."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from inkgate.bench.load.run import Measured
from inkgate.bench.load.samples import Outcome


@dataclass(frozen=True, slots=True)
class DemandProbe:
    """`clients` asked for `seconds` of which the first were not counted.

    Attributes:
        per_s: answers a second. Those count that came in the window, whenever they were asked for: where a page takes
            longer than the window, none is both asked for and answered in it.
        answered, unfinished: requests from the beginning on; unfinished ones were on their way at the end.
        errors: how often what else came back, by kind, such as `503 service_full`.
    """

    clients: int
    seconds: float
    per_s: float
    answered: int = 0
    unfinished: int = 0
    errors: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        """As a sentence."""
        came = [f"{self.answered} answered"]
        came += [f"{many} ended with {kind}" for kind, many in self.errors.items()]
        came += [f"{self.unfinished} unanswered at the end"] if self.unfinished else []
        asked = self.answered + self.unfinished + sum(self.errors.values())
        return f"{self.clients} clients asked for {self.seconds:.0f} s; of {asked} requests {', '.join(came)}."


def probe_of(measured: Measured, clients: int) -> DemandProbe:
    """What a closed loop of so many clients showed."""
    columns = measured.samples.columns()
    answered = columns.outcome == Outcome.ANSWERED
    ends_s = measured.begins_s + measured.summary.seconds
    counted = answered & (columns.ended >= measured.begins_s) & (columns.ended < ends_s)
    kinds = Counter(
        columns.kinds[kind] or Outcome(outcome).name.lower()
        for kind, outcome in zip(columns.kind[~answered], columns.outcome[~answered], strict=True)
    )
    unfinished = measured.timeline[-1].in_flight if measured.timeline else 0
    per_s = int(np.count_nonzero(counted)) / measured.summary.seconds
    return DemandProbe(clients, ends_s, per_s, int(np.count_nonzero(answered)), unfinished, dict(kinds.most_common()))
