"""A load sent by several processes, and what became of it put together."""

from __future__ import annotations

import math
import os
import socket
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from time import perf_counter

import anyio

from inkgate.children import python_command, start_child
from inkgate.concurrency import single_error
from inkgate.loadtest.channel import Channel
from inkgate.loadtest.course import Course, Part
from inkgate.loadtest.impossible import LoadImpossible
from inkgate.loadtest.parts import parts_of
from inkgate.loadtest.plan import Load
from inkgate.loadtest.results import Second
from inkgate.loadtest.run import Measured, check, measured
from inkgate.loadtest.samples import Samples
from inkgate.loadtest.sending import Ended, Refused, Told
from inkgate.loadtest.summary import second

_SOON_S = 0.1
"""From when all processes are ready to the beginning."""
_END_S = 5.0


class Gathered:
    """What several processes tell, as if it were one. `on_second` hears of every second once all have told of it."""

    def __init__(self, load: Load, senders: int, began: float, on_second: Callable[[Second], None]) -> None:
        self.course = Course(load.plan, lambda: perf_counter() - began)
        self.timeline: list[Second] = []
        self.ends: list[Ended] = []
        self._on_second = on_second
        self._in_flight = [0] * senders
        self._seconds = [0.0] * senders
        """That each has told of; once it has ended there is nothing more to wait for."""
        self._due: Counter[int] = Counter()
        self._untold = Samples()

    def hear(self, number: int, part: Part) -> None:
        """Sender `number` tells of the next second."""
        self._add(number, part)
        self._seconds[number] += 1
        self._tell()

    def end(self, number: int, ended: Ended) -> None:
        """Sender `number` has ended."""
        self._add(number, ended.rest)
        self._seconds[number] = math.inf
        self.ends.append(ended)
        if len(self.ends) < len(self._seconds):
            self._tell()

    def _add(self, number: int, part: Part) -> None:
        self.course.samples.extend(part.ended)
        self._untold.extend(part.ended)
        self._in_flight[number] = part.in_flight
        self._due.update(part.due)

    def _tell(self) -> None:
        while len(self.timeline) < min(self._seconds):
            self._on_second(self._second())

    def _second(self) -> Second:
        """The next one, of what was heard until now. What a late sender had to do before it is counted in it."""
        plan, at = self.course.plan, float(len(self.timeline) + 1)
        heard, self._untold = self._untold.columns(), Samples()
        self._untold.extend(heard.where(heard.ended > at))
        ended = heard.where(heard.ended <= at)
        due = sum(self._due.pop(each) for each in sorted(self._due) if each < at)
        self.timeline.append(second(ended, at, plan.level_at(at), plan.deadline_s, due, sum(self._in_flight)))
        return self.timeline[-1]

    def result(self) -> Measured:
        """Once all have ended."""
        ended_s = max(end.ended_s for end in self.ends)
        while len(self.timeline) < int(ended_s):
            self._second()
        own = max(end.busy_share for end in self.ends), max(end.late_p99_s for end in self.ends)
        self.course.stopped = any(end.stopped for end in self.ends)
        return measured(self.course, self.timeline, own, ended_s)


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
        gathered = Gathered(load, len(channels), began, on_second or _nobody)
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
        command = (*python_command("inkgate.loadtest.sending"), str(theirs.fileno()), str(os.getpid()))
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


def _nobody(_second: Second) -> None:
    """Hears of seconds where nobody else does."""


async def _stop(stop: anyio.Event, channels: Sequence[Channel]) -> None:
    await stop.wait()
    for channel in channels:
        with suppress(OSError):  # it has ended meanwhile
            channel.send("stop")
