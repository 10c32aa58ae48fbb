"""What the load generator itself had to give: figures of a generator that was the bottleneck are not the service's."""

from __future__ import annotations

from array import array
from time import perf_counter, thread_time

import anyio
import numpy as np

from inkgate.bench.load.results import OwnLimits, Summary
from inkgate.bench.load.samples import Columns, Outcome

BUSY_SHARE = 0.9
LATE_S = 0.010
LATE_SHARE = 0.1
"""It is the bottleneck when its thread is busy for more than so much of a core, or when it is later than LATE_S with
one request of a hundred, and that is more than this share of the median latency."""
_BEAT_S = 0.05


class OwnWatch:
    """Looks at the event loop that it runs on, from `begin` on."""

    def __init__(self) -> None:
        self._late = array("f")
        self._began = perf_counter()
        self._cpu = thread_time()

    def begin(self) -> None:
        """Forgets what was before."""
        del self._late[:]
        self._began, self._cpu = perf_counter(), thread_time()

    async def beat(self) -> None:
        """Notes how late the event loop is, again and again; runs until it is cancelled."""
        while True:
            due = perf_counter() + _BEAT_S
            await anyio.sleep(_BEAT_S)
            self._late.append(max(0.0, perf_counter() - due))

    @property
    def busy_share(self) -> float:
        """Of one core, that this thread took."""
        return (thread_time() - self._cpu) / max(perf_counter() - self._began, 1e-9)

    @property
    def late_p99_s(self) -> float:
        """How late the event loop is."""
        return float(np.quantile(self._late, 0.99)) if self._late else 0.0


def own_limits(columns: Columns, summary: Summary, busy_share: float, loop_late_s: float) -> OwnLimits:
    """What the generator had to give to send the requests `columns`, which `summary` sums up.

    `busy_share`: of one core; `loop_late_s`: of its event loop, 99th percentile.
    """
    sent_late_s = float(np.quantile(columns.late, 0.99)) if len(columns) else 0.0
    late_s = max(sent_late_s, loop_late_s)
    unsent = int((columns.outcome == Outcome.UNSENT).sum())
    typical_s = summary.latency.p50_s if summary.latency is not None else 0.0
    why = []
    if unsent:
        why.append(f"{unsent} requests were not sent (see the errors)")
    if busy_share > BUSY_SHARE:
        why.append(f"its thread was busy {busy_share:.0%} of the time: send from several processes")
    if late_s > max(LATE_S, LATE_SHARE * typical_s):
        why.append(f"it was late by {1000 * late_s:.0f} ms with one request of a hundred: this machine is busy")
    return OwnLimits(bool(why), "; ".join(why), late_s, busy_share, unsent)
