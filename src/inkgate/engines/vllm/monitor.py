"""Reads the metrics of model servers for the limit and the ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import anyio
import structlog
from anyio.abc import TaskGroup

from inkgate.engines.vllm.balancer import Server
from inkgate.engines.vllm.metrics import ServerReading
from inkgate.engines.vllm.pressure import PressureGauge
from inkgate.serving.adaptive import AdaptiveLimit
from inkgate.serving.evidence import Pressure
from inkgate.serving.ledger import Ledger
from inkgate.serving.limiter import WorkOutcome
from inkgate.serving.limits import Limit
from inkgate.serving.replicas import Replica, ReplicaState
from inkgate.serving.scheduler import Scheduler

log = structlog.get_logger(__name__)

_DEADLINE_S = 1.0
"""Timeout of one reading. /metrics takes milliseconds; a server that is busy with images answers later."""


@dataclass(frozen=True, slots=True)
class EachServer:
    """A Limit of `each` per server in service; at least for one server, whose calls then wait for it."""

    each: Limit
    count: Callable[[], int]

    @property
    def value(self) -> int:
        return self.each.value * max(1, self.count())

    @property
    def most(self) -> int:
        return self.each.most * max(1, self.count())

    def ended(self, outcome: WorkOutcome, at: float) -> None:
        """See Limit."""
        self.each.ended(outcome, at)


class _ServerRead:
    """One server being read."""

    def __init__(self, replica: Replica[Server]) -> None:
        self.replica = replica
        self.ended = anyio.Event()


class Monitor:
    """Reads every server about once a second. Its background task is `run`.

    All servers are alike and share one limit, which follows the server under the highest pressure. The ledger has the
    KV cache of the servers in service.

    Attributes:
        read: the last reading and pressure of each server that answered.
    """

    def __init__(
        self,
        replicas: Sequence[Replica[Server]],
        limit: AdaptiveLimit | None,
        ledger: Ledger,
        interval_s: float,
        clock: Callable[[], float] = anyio.current_time,
    ) -> None:
        """`limit`: None if it is fixed."""
        self._gauges = {replica: PressureGauge() for replica in replicas}
        self._limit = limit
        self._ledger = ledger
        self._interval_s = interval_s
        self._clock = clock
        self._kv_tokens: dict[Replica[Server], int] = {}
        self.read: dict[Replica[Server], tuple[ServerReading, Pressure | None]] = {}
        self.scheduler: Scheduler | None = None
        self._reading: set[Replica[Server]] = set()
        self._arrived: dict[Replica[Server], tuple[ServerReading, Pressure | None]] = {}

    @property
    def up(self) -> int:
        """Servers in service."""
        return sum(replica.state is ReplicaState.UP for replica in self._gauges)

    async def run(self) -> None:
        """Reads until cancelled. A server that does not answer delays the others by a second, once."""
        async with anyio.create_task_group() as tasks:
            while True:
                await self._look(tasks)
                await anyio.sleep(self._interval_s)

    async def look(self) -> None:
        """Reads every server once, concurrently."""
        async with anyio.create_task_group() as tasks:
            await self._look(tasks)

    async def _look(self, tasks: TaskGroup) -> None:
        """Reads every server that is not being read already, and applies what arrives in time. Later readings are
        applied in the next round.
        """
        begun = [_ServerRead(replica) for replica in self._gauges if replica.state is not ReplicaState.OUT]
        begun = [each for each in begun if each.replica not in self._reading]
        for each in begun:
            self._reading.add(each.replica)
            tasks.start_soon(self._read_one, each)
        with anyio.move_on_after(_DEADLINE_S):
            for each in begun:
                await each.ended.wait()
        arrived, self._arrived = self._arrived, {}
        # A slow server's last reading is kept until the next one arrives or fails.
        self.read = {replica: read for replica, read in self.read.items() if replica in self._reading} | arrived
        if arrived or not self._reading:
            self._tell(arrived)

    async def _read_one(self, this: _ServerRead) -> None:
        at, in_flight = self._clock(), len(this.replica.leases)
        reading: ServerReading | None = None
        try:
            reading = await this.replica.server.readings()
        except Exception:  # per-server border: the others are still read
            log.exception("model_server_metrics_not_read", url=this.replica.name)
        finally:
            self._reading.discard(this.replica)
        pressure = self._gauges[this.replica].read(reading, at, in_flight)
        if reading is not None:
            self._arrived[this.replica] = reading, pressure
        this.ended.set()

    def _tell(self, read: dict[Replica[Server], tuple[ServerReading, Pressure | None]]) -> None:
        self._kv_tokens |= {replica: reading.kv_tokens for replica, (reading, _) in read.items() if reading.kv_tokens}
        self._ledger.block = max((reading.block_tokens for reading, _ in read.values()), default=self._ledger.block)
        there = [tokens for replica, tokens in self._kv_tokens.items() if replica.state is ReplicaState.UP]
        if there and len(there) == self.up:
            self._ledger.capacity = sum(there)
        usages = [reading.kv_usage for reading, _ in self.read.values() if reading.kv_usage is not None]
        self._ledger.observe(sum(usages) / len(usages) if usages else None)
        pressures = [pressure for _, pressure in read.values() if pressure is not None]
        if self._limit is not None and pressures:
            worst = max(pressures, key=lambda pressure: pressure.u)
            tokens = sum(pressure.tokens for pressure in pressures) // len(pressures)
            preemptions = sum(pressure.preemptions for pressure in pressures)
            in_flight = sum(len(replica.leases) for replica in read) // len(read)
            self._limit.observe(replace(worst, tokens=tokens, preemptions=preemptions), in_flight)
        if self.scheduler is not None:
            self.scheduler.wake()
