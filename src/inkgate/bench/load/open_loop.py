"""Requests that come when they come, whether the service keeps up or not."""

from __future__ import annotations

import math
from collections.abc import Iterator

import anyio
import anyio.lowlevel

from inkgate.bench.load.arrivals import Ask
from inkgate.bench.load.course import Course
from inkgate.bench.load.sender import Sender

EARLY_S = 0.0005
"""By so much a request may be sent before it is due: event loops count time in milliseconds. It counts from then on."""
_AT_ONCE = 8
"""Requests that are begun one after the other, where several are due, before answers are looked at."""


async def open_loop(course: Course, asks: Iterator[Ask], sender: Sender) -> None:
    """Sends each request at its moment, in a task of its own: those before it make it wait for nothing.

    Ends when `asks` does and all are answered.
    """
    begun = 0
    async with anyio.create_task_group() as tasks:
        for ask in asks:
            course.comes(ask.due)
            while (early_s := ask.due - course.now()) > EARLY_S:
                begun = 0
                await anyio.sleep(early_s)
            if course.in_flight >= course.plan.max_in_flight:
                course.unsent(ask.due)
            else:
                course.begin(ask.due)
                tasks.start_soon(_one, course, ask, sender)
            begun += 1
            if begun % _AT_ONCE == 0:
                await anyio.lowlevel.checkpoint()
        course.comes(math.inf)
        course.close()


async def _one(course: Course, ask: Ask, sender: Sender) -> None:
    course.end(ask.due, (await sender.send(ask)).sample)
