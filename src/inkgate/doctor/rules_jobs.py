"""Rules on jobs: their database, disks, queue, leases and deliveries."""

from __future__ import annotations

from inkgate.doctor.conditions import LIMITS
from inkgate.doctor.findings import Advice, Diagnosis, Evidence, over, under
from inkgate.doctor.load import flaps, setting, since_start
from inkgate_client.telemetry.jobs_state import JobsDisk, JobsState, StoredJobs
from inkgate_client.telemetry.state import State

_MB = 1_000_000
_NETWORK = frozenset(
    {"9p", "afs", "beegfs", "ceph", "cifs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs"}
)
_LOCAL_FUSE = frozenset({"fuse.fuse-overlayfs", "fuse.mergerfs"})
"""File systems of containers and pools of disks: SQLite's locks and shared memory work on them."""


def jobs_store_unavailable(state: State) -> Diagnosis | None:
    """The last question to the database failed."""
    if state.jobs is None or state.jobs.up is not False:
        return None
    return Diagnosis((Evidence("database", state.jobs.database, against="does not respond"),))


def jobs_packages_missing(state: State) -> Diagnosis | None:
    """A database, a broker or a sink of the settings needs a package that is not installed."""
    if state.jobs is None or not state.jobs.missing:
        return None
    return Diagnosis(tuple(Evidence("missing", each) for each in state.jobs.missing))


def jobs_on_network_disk(state: State) -> Diagnosis | None:
    """SQLite's file is on NFS, SMB, 9p, FUSE or a cluster's file system, by /proc/mounts."""
    if state.jobs is None:
        return None
    disk = next((each for each in state.jobs.disks if each.use == "database" and _is_network(each.file_system)), None)
    if disk is None:
        return None
    evidence = (Evidence("file system", disk.file_system), Evidence("database", disk.path))
    return Diagnosis(evidence, (Advice("Keep it on a local disk, or use PostgreSQL.", "jobs.database"),))


def _is_network(file_system: str) -> bool:
    return file_system in _NETWORK or (
        (file_system == "fuse" or file_system.startswith("fuse.")) and file_system not in _LOCAL_FUSE
    )


def jobs_disk_full(state: State) -> Diagnosis | None:
    """The disk of the database or of uploads has less than {jobs_disk_share:.0%} and less than {jobs_disk_mb:g} MB
    free.
    """
    full = [] if state.jobs is None else full_disks(state.jobs)
    if not full:
        return None
    limit = LIMITS.jobs_disk_mb * _MB
    evidence = tuple(under(f"free for {disk.use} at {disk.path}", disk.free_bytes, limit, "bytes") for disk in full)
    days = setting(state, "jobs.retention_days")
    return Diagnosis(
        evidence,
        (
            Advice("Free space on the disk, or move the folder.", "jobs.folder"),
            Advice(f"Keep results for less than {days:g} days: `jobs.retention_days`, or `inkgate jobs purge --days`.")
            if isinstance(days, int | float)
            else Advice("Keep results for less time: `inkgate jobs purge --days`."),
        ),
    )


def full_disks(jobs: JobsState) -> list[JobsDisk]:
    """The disks of jobs that are nearly full."""
    return [
        disk
        for disk in jobs.disks
        if disk.free_bytes < min(LIMITS.jobs_disk_share * disk.total_bytes, LIMITS.jobs_disk_mb * _MB)
    ]


def uploads_missing(state: State) -> Diagnosis | None:
    """An upload or a shared file was not where this process keeps them."""
    if state.jobs is None or not state.jobs.uploads_missing:
        return None
    return Diagnosis((Evidence("uploads not found", state.jobs.uploads_missing, against=since_start(state)),))


def outbox_stuck(state: State) -> Diagnosis | None:
    """A delivery has been due for over {outbox_s:g} s. One that failed is due only after its pause."""
    stored = _stored(state)
    if stored is None or stored.outbox_oldest_s <= LIMITS.outbox_s:
        return None
    evidence = (
        over("the first delivery has been due for", stored.outbox_oldest_s, LIMITS.outbox_s, "s"),
        Evidence("deliveries waiting", stored.outbox_waiting),
    )
    return Diagnosis(evidence)


