"""Measures the store of jobs and its worker, on SQLite and on PostgreSQL.

    PYTHONPATH=tests python -m benchmarks.jobs --json FILE

Prints rates (jobs added, and jobs of one page that worker processes claim, read and save; the engine takes no time),
statements and transactions per page of a long job, the plan of a claim among 100,000 jobs, and the memory of a worker
process at page 100 and at the last page of a long job. PostgreSQL runs with its defaults on the same machine and disk.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import anyio
import psutil
from sqlalchemy import Engine, event, text

from benchmarks.figures import write_json
from inkgate.jobs.job import JobDocument, JobSource, JobState, NewJob
from inkgate.jobs.store import JobEnd, JobStore
from inkgate_client.types import PageResult
from support.job_processes import JobPlace, plain
from support.postgres import PostgresServer, postgres_server

AT_ONCE = 8
DOCUMENT = JobDocument("image/tiff", 1000, 1, "noting")
QUEUED = 100_000


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    jobs: int
    pages: int
    rounds: int
    queued: int


def new(number: int) -> NewJob:
    return NewJob(f"tenant {number % 7}", JobSource(upload="0" * 64), name=f"receipt {number}.png")


def timed(rates: dict[str, float], name: str, count: int, begun: float) -> None:
    rates[name] = count / (time.perf_counter() - begun)


async def store_rates(store: JobStore, count: int) -> dict[str, float]:
    """Jobs a second: added, and claimed and ended with a page each by as many tasks as a worker has."""
    rates: dict[str, float] = {}
    begun = time.perf_counter()
    for number in range(count // 4):
        await store.add([new(number)])
    timed(rates, "added one by one", count // 4, begun)
    begun = time.perf_counter()
    for start in range(0, count, 100):
        await store.add([new(start + number) for number in range(100)])
    timed(rates, "added 100 at once", count, begun)
    page = PageResult(0, text="a line of a receipt\n" * 20)
    done = 0

    async def save_all() -> None:
        nonlocal done
        while claims := await store.claim(1):
            for claim in claims:
                await store.save(claim, [page], (DOCUMENT, 1), JobEnd(JobState.SUCCEEDED, None, ("sink",)))
                done += 1

    begun = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for _ in range(AT_ONCE):
            tasks.start_soon(save_all)
    timed(rates, "claimed and saved by the store alone", done, begun)
    return rates


async def worker_rate(place: JobPlace, count: int, processes: int) -> float:
    """Jobs a second from the first claim to the last end."""
    place.changes = {"lease_s": 60.0}
    async with place.running():
        await place.submit_many(plain(1), count)
        for _ in range(processes):
            place.start()
        while (await place.by_state()).get(JobState.SUCCEEDED) != count:  # noqa: ASYNC110 - other processes change it
            await anyio.sleep(0.5)
        ((span,),) = await place.rows("SELECT max(ended) - min(started) FROM inkgate_jobs")
    return count / float(str(span))


async def long_job(place: JobPlace, pages: int) -> dict[str, float]:
    """Memory of a worker process in MB at page 100 and at the end, and its pages a second."""
    found: dict[str, float] = {}
    place.changes = {"lease_s": 60.0}
    async with place.running():
        warm = await place.submit(plain(50))
        process = psutil.Process(place.start().pid)
        await place.ended(warm)
        job_id = await place.submit(plain(pages))
        while not (job := await place.service.store.get(job_id, None)).state.ended:
            if job.saved >= 100 and "MB at page 100" not in found:
                found["MB at page 100"] = process.memory_info().rss / 1e6
            await anyio.sleep(0.01)
        found["MB at the last page"] = process.memory_info().rss / 1e6
    found["pages a second"] = pages / ((job.ended or 0.0) - (job.started or 0.0))
    return found


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Counts the statements, without BEGIN and PRAGMA, and the commits of all engines of this process."""
    counts: Counter[str] = Counter()

    def statement(_c: object, _u: object, statement: str, *_: object) -> None:
        counts["statements"] += not statement.startswith(("BEGIN", "PRAGMA"))

    def commit(*_: object) -> None:
        counts["transactions"] += 1

    event.listen(Engine, "before_cursor_execute", statement)
    event.listen(Engine, "commit", commit)
    try:
        yield counts
    finally:
        event.remove(Engine, "before_cursor_execute", statement)
        event.remove(Engine, "commit", commit)


