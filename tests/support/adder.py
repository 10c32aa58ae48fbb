"""An adder of jobs in memory."""

from __future__ import annotations

from collections.abc import Sequence

from inkgate.errors import InputRejected, Overloaded
from inkgate.jobs.job import AddedJob, NewJob


class MemoryAdder:
    """Keeps jobs by tenant and key. `full`: how many calls are refused next; `reused`: keys of another job."""

    def __init__(self) -> None:
        self.jobs: dict[tuple[str, str], NewJob] = {}
        self.calls: list[int] = []
        self.full = 0
        self.reused: set[str] = set()

    async def add(self, jobs: Sequence[NewJob]) -> Sequence[AddedJob]:
        self.calls.append(len(jobs))
        if self.full:
            self.full -= 1
            raise Overloaded("jobs_full", "The queue has 100000 pages.", 0.01)
        if any(job.key in self.reused for job in jobs):
            raise InputRejected("key_reused", "The key is another job's.")
        added = []
        for job in jobs:
            place = job.tenant, job.key
            added.append(AddedJob(f"job_{job.key[:12]}", duplicate=place in self.jobs))
            self.jobs.setdefault(place, job)
        return added
