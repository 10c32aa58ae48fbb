"""Load balancer over model servers: picks the least loaded and takes failing servers out until they recover."""

from __future__ import annotations

import hashlib
import math
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import TypeVar

import anyio
import structlog
from anyio.abc import TaskGroup

from inkgate.errors import Blame, EngineFailed, InkgateError
from inkgate.model_servers.replica import BalancerSettings, Lease, Replica, ReplicaEvents, ReplicaState
from inkgate.model_servers.upstream import ModelAnswer, ModelCall, Server

log = structlog.get_logger(__name__)
T = TypeVar("T")

_TRIES = 2
"""One retry on another server. A request that two servers failed on might kill a third."""


class ReplicaSet:
    """Chooses among replicas, which may come and go. Used from one event loop; `clock` in seconds.

    Attributes:
        replicas: all, those that are leaving too.
        changed: set when a replica is added, dropped or changes, and then replaced.
    """

    def __init__(self, replicas: Sequence[Replica] = (), clock: Callable[[], float] = anyio.current_time) -> None:
        self.replicas: tuple[Replica, ...] = ()
        self.changed = anyio.Event()
        self._clock = clock
        self._dropped_up_at = -math.inf
        for replica in replicas:
            self.add(replica)

    @property
    def none_is_up(self) -> bool:
        return all(replica.state is not ReplicaState.UP for replica in self.replicas)

    @property
    def none_up_s(self) -> float:
        """Seconds since a replica was last up: 0 while one is, infinite if none ever was."""
        if not self.none_is_up:
            return 0.0
        return self._clock() - max((self._dropped_up_at, *(replica.up_at for replica in self.replicas)))

    @property
    def leaving_calls(self) -> int:
        """Calls at replicas that are leaving."""
        return sum(len(replica.leases) for replica in self.replicas if replica.state is ReplicaState.LEAVING)

    def add(self, replica: Replica) -> None:
        """Adds a replica."""
        replica.on_change = self._wake
        self.replicas = (*self.replicas, replica)
        self._wake()

    def drop(self, replica: Replica) -> None:
        """Removes a replica that has left."""
        self.replicas = tuple(each for each in self.replicas if each is not replica)
        self._dropped_up_at = max(self._dropped_up_at, replica.up_at)
        self._wake()

    def _wake(self) -> None:
        changed, self.changed = self.changed, anyio.Event()
        changed.set()

    def choose(self, tokens: int, key: bytes, avoid: Replica | None = None) -> Replica | None:
        """The replica for a call: the preferred one of `key` if it is about as free as the least loaded, else that one.

        Preference is by rendezvous hashing (Thaler and Ravishankar, 1998): each key has its own order of replicas, as
        replicas come and go. About as free: the difference is at most this call's tokens. `avoid` is chosen only if
        there is no other. None if no replica is up.
        """
        up = [replica for replica in self.replicas if replica.state is ReplicaState.UP]
        choice = [replica for replica in up if replica is not avoid] or up
        if not choice:
            return None
        least = min(replica.outstanding for replica in choice)
        if key:
            free = [replica for replica in choice if replica.outstanding <= least + tokens]
            return max(free, key=lambda replica: _weight(key, replica.name))
        return min(choice, key=lambda replica: (replica.outstanding, len(replica.leases)))


def _weight(key: bytes, name: str) -> bytes:
    return hashlib.blake2b(name.encode(), key=key[:64], digest_size=8).digest()


