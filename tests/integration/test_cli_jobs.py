"""`inkgate jobs`, on a database as a service leaves it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from typer.testing import CliRunner, Result

from inkgate.cli.app import app
from inkgate.jobs.job import JobDocument, JobFailure, JobSource, JobState, NewJob
from inkgate.jobs.store import JobEnd, JobStore
from inkgate.jobs.store.database import database_url
from inkgate_client.concurrency import single_error
from inkgate_client.types import PageError, PageResult
from support.job_stores import take_due

runner = CliRunner()
DOCUMENT = JobDocument("application/pdf", 1000, 3, "ppocr")
BAD = PageError("engine_failed", "It failed.", "")


@dataclass
class Jobs:
    """A folder with a database of jobs, and the command that looks at it."""

    folder: Path

    def __call__(self, *arguments: str) -> Result:
        environment = {"INKGATE_JOBS__FOLDER": str(self.folder)}
        return runner.invoke(app, ["jobs", *arguments], env=environment)

    def json(self, *arguments: str) -> Any:  # noqa: ANN401 - JSON
        ended = self(*arguments, "--json")
        assert ended.exit_code == 0, ended.stderr
        return json.loads(ended.stdout)

    def change(self, act: Callable[[JobStore], Awaitable[str]]) -> str:
        async def run() -> str:
            store = JobStore(database_url("", self.folder), lambda: datetime.now(UTC).timestamp(), 60.0, 1000)
            with single_error():
                async with store.running():
                    return await act(store)

        return anyio.run(run)

    def add(self, **fields: object) -> str:
        async def added(store: JobStore) -> str:
            new = replace(NewJob("shop", JobSource(upload="0" * 64), "scan.pdf"), **fields)  # type: ignore[arg-type]
            return (await store.add([new]))[0].id

        return self.change(added)

    def end(self, state: JobState, *pages: PageResult, failure: JobFailure | None = None) -> str:
        """Runs the job that waits to this end; its result has a delivery that is given up."""

        async def ended(store: JobStore) -> str:
            (claim,) = await store.claim(1)
            await store.save(claim, pages, (DOCUMENT, len(pages)), JobEnd(state, failure, ("shop",)))
            (due,) = await take_due(store, 1, 60.0)
            await store.dead(due, "HTTP 410")
            return claim.job.id

        return self.change(ended)


@pytest.fixture
def jobs(tmp_path: Path) -> Jobs:
    return Jobs(tmp_path / "state")


def test_without_a_database_none_is_made(jobs: Jobs) -> None:
    for arguments in (["ls"], ["ls", "--json"], ["show", "x"], ["cancel", "x"], ["purge"], ["redeliver", "--all"]):
        ended = jobs(*arguments)
        assert (ended.exit_code, ended.stdout) == (1, "")
        assert f"There are no jobs at {jobs.folder / 'jobs.db'} yet." in ended.stderr
    assert not jobs.folder.exists()


def test_another_programs_database_is_left_alone(jobs: Jobs) -> None:
    jobs.folder.mkdir()
    (jobs.folder / "jobs.db").write_bytes(b"")
    assert jobs("ls").exit_code == 1
    assert (jobs.folder / "jobs.db").read_bytes() == b""


def test_jobs_are_listed_the_newest_first(jobs: Jobs) -> None:
    first = jobs.add()
    jobs.end(JobState.PARTIAL, PageResult(index=0), PageResult(index=1, error=BAD))
    second = jobs.add(name="[red]a\x1b[2J\nb[/red]", tenant="other")
    shown = jobs("ls").stdout
    assert shown.index(second) < shown.index(first)
    assert "2 of 2, 1 failed" in shown
    assert "[red]a\ufffd[2J\ufffdb[/red]" in shown
    assert "In all: " in shown
    assert "1 pages to read" in shown
    assert "1 deliveries given up" in shown
    assert [job["id"] for job in jobs.json("ls")["jobs"]] == [second, first]
    assert [job["id"] for job in jobs.json("ls", "--state", "partial", "--state", "failed")["jobs"]] == [first]
    assert [job["id"] for job in jobs.json("ls", "--tenant", "other")["jobs"]] == [second]
    assert [job["id"] for job in jobs.json("ls", "--after", second)["jobs"]] == [first]
    assert [job["id"] for job in jobs.json("ls", "--limit", "1")["jobs"]] == [second]
    assert [job["tenant"] for job in jobs.json("ls")["jobs"]] == ["other", "shop"]


def test_a_state_that_there_is_not_is_misuse(jobs: Jobs) -> None:
    ended = jobs("ls", "--state", "done")
    assert ended.exit_code == 2
    assert "There is no state 'done': queued, running," in ended.stderr


def test_a_job_is_shown_with_failed_pages_and_deliveries(jobs: Jobs) -> None:
    job_id = jobs.add(webhook="https://example.com/?secret", pipeline="receipts")
    jobs.end(JobState.PARTIAL, PageResult(index=0), PageResult(index=2, error=BAD))
    text = jobs("show", job_id).stdout
    for words in ("partial", "receipts", "engine_failed", "It failed.", "HTTP 410", "dead"):
        assert words in text
    assert "secret" not in text
    shown = jobs.json("show", job_id)
    assert shown["failed_pages"] == [{"page": 3, "code": "engine_failed", "detail": "It failed."}]
    assert [(each["sink"], each["state"]) for each in shown["deliveries"]] == [("shop", "dead")]
    assert (shown["ahead"], shown["eta_s"]) == (None, None)


def test_a_job_that_waits_is_shown_with_those_ahead(jobs: Jobs) -> None:
    jobs.add()
    job_id = jobs.add()
    assert jobs.json("show", job_id)["ahead"] == 1
    assert "ahead" in jobs("show", job_id).stdout


def test_jobs_are_cancelled_and_retried_each_for_itself(jobs: Jobs) -> None:
    first, second = jobs.add(), jobs.add()
    ended = jobs("cancel", first, "unknown", second)
    assert ended.exit_code == 1
    assert ended.stdout == f"{first} cancelled\n{second} cancelled\n"
    assert "unknown: There is no job with this ID." in ended.stderr
    again = jobs("cancel", first)
    assert (again.exit_code, again.stdout) == (1, "")
    assert "The job is cancelled." in again.stderr
    assert jobs("retry", first, second).stdout == f"{first} queued\n{second} queued\n"


def test_old_results_are_purged(jobs: Jobs) -> None:
    job_id = jobs.add()
    jobs.end(JobState.SUCCEEDED, PageResult(index=0))
    assert jobs("purge").stdout == "0 jobs purged.\n"
    assert jobs("purge", "--days", "0").stdout == "1 job purged.\n"
    assert "no longer kept" in jobs("retry", job_id).stderr


def test_dead_letters_are_delivered_again(jobs: Jobs) -> None:
    job_id = jobs.add()
    jobs.end(JobState.SUCCEEDED, PageResult(index=0))
    assert jobs("redeliver").exit_code == 2
    assert jobs("redeliver", job_id, "--all").exit_code == 2
    unknown = jobs("redeliver", "unknown")
    assert (unknown.exit_code, "There is no job with this ID." in unknown.stderr) == (1, True)
    assert jobs("redeliver", job_id).stdout == "1 delivery will be made again.\n"
    assert jobs("redeliver", "--all").stdout == "0 deliveries will be made again.\n"
    assert jobs.json("show", job_id)["deliveries"][0]["state"] == "waiting"


def test_a_database_that_is_away_is_told_in_a_sentence(jobs: Jobs) -> None:
    for arguments in (["ls"], ["cancel", "x"], ["purge"]):
        ended = jobs(*arguments, "--jobs-url", "postgresql://nobody:hush@127.0.0.1:1/nowhere")
        assert (ended.exit_code, ended.stdout) == (1, "")
        assert ended.stderr == "inkgate: The database of jobs does not respond.\n"