async def statements_per_page(place: JobPlace, pages: int) -> dict[str, float]:
    """Statements and transactions a page of a worker in this process, its polling included."""
    from inkgate import bootstrap
    from inkgate.bootstrap.jobs import JobSurroundings, running_jobs

    place.changes = {"poll_s": 1.0, "lease_s": 60.0}
    os.environ["JOB_NOTES"] = str(place.folder / "notes")
    settings = place.settings(engine={"name": "support.job_worker:NotingEngine"}, cache={"enabled": False})
    async with (
        bootstrap.running(settings) as service,
        running_jobs(settings, JobSurroundings(service.gateway, service.fields), service.supervisor, work=True) as jobs,
    ):
        store = jobs.service.store
        await store.counts()  # the tables are there
        with counted() as counts:
            added = await jobs.service.submit(NewJob("a", JobSource()), plain(pages))
            while not (jobs.worker and sum(jobs.worker.counts.ended.values())):  # noqa: ASYNC110 - looks without SQL
                await anyio.sleep(0.05)
        assert (await store.get(added.id, None)).saved == pages
    return {name: count / pages for name, count in counts.items()}


async def claim_plan(store: JobStore, queued: int) -> dict[str, Any]:
    """How the database finds the next jobs among many, and milliseconds of a claim of eight."""
    for start in range(0, queued, 1000):
        await store.add([new(start + number) for number in range(1000)])
    if store.database.is_postgres:
        await store.database.write(lambda connection: connection.execute(text("ANALYZE")))
    statements: list[tuple[str, Any]] = []

    def keep(_c: object, _u: object, statement: str, parameters: object, _x: object, _m: object) -> None:
        if statement.startswith("WITH RECURSIVE") and "inkgate_jobs" in statement:
            statements.append((statement, parameters))

    event.listen(Engine, "before_cursor_execute", keep)
    await store.claim(AT_ONCE)
    event.remove(Engine, "before_cursor_execute", keep)
    taken: list[float] = []
    for _ in range(50):
        begun = time.perf_counter()
        await store.claim(AT_ONCE)
        taken.append((time.perf_counter() - begun) * 1e3)
    statement, parameters = statements[0]
    explain = "EXPLAIN " if store.database.is_postgres else "EXPLAIN QUERY PLAN "
    plan = await store.database.read(
        lambda connection: [str(row[-1]) for row in connection.exec_driver_sql(explain + statement, parameters)]
    )
    return {"plan": plan, "ms": median(taken), "uses index": any("inkgate_jobs_turns" in line for line in plan)}


async def measured(size: Size, server: PostgresServer | None) -> dict[str, Any]:
    """All measurements of one database."""
    found: dict[str, Any] = {}
    with ExitStack() as stack:

        def place() -> JobPlace:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="inkgate-jobs-")))
            return JobPlace(folder, "" if server is None else server.database())

        rounds: list[dict[str, float]] = []
        for _ in range(size.rounds):
            here = place()
            async with here.running():
                rates = await store_rates(here.service.store, size.jobs)
            for processes in (1, 2):
                name = f"claimed, read and saved by {processes} process{'es' * (processes > 1)}"
                rates[name] = await worker_rate(place(), size.jobs, processes)
            rounds.append(rates)
        found["jobs a second"] = {name: median(rates[name] for rates in rounds) for name in rounds[0]}
        found["long job"] = await long_job(place(), size.pages)
        found["of a page"] = await statements_per_page(place(), size.pages)
        here = place()
        async with here.running():
            found["claim"] = await claim_plan(here.service.store, size.queued)
    return found


def show(results: dict[str, dict[str, Any]]) -> None:
    """Prints the table."""

    def row(name: str, *path: str, digits: int = 0) -> None:
        cells = []
        for result in results.values():
            value: Any = result
            for part in path:
                value = value[part]
            cells.append(f"{value:>14,.{digits}f}" if isinstance(value, float) else f"{value!s:>14}")
        print(f"{name:<58}" + "".join(cells))

    print(f"{'':<58}" + "".join(f"{name:>14}" for name in results))
    first = next(iter(results.values()))
    for name in first["jobs a second"]:
        row(f"jobs a second, {name}", "jobs a second", name)
    row("pages a second of a long job, one process", "long job", "pages a second")
    row("statements a page of a long job", "of a page", "statements", digits=2)
    row("transactions a page of a long job", "of a page", "transactions", digits=2)
    row("MB of the worker at page 100", "long job", "MB at page 100", digits=1)
    row("MB of the worker at the last page", "long job", "MB at the last page", digits=1)
    row("ms of a claim of 8 among 100,000", "claim", "ms", digits=1)
    row("the claim uses its index", "claim", "uses index")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--jobs", type=int, default=4000)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--queued", type=int, default=QUEUED)
    parser.add_argument("--only", choices=("sqlite", "postgres"))
    arguments = parser.parse_args()
    size = Size(arguments.jobs, arguments.pages, arguments.rounds, arguments.queued)
    results: dict[str, dict[str, Any]] = {}
    if arguments.only != "postgres":
        results["SQLite"] = anyio.run(measured, size, None)
    if arguments.only != "sqlite":
        with postgres_server() as server:
            results["PostgreSQL"] = anyio.run(measured, size, server)
    show(results)
    write_json(arguments.json, {"rounds": size.rounds, "jobs": size.jobs, "pages": size.pages, "found": results})


if __name__ == "__main__":
    main()
