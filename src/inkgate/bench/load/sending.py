"""A process that sends its part of a load, and tells each second what became of it: `main` of processes.py's children.

It gets a pickled Load, says that it is ready, gets the moment of the beginning, and tells a Part for every second until
it has Ended.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import count

import anyio

from inkgate.bench.load.channel import Channel
from inkgate.bench.load.course import Course, Part
from inkgate.bench.load.impossible import LoadImpossible
from inkgate.bench.load.own_limits import OwnWatch
from inkgate.bench.load.plan import Load
from inkgate.bench.load.run import put_on
from inkgate.bench.load.sender import Sender
from inkgate.children import live_with


@dataclass(frozen=True, slots=True)
class Ended:
    """All of its requests have ended. `rest`: what of them was not told yet; `ended_s`: when it was over; then what
    OwnWatch says.
    """

    rest: Part
    ended_s: float
    busy_share: float
    late_p99_s: float
    stopped: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """The load can't be sent."""

    why: str


Told = Part | Ended | Refused | None
"""What a child tells; None once, when it is ready."""


async def _send(channel: Channel) -> None:
    load: Load = await channel.receive()
    try:
        sender = Sender(load)
    except LoadImpossible as error:
        channel.send(Refused(str(error)))
        return
    course = Course(load.plan, sender.now)
    watch = OwnWatch()
    stop = anyio.Event()

    async def tell() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_hear, channel, stop)
            for number in count(1):
                await anyio.sleep(max(0.0, number - course.now()))
                channel.send(course.part())

    async with sender:
        channel.send(None)
        sender.begin(await channel.receive())
        await anyio.sleep(max(0.0, -sender.now()))
        ended_s = await put_on(load, sender, course, watch, tell, stop)
        channel.send(Ended(course.part(), ended_s, watch.busy_share, watch.late_p99_s, course.stopped))


async def _hear(channel: Channel, stop: anyio.Event) -> None:
    """Anything that is said after the beginning means that it is to end."""
    await channel.readable()
    stop.set()


def main() -> None:
    """Sends the load that comes through the descriptor given as the first argument; the second is the parent."""
    live_with(int(sys.argv[2]))
    with Channel(int(sys.argv[1])) as channel:
        anyio.run(_send, channel, backend_options={"use_uvloop": sys.platform != "win32"})
