"""What the machine has no room for: shared memory for a document, or a file number for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from inkgate.errors import Overloaded

log = structlog.get_logger(__name__)

RETRY_AFTER_S = 5.0
"""Documents under way give back what they hold in such a time."""


@contextmanager
def machine_has_room() -> Iterator[None]:
    """Around what takes shared memory.

    Raises:
        Overloaded: "service_full": there is none, or too many files are open. The log says which.
    """
    try:
        yield
    except OSError as error:
        log.warning("no_room_for_pdf", reason=error.strerror)
        raise Overloaded("service_full", "The machine is out of memory or file descriptors.", RETRY_AFTER_S) from error
