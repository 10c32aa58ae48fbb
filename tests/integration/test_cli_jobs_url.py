"""`inkgate jobs --server`: a service's jobs by its API, here told by a server that knows two."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from inkgate.caller import Priority
from inkgate.cli.app import app
from inkgate.jobs.job import Job, JobFailure, JobOptions, JobSource, JobState
from inkgate.jobs.published import job_to_dict

runner = CliRunner()
DONE = Job(
    "01aa", "me", JobState.PARTIAL, "[b]scan.pdf", JobSource("0" * 64), JobOptions(), Priority.BATCH, "", "",
    1.8e9, 1.8e9, 1.8e9, 1.8e9, None, 3, 3, 1, 0, None, JobFailure("deadline_exceeded", "Too late."),
)  # fmt: skip
WAITING = replace(DONE, id="01bb", state=JobState.QUEUED, saved=0, failed=0, started=None, ended=None, failure=None)
KEY = "inkgate_of_a_test"


def shown(job: Job) -> dict[str, Any]:
    waits = job.state is JobState.QUEUED
    return {**job_to_dict(job), "position": 2 if waits else None, "eta_s": 90.0 if waits else None, "links": {}}


class Handler(BaseHTTPRequestHandler):
    """Answers as /v1/jobs does."""

    def do_GET(self) -> None:
        if self.headers.get("Authorization") != f"Bearer {KEY}":
            self._answer(401, {"code": "unauthenticated", "title": "No key", "detail": "No key.", "remedy": ""})
            return
        path = self.path.partition("?")[0]
        found = {f"/v1/jobs/{job.id}": job for job in (DONE, WAITING)}
        if path == "/v1/jobs":
            self._answer(200, {"jobs": [shown(WAITING), shown(DONE)], "next": None})
        elif path in found:
            self._answer(200, shown(found[path]))
        else:
            detail = "There is no job with this ID."
            self._answer(404, {"code": "job_unknown", "title": "No job", "detail": detail, "remedy": ""})

    def do_POST(self) -> None:
        if self.path == "/v1/jobs/01bb/cancel":
            self._answer(200, shown(replace(WAITING, state=JobState.CANCELLED)))
        else:
            detail = "The job is partial."
            self._answer(409, {"code": "job_ended", "title": "Ended", "detail": detail, "remedy": ""})

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if status == 200 else "application/problem+json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the library
        pass


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def jobs(*arguments: str) -> Result:
    return runner.invoke(app, ["jobs", *arguments], env={"INKGATE_API_KEY": KEY})


def test_the_callers_jobs_are_listed(url: str) -> None:
    table = jobs("ls", "--server", url).stdout
    assert "01bb" in table
    assert "3 of 3, 1 failed" in table
    assert "[b]scan.pdf" in table
    listed = json.loads(jobs("ls", "--server", url, "--json").stdout)["jobs"]
    assert [(job["id"], job["created"]) for job in listed] == [
        ("01bb", "2027-01-15T08:00:00.000Z"),
        ("01aa", "2027-01-15T08:00:00.000Z"),
    ]


def test_a_job_is_shown(url: str) -> None:
    assert "deadline_exceeded: Too late." in jobs("show", "01aa", "--server", url).stdout
    assert "in about 2 min" in jobs("show", "01bb", "--server", url).stdout
    assert json.loads(jobs("show", "01bb", "--server", url, "--json").stdout)["position"] == 2
    unknown = jobs("show", "../state", "--server", url)
    assert (unknown.exit_code, "no job with this ID" in unknown.stderr) == (1, True)


def test_jobs_are_changed_each_for_itself(url: str) -> None:
    ended = jobs("cancel", "01aa", "unknown", "../x", "01bb", "--server", url)
    assert (ended.exit_code, ended.stdout) == (1, "01bb cancelled\n")
    assert ended.stderr.splitlines() == [
        "inkgate: 01aa: The job is partial.",
        "inkgate: unknown: There is no job with this ID.",
        "inkgate: ../x: There is no job with this ID.",
    ]


def test_what_is_wrong_is_told(url: str, tmp_path: Path) -> None:
    assert jobs("ls", "--server", "ftp://a").exit_code == 2
    assert jobs("ls", "--server", url, "--tenant", "me").exit_code == 2
    assert jobs("ls", "--server", url, "--jobs-url", "sqlite:////tmp/x").exit_code == 2
    (tmp_path / "key").write_text("wrong")
    assert jobs("ls", "--server", url, "--key-file", str(tmp_path / "key")).exit_code == 1
    for command in (("ls",), ("show", "01aa"), ("cancel", "01aa"), ("retry", "01aa")):
        without_service = jobs(*command, "--key-file", str(tmp_path / "key"))
        assert (without_service.exit_code, "is for --server" in without_service.stderr) == (2, True)
    assert jobs("ls", "--server", "http://127.0.0.1:1").exit_code == 3
