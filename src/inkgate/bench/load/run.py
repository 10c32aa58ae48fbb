"""A load, put on a service from its beginning to its end."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import anyio

from inkgate.bench.load.arrivals import Ask, asks, drawing
from inkgate.bench.load.closed_loop import closed_loop
from inkgate.bench.load.course import Course
from inkgate.bench.load.impossible import LoadImpossible
from inkgate.bench.load.open_loop import open_loop
from inkgate.bench.load.own_limits import OwnWatch, own_limits
from inkgate.bench.load.plan import Load
from inkgate.bench.load.results import Axis, OwnLimits, Second, Summary
from inkgate.bench.load.samples import Samples
from inkgate.bench.load.seconds import Seconds
from inkgate.bench.load.sender import Sender
from inkgate.bench.load.summary import summarize
from inkgate.concurrency import single_error


@dataclass(frozen=True, slots=True)
class Measured:
    """What one load showed.

    Attributes:
        summary: of the window; timeline: of each second from the beginning, warm-up included.
        samples: every request that has ended, those outside the window too.
        begins_s: when the window began, in seconds from the beginning.
        partial: it was stopped before its end. What was on its way then is not in it.
    """

    summary: Summary
    timeline: tuple[Second, ...]
    own: OwnLimits
    samples: Samples
    begins_s: float = 0.0
    partial: bool = False


async def run(
    load: Load, on_second: Callable[[Second], None] | None = None, stop: anyio.Event | None = None
) -> Measured:
    """What the service does under `load`. `on_second` hears of every second; once `stop` is set it ends early.

    Raises:
        LoadImpossible: the plan makes no sense, or the target can't take one of the pages.
    """
    check(load)
    sender = Sender(load)
    course = Course(load.plan, sender.now)
    watch = OwnWatch()
    seconds = Seconds(load.plan, 1, on_second)

    async def tell() -> None:
        for number in count(1):
            await anyio.sleep(max(0.0, number - course.now()))
            seconds.hear(0, course.part())

    async with sender:
        sender.begin()
        ended_s = await put_on(load, sender, course, watch, tell, stop)
    seconds.end(0, course.part())
    return measured(course, seconds.timeline(ended_s), (watch.busy_share, watch.late_p99_s), ended_s)


def check(load: Load) -> None:
    """Raises LoadImpossible where there is nothing to send, or the plan makes no sense."""
    load.plan.check()
    if not load.pages:
        raise LoadImpossible("There is no page to send.")


async def put_on(
    load: Load,
    sender: Sender,
    course: Course,
    watch: OwnWatch,
    beside: Callable[[], Coroutine[Any, Any, None]],
    stop: anyio.Event | None,
) -> float:
    """Puts the load on, with `beside` running beside it; how many seconds after the beginning it was over.

    Raises:
        LoadImpossible: a recording names a page that is not there.
    """
    coming = iter(()) if load.plan.axis is Axis.CONCURRENCY else asks(load)
    with single_error():
        async with anyio.create_task_group() as tasks:
            watch.begin()
            tasks.start_soon(_drive, load, course, coming, sender)
            tasks.start_soon(watch.beat)
            tasks.start_soon(beside)
            tasks.start_soon(_close, course)
            if stop is not None:
                tasks.start_soon(_stop, stop, course)
            await course.over.wait()
            ended_s = course.now()
            tasks.cancel_scope.cancel()
    return ended_s


async def _drive(load: Load, course: Course, coming: Iterator[Ask], sender: Sender) -> None:
    if load.plan.axis is Axis.CONCURRENCY:
        await closed_loop(course, drawing(load), sender)
    else:
        await open_loop(course, coming, sender)


async def _close(course: Course) -> None:
    await anyio.sleep(course.ends_s - course.now())
    course.close()


async def _stop(stop: anyio.Event, course: Course) -> None:
    await stop.wait()
    course.stop()


def measured(course: Course, timeline: tuple[Second, ...], own: tuple[float, float], ended_s: float) -> Measured:
    """What a load showed that was over so many seconds after its beginning.

    `own`: of what sends, the busiest thread's share of a core, and how late the latest event loop was (p99).
    """
    begins_s = course.begins_s
    if ended_s <= begins_s:  # stopped while it warmed up: what there is, is better than nothing
        begins_s = 0.0
    seconds = max(min(ended_s, course.ends_s) - begins_s, 1e-9)
    columns = course.samples.columns()
    summary = summarize(columns, begins_s, seconds, course.plan.deadline_s)
    counted = columns.where((columns.due >= begins_s) & (columns.due < begins_s + seconds))
    limits = own_limits(counted, summary, *own)
    return Measured(summary, timeline, limits, course.samples, begins_s, course.stopped)
