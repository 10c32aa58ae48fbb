"""The cache of compiled models, which makes later starts faster."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import structlog

from inkgate.operating_system import lock, open_folder

log = structlog.get_logger(__name__)

AUTO = "auto"
_ENVIRONMENT = os.environ  # noqa: TID251 - the system's word for a place, no setting of ours


def compiled_folder(chosen: str, environment: Mapping[str, str] = _ENVIRONMENT) -> Path | None:
    """The folder `chosen`, created if missing; "auto": inkgate's in the user's cache folder, as given by `environment`
    (the XDG Base Directory Specification).

    None if caching is off ("") or the folder can't be created: this only makes each start slower.
    """
    if not chosen:
        return None
    try:
        folder = _own(environment) if chosen == AUTO else Path(chosen)
        # For this user only: its contents are executed.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError) as error:  # RuntimeError: the user has no home
        log.warning("compiled_models_not_kept", folder=chosen, reason=str(error))
        return None


@contextmanager
def alone(folder: Path | None) -> Iterator[None]:
    """Waits until no other process uses the folder in this block. Blocking.

    Runtimes write a compiled model in place: of processes that start together, one could read what another has only
    half written. The lock ends with the process, and leaves no file behind.
    """
    if folder is None:
        yield
        return
    descriptor = open_folder(folder)
    try:
        with suppress(OSError):  # a file system without locks: continue unlocked
            lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def _own(environment: Mapping[str, str]) -> Path:
    named = Path(environment.get("XDG_CACHE_HOME", ""))
    # The specification says to ignore relative paths.
    return (named if named.is_absolute() else Path.home() / ".cache") / "inkgate" / "models"
