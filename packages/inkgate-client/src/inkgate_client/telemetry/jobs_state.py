"""The state of jobs at one time: the part of the State that exists if jobs are enabled."""

from __future__ import annotations

from collections.abc import Mapping

from inkgate_client.telemetry.family import counter, gauge, part, reading

_DATABASE = "The database of jobs"
"""The heading of metrics in the documentation."""


@reading
class StoredJobs:
    """What the database of jobs has, read every few seconds: every process that shares it shows the same."""

    by_state: Mapping[str, int] = gauge("inkgate_jobs", "Jobs in the database.", "state")
    backlog_pages: int = gauge(
        "inkgate_jobs_backlog_pages", "Pages to read; a document that was not opened yet counts as one."
    )
    backlog_s: float | None = gauge(
        "inkgate_jobs_backlog_seconds",
        "Time to read these pages at the current rate; absent if no page was saved in the last five minutes.",
    )
    oldest_s: float = gauge("inkgate_jobs_oldest_queued_seconds", "How long the oldest queued job has been due.")
    abandoned: int = gauge("inkgate_jobs_abandoned", "Jobs whose worker is gone and that no other has taken over yet.")
    outbox_waiting: int = gauge("inkgate_outbox_waiting", "Deliveries of results to make.")
    outbox_dead: int = gauge("inkgate_outbox_dead", "Deliveries that were given up: dead letters.")
    outbox_oldest_s: float = gauge(
        "inkgate_outbox_oldest_seconds", "How long the first delivery that is due has been due."
    )


@reading
class JobsDisk:
    """The disk of the database of jobs, or of their uploads.

    Attributes:
        use: `database` or `uploads`.
        file_system: the file system's type, such as `ext4`; empty if unknown.
    """

    use: str
    path: str
    file_system: str
    free_bytes: int
    total_bytes: int


@reading
class JobsState:
    """Jobs. All but `stored` is of this process; counters are since its start.

    Attributes:
        database: `sqlite` or `postgresql`.
        up: whether the database responds; None before the first query.
        stored: what the database has; None while that is unknown.
        disks: the disks on this machine that jobs use.
        missing: packages that the settings need and that are not installed, with what needs them.
        paused: sources that wait until the queue of jobs has room.
    """

    database: str
    up: bool | None = gauge(
        "inkgate_jobs_store_up",
        "1 if the database of jobs responds, else 0: its gauges are then absent.",
        section=_DATABASE,
        default=None,
    )
    stored: StoredJobs | None = part(section=_DATABASE, default=None)
    disks: tuple[JobsDisk, ...] = ()
    missing: tuple[str, ...] = ()
    uploads_missing: int = counter(
        "inkgate_uploads_missing_total",
        "Uploads and shared files that were not where this process keeps them.",
        panel=False,
        default=0,
    )
    running: int = gauge("inkgate_jobs_running", "Jobs that this process runs.", default=0)
    claims: Mapping[str, int] = counter(
        "inkgate_job_claims_total",
        "Jobs that this process began: fresh (they waited), abandoned (their worker was gone).",
        "kind",
        default_factory=dict,
    )
    leases_lost: int = counter(
        "inkgate_job_leases_lost_total", "Jobs that other processes took over from this one.", default=0
    )
    pages: Mapping[str, int] = counter(
        "inkgate_job_pages_total", "Pages of jobs that this process saved: ok, failed.", "outcome", default_factory=dict
    )
    ended: Mapping[str, int] = counter(
        "inkgate_jobs_ended_total", "Jobs that this process ended, by their state then.", "state", default_factory=dict
    )
    deliveries: Mapping[str, Mapping[str, int]] = counter(
        "inkgate_deliveries_total",
        "Attempts to deliver a result: delivered, retried (failed for now), dead (given up).",
        "sink",
        "outcome",
        default_factory=dict,
    )
    events: Mapping[str, Mapping[str, int]] = counter(
        "inkgate_intake_events_total",
        "Objects that events name: added, duplicate, refused; and events: dead (unusable), ignored.",
        "source",
        "outcome",
        default_factory=dict,
    )
    paused: tuple[str, ...] = gauge(
        "inkgate_intake_paused",
        "1 while events wait in the broker until the queue of jobs has room.",
        "source",
        whole=lambda jobs: {source: source in jobs.paused for source in jobs.events},
        default=(),
    )
