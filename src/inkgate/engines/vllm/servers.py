"""Model servers behind one Upstream: load-balanced, monitored, and with scheduled calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from inkgate.engines.vllm.balancer import BalancedUpstream, BalancerSettings, OnOut, Server
from inkgate.engines.vllm.managed.supervisor import ManagedServer
from inkgate.engines.vllm.monitor import EachServer, Monitor
from inkgate.engines.vllm.scheduled_calls import ScheduledCalls
from inkgate.engines.vllm.server import ModelServer
from inkgate.serving.adaptive import AdaptiveLimit
from inkgate.serving.estimates import OutputEstimates
from inkgate.serving.ledger import Ledger
from inkgate.serving.limits import FixedLimit
from inkgate.serving.replicas import Replica
from inkgate.serving.scheduler import Scheduler
from inkgate.serving.throughput import TokenRate
from inkgate.settings import Settings
from inkgate.supervision import BackgroundTask
from inkgate.telemetry.observer import NO_OBSERVER, Observer


@dataclass(frozen=True, slots=True)
class ModelServers:
    """The parts of the model servers, not running yet.

    Attributes:
        managed: the server, if inkgate runs it.
        balanced: the load balancer that `upstream` calls.
    """

    upstream: ScheduledCalls
    background: tuple[BackgroundTask, ...]
    scheduler: Scheduler
    ledger: Ledger
    monitor: Monitor
    replicas: tuple[Replica[Server], ...]
    managed: ManagedServer | None
    balanced: BalancedUpstream


def model_servers(
    settings: Settings,
    managed: ManagedServer | None,
    model_names: Sequence[str],
    on_out: OnOut,
    observer: Observer = NO_OBSERVER,
) -> ModelServers:
    """The configured servers, or the managed one. `model_names`: see ModelServer. `on_out`: see BalancedUpstream."""
    vllm = settings.engine.vllm
    urls = vllm.urls if managed is None else (managed.url,)
    key = vllm.api_key.get_secret_value()
    servers = [ModelServer(url, vllm.connect_s, key, model_names) for url in urls]
    recover_s = vllm.recover_s if managed is None else vllm.managed.recover_s
    on_stalled = None if managed is None else managed.restart_stalled
    serving = settings.serving
    seats = 0 if managed is None else managed.max_num_seqs
    adaptive = None if vllm.concurrent_requests else AdaptiveLimit(serving.adaptive, seats=seats)
    on_died: Callable[[int], None] = (lambda _: None) if adaptive is None else adaptive.lost
    waits = BalancerSettings(vllm.stalled_s, recover_s)
    balanced = BalancedUpstream(servers, waits, on_stalled=on_stalled, on_out=on_out, on_died=on_died)
    ledger = Ledger(None)
    monitor = Monitor(balanced.set.replicas, adaptive, ledger, serving.adaptive.interval_s)
    limit = EachServer(adaptive or FixedLimit(vllm.concurrent_requests), lambda: monitor.up)
    scheduler = Scheduler(limit, ledger, TokenRate(), serving.scheduling)
    monitor.scheduler = scheduler
    on_busy = (lambda: None) if adaptive is None else adaptive.damaged
    calls = ScheduledCalls(balanced, scheduler, OutputEstimates(), on_busy, observer)
    runs = (BackgroundTask("balancer", balanced.run), BackgroundTask("server_metrics", monitor.run))
    return ModelServers(calls, runs, scheduler, ledger, monitor, balanced.set.replicas, managed, balanced)
