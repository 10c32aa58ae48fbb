"""A model of one vLLM server on the loop's clock: a render thread, an engine around a Batch, and crashes.

Equal steps run at once, and are cut short at a whole step when a request arrives or leaves, so that the cost of a
simulation grows with its requests, not its tokens.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.simulate.batch import Batch, Flags, Sequence, Step
from benchmarks.simulate.card import Card
from benchmarks.simulate.workload import PageWork
from inkgate.model_servers.metrics import HistogramTotal, ServerReading


class ServerGone(Exception):
    """The server crashed with the request, or was down."""


class QueueFull(Exception):
    """503: the queue is full (`--max-num-queued-reqs`)."""


@dataclass(slots=True, eq=False)
class _Call:
    sequence: Sequence
    answer: asyncio.Future[None]
    rendered_at: float = math.nan


class Server:
    """Use it inside a running loop. `deaths`, `busy_s` (GPU) and `served` count across restarts."""

    def __init__(self, card: Card, flags: Flags, seed: int) -> None:
        self.card = card
        self.flags = flags
        self.deaths = 0
        self.served = 0
        self.preempted = 0
        self.busy_s = 0.0
        self.slowness = 1.0
        self._chance = random.Random(seed)
        self._loop = asyncio.get_running_loop()
        self._start()

    def _start(self) -> None:
        self.up = True
        self._frozen = False
        self.batch = Batch(self.flags, self.card.kv_tokens)
        self._calls: dict[Sequence, _Call] = {}
        self._rendering: deque[_Call] = deque()
        self._step: Step | None = None
        self._step_started = self._step_s = 0.0
        self._repeats = 0
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._ended = self._queued = self._inter_tokens = 0
        self._queue_s = self._inter_token_s = 0.0
        self._life_left = self._chance.expovariate(1.0)

    @property
    def in_server(self) -> int:
        """Requests without a response yet, including those whose image waits for preprocessing (vLLM's /load)."""
        return len(self._calls)

    def reading(self) -> ServerReading | None:
        """The current /metrics; None while the server is down. Counters are reset by a restart."""
        if not self.up:
            return None
        return ServerReading(
            running=len(self.batch.running),
            waiting=self.batch.waiting,
            kv_usage=self.batch.kv_usage,
            kv_tokens=self.batch.blocks * self.flags.block_size,
            preemptions=self.batch.preemptions,
            generation_tokens=self.batch.tokens,
            requests=self._ended,
            queue_s=HistogramTotal(self._queue_s, self._queued),
            inter_token_s=HistogramTotal(self._inter_token_s, self._inter_tokens),
        )

    async def generate(self, page: PageWork, on_tokens: Callable[[int], None] | None = None) -> None:
        """Reads the page. Cancelling the caller frees its blocks at once.

        Raises:
            ServerGone: it is down, or crashed meanwhile.
            QueueFull: too many requests wait.
        """
        if not self.up:
            raise ServerGone
        sequence = Sequence(page, on_tokens)
        call = _Call(sequence, self._loop.create_future())
        self._calls[sequence] = call
        self._rendering.append(call)
        if len(self._rendering) == 1:
            self._render_first()
        try:
            await call.answer
        finally:
            self._ended += 1
            if self._calls.pop(sequence, None) is not None and not math.isnan(call.rendered_at):
                self.batch.drop(sequence)
                self._cut_short()
            sequence.gone = True

    def slow_down(self, factor: float) -> None:
        """Makes everything take `factor` times as long from the next step on."""
        self.slowness = factor

    def freeze(self) -> None:
        """Hangs like a stopped process: accepts requests and makes no progress."""
        self._frozen = True
        self._cancel_timers()

    def thaw(self) -> None:
        """Continues; the interrupted step starts again."""
        self._frozen = False
        if self._rendering:
            self._render_first()
        self._step = None
        self._begin()

    def die(self) -> None:
        """Crashes: loses all requests, and is back after the card's `restart_s`."""
        self.deaths += 1
        self.preempted += self.batch.preemptions
        self._cancel_timers()
        self.up = False
        calls, self._calls = self._calls, {}
        for call in calls.values():
            _set(call.answer, ServerGone())
        self._loop.call_later(self.card.restart_s, self._start)

    def _cancel_timers(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers = {}

    def _after(self, name: str, seconds: float, then: Callable[[], None]) -> None:
        if not self._frozen:
            self._timers[name] = self._loop.call_later(seconds, then)

    def _render_first(self) -> None:
        megapixels = self._rendering[0].sequence.page.megapixels
        seconds = (self.card.render_s + megapixels * self.card.render_s_per_megapixel) * self.slowness
        self._after("render", seconds, self._rendered)

    def _rendered(self) -> None:
        call = self._rendering.popleft()
        while self._rendering and self._rendering[0].sequence.gone:
            self._rendering.popleft()
        if self._rendering:
            self._render_first()
        if call.sequence.gone:
            return
        most = self.flags.max_num_queued_reqs
        if most is not None and self.batch.waiting >= most:
            _set(call.answer, QueueFull())
            return
        call.rendered_at = self._loop.time()
        self.batch.add(call.sequence)
        self._cut_short()

    def _cut_short(self) -> None:
        """Ends the running steps at the next whole step if the batch may change there."""
        if self._step is None:
            self._begin()
            return
        idle = len(self.batch.running) < self.flags.max_num_seqs
        if self._repeats == 1 or not idle:
            return
        elapsed = self._loop.time() - self._step_started
        self._repeats = min(max(math.ceil(elapsed / self._step_s - 1e-9), 1), self._repeats)
        self._timers["step"].cancel()
        self._after("step", max(self._step_started + self._repeats * self._step_s - self._loop.time(), 0), self._end)

    def _begin(self) -> None:
        if self._frozen:
            return
        step = self.batch.schedule()
        if not step.chunks:
            self._step = None
            return
        for sequence, _ in step.chunks:
            call = self._calls[sequence]
            if sequence.computed == 0 and sequence.made == 0 and not math.isinf(call.rendered_at):
                self._queue_s += self._loop.time() - call.rendered_at
                self._queued += 1
                call.rendered_at = math.inf
        self._step, self._repeats, self._step_started = step, step.repeats, self._loop.time()
        self._step_s = self.card.step_s(step.decoding, step.prefilled) * self.slowness
        self._after("step", self._repeats * self._step_s, self._end)

    def _end(self) -> None:
        step = self._step
        if step is None:  # pragma: no cover - a timer without steps
            return
        seconds = self._repeats * self._step_s
        self.busy_s += seconds - self._repeats * self.card.host_s
        self._inter_token_s += step.decoding * seconds
        self._inter_tokens += step.decoding * self._repeats
        megapixels = sum(sequence.page.megapixels for sequence, _ in step.chunks)
        self._life_left -= self.card.death_rate(megapixels) * seconds
        if self._life_left <= 0:
            self.die()
            return
        finished = self.batch.commit(step, self._repeats)
        self._tell(step)
        for sequence in finished:
            self.served += 1
            _set(self._calls.pop(sequence).answer, None)
        self._begin()

    def _tell(self, step: Step) -> None:
        for sequence, _ in step.chunks:
            if sequence.on_tokens is not None and not sequence.gone:
                sequence.on_tokens(sequence.made)


def _set(answer: asyncio.Future[None], error: Exception | None) -> None:
    """Sets the result, unless the caller has just left."""
    if answer.done():
        return
    if error is None:
        answer.set_result(None)
    else:
        answer.set_exception(error)
