"""What is known of each of several servers: how much it has to do, whether it gets on, whether it may have more."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Generic, TypeVar

import anyio

ServerT = TypeVar("ServerT")


class ReplicaState(StrEnum):
    """`up`: takes calls; `out`: failed or stood still, and is tried again; `draining`: finishes what it has."""

    UP = "up"
    OUT = "out"
    DRAINING = "draining"


class Replica(Generic[ServerT]):
    """One server.

    Attributes:
        name: its address, for logs and metrics.
        outstanding: tokens that its calls may still take.
        silent_s: seconds with calls but without a part of an answer, up to when the last call ended.
        heard_at: clock time in seconds when it last sent part of an answer.
        why: it was taken out the last time.
        taken_out: how often that was.
        failed_here: contents of calls that failed here and were answered elsewhere, since it last answered one.
        changed: set when its state changes, or its last call ends; then there is another.
    """

    def __init__(self, name: str, server: ServerT) -> None:
        self.name = name
        self.server = server
        self.state = ReplicaState.UP
        self.outstanding = 0
        self.leases: set[Lease[ServerT]] = set()
        self.progressed_at = 0.0
        self.heard_at = -math.inf
        self.silent_s = 0.0
        self.why = ""
        self.taken_out = 0
        self.failed_here: set[bytes] = set()
        self.changed = anyio.Event()

    @property
    def is_out(self) -> bool:
        return self.state is ReplicaState.OUT

    def set_state(self, state: ReplicaState) -> None:
        """Moves it to `state`, and wakes who waits for a change."""
        self.state = state
        self.wake()

    def wake(self) -> None:
        changed, self.changed = self.changed, anyio.Event()
        changed.set()


class Lease(Generic[ServerT]):
    """A call's place on a replica.

    Attributes:
        content: of the page that the call is about; empty where it is about none.
        heard: something came, so that the replica was there.
        lost: the replica stands still, and the call should give up waiting.
    """

    def __init__(
        self, replica: Replica[ServerT], tokens: int, clock: Callable[[], float], content: bytes = b""
    ) -> None:
        self.replica = replica
        self.content = content
        self.heard = False
        self.lost = False
        self.waiting: anyio.CancelScope | None = None
        self._tokens = tokens
        self._clock = clock
        if not replica.leases:
            # Calls that end before `stalled_s` without an answer, one after the other, are one silence.
            replica.progressed_at = clock() - replica.silent_s
        replica.outstanding += tokens
        replica.leases.add(self)

    def progressed(self) -> None:
        """Something came: about a token."""
        self.heard = True
        self.replica.progressed_at = self.replica.heard_at = self._clock()
        self.replica.silent_s = 0.0
        if self._tokens:
            self._tokens -= 1
            self.replica.outstanding -= 1

    def lose(self) -> None:
        """Ends what the call waits for."""
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
    """Chooses among replicas. Used from one event loop; `clock` in seconds."""

    def __init__(self, replicas: Sequence[Replica[ServerT]], stalled_s: float, clock: Callable[[], float]) -> None:
        """`stalled_s`: a replica that has calls and says nothing to any for so long stands still."""
        self.replicas = tuple(replicas)
        self._stalled_s = stalled_s
        self._clock = clock

    def choose(self, tokens: int, key: bytes, avoid: Replica[ServerT] | None = None) -> Replica[ServerT] | None:
        """The replica for a call: the one with the least to do, where `key` has no better home that is about as free.

        Homes are by rendezvous hashing (Thaler and Ravishankar, 1998): each key has its order of replicas, which stays
        when others come and go. About as free means that no more than this call's own tokens lie between. `avoid` is
        taken only where there is no other; None where none is up.
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
        """A place on `replica`, until `end`. `content`: see Lease."""
        return Lease(replica, tokens, self._clock, content)

    def seems_stalled(self, replica: Replica[ServerT]) -> bool:
        """Whether it is up or draining and has calls, none of which has heard anything for too long."""
        silent_s = self._clock() - replica.progressed_at
        return replica.state is not ReplicaState.OUT and bool(replica.leases) and silent_s >= self._stalled_s

    def progressed(self, replica: Replica[ServerT]) -> None:
        """`replica` was found to get on, though none of its calls heard of it."""
        replica.progressed_at = self._clock()
        replica.silent_s = 0.0

    def take_out(self, replica: Replica[ServerT], why: str, *, stalled: bool = False) -> bool:
        """Gives `replica` nothing more; where it is `stalled`, its calls are lost. False where it was out already."""
        if stalled:
            for lease in tuple(replica.leases):
                lease.lose()
        if replica.state is ReplicaState.OUT:
            return False
        replica.why = why
        replica.silent_s = 0.0
        replica.failed_here.clear()
        replica.taken_out += 1
        replica.set_state(ReplicaState.OUT)
        return True


def _weight(key: bytes, name: str) -> bytes:
    return hashlib.blake2b(name.encode(), key=key[:64], digest_size=8).digest()
