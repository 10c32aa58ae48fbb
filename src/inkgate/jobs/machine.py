"""What jobs need of the machine: a folder, disks, and packages."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

from inkgate.errors import InputRejected
from inkgate.installation import install_extra
from inkgate.jobs.store.database import database_url
from inkgate.settings import Settings
from inkgate_client.telemetry.jobs_state import JobsDisk

_ENVIRONMENT = os.environ  # noqa: TID251 - the system's word for a place, no setting of ours
_MOUNTS = Path("/proc/self/mounts")
_ESCAPE = re.compile(r"\\([0-7]{3})")

PACKAGES = {"kafka": "aiokafka", "nats": "nats", "rabbit": "aio_pika", "redis": "redis"}
"""What each kind of broker imports; the extra has the name of the kind."""


def check_broker_package(setting: str, kind: str) -> None:
    """Raises InputRejected("feature_unavailable") if the package for `setting`, a broker of this kind, is missing."""
    package = PACKAGES[kind]
    if find_spec(package) is None:
        raise InputRejected("feature_unavailable", f"`{setting}` needs the package {package}: {install_extra(kind)}.")


def jobs_folder(settings: Settings) -> Path:
    """The folder of the database and of uploads, absolute. It may not exist."""
    if settings.jobs.folder:
        return Path(settings.jobs.folder).expanduser().absolute()
    # The specification says to ignore relative paths.
    named = Path(_ENVIRONMENT.get("XDG_STATE_HOME", ""))
    return (named if named.is_absolute() else Path.home() / ".local" / "state") / "inkgate"


def sqlite_file(settings: Settings) -> Path | None:
    """The file of the database; None if it is PostgreSQL. It may not exist."""
    url = database_url(settings.jobs.database.get_secret_value(), jobs_folder(settings))
    return Path(url.database or "").absolute() if url.drivername.startswith("sqlite") else None


def jobs_disks(settings: Settings) -> tuple[JobsDisk, ...]:
    """The disks of the database and of uploads, as far as they are on this machine. Blocking."""
    places = {"database": sqlite_file(settings), "uploads": _uploads_folder(settings)}
    return tuple(disk for use, path in places.items() if path is not None and (disk := _disk(use, path)) is not None)


def missing_packages(settings: Settings) -> tuple[str, ...]:
    """A sentence for each setting of jobs that needs a package which is not installed."""
    return tuple(
        f"`{name}` needs {install_extra(extra)}"
        for name, package, extra in _packages(settings)
        if find_spec(package) is None
    )


def unwritable_folders(settings: Settings) -> tuple[str, ...]:
    """A sentence for each folder of jobs on this machine that can't be written. It need not exist."""
    file = sqlite_file(settings)
    folders = {"database": None if file is None else file.parent, "uploads": _uploads_folder(settings)}
    return tuple(
        f"The folder {folder} of the {use} of jobs can't be written by this user. Set `jobs.folder` to one that can."
        for use, folder in folders.items()
        if folder is not None and not _writable(folder)
    )


def _writable(folder: Path) -> bool:
    """Whether the folder can be written, or made."""
    there = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def file_system_of(path: str, mounts: str) -> str:
    """The type of the file system that `path`, absolute and resolved, is on. `mounts`: as in /proc/self/mounts."""
    found, longest = "", -1
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = _ESCAPE.sub(lambda octal: chr(int(octal[1], 8)), fields[1]).rstrip("/")
        # Of mounts over each other, the last one counts.
        if (path == point or path.startswith(f"{point}/")) and len(point) >= longest:
            found, longest = fields[2], len(point)
    return found


def _uploads_folder(settings: Settings) -> Path | None:
    if not settings.jobs.uploads:
        return jobs_folder(settings) / "uploads"
    url = urlsplit(settings.jobs.uploads)
    return Path(unquote(url.path)) if url.scheme == "file" else None


def _disk(use: str, path: Path) -> JobsDisk | None:
    try:
        there = next(each for each in (path, *path.parents) if each.exists()).resolve()
        space = shutil.disk_usage(there)
    except (OSError, StopIteration):
        return None
    try:
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux
        mounts = ""
    return JobsDisk(use, str(path), file_system_of(str(there), mounts), space.free, space.total)


def _packages(settings: Settings) -> Iterator[tuple[str, str, str]]:
    """What needs a package, the package, and the extra that has it."""
    if sqlite_file(settings) is None:
        yield "jobs.database", "psycopg", "postgres"
    for name, broker in settings.intake.items():
        yield f"intake.{name}", PACKAGES[broker.kind], broker.kind
    for name, sink in settings.sinks.items():
        if sink.kind == "topic":
            yield f"sinks.{name}", PACKAGES[sink.broker], sink.broker
        elif sink.kind == "table" and sink.database.get_secret_value().startswith("postgresql"):
            yield f"sinks.{name}", "psycopg", "postgres"
