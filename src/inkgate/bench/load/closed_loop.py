"""A fixed number of clients, each of which asks again when it was answered: as `hey` and `wrk` do."""

from __future__ import annotations

from collections.abc import Iterator

import anyio

from inkgate.bench.load.arrivals import Ask
from inkgate.bench.load.course import Course
from inkgate.bench.load.samples import Outcome
from inkgate.bench.load.sender import Sender, Sent

FAILED_PAUSE_S = 0.1
"""After what failed and says nothing of when to come back: a client that has nobody to talk to asks no faster."""


async def closed_loop(course: Course, drawn: Iterator[tuple[int, int]], sender: Sender) -> None:
    """Keeps `level` requests on their way; `drawn` says of which page and from whom. Goes on until it is cancelled."""
    async with anyio.create_task_group() as tasks:
        for _ in range(int(course.plan.level)):
            tasks.start_soon(_client, course, drawn, sender)


async def _client(course: Course, drawn: Iterator[tuple[int, int]], sender: Sender) -> None:
    while True:
        ask = Ask(course.now(), *next(drawn))
        course.begin(ask.due)
        sent = await sender.send(ask)
        course.end(ask.due, sent.sample)
        pause_s = _pause(sent, waits=course.plan.waits_when_refused)
        if pause_s:
            await anyio.sleep(pause_s)


def _pause(sent: Sent, *, waits: bool) -> float:
    match sent.sample.outcome:
        case Outcome.REFUSED:
            told_s = FAILED_PAUSE_S if sent.retry_after_s is None else sent.retry_after_s
            return told_s if waits else 0.0
        case Outcome.FAILED | Outcome.UNSENT:
            return FAILED_PAUSE_S
    return 0.0
