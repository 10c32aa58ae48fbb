"""Fields of jobs: what is asked for, what was found, and how people corrected it. Functions run in a transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import TypeAdapter
from sqlalchemy import Connection, select, update

from inkgate.errors import InputRejected
from inkgate.jobs.job import JobFields, JobReview, NewJob
from inkgate.jobs.store.records import FIELDS, clean
from inkgate.jobs.store.tables import fields, jobs
from inkgate_client.types import JsonValue

MAX_CORRECTIONS: Final = 200
"""Maximum corrections of a job. Each may change all of its fields."""
MAX_CORRECTED_BYTES: Final = 2_000_000
"""Maximum size of a job's corrections as JSON: all are read, sent and written with each change."""


@dataclass(frozen=True, slots=True)
class FoundFields:
    """What was found in a job's document. `extraction`: as published, in JSON."""

    extraction: str
    needs_review: bool


@dataclass(frozen=True, slots=True)
class FieldCorrection:
    """What a person changed at once.

    Attributes:
        values: by JSON Pointer into `data`; None: the document has no such value.
        by: who, as they say; empty if they don't.
        at: when, as Unix time in seconds.
    """

    values: Mapping[str, JsonValue]
    by: str
    at: float


@dataclass(frozen=True, slots=True)
class StoredFields:
    """The fields of a job. `extraction`: as it was found, in JSON; empty until then. `version`: of every change."""

    wanted: JobFields
    extraction: str
    corrections: tuple[FieldCorrection, ...]
    version: int

    @property
    def corrected(self) -> dict[str, JsonValue]:
        """The latest correction of each value, by its path."""
        return {path: value for each in self.corrections for path, value in each.values.items()}


_CORRECTIONS: TypeAdapter[tuple[FieldCorrection, ...]] = TypeAdapter(tuple[FieldCorrection, ...])


def request_fields(connection: Connection, insert: Callable[..., Any], added: Iterable[tuple[str, NewJob]]) -> None:
    """Keeps what the added jobs are to find."""
    rows = [
        {"job": job_id, "wanted": clean(FIELDS.dump_json(job.fields).decode()), "corrections": "[]", "version": 1}
        for job_id, job in added
        if job.fields is not None
    ]
    if rows:
        connection.execute(insert(fields), rows)


def keep_found(connection: Connection, job_id: str, found: FoundFields) -> None:
    """Keeps what was found. Corrections of an earlier extraction stay: they are about the same document."""
    changed = update(fields).where(fields.c.job == job_id)
    connection.execute(changed.values(extraction=clean(found.extraction), version=fields.c.version + 1))
    review = JobReview.NEEDS_REVIEW if found.needs_review else JobReview.COMPLETE
    connection.execute(update(jobs).where(jobs.c.id == job_id).values(review=review.value))


def fields_of(connection: Connection, job_id: str, *, lock: bool = False) -> StoredFields:
    """The fields of a job.

    Raises:
        InputRejected: "fields_missing": it finds none, or they are no longer kept.
    """
    chosen = select(fields).where(fields.c.job == job_id)
    row = connection.execute(chosen.with_for_update() if lock else chosen).first()
    if row is None:
        raise InputRejected("fields_missing", "The job finds no fields, or they are no longer kept.")
    corrections = _CORRECTIONS.validate_json(row.corrections)
    return StoredFields(FIELDS.validate_json(row.wanted), row.extraction or "", corrections, row.version)


def correct(
    connection: Connection, job_id: str, version: int | None, correction: FieldCorrection, *, reviewed: bool
) -> StoredFields:
    """Adds a correction. `version`: that it is about; None: any. `reviewed`: the job leaves the review queue.

    Raises:
        InputRejected: "fields_changed": there is another version; "fields_missing"; "options_invalid": there are too
            many corrections, or too large ones.
    """
    found = fields_of(connection, job_id, lock=True)
    if version is not None and version != found.version:
        raise InputRejected("fields_changed", f"The fields have version {found.version}.")
    if len(found.corrections) >= MAX_CORRECTIONS:
        raise InputRejected("options_invalid", f"Fields may be corrected {MAX_CORRECTIONS} times.")
    corrections = (*found.corrections, correction) if correction.values else found.corrections
    raw = _CORRECTIONS.dump_json(corrections)
    if len(raw) > MAX_CORRECTED_BYTES:
        raise InputRejected("options_invalid", f"Corrections may have {MAX_CORRECTED_BYTES:,} bytes in all.")
    text = clean(raw.decode())
    changed = update(fields).where(fields.c.job == job_id)
    connection.execute(changed.values(corrections=text, version=found.version + 1))
    if reviewed:
        connection.execute(update(jobs).where(jobs.c.id == job_id).values(review=JobReview.REVIEWED.value))
    return StoredFields(found.wanted, found.extraction, corrections, found.version + 1)
