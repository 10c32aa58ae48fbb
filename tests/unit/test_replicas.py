"""Which replica gets a call, and what takes one out."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from inkgate.model_servers.replicas import Replica, ReplicaSet


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def replicas(count: int = 3, clock: Clock | None = None) -> ReplicaSet[str]:
    return ReplicaSet([Replica(f"http://{name}/v1", str(name)) for name in range(count)], 10.0, clock or Clock())


def chosen(found: ReplicaSet[str], tokens: int = 10, key: bytes = b"", avoid: Replica[str] | None = None) -> str:
    replica = found.choose(tokens, key, avoid)
    assert replica is not None
    return replica.server


def test_the_one_with_the_fewest_tokens_is_chosen() -> None:
    found = replicas()
    for replica, tokens in zip(found.replicas, (500, 20, 300), strict=True):
        found.lease(replica, tokens)
    assert chosen(found) == "1"


def test_among_idle_ones_calls_without_tokens_go_round() -> None:
    found = replicas()
    counts: Counter[str] = Counter()
    for _ in range(6):
        replica = found.choose(0, b"")
        assert replica is not None
        found.lease(replica, 0)
        counts[replica.server] += 1
    assert set(counts.values()) == {2}


def test_the_same_image_goes_to_the_same_server_while_that_costs_nothing() -> None:
    found = replicas()
    home = found.choose(100, b"image")
    assert home is not None
    lease = found.lease(home, 100)
    assert chosen(found, 100, b"image") == home.server
    found.lease(home, 1)
    assert chosen(found, 100, b"image") != home.server
    lease.end()
    assert chosen(found, 100, b"image") == home.server


def test_images_find_homes_on_every_server() -> None:
    found = replicas(4)
    homes = Counter(chosen(found, 1, str(number).encode()) for number in range(200))
    assert min(homes.values()) > 20


def test_homes_stay_when_another_server_goes() -> None:
    found = replicas(4)
    keys = [str(number).encode() for number in range(100)]
    before = {key: chosen(found, 1, key) for key in keys}
    gone = found.replicas[2]
    found.take_out(gone, "upstream_unreachable")
    assert all(chosen(found, 1, key) == home for key, home in before.items() if home != gone.server)


def test_what_is_out_gets_nothing() -> None:
    found = replicas()
    assert found.take_out(found.replicas[0], "upstream_cut_off")
    assert not found.take_out(found.replicas[0], "upstream_cut_off")
    found.take_out(found.replicas[1], "upstream_cut_off")
    assert chosen(found) == "2"
    found.take_out(found.replicas[2], "upstream_cut_off")
    assert found.choose(1, b"") is None
    assert (found.replicas[0].taken_out, found.replicas[0].why) == (1, "upstream_cut_off")


def test_the_one_to_avoid_is_taken_where_there_is_no_other() -> None:
    found = replicas(2)
    first, second = found.replicas
    assert chosen(found, avoid=first) == "1"
    found.take_out(second, "status 500")
    assert chosen(found, avoid=first) == "0"


def test_a_server_that_says_nothing_to_any_call_seems_to_stand_still() -> None:
    clock = Clock()
    found = replicas(1, clock)
    (replica,) = found.replicas
    clock.now += 1000
    assert not found.seems_stalled(replica), "it has nothing to do"
    lease = found.lease(replica, 100)
    assert not found.seems_stalled(replica), "it has just begun"
    clock.now += 9
    lease.progressed()
    other = found.lease(replica, 100)
    clock.now += 9
    assert not found.seems_stalled(replica)
    clock.now += 1
    assert found.seems_stalled(replica), "calls that came meanwhile are no progress"
    found.progressed(replica)
    assert not found.seems_stalled(replica)
    clock.now += 10
    found.take_out(replica, "upstream_stalled", stalled=True)
    assert (lease.lost, other.lost) == (True, True)
    assert not found.seems_stalled(replica)


def test_calls_that_give_up_one_after_the_other_are_one_silence() -> None:
    clock = Clock()
    found = replicas(1, clock)
    (replica,) = found.replicas
    for _ in range(2):
        lease = found.lease(replica, 100)
        clock.now += 4
        lease.end()
        clock.now += 1000
    lease = found.lease(replica, 100)
    clock.now += 1
    assert not found.seems_stalled(replica), "only 9 s with calls"
    clock.now += 1
    assert found.seems_stalled(replica)
    lease.progressed()
    lease.end()
    found.lease(replica, 100)
    clock.now += 9
    assert not found.seems_stalled(replica), "an answer ends the silence"


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 80)), max_size=20))
def test_what_is_outstanding_is_what_leases_may_still_take(calls: list[tuple[int, int]]) -> None:
    found = replicas(1)
    (replica,) = found.replicas
    leases = []
    for tokens, heard in calls:
        lease = found.lease(replica, tokens)
        for _ in range(heard):
            lease.progressed()
        leases.append(lease)
    assert replica.outstanding == sum(max(0, tokens - heard) for tokens, heard in calls)
    for lease in leases:
        lease.end()
    assert (replica.outstanding, replica.leases) == (0, set())
