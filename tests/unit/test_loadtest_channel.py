"""What goes between a load test and its senders arrives whole, however large it is."""

from __future__ import annotations

import socket
import threading

import anyio
import anyio.lowlevel
import pytest

from inkgate.bench.load.channel import Channel

LARGE = bytes(8_000_000)


def pair() -> tuple[Channel, Channel]:
    ours, theirs = socket.socketpair()
    return Channel(ours.detach()), Channel(theirs.detach())


@pytest.mark.parametrize("use_uvloop", [False, True])
def test_what_does_not_fit_into_a_socket_arrives_whole(*, use_uvloop: bool) -> None:
    ours, theirs = pair()

    def tell() -> None:
        theirs.send(LARGE)
        theirs.send(LARGE)

    async def listen() -> list[bytes]:
        told = threading.Thread(target=tell)
        told.start()
        heard = [await ours.receive(), await ours.receive()]
        told.join()
        return heard

    with ours, theirs:
        assert anyio.run(listen, backend_options={"use_uvloop": use_uvloop}) == [LARGE, LARGE]


@pytest.mark.parametrize("use_uvloop", [False, True])
def test_large_things_are_sent_while_something_is_waited_for(*, use_uvloop: bool) -> None:
    ours, theirs = pair()
    heard: list[bytes] = []

    async def talk() -> None:
        listener = threading.Thread(target=lambda: heard.append(anyio.run(theirs.receive)))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ours.readable)
            await anyio.lowlevel.checkpoint()
            listener.start()
            ours.send(LARGE)
            listener.join()
            tasks.cancel_scope.cancel()

    with ours, theirs:
        anyio.run(talk, backend_options={"use_uvloop": use_uvloop})
    assert heard == [LARGE]


@pytest.mark.anyio
async def test_an_end_that_is_gone_is_told() -> None:
    ours, theirs = pair()
    with ours:
        with theirs:
            pass
        with pytest.raises((EOFError, OSError)):
            await ours.receive()