def dead_letters(state: State) -> Diagnosis | None:
    """The outbox has dead letters, or events went to a dead-letter topic since the start."""
    if state.jobs is None:
        return None
    deliveries = 0 if state.jobs.stored is None else state.jobs.stored.outbox_dead
    events = {name: count for name, counts in state.jobs.events.items() if (count := counts.get("dead", 0))}
    if not deliveries and not events:
        return None
    evidence = (
        Evidence("deliveries given up", deliveries or None),
        *(
            Evidence(f"events of {name} that can't be used", n, against=since_start(state))
            for name, n in events.items()
        ),
    )
    advice = [Advice("Correct the receiver, then `inkgate jobs redeliver --all`.")] if deliveries else []
    if events:
        advice.append(Advice("Read the reason in the headers of the dead-letter topic (docs/guides/events.md)."))
    return Diagnosis(evidence, advice)


def jobs_waiting(state: State) -> Diagnosis | None:
    """A queued job has been due for over {job_wait_s:g} s, or the backlog takes over {backlog_s:g} s."""
    stored = _stored(state)
    if stored is None:
        return None
    old, long = stored.oldest_s > LIMITS.job_wait_s, (stored.backlog_s or 0.0) > LIMITS.backlog_s
    if not old and not long:
        return None
    evidence = (
        over("the oldest queued job has been due for", stored.oldest_s if old else None, LIMITS.job_wait_s, "s"),
        over("time to read the backlog", stored.backlog_s if long else None, LIMITS.backlog_s, "s"),
        Evidence("pages to read", stored.backlog_pages),
        Evidence("jobs whose worker is gone", stored.abandoned or None),
    )
    if stored.backlog_s is None:
        advice = (
            Advice("No page was saved in five minutes: start `inkgate work`, or read the log of those that run."),
        )
        return Diagnosis(evidence, advice)
    return Diagnosis(evidence)


def leases_lost(state: State) -> Diagnosis | None:
    """At least {flaps} jobs were taken over from this process, and more than hourly."""
    if state.jobs is None or not flaps(state.jobs.leases_lost, state):
        return None
    evidence = (Evidence("leases lost", state.jobs.leases_lost, "times", since_start(state)),)
    lease_s = setting(state, "jobs.lease_s")
    if not isinstance(lease_s, int | float):
        return Diagnosis(evidence)
    return Diagnosis(evidence, (Advice("Allow longer pauses.", "jobs.lease_s", 2 * lease_s, lease_s),))


def lease_short(state: State) -> Diagnosis | None:
    """`jobs.lease_s` is under {lease_s:g} s, which a write may wait for the database, or under the mean time of a page.
    Leases are renewed while a page is read, so this alone loses none.
    """
    lease_s = setting(state, "jobs.lease_s")
    if state.jobs is None or not isinstance(lease_s, int | float):
        return None
    pages = state.work.stage_count.get("engine", 0)
    page_s = state.work.stage_s.get("engine", 0.0) / pages if pages else 0.0
    least = max(LIMITS.lease_s, page_s)
    if lease_s >= least:
        return None
    evidence = (
        under("jobs.lease_s", lease_s, least, "s"),
        Evidence("mean time of a page", page_s if page_s > LIMITS.lease_s else None, "s"),
    )
    return Diagnosis(evidence, (Advice("Raise the lease.", "jobs.lease_s", max(60.0, round(2 * page_s)), lease_s),))


def webhooks_unsigned(state: State) -> Diagnosis | None:
    """`webhooks.allow_hosts` is set, and `webhooks.secrets` is not."""
    hosts = setting(state, "webhooks.allow_hosts")
    if state.jobs is None or not hosts or setting(state, "webhooks.secrets"):
        return None
    advice = Advice("Set a secret: `whsec_` and the output of `openssl rand -base64 32`.", "webhooks.secrets")
    return Diagnosis((Evidence("webhooks.allow_hosts", ", ".join(hosts)),), (advice,))


def _stored(state: State) -> StoredJobs | None:
    return None if state.jobs is None else state.jobs.stored
