"""Load balancer over model servers: picks the least loaded and takes failing servers out until they recover."""

from __future__ import annotations

import hashlib
import math
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol, TypeVar

import anyio
import structlog
from anyio.abc import TaskGroup

from inkgate.errors import Blame, EngineFailed, InkgateError
from inkgate.model_servers.metrics import ServerReading
from inkgate.model_servers.replicas import Lease, Replica, ReplicaSet, ReplicaState
from inkgate.model_servers.upstream import ModelAnswer, ModelCall, Upstream

log = structlog.get_logger(__name__)
T = TypeVar("T")
OnOut = Callable[[Sequence[bytes]], None]
"""Called with the content of each call that was in a server when it was taken out; see Lease."""

_TRIES = 2
"""One retry on another server. A request that two servers failed on might kill a third."""
_CONTENTS = 2
"""A server is at fault once it failed on this many different contents that another server reads."""
_HASHED_BYTES = 64 * 1024
"""Of a request without a key. Two that begin alike count as the same content."""
_PAGES = 5
"""A server is at fault once it failed on this many different pages in a row, whatever its probe says."""
_OTHER_MODEL = "serves another model"
_PROVED_S = 1.0
"""A probe's success counts for this long when the server fails on a request."""


class Server(Upstream, Protocol):
    """An Upstream that can be probed."""

    @property
    def base_url(self) -> str: ...

    async def probe(self) -> None:
        """Returns once the server has read a small image. Raises InkgateError."""
        ...

    async def readings(self) -> ServerReading | None:
        """The server's own metrics; None if it exports none."""
        ...

    async def tokens_generated(self) -> float | None:
        """Tokens generated since its start; None if it does not report them."""
        ...


