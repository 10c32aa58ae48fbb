"""A load test's report, put together from what its runs showed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlsplit, urlunsplit

from inkgate.bench.load.machine import this_machine
from inkgate.bench.load.plan import Load
from inkgate.bench.load.results import LoadReport
from inkgate.bench.load.steps import Stepped


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a report says beside the figures.

    Attributes:
        began: with its time zone.
        asked: the command's options by name, without keys.
        versions: of what took part beside this inkgate, by name.
    """

    began: datetime
    max_error: float
    asked: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)


def assemble(load: Load, stepped: Stepped, around: Circumstances) -> LoadReport:
    """The whole report; of this machine. Blocking, for milliseconds."""
    return LoadReport(
        began=around.began.isoformat(timespec="seconds"),
        target=_without_key(load.target.url),
        protocol=load.target.protocol.value,
        axis=load.plan.axis,
        deadline_s=load.plan.deadline_s,
        max_error=around.max_error,
        points=stepped.points,
        timeline=stepped.timeline,
        own=stepped.own,
        machine=this_machine(around.versions),
        knee=stepped.knee,
        asked=dict(around.asked),
        partial=stepped.partial,
        notes=stepped.notes,
    )


def _without_key(url: str) -> str:
    """The address without a user, password or query, any of which may be secret."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
