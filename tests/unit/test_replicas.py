"""Which replica gets a call, and what takes one out."""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractAsyncContextManager

from hypothesis import given
from hypothesis import strategies as st

from inkgate.model_servers.balancer import ReplicaSet
from inkgate.model_servers.replica import BalancerSettings, Replica
from inkgate.model_servers.upstream import ModelAnswer, ModelCall
from support.unmeasured_server import UnmeasuredServer


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class NamedServer(UnmeasuredServer):
    """A Server that nobody calls."""

    def __init__(self, name: str) -> None:
        self.base_url = name

    def send(self, call: ModelCall) -> AbstractAsyncContextManager[ModelAnswer]:
        raise NotImplementedError

    async def probe(self) -> None:
        raise NotImplementedError


def replicas(count: int = 3, clock: Clock | None = None) -> ReplicaSet:
    clock, settings = clock or Clock(), BalancerSettings(stalled_s=10.0)
    return ReplicaSet([Replica(NamedServer(str(name)), settings, clock) for name in range(count)], clock)


def chosen(found: ReplicaSet, tokens: int = 10, key: bytes = b"", avoid: Replica | None = None) -> str:
    replica = found.choose(tokens, key, avoid)
    assert replica is not None
    return replica.name


def test_the_one_with_the_fewest_tokens_is_chosen() -> None:
    found = replicas()
    for replica, tokens in zip(found.replicas, (500, 20, 300), strict=True):
        replica.lease(tokens)
    assert chosen(found) == "1"


def test_among_idle_ones_calls_without_tokens_go_round() -> None:
    found = replicas()
    counts: Counter[str] = Counter()
    for _ in range(6):
        replica = found.choose(0, b"")
        assert replica is not None
        replica.lease(0)
        counts[replica.name] += 1
    assert set(counts.values()) == {2}


def test_the_same_image_goes_to_the_same_server_while_that_costs_nothing() -> None:
    found = replicas()
    home = found.choose(100, b"image")
    assert home is not None
    lease = home.lease(100)
    assert chosen(found, 100, b"image") == home.name
    home.lease(1)
    assert chosen(found, 100, b"image") != home.name
    lease.end()
    assert chosen(found, 100, b"image") == home.name


def test_images_find_homes_on_every_server() -> None:
    found = replicas(4)
    homes = Counter(chosen(found, 1, str(number).encode()) for number in range(200))
    assert min(homes.values()) > 20


def test_homes_stay_when_another_server_goes() -> None:
    found = replicas(4)
    keys = [str(number).encode() for number in range(100)]
    before = {key: chosen(found, 1, key) for key in keys}
    gone = found.replicas[2]
    gone.take_out("upstream_unreachable")
    assert all(chosen(found, 1, key) == home for key, home in before.items() if home != gone.name)


def test_what_is_out_gets_nothing() -> None:
    found = replicas()
    assert found.replicas[0].take_out("upstream_cut_off")
    assert not found.replicas[0].take_out("upstream_cut_off")
    found.replicas[1].take_out("upstream_cut_off")
    assert chosen(found) == "2"
    found.replicas[2].take_out("upstream_cut_off")
    assert found.choose(1, b"") is None
    assert (found.replicas[0].taken_out, found.replicas[0].why) == (1, "upstream_cut_off")


def test_the_one_to_avoid_is_taken_where_there_is_no_other() -> None:
    found = replicas(2)
    first, second = found.replicas
    assert chosen(found, avoid=first) == "1"
    second.take_out("status 500")
    assert chosen(found, avoid=first) == "0"


def test_a_server_that_says_nothing_to_any_call_seems_to_stand_still() -> None:
    clock = Clock()
    found = replicas(1, clock)
    (replica,) = found.replicas
    clock.now += 1000
    assert not replica.seems_stalled(), "it has nothing to do"
    lease = replica.lease(100)
    assert not replica.seems_stalled(), "it has just begun"
    clock.now += 9
    lease.progressed()
    other = replica.lease(100)
    clock.now += 9
    assert not replica.seems_stalled()
    clock.now += 1
    assert replica.seems_stalled(), "calls that came meanwhile are no progress"
    replica.progressed()
    assert not replica.seems_stalled()
    clock.now += 10
    replica.take_out("upstream_stalled", stalled=True)
    assert (lease.lost, other.lost) == (True, True)
    assert not replica.seems_stalled()


def test_calls_that_give_up_one_after_the_other_are_one_silence() -> None:
    clock = Clock()
    found = replicas(1, clock)
    (replica,) = found.replicas
    for _ in range(2):
        lease = replica.lease(100)
        clock.now += 4
        lease.end()
        clock.now += 1000
    lease = replica.lease(100)
    clock.now += 1
    assert not replica.seems_stalled(), "only 9 s with calls"
    clock.now += 1
    assert replica.seems_stalled()
    lease.progressed()
    lease.end()
    replica.lease(100)
    clock.now += 9
    assert not replica.seems_stalled(), "an answer ends the silence"


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 80)), max_size=20))
def test_what_is_outstanding_is_what_leases_may_still_take(calls: list[tuple[int, int]]) -> None:
    found = replicas(1)
    (replica,) = found.replicas
    leases = []
    for tokens, heard in calls:
        lease = replica.lease(tokens)
        for _ in range(heard):
            lease.progressed()
        leases.append(lease)
    assert replica.outstanding == sum(max(0, tokens - heard) for tokens, heard in calls)
    for lease in leases:
        lease.end()
    assert (replica.outstanding, replica.leases) == (0, set())
