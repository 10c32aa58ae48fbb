"""Load on a model server, as adaptive limits see it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PressureTargets:
    """The highest healthy value of each signal; at the target, a signal's pressure is 1.

    Attributes:
        waiting: requests in the engine's own queue. They should wait in inkgate's, where they can be reordered.
        kv_usage: use of the KV cache, 0 to 1.
        queue_s: seconds a request waits in the engine's queue, on average.
        queue_part: the same as a share of the service time, if that is longer: behind a batch of long pages, a request
            waits seconds even if the load is healthy.
        render_s: seconds that images wait for preprocessing, before the engine counts them.
        slower: allowed inter-token latency as a multiple of the usual one for the same batch size.
    """

    waiting: float = 2.0
    kv_usage: float = 0.85
    queue_s: float = 1.0
    queue_part: float = 0.1
    render_s: float = 1.0
    slower: float = 1.5


@dataclass(frozen=True, slots=True)
class Pressure:
    """State of an engine between two readings. None: unknown, and ignored.

    Attributes:
        at: clock time at which the later reading was requested, in seconds.
        span_s: since the previous reading.
        running, waiting: requests in the batch and in the engine's queue, including other clients'.
        kv_usage: 0 to 1.
        queue_s: mean wait in the engine's queue of the requests that left it.
        waited_s: the same over about the last 15 s, for display: 0 while no request waits or leaves the queue.
        service_s: mean time of a request in the engine, without its wait.
        render_s: wait of an image for preprocessing, by Little's law: images in it / requests finished a second.
        inter_token_s, baseline_s: mean time between tokens of a request, and the usual one for this batch size.
        preemptions: number of preempted requests.
        tokens: number of generated tokens.
    """

    at: float
    span_s: float
    running: int = 0
    waiting: int = 0
    kv_usage: float | None = None
    queue_s: float | None = None
    waited_s: float | None = None
    service_s: float | None = None
    render_s: float | None = None
    inter_token_s: float | None = None
    baseline_s: float | None = None
    preemptions: int = 0
    tokens: int = 0
    targets: PressureTargets = PressureTargets()

    @property
    def u(self) -> float:
        """The largest ratio of a signal to its target: below 1 there is room, above 1 the engine is overloaded.

        u = max(waiting/2, kv/0.85, render wait/1 s, queue time/max(1 s, 0.1*service time), inter-token/(1.5*baseline))
        """
        targets = self.targets
        usual = None if self.baseline_s is None else targets.slower * self.baseline_s
        return max(
            self.waiting / targets.waiting,
            self.memory,
            _ratio(self.render_s, targets.render_s),
            _ratio(self.queue_s, max(targets.queue_s, targets.queue_part * (self.service_s or 0.0))),
            _ratio(self.inter_token_s, usual),
        )

    @property
    def memory(self) -> float:
        """The ratio of KV cache usage to its target: the part of u that is not about time."""
        return _ratio(self.kv_usage, self.targets.kv_usage)

    def running_of(self, in_flight: int) -> int:
        """How many of inkgate's `in_flight` works the engine runs, if it treats other clients' requests alike."""
        there = self.running + self.waiting
        return min(self.running, in_flight, round(in_flight * self.running / there)) if there else 0

    @property
    def tokens_per_s(self) -> float:
        return self.tokens / self.span_s


def _ratio(value: float | None, target: float | None) -> float:
    return 0.0 if value is None or not target else value / target
