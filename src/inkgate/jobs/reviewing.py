"""Fields of jobs as people see and correct them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from inkgate.caller import Caller
from inkgate.errors import FieldsMissing, InputRejected
from inkgate.extraction.wanted import wanted_fields
from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.schema import FieldSchema
from inkgate.jobs.corrections import check_corrections, with_corrections, with_kept_corrections
from inkgate.jobs.finding import field_request_of
from inkgate.jobs.job import Job
from inkgate.jobs.published import rfc3339
from inkgate.jobs.store import FieldCorrection, JobStore, StoredFields
from inkgate.serving.threads import FairThreads
from inkgate_client.codec import Json, encodable

_NO_FIELDS: Final = FieldSchema("", (), {})


@dataclass(frozen=True, slots=True)
class CorrectionRequest:
    """What a person changes.

    Attributes:
        values: by JSON Pointer into `data`.
        by: who, as they say.
        reviewed: the job leaves the review queue.
        version: of the fields that the person saw; None: any.
    """

    values: Mapping[str, object]
    by: str = ""
    reviewed: bool = True
    version: int | None = None


class JobReviews:
    """Shows and corrects the fields of jobs. Used from one event loop."""

    def __init__(self, store: JobStore, types: DocumentTypes, threads: FairThreads) -> None:
        """`threads`: shared by all that are made, such as one for each request."""
        self._store = store
        self._types = types
        self._threads = threads

    async def show(self, job: Job) -> Json:
        """The fields as published.

        Raises:
            InputRejected: "job_not_ended", or "fields_missing".
        """
        stored = await self._found(job)
        return await self._threads.run(_caller(job), 1, published_fields, job, stored)

    async def published(self, job: Job) -> Json | None:
        """Returns what `show` returns, but None for a job without fields."""
        if job.review is None:
            return None
        try:
            return await self.show(job)
        except FieldsMissing:
            return None

    async def correct(self, job: Job, change: CorrectionRequest, now: float) -> None:
        """Keeps the correction. `now`: Unix time.

        Raises:
            InputRejected: "options_invalid": the schema doesn't allow a value; "fields_changed": somebody else was
                faster; "job_not_ended", "fields_missing", "type_unknown".
        """
        stored = await self._found(job)
        if change.version is not None and change.version != stored.version:
            raise InputRejected("fields_changed", f"The fields have version {stored.version}.")
        correction = await self._threads.run(_caller(job), 1, self._checked, stored, change, now)
        # Between the check and this, rows can only have been added; the version says whether that matters.
        await self._store.correct(job.id, change.version, correction, reviewed=change.reviewed)

    async def _found(self, job: Job) -> StoredFields:
        if not job.state.ended:
            raise InputRejected("job_not_ended", f"The job is {job.state.value}.")
        stored = await self._store.fields(job.id)
        if not stored.extraction:
            raise InputRejected("fields_missing", "The job ended before its fields were found.")
        return stored

    def _checked(self, stored: StoredFields, change: CorrectionRequest, now: float) -> FieldCorrection:
        """Blocking."""
        found = orjson.loads(stored.extraction)
        values = check_corrections(self._schema(stored, found), change.values) if change.values else {}
        with_corrections(with_kept_corrections(found["data"], stored.corrected), values)
        return FieldCorrection(values, change.by, now)

    def _schema(self, stored: StoredFields, found: Mapping[str, object]) -> FieldSchema:
        schema = wanted_fields(field_request_of(stored.wanted), self._types).schema
        if schema is not None:
            return schema
        name = found.get("document_type")
        return self._types.named(name) if isinstance(name, str) else _NO_FIELDS


def published_fields(job: Job, stored: StoredFields) -> Json:
    """The extraction as /extract answers it, with the corrections in `data` for which it has a place. `fields`
    stay as they were found. Blocking.
    """
    found = orjson.loads(stored.extraction)
    corrections = [
        {
            "fields": {encodable(path): value for path, value in each.values.items()},
            "by": encodable(each.by) or None,
            "at": rfc3339(each.at),
        }
        for each in stored.corrections
    ]
    return {
        **found,
        "data": with_kept_corrections(found["data"], stored.corrected) if stored.corrections else found["data"],
        "review": None if job.review is None else job.review.value,
        "version": stored.version,
        "corrections": corrections,
    }


def _caller(job: Job) -> Caller:
    """Returns the caller on whose behalf the fields of `job` are shown."""
    return Caller(job.tenant, flow=job.id)
