"""`inkgate jobs`: lists and changes the jobs of a database."""

from __future__ import annotations

import json as jsonlib
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from inkgate.cli.configure import ConfigOption, configured
from inkgate.cli.messages import FAILED, failure, misuse, say
from inkgate.cli.readers import READER, KeyFileOption, key_in

if TYPE_CHECKING:
    from inkgate.cli.jobs_remote import JobsService
    from inkgate.jobs.job import Job
    from inkgate.jobs.service import JobService
    from inkgate.jobs.store import JobStore
    from inkgate.settings import Settings
    from inkgate_client.jobs import JobStatus

T = TypeVar("T")
_DAY_S = 86_400.0

jobs = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="List and change jobs, of all tenants, in the database of `inkgate serve` and `inkgate work`.",
)

JobsUrlOption = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Database of jobs, such as postgresql://host/inkgate. Default: the settings'."),
]
ServiceOption = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="URL",
        rich_help_panel=READER,
        help="A running service: only your own jobs, by its API.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JobIds = Annotated[list[str], typer.Argument(metavar="ID", help="IDs of jobs.", show_default=False)]


@jobs.command("ls")
def ls(  # noqa: PLR0913  # one parameter for each option of the command
    *,
    state: Annotated[
        list[str] | None,
        typer.Option(metavar="STATE", help="Only jobs in this state, such as queued or failed; repeatable."),
    ] = None,
    tenant: Annotated[str | None, typer.Option(metavar="NAME", help="Only jobs of this tenant.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, metavar="N", help="Maximum number of jobs.")] = 20,
    after: Annotated[str, typer.Option(metavar="ID", help="Go on after this job, the last one seen.")] = "",
    json: JsonOption = False,
    server: ServiceOption = None,
    key_file: KeyFileOption = None,
    jobs_url: JobsUrlOption = None,
    config: ConfigOption = None,
) -> None:
    """List jobs, the newest first."""
    from inkgate.cli.jobs_shown import as_row, print_jobs
    from inkgate.jobs.job import JobFilter, JobState

    names = {each.value: each for each in JobState}
    if unknown := sorted(set(state or ()) - names.keys()):
        raise misuse(f"There is no state {unknown[0]!r}: {', '.join(names)}.")
    states = [names[name] for name in state or ()]
    if (remote := _service(server, key_file, jobs_url)) is not None:
        if tenant is not None:
            raise misuse("--tenant needs the database: a service shows you your own jobs only.")
        _list_remote(remote.list([each.value for each in states], after, limit), json=json)
        return

    async def listed(service: JobService) -> None:
        found = await service.store.list(tenant, JobFilter(states), after, limit)
        if json:
            _print_json({"jobs": [as_row(job) for job in found]})
        else:
            print_jobs(found, await service.store.counts(), service.store.clock())

    _run(_settings(config, jobs_url), listed)


@jobs.command("show")
def show(
    job_id: Annotated[str, typer.Argument(metavar="ID", help="ID of the job.")],
    *,
    json: JsonOption = False,
    server: ServiceOption = None,
    key_file: KeyFileOption = None,
    jobs_url: JobsUrlOption = None,
    config: ConfigOption = None,
) -> None:
    """Show a job: its pages, why pages failed, when it may end, and the deliveries of its result."""
    from inkgate.cli.jobs_shown import JobDetails, details_as_dict, failed_pages, print_details, print_status

    if (remote := _service(server, key_file, jobs_url)) is not None:
        from inkgate.cli.jobs_remote import status_as_dict

        status = remote.show(job_id)
        if json:
            _print_json(status_as_dict(status))
        else:
            print_status(status)
        return

    async def shown(service: JobService) -> None:
        store = service.store
        job = await store.get(job_id, None)
        forecast = None if job.state.ended else await store.forecast(job)
        pages = await failed_pages(store, job)
        details = JobDetails(job, forecast, pages, await store.deliveries(job_id))
        if json:
            _print_json(details_as_dict(details))
        else:
            print_details(details)

    _run(_settings(config, jobs_url), shown)


@jobs.command("cancel")
def cancel(
    ids: JobIds,
    *,
    server: ServiceOption = None,
    key_file: KeyFileOption = None,
    jobs_url: JobsUrlOption = None,
    config: ConfigOption = None,
) -> None:
    """Cancel jobs: those that wait at once, those that run after the pages being read. Read pages are kept."""
    if (remote := _service(server, key_file, jobs_url)) is not None:
        _end_with(whole=remote.change(ids, lambda handle: handle.cancel()))
    else:
        _each(ids, _settings(config, jobs_url), lambda store, job_id: store.cancel(job_id, None))


@jobs.command("retry")
def retry(
    ids: JobIds,
    *,
    server: ServiceOption = None,
    key_file: KeyFileOption = None,
    jobs_url: JobsUrlOption = None,
    config: ConfigOption = None,
) -> None:
    """Queue ended jobs again for their pages that failed or were not read. The other pages are kept."""
    if (remote := _service(server, key_file, jobs_url)) is not None:
        _end_with(whole=remote.change(ids, lambda handle: handle.retry()))
    else:
        _each(ids, _settings(config, jobs_url), lambda store, job_id: store.retry(job_id, None))


@jobs.command("purge")
def purge(
    *,
    days: Annotated[
        float | None, typer.Option(min=0.0, help="How old they must be. Default: jobs.retention_days.", metavar="DAYS")
    ] = None,
    jobs_url: JobsUrlOption = None,
    config: ConfigOption = None,
) -> None:
    """Remove results and uploads of jobs that ended long ago. A service also does so by itself every ten minutes.

    The jobs themselves are kept for twice the retention time, so that a repeated event does not make them again.
    """

    async def purged(service: JobService) -> None:
        count = await service.purge(None if days is None else days * _DAY_S)
        print(f"{count} {'job' if count == 1 else 'jobs'} purged.")

    _run(_settings(config, jobs_url), purged)


@jobs.command("truth")
def truth(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to write; must be empty or missing.")],
    *,
    tenant: Annotated[str | None, typer.Option(metavar="NAME", help="Only jobs of this tenant.")] = None,
    jobs_url: JobsUrlOption = None,
    config: ConfigOption = None,
) -> None:
    """Write the documents of reviewed jobs with their corrected fields, and a manifest of them for `inkgate eval`.

    `inkgate eval FOLDER/manifest.json` then measures how right fields are on your documents.
    """
    from inkgate.cli.jobs_truth import write_truth

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise misuse(f"{folder} exists and is not empty.")

    async def written(service: JobService) -> int:
        return await write_truth(service, tenant, folder)

    try:
        count = _run(_settings(config, jobs_url), written)
    except OSError as error:
        raise failure(f"{error.filename or folder}: {error.strerror or error}.") from error
    print(f"{count} reviewed {'job' if count == 1 else 'jobs'} written into {folder}.")


@jobs.command("redeliver")
def redeliver(
    job_id: Annotated[str | None, typer.Argument(metavar="ID", help="ID of a job.", show_default=False)] = None,
    *,
    all_jobs: Annotated[bool, typer.Option("--all", help="Of all jobs.")] = False,
    jobs_url: JobsUrlOption = None,
    config: ConfigOption = None,
) -> None:
    """Deliver results again that were given up (dead letters): of one job, or of all."""
    if (job_id is None) is not all_jobs:
        raise misuse("Name one job, or say --all.")

    async def redelivered(service: JobService) -> None:
        if job_id is not None:
            await service.store.get(job_id, None)
        count = await service.store.redeliver(job_id)
        print(f"{count} {'delivery' if count == 1 else 'deliveries'} will be made again.")

    _run(_settings(config, jobs_url), redelivered)


def _settings(config: Path | None, jobs_url: str | None) -> Settings:
    return configured(config, {"jobs": {"database": jobs_url}})


def _each(ids: Sequence[str], settings: Settings, change: Callable[[JobStore, str], Awaitable[Job]]) -> None:
    """Changes each job. One that can't be changed does not keep the others from it."""
    from inkgate.errors import InputRejected

    async def changed(service: JobService) -> bool:
        whole = True
        for job_id in ids:
            try:
                job = await change(service.store, job_id)
            except InputRejected as error:
                say(f"{job_id}: {error.detail}")
                whole = False
            else:
                print(f"{job.id} {job.state.value}")
        return whole

    _end_with(whole=_run(settings, changed))


def _end_with(*, whole: bool) -> None:
    if not whole:
        raise typer.Exit(FAILED)


def _service(url: str | None, key_file: Path | None, jobs_url: str | None) -> JobsService | None:
    """The service that the options name; None: the database. Raises typer.Exit: they contradict each other."""
    if url is None:
        if key_file is not None:
            raise misuse("--key-file is for --server.")
        return None
    from inkgate.cli.jobs_remote import JobsService

    if jobs_url is not None:
        raise misuse("Name a service (--server) or a database (--jobs-url), not both.")
    return JobsService(url, key_in(key_file))


def _list_remote(found: Sequence[JobStatus], *, json: bool) -> None:
    from datetime import UTC, datetime

    from inkgate.cli.jobs_remote import status_as_dict
    from inkgate.cli.jobs_shown import print_statuses

    if json:
        _print_json({"jobs": [status_as_dict(job) for job in found]})
    else:
        print_statuses(found, datetime.now(UTC).timestamp())


def _run(settings: Settings, act: Callable[[JobService], Awaitable[T]]) -> T:
    """Runs `act` on the jobs of the settings. Says in a sentence what went wrong, and exits."""
    import anyio

    from inkgate.bootstrap.jobs import job_service
    from inkgate.errors import InkgateError
    from inkgate.telemetry.logs import configure_logs
    from inkgate_client.concurrency import single_error

    async def run() -> T:
        service, _, _ = job_service(settings)
        with single_error():
            async with service.store.running():
                if not await service.store.exists():
                    raise failure(_no_database(settings))
                return await act(service)

    configure_logs(settings.log.model_copy(update={"level": "error"}))
    try:
        return anyio.run(run)
    except InkgateError as error:
        raise failure(error.detail) from error


def _no_database(settings: Settings) -> str:
    from inkgate.jobs.machine import sqlite_file

    file = sqlite_file(settings)
    where = "in the PostgreSQL database of the settings" if file is None else f"at {file}"
    return f"There are no jobs {where} yet. Name another database with --jobs-url or --config."


def _print_json(value: Any) -> None:  # noqa: ANN401 - anything that is JSON
    sys.stdout.write(jsonlib.dumps(value, ensure_ascii=False, indent=2) + "\n")
