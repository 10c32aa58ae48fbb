"""One model server behind the balancer: its load, its state, and whether it works."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus

import anyio
import structlog

from inkgate.errors import Blame, EngineFailed, InkgateError
from inkgate.model_servers.upstream import ModelCall, Server
from inkgate.serving.breaker import unread_in_a_row

log = structlog.get_logger(__name__)
OnOut = Callable[[Sequence[bytes]], None]
"""Called with the content of each call that was in a server when it was taken out; see Lease."""

_CONTENTS = 2
"""A server is at fault once it failed on this many different contents that another server reads."""
_HASHED_BYTES = 64 * 1024
"""The key of a request without one: this many of its first bytes. Two that begin alike count as the same content."""
_PAGES = 5
"""A server is at fault once it failed on this many different pages in a row, whatever its probe says."""
_OTHER_MODEL = "serves another model"
_PROVED_S = 1.0
"""A probe's success counts for this long when the server fails on a request."""


class ReplicaState(StrEnum):
    """`up`: takes calls; `out`: failed, stalled or new, and is probed; `leaving`: finishes its calls, takes no more."""

    UP = "up"
    OUT = "out"
    LEAVING = "leaving"


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


async def _do_nothing(_: str) -> None:
    """Does nothing."""


@dataclass(slots=True)
class ReplicaEvents:
    """Functions that are called when servers stop working and work again.

    Attributes:
        on_stalled: is awaited with the address of a server that stalls.
        on_out: is called for each server that is taken out.
        on_died: is called with the number of calls in a server that failed and whose probe found it gone.
        on_back: is called when a server that was out takes calls again.
    """

    on_stalled: Callable[[str], Awaitable[None]] = _do_nothing
    on_out: OnOut = lambda _: None
    on_died: Callable[[int], None] = lambda _: None
    on_back: Callable[[], None] = lambda: None


