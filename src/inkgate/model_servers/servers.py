"""Model servers behind one Upstream: load-balanced, monitored, and with scheduled calls."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

from opentelemetry.trace import SpanKind

from inkgate.errors import Blame, EngineFailed
from inkgate.model_servers.adaptive import AdaptiveLimit
from inkgate.model_servers.balancer import BalancedUpstream
from inkgate.model_servers.discovery import PREFIX, Discovery
from inkgate.model_servers.evidence import TARGETS
from inkgate.model_servers.managed.supervisor import ManagedServer
from inkgate.model_servers.monitor import PerServerLimit, ServerMonitor
from inkgate.model_servers.replica import BalancerSettings, OnOut, Replica, ReplicaEvents
from inkgate.model_servers.server import ModelServer, PageForm
from inkgate.model_servers.upstream import ModelAnswer, ModelCall, Upstream
from inkgate.serving.demand import DemandCounts
from inkgate.serving.estimates import OutputEstimates
from inkgate.serving.limits import FixedLimit
from inkgate.serving.order import Work
from inkgate.serving.outcomes import WorkOutcome
from inkgate.serving.queue import WorkQueue
from inkgate.settings import Settings, VllmSettings
from inkgate.supervision import BackgroundTask
from inkgate.telemetry.observer import NO_OBSERVER, Observer
from inkgate.telemetry.tracing import child_span

_EVENT = b"data: {"
_EMPTY = 3
"""Events without a token: the first (role), one with the finish reason, and the last (usage)."""
_COMPLETION = re.compile(rb'"completion_tokens":\s*(\d{1,9})')
_PROMPT = re.compile(rb'"prompt_tokens":\s*(\d{1,9})')
_STOPPED = re.compile(rb'"finish_reason":\s*"stop"')
_TAIL = 1024
"""Size in bytes of a response's end that contains its usage and finish reason."""
_PERCENT = 100
"""Prompt estimates are in percent of the tokens that the call states."""
_UNKNOWN = 10_000
_BUSY = frozenset({429, 503})


class ScheduledCalls:
    """An Upstream around an Upstream: a call waits for its turn, which lasts to its end."""

    def __init__(
        self,
        inner: Upstream,
        work_queue: WorkQueue,
        estimates: OutputEstimates,
        on_busy: Callable[[], None],
        observer: Observer = NO_OBSERVER,
    ) -> None:
        """`on_busy` is called if a server reports that it is full. `observer` gets wait times and token counts."""
        self._inner = inner
        self._work_queue = work_queue
        self._estimates = estimates
        self._prompts = OutputEstimates(floor=1, cap=_UNKNOWN)
        self._on_busy = on_busy
        self._observer = observer
        self.arrived = DemandCounts()
        """Counts calls, refused ones included."""

    async def models(self) -> tuple[str, ...]:
        return await self._inner.models()

    async def close(self) -> None:
        await self._inner.close()

    @asynccontextmanager
    async def send(self, call: ModelCall) -> AsyncIterator[ModelAnswer]:
        """Sends a call once it has a slot.

        Raises:
            Overloaded: "service_full": it would wait too long, or too many wait already.
            InputRejected, EngineFailed: its deadline passed before it got a slot; see `timeout_error`.
        """
        prompt_mean, prompt_max = self._prompt(call)
        mean, answer_max = self._estimates.estimates(call.kind, call.answer_tokens)
        expected = replace(call, prompt_tokens=prompt_max, answer_tokens=answer_max)
        work = Work.for_caller(call.caller, max(1, expected.tokens))
        usual_s = self._work_queue.usual_s(work)
        page_s = usual_s if call.content else 0.0
        self.arrived = self.arrived.added(DemandCounts(1, usual_s, prompt_mean + mean, page_call_s=page_s))
        with child_span("call", kind=SpanKind.CLIENT):
            requested_at = perf_counter()
            async with self._work_queue.turn(work) as turn:
                self._observer.stage("wait", perf_counter() - requested_at)
                count, refused = _Count(), False
                try:
                    async with self._inner.send(expected) as answer:
                        if answer.status in _BUSY:
                            self._on_busy()
                        if answer.status != 200:
                            refused = answer.status < 500
                            turn.report(WorkOutcome.REJECTED if refused else WorkOutcome.FAILED)
                            yield answer
                            return
                        async with aclosing(count.counted(answer.chunks)) as chunks:
                            yield ModelAnswer(answer.status, answer.headers, chunks)
                except EngineFailed as error:
                    if error.blame is Blame.PAGE:  # the fault of this request alone, not a sign of overload
                        turn.report(WorkOutcome.REJECTED)
                    raise
                finally:
                    # A refused call was prepared at most; nothing was generated.
                    turn.tokens_used = prompt_mean if refused else count.used(prompt_mean)
                    self._learn(call, count)

    def _prompt(self, call: ModelCall) -> tuple[int, int]:
        """Expected and maximum number of tokens of the prompt.

        The call's own number is a guess from the bytes of a client's images. It is corrected by the ratio to the
        server's count in earlier calls of the same kind.
        """
        mean, most = self._prompts.estimates(call.kind, _UNKNOWN)
        if most == _UNKNOWN:
            return call.prompt_tokens, call.prompt_tokens
        return call.prompt_tokens * mean // _PERCENT, -(-call.prompt_tokens * most // _PERCENT)

    def _learn(self, call: ModelCall, count: _Count) -> None:
        self._observer.tokens(count.prompt_usage or 0, count.tokens)
        if count.usage is not None:
            self._estimates.finished(call.kind, count.usage)
        elif count.tokens:
            self._estimates.unfinished(call.kind, count.tokens)
        if count.prompt_usage is not None and call.prompt_tokens:
            self._prompts.finished(call.kind, round(count.prompt_usage * _PERCENT / call.prompt_tokens))


