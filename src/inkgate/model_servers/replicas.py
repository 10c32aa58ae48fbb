"""Load, progress and state of each model server, and the choice among them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Generic, TypeVar

import anyio

ServerT = TypeVar("ServerT")


class ReplicaState(StrEnum):
    """`up`: takes calls; `out`: failed, stalled or new, and is probed; `leaving`: finishes its calls, takes no more."""

    UP = "up"
    OUT = "out"
    LEAVING = "leaving"


class Replica(Generic[ServerT]):
    """One server.

    Attributes:
        name: its address, for logs and metrics.
        outstanding: tokens that its calls may still generate.
        silent_s: seconds with calls but without any response, up to the end of the last call.
        responded_at: clock time in seconds when it last sent part of a response.
        why: reason why it was last taken out.
        taken_out: number of times it was taken out.
        joined: it was added while the service runs, and comes up only once a probe succeeds.
        failed_here: contents of calls that failed here and succeeded on another server, since its last success.
        unread: contents of pages that it failed on in a row, with the clock time of each.
        trials: number of times it was taken out for what it failed on, since it last read a page.
        changed: set when its state changes or its last call ends, and then replaced.
    """

    def __init__(self, name: str, server: ServerT, *, joined: bool = False) -> None:
        self.name = name
        self.server = server
        self.joined = joined
        self.state = ReplicaState.OUT if joined else ReplicaState.UP
        self.outstanding = 0
        self.leases: set[Lease[ServerT]] = set()
        self.progressed_at = 0.0
        self.responded_at = -math.inf
        self.silent_s = 0.0
        self.why = "has not answered yet" if joined else ""
        self.taken_out = 0
        self.failed_here: set[bytes] = set()
        self.unread: dict[bytes, float] = {}
        self.trials = 0
        self.changed = anyio.Event()

    @property
    def is_out(self) -> bool:
        return self.state is ReplicaState.OUT

    @property
    def is_gone(self) -> bool:
        """Whether it has left: it takes no calls, and the last one has ended."""
        return self.state is ReplicaState.LEAVING and not self.leases

    def set_state(self, state: ReplicaState) -> None:
        """Sets the state, and wakes tasks that wait for `changed`."""
        self.state = state
        self.wake()

    def wake(self) -> None:
        changed, self.changed = self.changed, anyio.Event()
        changed.set()


class Lease(Generic[ServerT]):
    """The share of a replica that one call holds.

    Attributes:
        content: content key of the call's page; empty if it has none.
        began: clock time.
        responded: part of a response arrived.
        lost: the replica is stalled, and the call should stop waiting.
    """

    def __init__(
        self, replica: Replica[ServerT], tokens: int, clock: Callable[[], float], content: bytes = b""
    ) -> None:
        self.replica = replica
        self.content = content
        self.began = clock()
        self.responded = False
        self.lost = False
        self.waiting: anyio.CancelScope | None = None
        self._tokens = tokens
        self._clock = clock
        if not replica.leases:
            # The silence of consecutive calls that each end before `stalled_s` without a response adds up.
            replica.progressed_at = clock() - replica.silent_s
        replica.outstanding += tokens
        replica.leases.add(self)

    def progressed(self) -> None:
        """Part of a response arrived: about one token."""
        self.responded = True
        self.replica.progressed_at = self.replica.responded_at = self._clock()
        self.replica.silent_s = 0.0
        if self._tokens:
            self._tokens -= 1
            self.replica.outstanding -= 1

    def unread_in_a_row(self) -> int:
        """Notes that the replica did not read the page. Returns how many in a row it did not read; 0 while it reads one
        that it began before the first of them failed: bad pages often fail faster than good ones are read.
        """
        unread = self.replica.unread
        unread.setdefault(self.content, self._clock())
        since = next(iter(unread.values()))
        older = (lease for lease in self.replica.leases if lease.content and lease.began <= since)
        return 0 if any(lease.content not in unread for lease in older) else len(unread)

    def lose(self) -> None:
        """Marks the call as lost and cancels its wait."""
        self.lost = True
        if self.waiting is not None:
            self.waiting.cancel()

    def end(self) -> None:
        self.replica.leases.discard(self)
        self.replica.outstanding -= self._tokens
        self._tokens = 0
        if not self.replica.leases:
            self.replica.silent_s = self._clock() - self.replica.progressed_at
            self.replica.wake()


class ReplicaSet(Generic[ServerT]):
    """Chooses among replicas, which may come and go. Used from one event loop; `clock` in seconds.

    Attributes:
        replicas: all, those that are leaving too.
        changed: set when a replica is added or dropped, and then replaced.
    """

    def __init__(self, replicas: Sequence[Replica[ServerT]], stalled_s: float, clock: Callable[[], float]) -> None:
        """`stalled_s`: a replica is stalled if it sends nothing to any of its calls for this long."""
        self.replicas = tuple(replicas)
        self.changed = anyio.Event()
        self._stalled_s = stalled_s
        self._clock = clock
        self._last_up_at = -math.inf

    @property
    def none_is_up(self) -> bool:
        return all(replica.state is not ReplicaState.UP for replica in self.replicas)

    @property
    def none_up_s(self) -> float:
        """Seconds since a replica was last up: 0 while one is, infinite if none ever was."""
        if not self.none_is_up:
            return 0.0
        return self._clock() - self._last_up_at

    @property
    def leaving_calls(self) -> int:
        """Calls at replicas that are leaving."""
        return sum(len(replica.leases) for replica in self.replicas if replica.state is ReplicaState.LEAVING)

    def add(self, replica: Replica[ServerT]) -> None:
        """Adds a replica."""
        self.replicas = (*self.replicas, replica)
        self._tell()

    def retire(self, replica: Replica[ServerT]) -> None:
        """Sends `replica` no more calls; those in it go on. It stays in `replicas` until `drop`."""
        self._was_up(replica)
        replica.set_state(ReplicaState.LEAVING)

    def drop(self, replica: Replica[ServerT]) -> None:
        """Removes a replica that has left."""
        self.replicas = tuple(each for each in self.replicas if each is not replica)
        self._tell()

    def _was_up(self, replica: Replica[ServerT]) -> None:
        if replica.state is ReplicaState.UP:
            self._last_up_at = self._clock()

    def _tell(self) -> None:
        changed, self.changed = self.changed, anyio.Event()
        changed.set()

    def choose(self, tokens: int, key: bytes, avoid: Replica[ServerT] | None = None) -> Replica[ServerT] | None:
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

    def lease(self, replica: Replica[ServerT], tokens: int, content: bytes = b"") -> Lease[ServerT]:
        """A lease on `replica`, until `end`. `content`: see Lease."""
        return Lease(replica, tokens, self._clock, content)

    def seems_stalled(self, replica: Replica[ServerT]) -> bool:
        """Whether it is up, has calls, and sent nothing to any of them for `stalled_s`."""
        silent_s = self._clock() - replica.progressed_at
        return replica.state is not ReplicaState.OUT and bool(replica.leases) and silent_s >= self._stalled_s

    def progressed(self, replica: Replica[ServerT]) -> None:
        """Records progress of `replica` that none of its calls could see."""
        replica.progressed_at = self._clock()
        replica.silent_s = 0.0

    def take_out(self, replica: Replica[ServerT], why: str, *, stalled: bool = False) -> bool:
        """Sends `replica` no more calls; if it is `stalled`, its calls are lost. False if it was out already."""
        if stalled:
            for lease in tuple(replica.leases):
                lease.lose()
        if replica.state is not ReplicaState.UP:
            return False
        self._was_up(replica)
        replica.why = why
        replica.silent_s = 0.0
        replica.failed_here.clear()
        replica.unread.clear()
        replica.taken_out += 1
        replica.set_state(ReplicaState.OUT)
        return True


def _weight(key: bytes, name: str) -> bytes:
    return hashlib.blake2b(name.encode(), key=key[:64], digest_size=8).digest()
