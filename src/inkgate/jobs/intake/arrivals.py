"""Makes jobs of the objects that events tell of."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from inkgate.caller import Priority
from inkgate.errors import InputRejected, KeyReused
from inkgate.extraction.wanted import wanted_fields
from inkgate.fields.document_types import DocumentTypes
from inkgate.jobs.documents import prefix_of
from inkgate.jobs.intake.base import JobAdder, ObjectCreated
from inkgate.jobs.job import AddedJob, JobFields, JobOptions, JobSource, NewJob
from inkgate.settings import PipelineSettings
from inkgate_client.fields.asked import WantedFields
from inkgate_client.types import Task, TaskKind

HTTP = "http"
"""The source, in counts, of events that `POST /v1/events` receives; others are names of `intake.NAME`."""
_AUTO = "auto"
_UNSAFE = re.compile(r"[\x00-\x1f\x7f]")
_LONGEST_NAME = 200


class IntakeOutcome(StrEnum):
    """What became of an object, or of an event: `dead` and `ignored` are counted by event.

    `refused`: its source is of no pipeline. `dead`: sent to the dead-letter topic. `ignored`: a deletion or a test.
    """

    ADDED = "added"
    DUPLICATE = "duplicate"
    REFUSED = "refused"
    DEAD = "dead"
    IGNORED = "ignored"


@dataclass(frozen=True, slots=True)
class RefusedObject:
    """An object for which no job was added. `index`: of it in what was taken."""

    index: int
    error: InputRejected


@dataclass(frozen=True, slots=True)
class TakenEvents:
    """What became of objects. `jobs`: IDs, of duplicates too, in the order of the objects."""

    jobs: tuple[str, ...] = ()
    added: int = 0
    duplicates: int = 0
    refused: tuple[RefusedObject, ...] = ()


class Intake:
    """Adds a job for each object, to the pipeline whose source is the longest prefix of its URL.

    Of events about the same version of an object one makes a job, however often and by whatever way they come.

    Attributes:
        counts: objects and events by source and outcome, for metrics.
        paused: sources that wait until the queue of jobs has room.
    """

    def __init__(self, adder: JobAdder, pipelines: Mapping[str, PipelineSettings]) -> None:
        self._adder = adder
        self._pipelines = pipelines
        self._sources = {source: name for name, pipeline in pipelines.items() for source in pipeline.sources}
        self._fields = {name: fields for name, one in pipelines.items() if (fields := _fields(one)) is not None}
        self.counts: Counter[tuple[str, IntakeOutcome]] = Counter()
        self.paused: set[str] = set()

    async def take(self, objects: Sequence[ObjectCreated], source: str = HTTP) -> TakenEvents:
        """Adds the jobs in one transaction. Objects of no pipeline are refused, each by itself.

        Raises:
            Overloaded: "jobs_full" or "jobs_unavailable"; nothing was added.
        """
        jobs: dict[str, NewJob] = {}
        keys: list[str] = []
        refused = []
        for index, found in enumerate(objects):
            try:
                job = self._job(found)
            except InputRejected as error:
                refused.append(RefusedObject(index, error))
            else:
                jobs.setdefault(job.key, job)
                keys.append(job.key)
        ids = dict(zip(jobs, await self._add(list(jobs.values())), strict=True))
        added = sum(not job.duplicate for job in ids.values())
        taken = TakenEvents(tuple(ids[key].id for key in keys if ids[key].id), added, len(keys) - added, tuple(refused))
        self.count(source, IntakeOutcome.ADDED, taken.added)
        self.count(source, IntakeOutcome.DUPLICATE, taken.duplicates)
        self.count(source, IntakeOutcome.REFUSED, len(refused))
        return taken

    def count(self, source: str, outcome: IntakeOutcome, number: int = 1) -> None:
        """Counts `number` of an outcome."""
        self.counts[source, outcome] += number

    async def _add(self, jobs: list[NewJob]) -> list[AddedJob]:
        if not jobs:
            return []
        try:
            return list(await self._adder.add(jobs))
        except KeyReused:  # the pipeline's settings were changed after one of the jobs was added
            if len(jobs) == 1:
                return [AddedJob("", duplicate=True)]
        return [added for job in jobs for added in await self._add([job])]

    def _job(self, found: ObjectCreated) -> NewJob:
        """The job for an object. Raises InputRejected("source_forbidden")."""
        name = self._sources[prefix_of(found.url, tuple(self._sources))]
        pipeline = self._pipelines[name]
        return NewJob(
            tenant=pipeline.tenant or name,
            source=JobSource(url=found.url, etag=found.etag, version=found.version),
            name=_UNSAFE.sub("", found.url.rpartition("/")[2])[:_LONGEST_NAME] or "document",
            options=JobOptions(Task(TaskKind(pipeline.task), fields=pipeline.fields), pipeline.pages),
            priority=Priority(pipeline.priority),
            pipeline=name,
            key=_key(found, name),
            fields=self._fields.get(name),
        )


def _fields(pipeline: PipelineSettings) -> JobFields | None:
    """What the pipeline's jobs find. Blocking: reads the schema. Raises InputRejected("feature_unavailable")."""
    if not (pipeline.extract_type or pipeline.extract_schema or pipeline.extract_fields):
        return None
    try:
        schema = Path(pipeline.extract_schema).read_text("utf-8") if pipeline.extract_schema else ""
        named = "" if pipeline.extract_type == _AUTO else pipeline.extract_type
        fields = JobFields(named, schema, pipeline.extract_fields)
        if schema:
            wanted_fields(WantedFields(schema=schema), DocumentTypes({}))
    except (OSError, UnicodeDecodeError) as error:
        raise InputRejected("feature_unavailable", f"`extract_schema`: {error}") from error
    return fields


def _key(found: ObjectCreated, pipeline: str) -> str:
    """The idempotency key. Offsets of brokers are no part of it, as replays have others."""
    parts = (found.url, found.version or found.etag or found.event, pipeline)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
