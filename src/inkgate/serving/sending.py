"""Room for results that are sent after they were read: of jobs, and of uploaded files. Each is counted with the bytes
that it keeps in memory until the client has taken them, and tenants share the room as they share admission.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from inkgate.serving.admission import AdmissionLimiter
from inkgate.serving.limits import FixedLimit
from inkgate.serving.permits import Arrival, Permit
from inkgate.serving.queue import WorkQueue
from inkgate.settings import ServingSettings

_PARTS_AT_ONCE = 2
"""Parts that are loaded and rendered at once, and one more if these are of one tenant and another comes: pages as
objects take five times the memory of what is sent."""


@dataclass(frozen=True, slots=True)
class SendingRoom:
    """What results may use. Used from one event loop.

    Attributes:
        limiter: counts results that are sent, and their bytes, by tenant.
        parts: gives turns for loading and rendering a part of a result. A turn ends before the part is sent.
        whole: gives turns for rendering a whole document, so that this needs the memory of one, or of two if another
            tenant comes.
    """

    limiter: AdmissionLimiter
    parts: WorkQueue
    whole: WorkQueue

    @classmethod
    def of(cls, settings: ServingSettings) -> Self:
        """The room that the settings give."""
        admission, scheduling = settings.admission, settings.scheduling
        parts = WorkQueue(FixedLimit(_PARTS_AT_ONCE), scheduling, timed=True, extra=True)
        limits = admission.model_copy(update={"max_bytes_mb": admission.max_result_mb})
        limiter = AdmissionLimiter(admission.max_results, limits, parts)
        limiter.what = "results being sent"
        return cls(limiter, parts, WorkQueue(FixedLimit(1), scheduling, timed=True, extra=True))

    @contextmanager
    def sending(self, tenant: str) -> Iterator[Permit]:
        """Context for sending a result. What it keeps in memory is charged to the permit: `grow` before the first byte,
        while it can still be refused, and `holds` after that.

        Raises:
            Overloaded: there is no room for it, or the tenant has its share; raised by `grow`, too.
        """
        permit = self.limiter.admit(Arrival(tenant))
        error: BaseException | None = None
        try:
            yield permit
        except BaseException as raised:
            error = raised
            raise
        finally:
            permit.leave(error)
