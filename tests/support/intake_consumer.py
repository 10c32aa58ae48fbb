"""Takes events of a broker into a store in SQLite, as a process that can kill itself at the worst moment: after jobs
were added, before the events are acknowledged.

Writes what it has counted, as JSON lines, after each batch.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio

from inkgate.jobs.intake.arrivals import HTTP, Intake, TakenEvents
from inkgate.jobs.intake.base import ObjectCreated
from inkgate.jobs.intake.brokers import BrokerIntake
from inkgate.jobs.store import JobStore
from inkgate.jobs.store.database import database_url
from inkgate.settings import BrokerSettings, PipelineSettings
from inkgate.workers.process import python_command

PIPELINES = {"scans": PipelineSettings(sources=("s3://scans/in/",))}


def open_store(folder: Path) -> JobStore:
    return JobStore(database_url("", folder), lambda: datetime.now(UTC).timestamp(), 60.0, 100_000)


class ReportingIntake(Intake):
    """Reports each batch, and kills the process once it has added `die_after` jobs."""

    def __init__(self, store: JobStore, report: Path, die_after: int) -> None:
        super().__init__(store, PIPELINES)
        self._report = report
        self._die_after = die_after
        self._added = 0

    async def take(self, objects: Sequence[ObjectCreated], source: str = HTTP) -> TakenEvents:
        taken = await super().take(objects, source)
        self._added += taken.added
        last = 0 < self._die_after <= self._added
        line = {"events": len(objects), "added": taken.added, "duplicates": taken.duplicates, "killed": last}
        with self._report.open("a") as report:
            report.write(json.dumps(line) + "\n")
        if last:
            os.kill(os.getpid(), signal.SIGKILL)
        return taken


async def _consume(settings: BrokerSettings, folder: Path, report: Path, die_after: int) -> None:
    store = open_store(folder)
    async with store.running():
        await BrokerIntake("test", settings, ReportingIntake(store, report, die_after)).run()


def command(settings: dict[str, Any], folder: Path, report: Path, die_after: int = 0) -> list[str]:
    """The command of a consumer. `die_after`: 0: never."""
    start = python_command("support.intake_consumer", Path(__file__).parents[1])
    return [*start, json.dumps(settings), str(folder), str(report), str(die_after)]


def main() -> None:
    given, folder, report, die_after = sys.argv[1:]
    anyio.run(_consume, BrokerSettings(**json.loads(given)), Path(folder), Path(report), int(die_after))
