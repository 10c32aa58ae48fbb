"""What a load test is to do: how much load, of which kind, for how long, and from which callers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from inkgate_bench.load import LoadImpossible
from inkgate_bench.load.pages import LoadPage
from inkgate_bench.load.results import Axis
from inkgate_bench.load.target import Target

PRIORITIES = ("interactive", "normal", "batch")


class Arrivals(StrEnum):
    """The arrivals of an open loop.

    POISSON: as from many independent users. CONSTANT: at equal intervals. RAMP: Poisson, at a rate that changes
    linearly from `level` to `until_level` within the window. REPLAY: when recorded requests arrived.
    """

    POISSON = "poisson"
    CONSTANT = "constant"
    RAMP = "ramp"
    REPLAY = "replay"


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request that arrived `at` seconds after the first, with the page of this name, else the one nearest in size.

    `tenant`: who sent it, by any name; empty where the recording doesn't say.
    """

    at: float
    page: str = ""
    sent_bytes: int | None = None
    priority: str = ""
    tenant: str = ""


@dataclass(frozen=True, slots=True)
class CallerShare:
    """One kind of caller: `weight` is its part of all requests.

    `priority`: empty sends none; `key`: None sends the target's own (with inkgate a key is a tenant). A share of weight
    0 sends only those recorded requests that have its priority.
    """

    priority: str = ""
    key: str | None = None
    weight: float = 1.0


ONE_CALLER = (CallerShare(),)


@dataclass(frozen=True, slots=True)
class Plan:
    """A load.

    Attributes:
        axis: CONCURRENCY: a closed loop of `level` clients, each of which sends its next request after the response.
            RATE: an open loop of `level` requests a second, whether the service keeps up or not.
        seconds: length of the window whose requests count. Load continues until the last of them has ended, so that
            they don't end in an emptying service.
        warm_s: length of the load before the window.
        deadline_s: the latency target: slower responses don't count as goodput.
        max_error: the highest error rate that a level may have below the knee.
        timeout_s: how long a client waits.
        until_level: final rate of a ramp.
        replay: recorded requests in order of time; they set the window and the rate.
        mix: the callers.
        seed: of arrival times, page order and callers.
        max_in_flight: bound for an open loop; a request beyond it is not sent, and is reported.
        waits_when_refused: clients of a closed loop obey `Retry-After`.
        takes_kept: inkgate may answer from its page cache. By default it may not: a load test repeats its pages, users
            don't.
        tells_deadline: send the latency target in `X-Inkgate-Timeout`, so that inkgate can refuse what would be late.
    """

    axis: Axis
    level: float
    seconds: float
    warm_s: float = 5.0
    deadline_s: float = 5.0
    max_error: float = 0.001
    timeout_s: float = 60.0
    arrivals: Arrivals = Arrivals.POISSON
    until_level: float | None = None
    replay: tuple[RecordedRequest, ...] = ()
    mix: tuple[CallerShare, ...] = ONE_CALLER
    seed: int = 1
    max_in_flight: int = 20_000
    waits_when_refused: bool = True
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
        """Seconds until the window; a replay starts at once, as the recording did."""
        return 0.0 if self.arrivals == Arrivals.REPLAY else self.warm_s

    def level_at(self, at: float) -> float:
        """The level `at` seconds after the start."""
        if self.arrivals != Arrivals.RAMP or self.until_level is None:
            return self.level
        share = min(1.0, max(0.0, (at - self.warming_s) / self.window_s))
        return self.level + share * (self.until_level - self.level)

    def check(self) -> None:
        """Raises LoadImpossible: the plan contradicts itself."""
        positive = {
            "The level": self.level,
            "The length": self.window_s,
            "The latency target": self.deadline_s,
            "The timeout": self.timeout_s,
        }
        for name, value in positive.items():
            if not 0 < value < float("inf"):
                raise LoadImpossible(f"{name} of a load test must be above 0, not {value:g}.")
        if self.axis is Axis.CONCURRENCY and self.level != int(self.level):
            raise LoadImpossible(f"The number of clients must be a whole number, not {self.level:g}.")
        if self.arrivals == Arrivals.RAMP and not 0 < (self.until_level or 0) < float("inf"):
            raise LoadImpossible("The final rate of a ramp must be above 0.")
        if self.arrivals == Arrivals.REPLAY and not self.replay:
            raise LoadImpossible("The recording holds no request: there is nothing to replay.")
        unknown = {share.priority for share in self.mix} - {"", *PRIORITIES}
        if unknown:
            raise LoadImpossible(f"Unknown priority {unknown.pop()!r}; priorities are {', '.join(PRIORITIES)}.")
        weights = [share.weight for share in self.mix]
        if min(weights, default=0.0) < 0 or not 0 < sum(weights) < float("inf"):
            raise LoadImpossible("The weights of priorities must be 0 or more, and not all 0.")


@dataclass(frozen=True, slots=True)
class Load:
    """What is sent, to which service, and how much of it."""

    target: Target
    pages: Sequence[LoadPage]
    plan: Plan