class _Count:
    """Counts the tokens of a response as it passes: by events, and in the end by the server's usage.

    Attributes:
        usage, prompt_usage: tokens of the response and of the prompt; None until known. If the client did not request
            usage, `usage` is the number of counted tokens once the response is complete.
    """

    def __init__(self) -> None:
        self._events = 0
        self.usage: int | None = None
        self.prompt_usage: int | None = None
        self._tail = b""

    @property
    def tokens(self) -> int:
        """Tokens of the response so far: the server's number, if it is known."""
        return max(0, self._events - _EMPTY) if self.usage is None else self.usage

    def used(self, prompt_tokens: int) -> int | None:
        """Tokens in all, with `prompt_tokens` while the server's number is unknown; None if nothing has arrived."""
        return (self.prompt_usage or prompt_tokens) + self.tokens if self._tail else None

    async def counted(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        """Passes the chunks on unchanged."""
        async for chunk in chunks:
            self._events += chunk.count(_EVENT)
            self._tail = (self._tail + chunk)[-_TAIL:] if len(chunk) < _TAIL else chunk[-_TAIL:]
            yield chunk
        prompt, completion = _PROMPT.findall(self._tail), _COMPLETION.findall(self._tail)
        if prompt:
            self.prompt_usage = int(prompt[-1])
        if completion:
            self.usage = int(completion[-1])
        elif _STOPPED.search(self._tail):
            self.usage = self.tokens


@dataclass(frozen=True, slots=True)
class ModelServers:
    """The parts of the model servers, not running yet.

    Attributes:
        managed: the servers that inkgate runs.
        balanced: the load balancer that `upstream` calls.
        limit: on calls at once.
        pages: how pages are requested from the servers, and probed.
    """

    upstream: ScheduledCalls
    background: tuple[BackgroundTask, ...]
    work_queue: WorkQueue
    monitor: ServerMonitor
    managed: tuple[ManagedServer, ...]
    balanced: BalancedUpstream
    limit: PerServerLimit
    pages: PageForm

    @property
    def replicas(self) -> tuple[Replica, ...]:
        """The servers known now."""
        return self.balanced.set.replicas

    def limit_of(self, each: int) -> PerServerLimit:
        """A limit of `each` per server in service, and as many more while calls end at servers that are leaving."""
        leaving = self.balanced.set
        return PerServerLimit(FixedLimit(each), lambda: self.monitor.up, lambda: min(each, leaving.leaving_calls))

    def slots_each(self, tokens: float) -> float:
        """How many calls with this many tokens each a server runs at once: its limit, or what its KV cache holds at the
        highest healthy usage.
        """
        each = float(self.limit.each.value)
        if self.monitor.kv_tokens is None:
            return each
        healthy = TARGETS.kv_usage * self.monitor.kv_tokens
        return min(each, healthy / max(1, self.monitor.up) / max(1.0, tokens))

    def others_each(self) -> float:
        """Calls that each server runs and that are not ours, such as those of other gateways, by the servers' last
        readings. Negative if ours wait. Calls of others that wait count for nothing: no slot is theirs.
        """
        readings = [reading for reading, _ in self.monitor.read.values()]
        there = sum(reading.running for reading in readings)
        return (there - self.work_queue.in_flight) / len(readings) if readings else 0.0


def model_servers(
    settings: Settings,
    managed: Sequence[ManagedServer],
    model_names: Sequence[str],
    on_out: OnOut,
    observer: Observer = NO_OBSERVER,
) -> ModelServers:
    """The configured servers, or the managed ones. `model_names`: see ModelServer. `on_out`: see ReplicaEvents."""
    vllm, serving = settings.engine.vllm, settings.serving
    seats = managed[0].max_num_seqs if managed else 0
    adaptive = None if vllm.concurrent_requests else AdaptiveLimit(serving.adaptive, seats=seats)
    pages = PageForm()
    servers = partial(
        ModelServer,
        connect_s=vllm.connect_s,
        api_key=vllm.api_key.get_secret_value(),
        model_names=model_names,
        pages=pages,
    )
    balanced, runs = _balanced(vllm, managed, servers, on_out, adaptive)
    if any(url.startswith(PREFIX) for url in vllm.urls):
        balanced.expect(model_names)
    monitor = ServerMonitor(balanced.set, adaptive, serving.adaptive.interval_s)
    limit = PerServerLimit(
        adaptive or FixedLimit(vllm.concurrent_requests), lambda: monitor.up, lambda: balanced.set.leaving_calls
    )
    work_queue = WorkQueue(limit, serving.scheduling)
    monitor.after_reading.append(work_queue.wake)
    on_busy = (lambda: None) if adaptive is None else adaptive.damaged
    calls = ScheduledCalls(balanced, work_queue, OutputEstimates(), on_busy, observer)
    runs = (*runs, BackgroundTask("server_metrics", monitor.run))
    return ModelServers(calls, runs, work_queue, monitor, tuple(managed), balanced, limit, pages)


def _balanced(
    vllm: VllmSettings,
    managed: Sequence[ManagedServer],
    server: Callable[[str], ModelServer],
    on_out: OnOut,
    adaptive: AdaptiveLimit | None,
) -> tuple[BalancedUpstream, tuple[BackgroundTask, ...]]:
    """The load balancer and its background tasks."""

    async def restart_stalled(url: str) -> None:
        for each in managed:
            if each.url == url:
                await each.restart_stalled()

    named = [url for url in vllm.urls if url.startswith(PREFIX)]
    fixed = [each.url for each in managed] if managed else [url for url in vllm.urls if url not in named]
    recover_s = vllm.managed.recover_s if managed else vllm.recover_s
    events = ReplicaEvents(on_out=on_out)
    if managed:
        events.on_stalled = restart_stalled
    if adaptive is not None:
        events.on_died = adaptive.lost
    # One of several that are started is ready long before the others.
    first = [server(url) for url in fixed] if len(managed) < 2 else []
    balanced = BalancedUpstream(
        first, BalancerSettings(vllm.stalled_s, recover_s, gives_up=vllm.fallback), events=events
    )
    for url in fixed if len(managed) > 1 else ():
        balanced.add(server(url))
    runs = (BackgroundTask("balancer", balanced.run),)
    if not named:
        return balanced, runs
    found = Discovery(
        named,
        lambda url: balanced.add(server(url)),
        balanced.retire,
        vllm.dns_interval_s,
        vllm.max_servers,
        balanced.is_up,
    )
    return balanced, (*runs, BackgroundTask("discovery", found.run))