@dataclass(frozen=True, slots=True)
class BalancerSettings:
    """Times in seconds.

    Attributes:
        stalled_s: a server is stalled if it sends nothing to any of its calls for this long.
        recover_s: how long a call waits for a server to come back.
        gives_up: once no server was up for `recover_s`, calls fail without waiting: another engine reads their pages.
        probe_s: timeout of a probe.
        first_pause_s, longest_pause_s: pause between probes, doubled each time.
    """

    stalled_s: float = 60.0
    recover_s: float = 30.0
    probe_s: float = 15.0
    first_pause_s: float = 0.5
    longest_pause_s: float = 15.0
    gives_up: bool = False


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
    """

    def __init__(
        self,
        servers: Sequence[Server],
        settings: BalancerSettings | None = None,
        clock: Callable[[], float] = anyio.current_time,
        on_stalled: Callable[[str], Awaitable[None]] | None = None,
        on_out: OnOut = lambda _: None,
        on_died: Callable[[int], None] = lambda _: None,
    ) -> None:
        """`on_stalled` is awaited with the address of a server that stalls; `on_out` is called for each server that is
        taken out.

        `on_died` is called with the number of calls in a server that failed and whose probe found it gone.

        Attributes:
            on_back: called when a server that was out takes calls again.
        """
        self._settings = settings or BalancerSettings()
        replicas = [Replica(server.base_url, server) for server in servers]
        self.set = ReplicaSet(replicas, self._settings.stalled_s, clock)
        self._on_stalled = on_stalled
        self._on_out = on_out
        self._on_died = on_died
        self.on_back: Callable[[], None] = lambda: None
        self._clock = clock
        self._calls_at_death: dict[Replica[Server], int] = {}
        self._suspected: dict[Replica[Server], anyio.Event] = {}
        self._proved_at: dict[Replica[Server], float] = {}
        self._watching: anyio.CancelScope | None = None
        self._tasks: TaskGroup | None = None
        self._models: Sequence[str] = ()

    def expect(self, models: Sequence[str]) -> None:
        """From now on, a server comes up only if it serves one of these models."""
        self._models = tuple(models)

    def add(self, server: Server) -> None:
        """Adds a server, which takes calls once a probe succeeds."""
        replica = Replica(server.base_url, server, joined=True)
        self.set.add(replica)
        log.info("model_server_joins", url=replica.name)
        if self._tasks is not None:
            self._tasks.start_soon(self._attend, replica)

    def retire(self, url: str) -> None:
        """Sends the server no more calls. Once its last call has ended, its connections are closed."""
        for replica in self.set.replicas:
            if replica.name == url and replica.state is not ReplicaState.LEAVING:
                log.info("model_server_leaves", url=url, calls=len(replica.leases))
                self.set.retire(replica)

    def is_up(self, url: str) -> bool:
        """Whether the server at `url` takes calls."""
        return any(each.name == url and each.state is ReplicaState.UP for each in self.set.replicas)

    async def close(self) -> None:
        """See Upstream. Ends `run` too."""
        if self._watching is not None:
            self._watching.cancel()
        for replica in self.set.replicas:
            await replica.server.close()

    async def models(self) -> tuple[str, ...]:
        """See Upstream: of the first server that answers. All are asked at once.

        Raises:
            InputRejected, EngineFailed: none does; the error is the first one's.
        """
        failures: dict[int, InkgateError] = {}
        found: list[tuple[str, ...]] = []

        async def one(number: int, replica: Replica[Server]) -> None:
            try:
                found.append(await replica.server.models())
            except InkgateError as error:
                failures[number] = error
                if isinstance(error, EngineFailed):
                    self._failed(replica, error.code)
            else:
                tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            for number, replica in enumerate(self.set.replicas):
                tasks.start_soon(one, number, replica)
        if found:
            return found[0]
        raise failures[min(failures)] if failures else _unavailable_error("none is known")

    async def probe(self) -> None:
        """Returns when a server in service has read a small image, bypassing the queue. A server that fails is probed
        once more, and taken out if it fails again.

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
                if error.blame is Blame.SERVER:
                    self._suspect(replica, error.code)
            else:
                works.set()
                tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            for replica in self.set.replicas:
                if replica.state is ReplicaState.UP:
                    tasks.start_soon(one, replica)
        if not works.is_set():
            raise failures[0] if failures else _unavailable_error("none is known to work")

    @property
    def responded_at(self) -> float:
        """Clock time in seconds when a server last sent part of a response."""
        return max((replica.responded_at for replica in self.set.replicas), default=-math.inf)

    @asynccontextmanager
    async def send(self, call: ModelCall) -> AsyncIterator[ModelAnswer]:
        """See Upstream. A call is retried only while none of its response has arrived.

        Raises:
            EngineFailed: "engine_failed": servers fail on this request, and not on others; or as Upstream.
        """
        tried: Replica[Server] | None = None
        for left in reversed(range(_TRIES)):
            replica = await self._available(call, tried)
            async with AsyncExitStack() as stack:
                lease = self.set.lease(replica, call.tokens, call.content)
                stack.callback(lease.end)
                try:
                    answer = await _unless_stalled(lease, stack.enter_async_context(replica.server.send(call)))
                    first = await _unless_stalled(lease, anext(answer.chunks, None))
                except EngineFailed as error:
                    self._failed(replica, error.code)
                    if not left:
                        raise
                    tried = replica
                    continue
                if answer.failed:
                    put_out = self._failed_on(lease)
                    works = await self._still_works(replica, f"status {answer.status}")
                    if left and not (put_out and self.set.none_is_up):
                        tried = replica
                        continue
                    if works:
                        raise EngineFailed("engine_failed", "The model server failed only on this request.")
                elif answer.status == 200:
                    self._answered(replica, tried, call)
                elif self._is_unread(lease):
                    self._suspect(replica, f"status {answer.status}")
                chunks = await stack.enter_async_context(aclosing(self._chunks(lease, answer.chunks, first)))
                yield ModelAnswer(answer.status, answer.headers, chunks)
                return

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

    async def _attend(self, replica: Replica[Server]) -> None:
        """Looks after one server until it has left."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch, replica)
            tasks.start_soon(self._tend, replica)
            while not replica.is_gone:
                await replica.changed.wait()
            tasks.cancel_scope.cancel()
        self.set.drop(replica)
        self._end_judging(replica)
        self._calls_at_death.pop(replica, None)
        self._proved_at.pop(replica, None)
        await replica.server.close()

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
                    await self._on_stalled(replica.name)

    async def _gets_on(self, replica: Replica[Server]) -> bool:
        """Whether a silent server makes progress: responses that are not streamed arrive at once at the end.

        Judged by its token counter; if that does not move, by a probe.
        """
        with anyio.move_on_after(self._settings.probe_s):
            before = await replica.server.tokens_generated()
            await anyio.sleep(self._settings.probe_s / 4)
            after = await replica.server.tokens_generated()
            if before is not None and after is not None and after > before:
                return True
        return await self._works(replica)

    async def _still_works(self, replica: Replica[Server], why: str) -> bool:
        """Whether a server that failed on a request works for others; if not, it is taken out. One that leaves is not
        asked: it has no others.
        """
        if replica.state is not ReplicaState.UP:
            return False
        if self._clock() - self._proved_at.get(replica, -math.inf) < _PROVED_S:
            return True
        self._suspect(replica, why)
        with anyio.move_on_after(self._settings.probe_s):
            await self._suspected[replica].wait()
        return replica.state is ReplicaState.UP

    def _suspect(self, replica: Replica[Server], why: str) -> None:
        """Has the server probed in the background, unless it is, or was just now."""
        proved = self._clock() - self._proved_at.get(replica, -math.inf) < _PROVED_S
        if replica not in self._suspected and replica.state is ReplicaState.UP and not proved:
            self._suspected[replica] = anyio.Event()
            replica.why = why
            replica.wake()

    async def _judge(self, replica: Replica[Server]) -> None:
        """Probes a server that failed on a request."""
        problem = await self._probe_error(replica)
        if problem is not None:
            answers = problem.blame is not Blame.SERVER
            self._failed(replica, f"{replica.why}, then {problem.code}", answers=answers)
        else:
            self._proved_at[replica] = self._clock()
            self._end_judging(replica)

    def _end_judging(self, replica: Replica[Server]) -> None:
        """Wakes those that wait in `_still_works`."""
        suspected = self._suspected.pop(replica, None)
        if suspected is not None:
            suspected.set()

    def _failed_on(self, lease: Lease[Server]) -> bool:
        """Notes that a server failed on a request. Returns whether that took it out: "only this page is bad" can't be
        true of several in a row.
        """
        if not self._is_unread(lease):
            return False
        self._failed(lease.replica, "fails on every page", answers=True)
        return True

    def _is_unread(self, lease: Lease[Server]) -> bool:
        """Notes that a server did not read the page. Returns whether that makes several in a row."""
        if not lease.content or lease.replica.state is not ReplicaState.UP:
            return False
        return lease.unread_in_a_row() >= (1 if lease.replica.trials else _PAGES)

    def _answered(self, replica: Replica[Server], tried: Replica[Server] | None, call: ModelCall) -> None:
        """Notes that `replica` answered what `tried` may have failed on."""
        replica.failed_here.clear()
        if call.content:
            replica.unread.clear()
            replica.trials = 0
        if tried is None or tried is replica or tried.state is ReplicaState.OUT:
            return
        tried.failed_here.add(call.key or hashlib.blake2b(call.body[:_HASHED_BYTES], digest_size=16).digest())
        if len(tried.failed_here) >= _CONTENTS:
            self._failed(tried, "fails on what another server reads", answers=True)

    async def _tend(self, replica: Replica[Server]) -> None:
        while True:
            if replica.state is not ReplicaState.OUT:
                if replica in self._suspected:
                    await self._judge(replica)
                else:
                    await replica.changed.wait()
                continue
            calls = self._calls_at_death.pop(replica, 0)
            pause = self._settings.first_pause_s
            if replica.trials:
                await anyio.sleep(min(pause * 2.0 ** min(replica.trials, 60), self._settings.longest_pause_s))
            while problem := await self._probe_error(replica):
                if calls and _is_gone(problem):
                    self._on_died(calls)
                calls = 0
                await anyio.sleep(pause)
                pause = min(2 * pause, self._settings.longest_pause_s)
            if replica.state is ReplicaState.OUT:  # else it is leaving
                log.info("model_server_back", url=replica.name)
                replica.set_state(ReplicaState.UP)
                self.on_back()

    async def _works(self, replica: Replica[Server]) -> bool:
        return await self._probe_error(replica) is None

    async def _probe_error(self, replica: Replica[Server]) -> InkgateError | None:
        """Probes the server. Returns its error; None if it works."""
        with anyio.move_on_after(self._settings.probe_s):
            try:
                await replica.server.probe()
                if self._models and not set(self._models).intersection(await replica.server.models()):
                    if replica.why != _OTHER_MODEL:
                        log.warning("model_server_has_another_model", url=replica.name, expected=self._models[0])
                    replica.why = _OTHER_MODEL
                    return EngineFailed("model_unknown", "The model server serves another model.")
            except InkgateError as error:
                log.debug("model_server_still_out", url=replica.name, code=error.code)
                return error
            return None
        return EngineFailed("upstream_stalled", "The model server did not read a small image in time.")

    def _failed(self, replica: Replica[Server], why: str, *, stalled: bool = False, answers: bool = False) -> None:
        """Takes it out. `answers`: it responds, so no call in it is to blame."""
        was_there = not stalled and any(lease.responded for lease in replica.leases)
        calls = len(replica.leases) if was_there else 0
        if self.set.take_out(replica, why, stalled=stalled):
            log.warning("model_server_out", url=replica.name, why=why, calls=len(replica.leases))
            self._calls_at_death[replica] = calls
            replica.trials += answers
            self._on_out([] if answers else [lease.content for lease in replica.leases])
        # Also of one that left meanwhile: else it would be probed again and again.
        self._end_judging(replica)

    async def _available(self, call: ModelCall, avoid: Replica[Server] | None) -> Replica[Server]:
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
                await _any_changes(self.set)
        why = "; ".join(sorted({replica.why or replica.state for replica in self.set.replicas}))
        raise _unavailable_error(why or "none is known")

    async def _chunks(
        self, lease: Lease[Server], chunks: AsyncIterator[bytes], first: bytes | None
    ) -> AsyncGenerator[bytes, None]:
        chunk = first
        while chunk is not None:
            lease.progressed()
            yield chunk
            try:
                chunk = await _unless_stalled(lease, anext(chunks, None))
            except EngineFailed as error:
                self._failed(lease.replica, error.code)
                raise


async def _unless_stalled(lease: Lease[Server], awaited: Awaitable[T]) -> T:
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


async def _any_changes(replicas: ReplicaSet[Server]) -> None:
    async with anyio.create_task_group() as tasks:

        async def one(changed: anyio.Event) -> None:
            await changed.wait()
            tasks.cancel_scope.cancel()

        for changed in (replicas.changed, *(replica.changed for replica in replicas.replicas)):
            tasks.start_soon(one, changed)


def _is_gone(problem: InkgateError) -> bool:
    """Whether a probe's error says that the server's process, or the proxy before it, is gone. A server that takes too
    long is there.
    """
    return problem.blame is Blame.SERVER and problem.transient and problem.status != HTTPStatus.GATEWAY_TIMEOUT


def _unavailable_error(why: str) -> EngineFailed:
    return EngineFailed("upstream_unreachable", f"No model server is available ({why}).")
