"""What is asked of a load test: how much load, of which kind, for how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from inkgate.bench.load.impossible import LoadImpossible
from inkgate.bench.load.pages import LoadPage
from inkgate.bench.load.replay import Recorded
from inkgate.bench.load.results import Axis
from inkgate.bench.load.target import Target

PRIORITIES = ("interactive", "normal", "batch")


class Arrivals(StrEnum):
    """How the requests of an open loop come.

    POISSON: as from many who don't know of each other. CONSTANT: at equal distances. RAMP: Poisson, with a rate that
    rises (or falls) evenly from `level` to `until_level` within the window. REPLAY: when recorded ones came.
    """

    POISSON = "poisson"
    CONSTANT = "constant"
    RAMP = "ramp"
    REPLAY = "replay"


@dataclass(frozen=True, slots=True)
class Share:
    """One kind of caller: a part `weight` of all requests has this class of priority and this key.

    `priority`: empty where none is said; `key`: None for the target's own. With inkgate a key is a tenant. A share of
    weight 0 asks only where a recording says its priority.
    """

    priority: str = ""
    key: str | None = None
    weight: float = 1.0


ALIKE = (Share(),)


@dataclass(frozen=True, slots=True)
class Plan:
    """A load.

    Attributes:
        axis: CONCURRENCY: a closed loop of `level` clients, each of which asks again when it was answered.
            RATE: an open loop of `level` requests a second, whether the service keeps up or not.
        seconds: length of the window whose requests count. The load goes on until the last of them has ended: they
            don't end in a service that empties.
        warm_s: how long the load lasts before the window; those requests don't count.
        deadline_s: an answer is in time up to then.
        timeout_s: after which a client leaves.
        until_level: of a ramp.
        replay: of a replay, sorted by moment; the replay is the window, and `level` and `seconds` are not looked at.
        mix: who asks.
        seed: of moments, of the order of pages and of who asks.
        max_in_flight: requests of an open loop on their way at most; one that is due beyond is `unsent`, and said.
        waits_when_refused: a client of a closed loop that was refused waits as long as `Retry-After` says.
        phase: of constant arrivals, the part of a period by which all are later: several senders take turns.
        takes_kept: pages that inkgate has read before may be answered from its cache. Else it is asked to read them:
            a load test sends the same pages again and again, which its users don't.
        tells_deadline: says it in `X-Inkgate-Timeout`, so that inkgate refuses what can't be answered in time.
    """

    axis: Axis
    level: float
    seconds: float
    warm_s: float = 5.0
    deadline_s: float = 5.0
    timeout_s: float = 60.0
    arrivals: Arrivals = Arrivals.POISSON
    until_level: float | None = None
    replay: tuple[Recorded, ...] = ()
    mix: tuple[Share, ...] = ALIKE
    seed: int = 1
    max_in_flight: int = 20_000
    waits_when_refused: bool = True
    phase: float = 0.0
    takes_kept: bool = False
    tells_deadline: bool = False

    @property
    def window_s(self) -> float:
        """Length of the window in seconds."""
        if self.arrivals == Arrivals.REPLAY and self.replay:
            return max(self.replay[-1].at + 1e-3, 1.0)  # the last one is within it
        return self.seconds

    @property
    def warming_s(self) -> float:
        """How long it is until the window; a replay begins at once, as it was."""
        return 0.0 if self.arrivals == Arrivals.REPLAY else self.warm_s

    def level_at(self, at: float) -> float:
        """What is asked for `at` seconds after the beginning."""
        if self.arrivals != Arrivals.RAMP or self.until_level is None:
            return self.level
        along = min(1.0, max(0.0, (at - self.warming_s) / self.window_s))
        return self.level + along * (self.until_level - self.level)

    def check(self) -> None:
        """Raises LoadImpossible where it makes no sense."""
        positive = {"the level": self.level, "the length": self.window_s, "the deadline": self.deadline_s}
        positive["the timeout"] = self.timeout_s
        for name, value in positive.items():
            if not 0 < value < float("inf"):
                raise LoadImpossible(f"Of a load test {name} must be above 0, not {value:g}.")
        if self.axis is Axis.CONCURRENCY and self.level != int(self.level):
            raise LoadImpossible(f"There are no {self.level:g} clients: give a whole number.")
        if self.arrivals == Arrivals.RAMP and not (self.until_level or 0) > 0:
            raise LoadImpossible("A ramp needs the rate at its end, above 0.")
        if self.arrivals == Arrivals.REPLAY and not self.replay:
            raise LoadImpossible("There is nothing to replay.")
        wrong = {share.priority for share in self.mix} - {"", *PRIORITIES}
        weights = [share.weight for share in self.mix]
        if wrong or min(weights, default=0.0) < 0 or not 0 < sum(weights) < float("inf"):
            known = ", ".join(PRIORITIES)
            raise LoadImpossible(f"Those who ask have weights of 0 or more, not all 0; a priority is one of {known}.")


@dataclass(frozen=True, slots=True)
class Load:
    """What is sent where, and how much of it."""

    target: Target
    pages: Sequence[LoadPage]
    plan: Plan
