"""Several model servers as one: the least loaded is asked, the one that fails is left alone until it works again."""

from __future__ import annotations

import hashlib
import math
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar

import anyio
import structlog

from inkgate.engines.vllm.metrics import ServerReading
from inkgate.engines.vllm.upstream import ModelAnswer, ModelCall, Upstream
from inkgate.errors import EngineFailed, InkgateError
from inkgate.serving.quarantine import content_being_read
from inkgate.serving.replicas import Lease, Replica, ReplicaSet, ReplicaState

log = structlog.get_logger(__name__)
T = TypeVar("T")
OnOut = Callable[[Sequence[bytes]], None]
"""Hears of the content of each call that was in a server when it was taken out; see Lease."""

_GONE = frozenset({"upstream_unreachable", "upstream_cut_off", "upstream_failed"})
"""What trying a server that has died ends with, its own process or the proxy before it."""
_TRIES = 2
"""Once more elsewhere: what two servers fail on, a third may be killed by."""
_CONTENTS = 2
"""Different contents that a server fails on, and another reads, from which on it is the server's fault."""
_PROVED_S = 1.0
"""How long a server that was tried counts as working when it fails on a request."""


class Server(Upstream, Protocol):
    """An Upstream that can be tried without anybody waiting for the answer."""

    @property
    def base_url(self) -> str: ...

    async def probe(self) -> None:
        """Returns when it has read a small image. Raises InkgateError."""
        ...

    async def readings(self) -> ServerReading | None:
        """What it says of itself; None where it says nothing."""
        ...

    async def tokens_generated(self) -> float | None:
        """How many since it started; None where it doesn't say."""
        ...


@dataclass(frozen=True, slots=True)
class BalancerSettings:
    """Times in seconds.

    Attributes:
        stalled_s: a server that has calls and says nothing to any for so long stands still.
        recover_s: how long a call waits for a server to be there again.
        probe_s: how long a server that is tried may take.
        first_pause_s, longest_pause_s: between tries, doubled each time.
    """

    stalled_s: float = 60.0
    recover_s: float = 30.0
    probe_s: float = 15.0
    first_pause_s: float = 0.5
    longest_pause_s: float = 15.0


