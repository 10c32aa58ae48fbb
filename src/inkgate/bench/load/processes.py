"""A load sent by several processes, and what became of it put together."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from time import perf_counter

import anyio

from inkgate.bench.load.channel import Channel
from inkgate.bench.load.course import Course, Part
from inkgate.bench.load.impossible import LoadImpossible
from inkgate.bench.load.parts import parts_of
from inkgate.bench.load.plan import Load
from inkgate.bench.load.results import Second
from inkgate.bench.load.run import Measured, check, measured
from inkgate.bench.load.seconds import Seconds
from inkgate.bench.load.sending import Ended, Refused, Told
from inkgate.children import python_command, start_child
from inkgate.concurrency import single_error

_SOON_S = 0.1
"""From when all processes are ready to the beginning."""
_END_S = 5.0


class Gathered:
    """What several processes tell, as if it were one. `on_second` hears of every second once all have told of it."""

    def __init__(self, load: Load, senders: int, began: float, on_second: Callable[[Second], None] | None) -> None:
        self._course = Course(load.plan, lambda: perf_counter() - began)
        self._seconds = Seconds(load.plan, senders, on_second)
        self._ends: list[Ended] = []

    def hear(self, number: int, part: Part) -> None:
        """Sender `number` tells of the next second."""
        self._course.samples.extend(part.ended)
        self._seconds.hear(number, part)

    def end(self, number: int, ended: Ended) -> None:
        """Sender `number` has ended."""
        self._course.samples.extend(ended.rest.ended)
        self._seconds.end(number, ended.rest)
        self._ends.append(ended)

    def result(self) -> Measured:
        """Once all have ended."""
        ended_s = max(end.ended_s for end in self._ends)
        own = max(end.busy_share for end in self._ends), max(end.late_p99_s for end in self._ends)
        self._course.stopped = any(end.stopped for end in self._ends)
        return measured(self._course, self._seconds.timeline(ended_s), own, ended_s)


async def run_in_processes(
    load: Load,
    on_second: Callable[[Second], None] | None = None,
    stop: anyio.Event | None = None,
    *,
    processes: int,
) -> Measured:
    """As `run.run`, sent by so many processes. They end with this one, however it ends.

    Raises:
        LoadImpossible: as `run.run`; the load can't be taken apart; a process ended by itself.
    """
    check(load)
    with ExitStack() as opened:
        parts = parts_of(load, processes)
        channels = [opened.enter_context(_sender()) for _ in parts]
        for channel, part in zip(channels, parts, strict=True):
            channel.send(part)
        for channel in channels:
            await _told(channel)
        began = perf_counter() + _SOON_S
        for channel in channels:
            channel.send(began)
        gathered = Gathered(load, len(channels), began, on_second)
        with single_error():
            async with anyio.create_task_group() as tasks:
                if stop is not None:
                    tasks.start_soon(_stop, stop, channels)
                async with anyio.create_task_group() as listening:
                    for number, channel in enumerate(channels):
                        listening.start_soon(_listen, gathered, number, channel)
                tasks.cancel_scope.cancel()
        return gathered.result()


@contextmanager
def _sender() -> Iterator[Channel]:
    """The channel to a process that sends; it has ended when the block is left."""
    ours, theirs = socket.socketpair()
    with theirs:
        command = (*python_command("inkgate.bench.load.sending"), str(theirs.fileno()), str(os.getpid()))
        process = start_child(command, (theirs.fileno(),))
    try:
        with Channel(ours.detach()) as channel:
            yield channel
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """It ends by itself once it has told everything; one that was left in the middle is killed."""
    if process.poll() is None:
        process.kill()
    process.wait(_END_S)


async def _told(channel: Channel) -> Told:
    try:
        told: Told = await channel.receive()
    except (EOFError, OSError) as error:
        raise LoadImpossible("A process that sends the load ended by itself.") from error
    if isinstance(told, Refused):
        raise LoadImpossible(told.why)
    return told


async def _listen(gathered: Gathered, number: int, channel: Channel) -> None:
    while not isinstance(told := await _told(channel), Ended):
        if isinstance(told, Part):
            gathered.hear(number, told)
    gathered.end(number, told)


async def _stop(stop: anyio.Event, channels: Sequence[Channel]) -> None:
    await stop.wait()
    for channel in channels:
        with suppress(OSError):  # it has ended meanwhile
            channel.send("stop")