class BalancedUpstream:
    """An Upstream over several servers. Its background task is `run`.

    A call goes to the server with the fewest outstanding tokens. A server that is unreachable, closes connections or
    stalls is taken out. It is probed in the background with a small image and comes back once it reads that. A call
    without any response yet is retried once, on another server if there is one.

    A 5xx status may be the request's own fault: the server is probed at once, and taken out if the probe fails, if it
    fails on several contents that another server reads, or if it fails on several pages in a row. Otherwise it stays,
    and a request that failed twice gets `engine_failed`: one client can't take a server out for all others. A client's
    own chat completions don't count as pages. A server that refuses several pages in a row, or says each time that it
    is full, is taken out if it refuses the probe as well.

    A server that was taken out for failing while its probe succeeds comes back on trial, after a pause that doubles:
    the next page that it fails on takes it out again.

    Servers may be added and retired while it runs. A new one takes calls once it has read the small image and serves
    the model. A retired one finishes its calls.

    Attributes:
        set: its servers.
        events: functions that are called when servers stop working and work again.
    """

    def __init__(
        self,
        servers: Sequence[Server],
        settings: BalancerSettings | None = None,
        clock: Callable[[], float] = anyio.current_time,
        events: ReplicaEvents | None = None,
    ) -> None:
        self.events = events or ReplicaEvents()
        self._settings = settings or BalancerSettings()
        self._clock = clock
        self.set = ReplicaSet([Replica(server, self._settings, clock, self.events) for server in servers], clock)
        self._watching: anyio.CancelScope | None = None
        self._tasks: TaskGroup | None = None
        self._models: Sequence[str] = ()

    def expect(self, models: Sequence[str]) -> None:
        """Lets servers come up only if they serve one of these models, from now on."""
        self._models = tuple(models)
        for replica in self.set.replicas:
            replica.models = self._models

    def add(self, server: Server) -> None:
        """Adds a server, which takes calls once a probe succeeds."""
        replica = Replica(server, self._settings, self._clock, self.events, joined=True)
        replica.models = self._models
        self.set.add(replica)
        log.info("model_server_joins", url=replica.name)
        if self._tasks is not None:
            self._tasks.start_soon(self._attend, replica)

    def retire(self, url: str) -> None:
        """Sends the server no more calls. Once its last call has ended, its connections are closed."""
        for replica in self.set.replicas:
            if replica.name == url and replica.state is not ReplicaState.LEAVING:
                log.info("model_server_leaves", url=url, calls=len(replica.leases))
                replica.retire()

    def is_up(self, url: str) -> bool:
        """Whether the server at `url` takes calls."""
        return any(each.name == url and each.state is ReplicaState.UP for each in self.set.replicas)

    async def run(self) -> None:
        """Finds stalled servers and probes those that are out, until `close` or cancellation."""
        with anyio.CancelScope() as self._watching:
            try:
                async with anyio.create_task_group() as self._tasks:
                    for replica in self.set.replicas:
                        self._tasks.start_soon(self._attend, replica)
                    await anyio.sleep_forever()
            finally:
                self._tasks = None

    async def _attend(self, replica: Replica) -> None:
        await replica.attend()
        self.set.drop(replica)

    async def close(self) -> None:
        """Closes the connections, and ends `run` too."""
        if self._watching is not None:
            self._watching.cancel()
        for replica in self.set.replicas:
            await replica.server.close()

    @property
    def responded_at(self) -> float:
        """Clock time in seconds when a server last sent part of a response."""
        return max((replica.responded_at for replica in self.set.replicas), default=-math.inf)

    async def models(self) -> tuple[str, ...]:
        """Returns the models of the first server that answers. All are requested at once.

        Raises:
            InputRejected, EngineFailed: none does; the error is the first one's.
        """

        async def one(replica: Replica) -> tuple[str, ...]:
            try:
                return await replica.server.models()
            except EngineFailed as error:
                replica.take_out(error.code)
                raise

        return await _first_success(one, self.set.replicas, "none is known")

    async def probe(self) -> None:
        """Returns when a server in service has read a small image, bypassing the queue. A server that fails is probed
        once more, and taken out if it fails again.

        Raises:
            InkgateError: none does; the error is the first one's.
        """

        async def one(replica: Replica) -> None:
            try:
                await replica.server.probe()
            except InkgateError as error:
                if error.blame is Blame.SERVER:
                    replica.suspect(error.code)
                raise

        up = [replica for replica in self.set.replicas if replica.state is ReplicaState.UP]
        await _first_success(one, up, "none is known to work")

    @asynccontextmanager
    async def send(self, call: ModelCall) -> AsyncIterator[ModelAnswer]:
        """Sends a call to a server. It is retried only while none of its response has arrived.

        Raises:
            EngineFailed: "engine_failed": servers fail on this request, and not on others; or as Upstream.
        """
        tried: Replica | None = None
        for left in reversed(range(_TRIES)):
            replica = await self._available(call, tried)
            async with AsyncExitStack() as stack:
                lease = replica.lease(call.tokens, call.content)
                stack.callback(lease.end)
                try:
                    answer = await _unless_stalled(lease, stack.enter_async_context(replica.server.send(call)))
                    first = await _unless_stalled(lease, anext(answer.chunks, None))
                except EngineFailed as error:
                    replica.take_out(error.code)
                    if not left:
                        raise
                    tried = replica
                    continue
                if answer.failed:
                    put_out = replica.failed_page(lease)
                    healthy = await replica.check_after_failure(f"status {answer.status}")
                    if left and not (put_out and self.set.none_is_up):
                        tried = replica
                        continue
                    if healthy:
                        raise EngineFailed("engine_failed", "The model server failed only on this request.")
                elif answer.status == 200:
                    replica.answered(call, tried)
                elif replica.misses_pages(lease):
                    replica.suspect(f"status {answer.status}")
                chunks = await stack.enter_async_context(aclosing(_chunks(lease, answer.chunks, first)))
                yield ModelAnswer(answer.status, answer.headers, chunks)
                return

    async def _available(self, call: ModelCall, avoid: Replica | None) -> Replica:
        """Waits for a replica that is up and returns it.

        Raises:
            EngineFailed: "upstream_unreachable": none is in time.
        """
        waited_s = self.set.none_up_s if self._settings.gives_up else 0.0
        with anyio.move_on_after(max(0.0, self._settings.recover_s - waited_s)):
            while True:
                replica = self.set.choose(call.tokens, call.key, avoid)
                if replica is not None:
                    return replica
                await self.set.changed.wait()
        why = "; ".join(sorted({replica.why or replica.state for replica in self.set.replicas}))
        raise _unavailable_error(why or "none is known")


async def _first_success(call: Callable[[Replica], Awaitable[T]], replicas: Sequence[Replica], why_none: str) -> T:
    """Calls with all replicas at once. Returns the first result.

    Raises:
        InkgateError: all fail; the error is that of the first replica. Without replicas, it says `why_none`.
    """
    results: list[T] = []
    failures: dict[int, InkgateError] = {}

    async def one(number: int, replica: Replica) -> None:
        try:
            results.append(await call(replica))
        except InkgateError as error:
            failures[number] = error
        else:
            tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        for number, replica in enumerate(replicas):
            tasks.start_soon(one, number, replica)
    if results:
        return results[0]
    raise failures[min(failures)] if failures else _unavailable_error(why_none)


async def _chunks(lease: Lease, chunks: AsyncIterator[bytes], first: bytes | None) -> AsyncGenerator[bytes, None]:
    chunk = first
    while chunk is not None:
        lease.progressed()
        yield chunk
        try:
            chunk = await _unless_stalled(lease, anext(chunks, None))
        except EngineFailed as error:
            lease.replica.take_out(error.code)
            raise


async def _unless_stalled(lease: Lease, awaited: Awaitable[T]) -> T:
    """The awaited result, unless the server stalls meanwhile.

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
    raise EngineFailed("upstream_stalled", "The model server stalled.")


def _unavailable_error(why: str) -> EngineFailed:
    return EngineFailed("upstream_unreachable", f"No model server is available ({why}).")
