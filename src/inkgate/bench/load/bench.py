"""What takes part in a load test beside the load: what measures, what reads the service, who watches."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

import anyio

from inkgate.bench.load.plan import Load
from inkgate.bench.load.readings import Reading
from inkgate.bench.load.results import Second, ServerSide, Summary
from inkgate.bench.load.run import Measured
from inkgate.bench.load.scrape import Scraper

Measure = Callable[[Load, Callable[[Second], None] | None, anyio.Event | None], Awaitable[Measured]]
"""Puts one load on the service; `run.run`, but in tests."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A run that begins. `number` from 1; `of`: how many there will be, None where that isn't known; `run` from 1."""

    number: int
    of: int | None
    level: float
    run: int
    seconds: float
    warm_s: float


class Watcher(Protocol):
    """Is told how a load test goes on."""

    def begins(self, progress: Progress) -> None:
        """A run begins."""
        ...

    def second(self, second: Second, reading: Reading | None) -> None:
        """A second of it is over. `reading`: what the service said of itself last."""
        ...

    def ended(self, level: float, summary: Summary, server: ServerSide | None) -> None:
        """The run is over, and showed this."""
        ...


@dataclass(frozen=True, slots=True)
class Bench:
    """What takes part: what measures, what reads the service, who watches; `stop` ends it early, with what there is.

    `max_error`: the share of requests that may go unanswered.
    """

    measure: Measure
    scraper: Scraper
    watcher: Watcher | None = None
    stop: anyio.Event | None = None
    max_error: float = 0.001
    sleep: Callable[[float], Awaitable[object]] = anyio.sleep