class BalancedUpstream:
    """An Upstream around several servers; `run` has to run beside it.

    A call goes to the server with the fewest tokens outstanding. A server that can't be reached, breaks off or stands
    still is taken out, tried in the background with a small image, and comes back when it reads that. A call that has
    no part of an answer yet is sent once more, elsewhere if there is one.

    A status of failure (5xx) may be the request's own fault: the server is tried at once, and taken out if it fails
    then, too, or if it fails on different contents that another server reads. Otherwise it stays, and the request is
    answered with `engine_failed` when it has failed twice: one caller can't take a server from all others.
    """

    def __init__(
        self,
        servers: Sequence[Server],
        settings: BalancerSettings | None = None,
        clock: Callable[[], float] = anyio.current_time,
        on_stalled: Callable[[], Awaitable[None]] | None = None,
        on_out: OnOut = lambda _: None,
        on_died: Callable[[int], None] = lambda _: None,
    ) -> None:
        """`on_stalled` is awaited when a server was found to stand still; `on_out` hears of each that is taken out.

        `on_died` hears how many calls were in a server that failed and, tried at once, was not there.
        """
        self._settings = settings or BalancerSettings()
        replicas = [Replica(server.base_url, server) for server in servers]
        self.set = ReplicaSet(replicas, self._settings.stalled_s, clock)
        self._on_stalled = on_stalled
        self._on_out = on_out
        self._on_died = on_died
        self._clock = clock
        self._in_it: dict[Replica[Server], int] = {}
        self._doubted: dict[Replica[Server], anyio.Event] = {}
        self._proved_at: dict[Replica[Server], float] = {}
        self._watching: anyio.CancelScope | None = None

    async def close(self) -> None:
        """See Upstream. Ends `run` too."""
        if self._watching is not None:
            self._watching.cancel()
        for replica in self.set.replicas:
            await replica.server.close()

    async def models(self) -> tuple[str, ...]:
        """See Upstream: of the first server that answers.

        Raises:
            InputRejected, EngineFailed: none does; the error is the first one's.
        """
        first: InkgateError | None = None
        for replica in sorted(self.set.replicas, key=lambda replica: replica.state is ReplicaState.OUT):
            try:
                return await replica.server.models()
            except InkgateError as error:
                first = first or error
                if isinstance(error, EngineFailed):
                    self._failed(replica, error.code)
        raise first or _nobody("none is known")

    async def probe(self) -> None:
        """Returns when one of the servers that take calls has read a small image, asked beside all that waits. One that
        is not there is taken out.

        Raises:
            InkgateError: none does; the error is the first one's.
        """
        failures: list[InkgateError] = []
        works = anyio.Event()

        async def one(replica: Replica[Server]) -> None:
            try:
                await replica.server.probe()
            except InkgateError as error:
                failures.append(error)
                if error.code in _GONE:
                    self._failed(replica, error.code)
            else:
                works.set()
                tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            for replica in self.set.replicas:
                if replica.state is ReplicaState.UP:
                    tasks.start_soon(one, replica)
        if not works.is_set():
            raise failures[0] if failures else _nobody("none is known to work")

    @property
    def heard_at(self) -> float:
        """Clock time in seconds when a server last sent part of an answer."""
        return max(replica.heard_at for replica in self.set.replicas)

    @asynccontextmanager
    async def send(self, call: ModelCall) -> AsyncIterator[ModelAnswer]:
        """See Upstream. What is sent again was not answered in any part; from then on it is the caller's to do.

        Raises:
            EngineFailed: "engine_failed": servers fail on this request, and not on others; or as Upstream.
        """
        tried: Replica[Server] | None = None
        for left in reversed(range(_TRIES)):
            replica = await self._available(call, tried)
            async with AsyncExitStack() as stack:
                lease = self.set.lease(replica, call.tokens, content_being_read())
                stack.callback(lease.end)
                try:
                    answer = await _heard(lease, stack.enter_async_context(replica.server.send(call)))
                    first = await _heard(lease, anext(answer.chunks, None))
                except EngineFailed as error:
                    self._failed(replica, error.code)
                    if not left:
                        raise
                    tried = replica
                    continue
                if answer.failed:
                    works = await self._still_works(replica, f"status {answer.status}")
                    if left:
                        tried = replica
                        continue
                    if works:
                        raise EngineFailed("engine_failed", "The model server failed on this, and works for others.")
                elif answer.status == 200:
                    self._answered(replica, tried, call)
                chunks = await stack.enter_async_context(aclosing(self._chunks(lease, answer.chunks, first)))
                yield ModelAnswer(answer.status, answer.headers, chunks)
                return

    async def drain(self, name: str) -> None:
        """Gives the server at this address nothing more; returns when what it has is done."""
        (replica,) = [replica for replica in self.set.replicas if replica.name == name]
        replica.set_state(ReplicaState.DRAINING)
        while replica.leases:
            await replica.changed.wait()

    def readmit(self, name: str) -> None:
        """Undoes `drain`."""
        (replica,) = [replica for replica in self.set.replicas if replica.name == name]
        if replica.state is ReplicaState.DRAINING:
            replica.set_state(ReplicaState.UP)

    async def run(self) -> None:
        """Watches for servers that stand still, and tries those that are out. Until `close`, or cancelled."""
        with anyio.CancelScope() as self._watching:
            async with anyio.create_task_group() as tasks:
                for replica in self.set.replicas:
                    tasks.start_soon(self._watch, replica)
                    tasks.start_soon(self._tend, replica)

    async def _watch(self, replica: Replica[Server]) -> None:
        while True:
            await anyio.sleep(self._settings.stalled_s / 8)
            if not self.set.seems_stalled(replica):
                continue
            if await self._gets_on(replica):
                self.set.progressed(replica)
            elif self.set.seems_stalled(replica):
                self._failed(replica, "upstream_stalled", stalled=True)
                if self._on_stalled is not None:
                    await self._on_stalled()

    async def _gets_on(self, replica: Replica[Server]) -> bool:
        """Whether a server whose calls hear nothing works all the same: answers that aren't streamed come at their end.

        Its own count of tokens says so; where that doesn't move, a call of ours.
        """
        with anyio.move_on_after(self._settings.probe_s):
            before = await replica.server.tokens_generated()
            await anyio.sleep(self._settings.probe_s / 4)
            after = await replica.server.tokens_generated()
            if before is not None and after is not None and after > before:
                return True
        return await self._works(replica)

    async def _still_works(self, replica: Replica[Server], why: str) -> bool:
        """Whether a server that failed on a request works for others; it is taken out where it doesn't."""
        if replica.is_out:
            return False
        if self._clock() - self._proved_at.get(replica, -math.inf) < _PROVED_S:
            return True
        if replica not in self._doubted:
            self._doubted[replica] = anyio.Event()
            replica.why = why
            replica.wake()
        with anyio.move_on_after(self._settings.probe_s):
            await self._doubted[replica].wait()
        return not replica.is_out

    async def _judge(self, replica: Replica[Server]) -> None:
        """Tries a server that failed on a request; those that wait in `_still_works` hear of it."""
        problem = await self._tried(replica)
        if problem:
            self._failed(replica, f"{replica.why}, then {problem}")
        else:
            self._proved_at[replica] = self._clock()
            self._decided(replica)

    def _decided(self, replica: Replica[Server]) -> None:
        """Whether `replica` works is known."""
        doubted = self._doubted.pop(replica, None)
        if doubted is not None:
            doubted.set()

    def _answered(self, replica: Replica[Server], tried: Replica[Server] | None, call: ModelCall) -> None:
        """Notes that `replica` answered what `tried` may have failed on."""
        replica.failed_here.clear()
        if tried is None or tried is replica or tried.state is ReplicaState.OUT:
            return
        tried.failed_here.add(call.key or hashlib.blake2b(call.body, digest_size=16).digest())
        if len(tried.failed_here) >= _CONTENTS:
            self._failed(tried, "fails on what another server reads", answers=True)

    async def _tend(self, replica: Replica[Server]) -> None:
        while True:
            if replica.state is not ReplicaState.OUT:
                if replica in self._doubted:
                    await self._judge(replica)
                else:
                    await replica.changed.wait()
                continue
            in_it = self._in_it.pop(replica, 0)
            pause = self._settings.first_pause_s
            while problem := await self._tried(replica):
                if problem in _GONE and in_it:
                    self._on_died(in_it)
                in_it = 0
                await anyio.sleep(pause)
                pause = min(2 * pause, self._settings.longest_pause_s)
            log.info("model_server_back", url=replica.name)
            replica.set_state(ReplicaState.UP)

    async def _works(self, replica: Replica[Server]) -> bool:
        return not await self._tried(replica)

    async def _tried(self, replica: Replica[Server]) -> str:
        """Why it does not work, as a code of an error; nothing where it does."""
        with anyio.move_on_after(self._settings.probe_s):
            try:
                await replica.server.probe()
            except InkgateError as error:
                log.debug("model_server_still_out", url=replica.name, code=error.code)
                return error.code
            return ""
        return "upstream_stalled"

    def _failed(self, replica: Replica[Server], why: str, *, stalled: bool = False, answers: bool = False) -> None:
        """Takes it out. `answers`: it is there, and nothing that is in it is to blame."""
        was_there = not stalled and any(lease.heard for lease in replica.leases)
        in_it = len(replica.leases) if was_there else 0
        if self.set.take_out(replica, why, stalled=stalled):
            log.warning("model_server_out", url=replica.name, why=why, calls=len(replica.leases))
            self._in_it[replica] = in_it
            self._decided(replica)
            self._on_out([] if answers else [lease.content for lease in replica.leases])

    async def _available(self, call: ModelCall, avoid: Replica[Server] | None) -> Replica[Server]:
        """A replica that is up, which is waited for.

        Raises:
            EngineFailed: "upstream_unreachable": none is in time.
        """
        with anyio.move_on_after(self._settings.recover_s):
            while True:
                replica = self.set.choose(call.tokens, call.key, avoid)
                if replica is not None:
                    return replica
                await _any_changes(self.set.replicas)
        raise _nobody("; ".join(sorted({replica.why or replica.state for replica in self.set.replicas})))

    async def _chunks(
        self, lease: Lease[Server], chunks: AsyncIterator[bytes], first: bytes | None
    ) -> AsyncGenerator[bytes, None]:
        chunk = first
        while chunk is not None:
            lease.progressed()
            yield chunk
            try:
                chunk = await _heard(lease, anext(chunks, None))
            except EngineFailed as error:
                self._failed(lease.replica, error.code)
                raise


async def _heard(lease: Lease[Server], awaited: Awaitable[T]) -> T:
    """What is awaited of a server, unless the server stands still meanwhile.

    Raises:
        EngineFailed: "upstream_stalled": it does.
    """
    with anyio.CancelScope() as scope:
        lease.waiting = scope
        try:
            if lease.lost:
                scope.cancel()
            return await awaited
        finally:
            lease.waiting = None
    raise EngineFailed("upstream_stalled", "The model server stands still.")


async def _any_changes(replicas: Sequence[Replica[Server]]) -> None:
    async with anyio.create_task_group() as tasks:

        async def one(replica: Replica[Server]) -> None:
            await replica.changed.wait()
            tasks.cancel_scope.cancel()

        for replica in replicas:
            tasks.start_soon(one, replica)


def _nobody(why: str) -> EngineFailed:
    return EngineFailed("upstream_unreachable", f"No model server is there to be asked ({why}).")
