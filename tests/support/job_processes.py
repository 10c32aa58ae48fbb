"""Processes of `support.job_worker` that share a store, and what they did."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from PIL import Image
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from inkgate.bootstrap.jobs import job_service
from inkgate.jobs.job import Job, JobSource, JobState, NewJob
from inkgate.jobs.service import JobService
from inkgate.settings import Settings, load_settings
from inkgate_client.concurrency import Threads
from support.waiting import AT_MOST_S

TESTS = Path(__file__).parents[1]
SAVE_EVERY, WINDOW, LEASE_S = 8, 4, 0.7


def tiff(greys: Sequence[int]) -> bytes:
    """A document with a small page of each of these greys."""
    frames = [Image.new("L", (8, 8), grey) for grey in greys]
    data = io.BytesIO()
    frames[0].save(data, "tiff", save_all=True, append_images=frames[1:])
    return data.getvalue()


def plain(pages: int) -> bytes:
    """A document of so many pages that can be read."""
    return tiff([100 + number % 100 for number in range(pages)])


@dataclass
class JobPlace:
    """A store in `folder`, or in `database`, with worker processes.

    Attributes:
        changes: settings of jobs that differ.
        page_s: how long the engine takes for a page.
        starts: processes that were started.
    """

    folder: Path
    database: str = ""
    changes: dict[str, object] = field(default_factory=dict)
    page_s: float = 0.0
    time_s: float = 60.0
    starts: int = 0
    service: JobService = field(init=False)

    def _jobs(self) -> dict[str, object]:
        fixed = {"folder": str(self.folder), "database": self.database, "lease_s": LEASE_S, "poll_s": 0.05}
        return {**fixed, "save_every": SAVE_EVERY, "max_queued_pages": 200_000, **self.changes}

    def settings(self, **flags: dict[str, object]) -> Settings:
        """The settings of a service that shares the store."""
        return load_settings(None, jobs=self._jobs(), pdf={"warm_workers": 0}, **flags)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """`service` can be used in the block; afterwards all processes have ended."""
        self.service, _, _ = job_service(self.settings())
        self._processes: list[subprocess.Popen[bytes]] = []
        try:
            async with self.service.store.running():
                yield
        except BaseException:
            if (self.folder / "log").exists():
                print(f"the processes said:\n{(self.folder / 'log').read_text()[-4000:]}")
            raise
        finally:
            for process in self._processes:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait()

    def start(self) -> subprocess.Popen[bytes]:
        """Starts a process."""
        names = {f"INKGATE_JOBS__{name}".upper(): str(value) for name, value in self._jobs().items()}
        environment = {
            **os.environ,
            **names,
            "INKGATE_LIMITS__PAGE_WINDOW": str(WINDOW),
            "INKGATE_LIMITS__TIME_S": str(self.time_s),
            "INKGATE_CACHE__ENABLED": "false",
            "INKGATE_METRICS__ENABLED": "false",
            "INKGATE_PDF__WARM_WORKERS": "0",
            "JOB_NOTES": str(self.folder / "notes"),
            "JOB_PAGE_S": str(self.page_s),
            "PYTHONPATH": str(TESTS),
        }
        self.starts += 1
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "support.job_worker"], env=environment, stdout=log, stderr=log
            )
        self._processes.append(process)
        return process

    def reads(self) -> Iterator[tuple[str, int, int]]:
        """Job, page and process of all pages that were begun."""
        notes = self.folder / "notes"
        for line in notes.read_text().splitlines() if notes.exists() else ():
            job, page, pid = line.rsplit(" ", 2)
            if job:  # else the readiness probe's
                yield job.strip(), int(page), int(pid)

    def reads_of(self, job_id: str) -> Counter[int]:
        """How often each page of a job was begun."""
        return Counter(page for job, page, _ in self.reads() if job == job_id)

    def has_read(self, job_id: str, count: int) -> bool:
        """Whether so many pages of a job were begun; those that were begun again count again."""
        return self.reads_of(job_id).total() >= count

    async def submit(self, data: bytes, tenant: str = "a") -> str:
        """Adds a job."""
        return (await self.service.submit(NewJob(tenant, JobSource()), data)).id

    async def submit_many(self, data: bytes, count: int) -> list[str]:
        """Adds jobs for one document, of several tenants."""
        first = await self.service.submit(NewJob("t0", JobSource()), data)
        source = (await self.service.store.get(first.id, None)).source
        found = [first.id]
        for start in range(1, count, 500):
            new = [NewJob(f"t{n % 7}", source) for n in range(start, min(start + 500, count))]
            found += [added.id for added in await self.service.add(new)]
        return found

    async def ended(self, job_id: str) -> Job:
        """The job, once it has ended."""
        job: Job

        async def has_ended() -> bool:
            nonlocal job
            job = await self.service.store.get(job_id, None)
            return job.state.ended

        with anyio.fail_after(AT_MOST_S):
            while not await has_ended():  # noqa: ASYNC110 - other processes change it
                await anyio.sleep(0.02)
        return job

    async def stop(self, process: subprocess.Popen[bytes]) -> None:
        """Stops the process between two transactions: in one it would keep what it has locked."""
        while True:
            process.send_signal(signal.SIGSTOP)
            if not await self._is_locked():
                return
            process.send_signal(signal.SIGCONT)
            await anyio.sleep(0.01)

    async def _is_locked(self) -> bool:
        # The processes' own locks wait; these don't.
        def lock() -> bool:
            if self.database:
                engine, statements = create_engine(self.database), ["SELECT id FROM inkgate_jobs FOR UPDATE NOWAIT"]
            else:
                path = f"sqlite:///{self.folder / 'jobs.db'}"
                engine, statements = create_engine(path, connect_args={"timeout": 0.2}), ["BEGIN IMMEDIATE"]
            try:
                with engine.connect() as connection:
                    for statement in statements:
                        connection.exec_driver_sql(statement)
                    connection.rollback()
            except OperationalError:
                return True
            else:
                return False
            finally:
                engine.dispose()

        return await Threads("locks", 1).run(lock)

    async def unfinished(self) -> int:
        """Number of jobs that have not ended."""
        return sum(count for state, count in (await self.by_state()).items() if not state.ended)

    async def by_state(self) -> dict[JobState, int]:
        """Number of jobs by state."""
        found = await self.rows("SELECT state, count(*) FROM inkgate_jobs GROUP BY state")
        return {JobState(str(state)): int(str(count)) for state, count in found}

    async def rows(self, statement: str) -> list[tuple[object, ...]]:
        """The rows of a statement that reads."""
        database = self.service.store.database
        return await database.read(lambda connection: [tuple(row) for row in connection.execute(text(statement))])


async def until(true: Callable[[], bool], at_most_s: float = AT_MOST_S) -> None:
    """Waits for what other processes do."""
    with anyio.fail_after(at_most_s):
        while not true():  # noqa: ASYNC110 - other processes change it
            await anyio.sleep(0.01)
