"""Errors if the machine has no shared memory or file descriptors for a document."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from inkgate.errors import Overloaded

log = structlog.get_logger(__name__)

RETRY_AFTER_S = 5.0
"""Documents in flight usually free their memory within this time."""


@contextmanager
def machine_has_room() -> Iterator[None]:
    """Context around the allocation of shared memory.

    Raises:
        Overloaded: "service_full": no shared memory is left, or too many files are open. The log says which.
    """
    try:
        yield
    except OSError as error:
        log.warning("no_room_for_pdf", reason=error.strerror)
        raise Overloaded("service_full", "The machine is out of memory or file descriptors.", RETRY_AFTER_S) from error