class Replica:
    """One server. `attend` finds out whether it stalls, and probes it while it is out. Used from one event loop.

    Attributes:
        server: the server.
        models: it comes up only if it serves one of these; empty: whatever it serves.
        state: whether it takes calls.
        leases: one for each of its calls.
        outstanding: tokens that its calls may still generate.
        responded_at: clock time in seconds when it last sent part of a response.
        up_at: clock time until which it was up, if it is not; -inf if it never was.
        why: reason why it was last taken out.
        taken_out: number of times it was taken out.
        unread: contents of pages that it failed on in a row, with the clock time of each.
        trials: number of times it was taken out for what it failed on, since it last read a page.
        changed: set when its state changes or its last call ends, and then replaced.
        on_change: is called then.
    """

    def __init__(
        self,
        server: Server,
        settings: BalancerSettings | None = None,
        clock: Callable[[], float] = anyio.current_time,
        events: ReplicaEvents | None = None,
        *,
        joined: bool = False,
    ) -> None:
        """`joined`: it was added while the service runs, and comes up only once a probe succeeds."""
        self.server = server
        self.models: Sequence[str] = ()
        self.state = ReplicaState.OUT if joined else ReplicaState.UP
        self.leases: set[Lease] = set()
        self.outstanding = 0
        self.responded_at = self.up_at = -math.inf
        self.why = "has not answered yet" if joined else ""
        self.taken_out = 0
        self.unread: dict[bytes, float] = {}
        self.trials = 0
        self.changed = anyio.Event()
        self.on_change: Callable[[], None] = lambda: None
        self._settings = settings or BalancerSettings()
        self._clock = clock
        self._events = events or ReplicaEvents()
        self._progressed_at = 0.0
        self._silent_s = 0.0
        self._failed_here: set[bytes] = set()
        self._suspected: anyio.Event | None = None
        self._proved_at = -math.inf
        self._calls_at_death = 0

    @property
    def name(self) -> str:
        """The server's address, for logs and metrics."""
        return self.server.base_url

    @property
    def is_gone(self) -> bool:
        """Whether it has left: it takes no calls, and the last one has ended."""
        return self.state is ReplicaState.LEAVING and not self.leases

    def seems_stalled(self) -> bool:
        """Whether it is not out, has calls, and sent nothing to any of them for `stalled_s`."""
        silent_s = self._clock() - self._progressed_at
        return self.state is not ReplicaState.OUT and bool(self.leases) and silent_s >= self._settings.stalled_s

    def lease(self, tokens: int, content: bytes = b"") -> Lease:
        """A call's share of it, until `Lease.end`. `content`: see Lease."""
        if not self.leases:
            # The silence of consecutive calls that each end before `stalled_s` without a response adds up.
            self._progressed_at = self._clock() - self._silent_s
        lease = Lease(self, tokens, self._clock(), content)
        self.outstanding += tokens
        self.leases.add(lease)
        return lease

    def progressed(self) -> None:
        """Records progress, such as a part of a response."""
        self._progressed_at = self._clock()
        self._silent_s = 0.0

    def responded(self) -> None:
        """Records that a part of a response arrived."""
        self.progressed()
        self.responded_at = self._progressed_at

    def end(self, lease: Lease, tokens: int) -> None:
        """Ends the share of a call that may still have generated `tokens`."""
        self.leases.discard(lease)
        self.outstanding -= tokens
        if not self.leases:
            self._silent_s = self._clock() - self._progressed_at
            self._wake()

    def retire(self) -> None:
        """Sends it no more calls; those in it go on."""
        self.set_state(ReplicaState.LEAVING)

    def take_out(self, why: str, *, stalled: bool = False, answers: bool = False) -> bool:
        """Sends it no more calls. Returns False if it was out already, or leaves.

        If it is `stalled`, its calls are lost. `answers`: it responds, so no call in it is to blame.
        """
        was_there = not stalled and any(lease.responded for lease in self.leases)
        if stalled:
            for lease in tuple(self.leases):
                lease.lose()
        # Also of one that left meanwhile: else it would be probed again and again.
        self._end_suspicion()
        if self.state is not ReplicaState.UP:
            return False
        log.warning("model_server_out", url=self.name, why=why, calls=len(self.leases))
        self.why = why
        self.taken_out += 1
        self.trials += answers
        self._calls_at_death = len(self.leases) if was_there else 0
        self._silent_s = 0.0
        self._failed_here.clear()
        self.unread.clear()
        self.set_state(ReplicaState.OUT)
        self._events.on_out([] if answers else [lease.content for lease in self.leases])
        return True

    def set_state(self, state: ReplicaState) -> None:
        """Sets the state, and wakes tasks that wait for `changed`."""
        if self.state is ReplicaState.UP:
            self.up_at = self._clock()
        self.state = state
        self._wake()

    def _wake(self) -> None:
        changed, self.changed = self.changed, anyio.Event()
        changed.set()
        self.on_change()

    def answered(self, call: ModelCall, failed: Replica | None) -> None:
        """Notes that it answered `call`, on which another server may have `failed` before."""
        self._failed_here.clear()
        if call.content:
            self.unread.clear()
            self.trials = 0
        if failed is not None and failed is not self:
            failed.failed_alone(call)

    def failed_alone(self, call: ModelCall) -> None:
        """Notes that another server answered what it failed on; takes it out if that happened on several contents."""
        if self.state is ReplicaState.OUT:
            return
        self._failed_here.add(call.key or hashlib.blake2b(call.body[:_HASHED_BYTES], digest_size=16).digest())
        if len(self._failed_here) >= _CONTENTS:
            self.take_out("fails on what another server reads", answers=True)

    def failed_page(self, lease: Lease) -> bool:
        """Notes that it failed on a request. Returns whether that took it out: "only this page is bad" can't be true of
        several in a row.
        """
        if not self.misses_pages(lease):
            return False
        self.take_out("fails on every page", answers=True)
        return True

    def misses_pages(self, lease: Lease) -> bool:
        """Notes that it did not read a page. Returns whether that makes several in a row; one is enough on trial."""
        if not lease.content or self.state is not ReplicaState.UP:
            return False
        self.unread.setdefault(lease.content, self._clock())
        running = ((each.began, each.content) for each in self.leases)
        return unread_in_a_row(self.unread, running) >= (1 if self.trials else _PAGES)

    def suspect(self, why: str) -> None:
        """Has it probed in the background, unless it is, or was just now."""
        if self._suspected is None and self.state is ReplicaState.UP and not self._just_proved:
            self._suspected = anyio.Event()
            self.why = why
            self._wake()

    async def check_after_failure(self, why: str) -> bool:
        """Whether it works for others after it failed on a request; if not, it is taken out. One that leaves is not
        probed: it has no others.
        """
        if self.state is ReplicaState.UP and not self._just_proved:
            self.suspect(why)
            if self._suspected is not None:
                with anyio.move_on_after(self._settings.probe_s):
                    await self._suspected.wait()
        return self.state is ReplicaState.UP

    @property
    def _just_proved(self) -> bool:
        return self._clock() - self._proved_at < _PROVED_S

    def _end_suspicion(self) -> None:
        """Wakes those that wait in `check_after_failure`."""
        suspected, self._suspected = self._suspected, None
        if suspected is not None:
            suspected.set()

    async def attend(self) -> None:
        """Finds out whether it stalls, and probes it while it is suspected or out. Returns once it has left."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch)
            tasks.start_soon(self._tend)
            while not self.is_gone:
                await self.changed.wait()
            tasks.cancel_scope.cancel()
        self._end_suspicion()
        await self.server.close()

    async def _watch(self) -> None:
        while True:
            await anyio.sleep(self._settings.stalled_s / 8)
            if not self.seems_stalled():
                continue
            if await self._makes_progress():
                self.progressed()
            elif self.seems_stalled():
                self.take_out("upstream_stalled", stalled=True)
                await self._events.on_stalled(self.name)

    async def _makes_progress(self) -> bool:
        """Whether a silent server makes progress: responses that are not streamed arrive at once at the end.

        Judged by its token counter; if that does not move, by a probe.
        """
        with anyio.move_on_after(self._settings.probe_s):
            before = await self.server.readings()
            await anyio.sleep(self._settings.probe_s / 4)
            after = await self.server.readings()
            if before is not None and after is not None and after.generation_tokens > before.generation_tokens:
                return True
        return await self._probe_error() is None

    async def _tend(self) -> None:
        while True:
            if self.state is ReplicaState.OUT:
                await self._recover()
            elif self._suspected is not None:
                await self._judge()
            else:
                await self.changed.wait()

    async def _judge(self) -> None:
        """Probes it after it failed on a request."""
        problem = await self._probe_error()
        if problem is not None:
            self.take_out(f"{self.why}, then {problem.code}", answers=problem.blame is not Blame.SERVER)
        else:
            self._proved_at = self._clock()
            self._end_suspicion()

    async def _recover(self) -> None:
        """Probes it until it works."""
        calls, self._calls_at_death = self._calls_at_death, 0
        pause = self._settings.first_pause_s
        if self.trials:
            await anyio.sleep(min(pause * 2.0 ** min(self.trials, 60), self._settings.longest_pause_s))
        while problem := await self._probe_error():
            if calls and _is_gone(problem):
                self._events.on_died(calls)
            calls = 0
            await anyio.sleep(pause)
            pause = min(2 * pause, self._settings.longest_pause_s)
        if self.state is ReplicaState.OUT:  # else it is leaving
            log.info("model_server_back", url=self.name)
            self.set_state(ReplicaState.UP)
            self._events.on_back()

    async def _probe_error(self) -> InkgateError | None:
        """Probes it. Returns its error; None if it works."""
        with anyio.move_on_after(self._settings.probe_s):
            try:
                await self.server.probe()
                if self.models and not set(self.models).intersection(await self.server.models()):
                    if self.why != _OTHER_MODEL:
                        log.warning("model_server_has_another_model", url=self.name, expected=self.models[0])
                    self.why = _OTHER_MODEL
                    return EngineFailed("model_unknown", "The model server serves another model.")
            except InkgateError as error:
                log.debug("model_server_still_out", url=self.name, code=error.code)
                return error
            return None
        return EngineFailed("upstream_stalled", "The model server did not read a small image in time.")


def _is_gone(problem: InkgateError) -> bool:
    """Whether a probe's error says that the server's process, or the proxy before it, is gone. A server that takes too
    long is there.
    """
    return problem.blame is Blame.SERVER and problem.transient and problem.status != HTTPStatus.GATEWAY_TIMEOUT


class Lease:
    """The share of a replica that one call holds.

    Attributes:
        content: content key of the call's page; empty if it has none.
        began: clock time.
        responded: part of a response arrived.
        lost: the replica is stalled, and the call should stop waiting.
        waiting: what the call waits in now.
    """

    def __init__(self, replica: Replica, tokens: int, began: float, content: bytes) -> None:
        self.replica = replica
        self.content = content
        self.began = began
        self.responded = False
        self.lost = False
        self.waiting: anyio.CancelScope | None = None
        self._tokens = tokens

    def progressed(self) -> None:
        """Part of a response arrived: about one token."""
        self.responded = True
        self.replica.responded()
        if self._tokens:
            self._tokens -= 1
            self.replica.outstanding -= 1

    def lose(self) -> None:
        """Marks the call as lost and cancels its wait."""
        self.lost = True
        if self.waiting is not None:
            self.waiting.cancel()

    def end(self) -> None:
        """Gives the share back."""
        tokens, self._tokens = self._tokens, 0
        self.replica.end(self, tokens)
