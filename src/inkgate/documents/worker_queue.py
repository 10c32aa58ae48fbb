"""The order of calls on documents in worker processes, for the pools of pdf/pool.py and files/pdf_writers.py."""

from __future__ import annotations

from inkgate.concurrency import loop_time
from inkgate.runtimes.processes import CallQueue
from inkgate.runtimes.worker_slot import WorkerCall
from inkgate.serving.queue import QueueEntry, WorkQueue
from inkgate.serving.work import Work
from inkgate.settings import SchedulingSettings

_USUAL_MS = 50
"""Cost of a call until its worker's time is known."""


class FairCalls(CallQueue):
    """Calls in the order of WorkQueue: by priority, tenant, document and deadline. A call costs its worker's time."""

    def __init__(self, settings: SchedulingSettings | None = None) -> None:
        super().__init__()
        settings = settings or SchedulingSettings()
        self._queue = WorkQueue(settings.age_s, settings.weights)
        self._calls_of: dict[QueueEntry, WorkerCall] = {}
        self._entries: dict[WorkerCall, QueueEntry] = {}

    def __len__(self) -> int:
        return super().__len__() + len(self._queue)

    def put(self, call: WorkerCall) -> None:
        """See CallQueue."""
        entry = self._queue.push(Work.for_caller(call.caller, _USUAL_MS), loop_time())
        self._calls_of[entry] = call
        self._entries[call] = entry

    def take(self) -> WorkerCall | None:
        """See CallQueue. Those that were put back go first."""
        if (again := super().take()) is not None:
            return again
        entry = self._queue.pop(loop_time())
        return None if entry is None else self._calls_of.pop(entry)

    def discard(self, call: WorkerCall) -> None:
        """See CallQueue."""
        super().discard(call)
        entry = self._entries.get(call)
        if entry is not None and entry.waits:
            self._queue.remove(entry)
            del self._calls_of[entry], self._entries[call]

    def charge(self, call: WorkerCall, seconds: float) -> None:
        """See CallQueue. A call that was put back is charged once."""
        entry = self._entries.pop(call, None)
        if entry is not None:
            self._queue.settle(entry, round(seconds * 1000))
