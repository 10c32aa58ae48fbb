"""Who is let in, and who gives way, when connections are many."""

from asyncio import WriteTransport

import structlog.testing

from inkgate.api.http.connections import Connections, default_connections
from support.clock import Clock


class Connection(WriteTransport):
    aborted = False

    def abort(self) -> None:
        self.aborted = True


def full(most: int) -> tuple[Connections, list[Connection], Clock]:
    clock = Clock()
    connections = Connections(most, clock)
    inside = [Connection() for _ in range(most)]
    assert all(connections.enter(connection) for connection in inside)
    return connections, inside, clock


def test_the_one_that_has_waited_longest_gives_way() -> None:
    connections, (first, second, third), _ = full(3)
    connections.work(first)
    connections.wait(first)  # its request is answered: it has waited for less time than the others
    assert connections.enter(Connection())
    assert (first.aborted, second.aborted, third.aborted) == (False, True, False)
    assert len(connections) == 3


def test_none_that_is_being_answered_gives_way() -> None:
    connections, inside, _ = full(2)
    for connection in inside:
        connections.work(connection)
    refused = Connection()
    assert not connections.enter(refused)
    connections.leave(inside[0])
    assert connections.enter(refused)
    assert not any(connection.aborted for connection in inside)


def test_one_that_was_closed_is_neither_counted_nor_asked_to_wait() -> None:
    connections, inside, _ = full(2)
    connections.leave(inside[0])
    connections.leave(inside[0])
    connections.wait(inside[0])
    assert len(connections) == 1
    assert connections.enter(Connection())
    assert connections.enter(Connection())
    assert (inside[0].aborted, inside[1].aborted) == (False, True)


def test_the_log_says_once_in_a_while_that_connections_are_many() -> None:
    connections, _, clock = full(1)
    with structlog.testing.capture_logs() as logs:
        for _ in range(5):
            connections.enter(Connection())
        clock.goes_on(60)
        connections.enter(Connection())
    assert [(entry["open"], entry["closed_idle"]) for entry in logs] == [(1, 1), (1, 6)]


def test_usually_a_quarter_of_the_files_is_left_for_all_else() -> None:
    assert 1 <= default_connections() <= 8_000
