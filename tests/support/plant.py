"""A simulated model server: slots, a KV cache with preemption, and a token rate that saturates."""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from inkgate.model_servers.metrics import HistogramTotal, ServerReading

TICK_S = 0.1


@dataclass(eq=False)
class Request:
    prompt: int
    output: int
    foreign: bool = False
    came_at: float = 0.0
    done: float = 0.0

    @property
    def kv(self) -> float:
        return self.prompt + self.done


@dataclass
class Plant:
    """Runs `slots` requests, each at up to `fastest` tokens a second and together at up to `tokens_per_s`.

    A request without room in the KV cache is preempted and starts again. Prompts have 200 tokens. Our requests are
    cancelled `patience_s` after their arrival.
    """

    slots: int = 32
    tokens_per_s: float = 2000.0
    fastest: float = 100.0
    kv_tokens: float = 1e9
    shortest: int = 100
    longest: int = 700
    seed: int = 1
    on_end: Callable[[Request, float], None] | None = None
    """Called with each of our finished requests and the time."""
    patience_s: float = math.inf
    on_late: Callable[[Request, float], None] | None = None
    """Called with each cancelled request and the time."""
    now: float = 100.0
    waiting: deque[Request] = field(default_factory=deque)
    running: list[Request] = field(default_factory=list)
    preemptions: int = 0
    tokens: float = 0.0
    requests: int = 0
    queue_s: HistogramTotal = HistogramTotal()
    inter_token_s: HistogramTotal = HistogramTotal()
    request_s: HistogramTotal = HistogramTotal()

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)

    @property
    def in_flight(self) -> int:
        """Our requests in flight."""
        return sum(not each.foreign for each in (*self.waiting, *self.running))

    def keep(self, ours: int, foreign: int = 0) -> None:
        """Sends requests until there are this many of ours, and of others."""
        there = self.in_flight
        others = len(self.waiting) + len(self.running) - there
        for is_foreign, missing in ((False, ours - there), (True, foreign - others)):
            for _ in range(missing):
                self.send(foreign=is_foreign)

    def send(self, *, foreign: bool = False) -> Request:
        """Sends one request."""
        request = Request(200, self._rng.randint(self.shortest, self.longest), foreign, self.now)
        self.waiting.append(request)
        return request

    def tick(self) -> None:
        self.now += TICK_S
        while self.waiting and len(self.running) < self.slots and self._kv() + self.waiting[0].prompt < self.kv_tokens:
            request = self.waiting.popleft()
            self.queue_s = HistogramTotal(self.queue_s.sum + self.now - request.came_at, self.queue_s.count + 1)
            self.running.append(request)
        if not self.running:
            return
        each_per_s = min(self.fastest, self.tokens_per_s / len(self.running))
        made = each_per_s * TICK_S * len(self.running)
        self.tokens += made
        self.inter_token_s = HistogramTotal(self.inter_token_s.sum + made / each_per_s, self.inter_token_s.count + made)
        for request in self.running:
            request.done += each_per_s * TICK_S
        self._end()
        self._give_up()
        while len(self.running) > 1 and self._kv() > self.kv_tokens:
            request = self.running.pop()
            request.done = 0.0
            self.preemptions += 1
            self.waiting.appendleft(request)

    def reading(self) -> ServerReading:
        return ServerReading(
            len(self.running),
            len(self.waiting),
            min(1.0, self._kv() / self.kv_tokens),
            preemptions=self.preemptions,
            generation_tokens=self.tokens,
            requests=self.requests,
            queue_s=self.queue_s,
            inter_token_s=self.inter_token_s,
            request_s=self.request_s,
        )

    def _kv(self) -> float:
        return sum(request.kv for request in self.running)

    def _give_up(self) -> None:
        for there in (self.running, self.waiting):
            for request in [each for each in there if not each.foreign and self.now - each.came_at >= self.patience_s]:
                there.remove(request)
                if self.on_late is not None:
                    self.on_late(request, self.now)

    def _end(self) -> None:
        for request in [each for each in self.running if each.done >= each.output]:
            self.running.remove(request)
            self.requests += 1
            self.request_s = HistogramTotal(self.request_s.sum + self.now - request.came_at, self.request_s.count + 1)
            if not request.foreign and self.on_end is not None:
                self.on_end(request, self.now)
