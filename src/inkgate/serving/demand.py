"""How many model servers the arriving work would keep busy, refused work included.

A backlog can't tell: what can't be done in time is refused, so that no backlog grows, however much arrives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple, dataclass

import anyio

from inkgate_client.concurrency import loop_time

_EVERY_S = 1.0
_RATE_S = 30.0
"""Time constant of the load. Scaling up takes a minute or more, and must not follow every burst."""
_MEANS_S = 600.0
"""Time constant of the mean work of a page and of a document, and of the largest number of slots."""


@dataclass(frozen=True, slots=True)
class DemandCounts:
    """Counts since the start of the service.

    Attributes:
        calls: that arrived for the model servers, refused ones included.
        call_s, call_tokens: seconds at a server and tokens that these are expected to take.
        page_call_s: of `call_s`, those of calls that read a page; the others are of chats.
        pages, documents: that were accepted; `_refused`: that were refused before they made any call.
    """

    calls: float = 0
    call_s: float = 0
    call_tokens: float = 0
    pages: float = 0
    pages_refused: float = 0
    documents: float = 0
    documents_refused: float = 0
    page_call_s: float = 0

    def since(self, before: DemandCounts) -> DemandCounts:
        """The difference."""
        return DemandCounts(*(now - then for now, then in zip(astuple(self), astuple(before), strict=True)))

    def added(self, more: DemandCounts, decay: float = 1.0) -> DemandCounts:
        """The sum, after `decay` of these."""
        return DemandCounts(*(decay * old + new for old, new in zip(astuple(self), astuple(more), strict=True)))


class Demand:
    """The load in servers:

        load = work arriving a second, in seconds at a server / slots of a server

    By Little's law, calls that take R seconds each and arrive r a second would hold r R slots if none were refused. A
    page or document that was refused before it made a call counts as the mean of those that were accepted. A client
    that comes back after a refusal counts again. Its background task is `run`.

    Used from one event loop; `clock` in seconds.
    """

    def __init__(
        self,
        counts: Callable[[], DemandCounts],
        slots: Callable[[float], float],
        clock: Callable[[], float] = loop_time,
    ) -> None:
        """`slots`: how many calls with this many tokens each a server runs at once."""
        self._counts = counts
        self._slots = slots
        self._clock = clock
        self._last = DemandCounts()
        self._at: float | None = None
        self._recent = DemandCounts()
        self._rate_s = 0.0
        self._max_slots = 0.0

    async def run(self) -> None:
        """Measures until cancelled."""
        while True:
            self.look()
            await anyio.sleep(_EVERY_S)

    def look(self) -> None:
        """Counts what arrived since the last call."""
        now, counts = self._clock(), self._counts()
        passed_s = 0.0 if self._at is None else now - self._at
        arrived, self._last, self._at = counts.since(self._last), counts, now
        decay = math.exp(-passed_s / _MEANS_S)
        self._recent = self._recent.added(arrived, decay)
        self._max_slots *= decay
        if self._recent.calls:
            self._max_slots = max(self._max_slots, self._slots(self._recent.call_tokens / self._recent.calls), 1.0)
        if passed_s > 0:
            new = 1 - math.exp(-passed_s / _RATE_S)
            self._rate_s += new * (self._work_s(arrived) / passed_s - self._rate_s)

    @property
    def servers(self) -> float | None:
        """The load; None before the first call."""
        return self._rate_s / self._max_slots if self._max_slots else None

    def _work_s(self, arrived: DemandCounts) -> float:
        recent = self._recent
        # Calls may go on for days without a new page or document: by their counts near 0, means would be infinite.
        of_page = recent.page_call_s / max(1.0, recent.pages)
        whole_s = recent.page_call_s + of_page * recent.pages_refused
        of_document = whole_s / max(1.0, recent.documents)
        return arrived.call_s + of_page * arrived.pages_refused + of_document * arrived.documents_refused


class UsableSlots:
    """How many calls with this many tokens each a server runs at once: ours, as far as our pages can make that many,
    and those of others.

    A page that makes one call at a time leaves slots of its server empty, however many pages wait. Each of several
    gateways fills a part of a server, and their loads are added.
    """

    def __init__(
        self,
        slots: Callable[[float], float],
        pages_each: int,
        pages_in_flight: Callable[[], int],
        calls_in_flight: Callable[[], int],
        others_each: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """`slots`: our calls; see Demand. `pages_each`: our maximum of pages at once for each server. `others_each`:
        calls of others in each server; their mean counts, since the parts of the difference are read at two times.
        """
        self._slots = slots
        self._pages_each = pages_each
        self._pages_in_flight = pages_in_flight
        self._calls_in_flight = calls_in_flight
        self._others_each = others_each
        self._seconds = 0.0
        self._pages = 0.0
        self._calls = 0.0
        self._others = 0.0

    def __call__(self, tokens: float) -> float:
        """The number. To be called every second."""
        decay = math.exp(-_EVERY_S / _MEANS_S)
        self._seconds = decay * self._seconds + 1
        self._pages = decay * self._pages + self._pages_in_flight()
        self._calls = decay * self._calls + self._calls_in_flight()
        self._others = decay * self._others + self._others_each()
        slots = self._slots(tokens)
        if self._pages and self._calls:
            slots = min(slots, self._pages_each * self._calls / self._pages)
        return slots + max(0.0, self._others / self._seconds)
