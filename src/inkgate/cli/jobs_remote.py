"""`inkgate jobs --server`: the caller's own jobs, by the API of a running service."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer

from inkgate.cli.doctor import UNREACHABLE, is_address
from inkgate.cli.messages import failure, misuse, say
from inkgate_client import InkgateClient, ServiceError

if TYPE_CHECKING:
    from inkgate_client.blocking_jobs import JobHandle
    from inkgate_client.jobs import JobStatus


@dataclass(frozen=True, slots=True)
class JobsService:
    """A running service, and the key of the caller."""

    url: str
    key: str = field(default="", repr=False)

    def list(self, states: Sequence[str], after: str, limit: int) -> tuple[JobStatus, ...]:
        """The caller's jobs, the newest first."""
        with self._client() as client:
            found: list[JobStatus] = []
            while len(found) < limit:
                page = client.jobs.list(states, after, min(limit - len(found), 100))
                found += page.jobs
                if page.next is None:
                    break
                after = page.next
            return tuple(found)

    def show(self, job_id: str) -> JobStatus:
        """The job."""
        if not _is_id(job_id):
            raise failure(_unknown(job_id))
        with self._client() as client:
            return client.jobs.get(job_id).status

    def change(self, ids: Sequence[str], act: Callable[[JobHandle], JobStatus]) -> bool:
        """Changes each job. Returns whether all could be changed."""
        whole = True
        with self._client() as client:
            for job_id in ids:
                if not _is_id(job_id):
                    say(_unknown(job_id))
                    whole = False
                    continue
                try:
                    status = act(client.jobs.get(job_id))
                except ServiceError as error:
                    if not error.code:
                        raise
                    say(f"{job_id}: {error.detail}")
                    whole = False
                else:
                    print(f"{status.id} {status.state}")
        return whole

    @contextmanager
    def _client(self) -> Iterator[InkgateClient]:
        if not is_address(self.url):
            raise misuse(f"{self.url!r} is not an address such as http://127.0.0.1:7860.")
        try:
            with InkgateClient(self.url, self.key) as client:
                yield client
        except ServiceError as error:
            if error.code:
                raise failure(str(error)) from error
            say(str(error))
            raise typer.Exit(UNREACHABLE) from error


def status_as_dict(status: JobStatus) -> dict[str, Any]:
    """The status as JSON."""
    return {name: _rfc3339(value) if isinstance(value, datetime) else value for name, value in asdict(status).items()}


def _rfc3339(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _is_id(job_id: str) -> bool:
    """Whether it may be one: it becomes a part of a path."""
    return job_id.isalnum() and job_id.isascii()


def _unknown(job_id: str) -> str:
    return f"{job_id}: There is no job with this ID."
