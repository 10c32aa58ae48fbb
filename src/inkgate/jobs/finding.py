"""Finds the fields of a job's document once its pages are saved: a part at a time, so that a document of 10,000 pages
needs the memory of a hundred.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import orjson

from inkgate.caller import Caller
from inkgate.errors import EngineFailed, InkgateError
from inkgate.extraction.finder import FieldFinder
from inkgate.extraction.wanted import CheckedFields
from inkgate.fields.merged import merged
from inkgate.fields.schema import FieldSchema
from inkgate.jobs.job import Job, JobFields
from inkgate.jobs.store import FoundFields, JobStore
from inkgate.layout.whole_document import finished_pages
from inkgate.service.reader import CheckedOptions
from inkgate_client.fields.as_json import extraction_to_dict
from inkgate_client.fields.asked import WantedFields
from inkgate_client.fields.values import Extraction, ExtractionStatus
from inkgate_client.types import DocumentResult

PART_PAGES: Final = 100


def field_request_of(fields: JobFields) -> WantedFields:
    """What a job asks for."""
    return WantedFields(fields.type, fields.schema or None, fields.names)


class JobFieldFinder:
    """Finds fields for a worker."""

    def __init__(self, store: JobStore, finder: FieldFinder) -> None:
        self._store = store
        self._finder = finder

    async def wanted(self, job: Job) -> CheckedFields | None:
        """What the job asks for; None: no fields.

        Raises:
            InputRejected: "type_unknown", if this process has other document types than the one that added the job.
        """
        if job.review is None:
            return None
        stored = await self._store.fields(job.id)
        return await self._finder.wanted(field_request_of(stored.wanted), job.caller)

    def read_options(self, wanted: CheckedFields, options: CheckedOptions) -> CheckedOptions:
        """`options`, for a document whose fields are wanted."""
        return self._finder.read_options(wanted, options)

    async def find(self, job: Job, wanted: CheckedFields, caller: Caller, *, whole: bool) -> FoundFields:
        """The fields, by the saved pages. `whole`: all pages were read; else a person has to look.

        Raises:
            EngineFailed: "internal": the fields can't be found, for a reason that nobody expected.
        """
        try:
            extraction = await self._found(job, wanted, caller)
        except InkgateError:
            raise
        except Exception as error:  # noqa: BLE001 - one document must not end the worker
            # Its text may have values of the document, which the log must not have.
            kind = type(error).__name__
            raise EngineFailed("internal", f"The fields could not be found ({kind}).") from None
        if not whole:
            extraction = replace(extraction, status=ExtractionStatus.NEEDS_REVIEW)
        review = extraction.status is ExtractionStatus.NEEDS_REVIEW
        return FoundFields(await self._finder.threads.run(caller, 1, _dumped, extraction), review)

    async def _found(self, job: Job, wanted: CheckedFields, caller: Caller) -> Extraction:
        parts: list[Extraction] = []
        schema: FieldSchema | None = wanted.schema
        after = -1
        while (pages := await self._store.pages(job.id, after, PART_PAGES, job.tenant)) or not parts:
            if schema is None:
                schema = await self._finder.schema_of(pages, caller)
            finished = await self._finder.threads.run(caller, PART_PAGES, finished_pages, pages)
            document = DocumentResult(job.name, "", 0, len(finished), "", finished)
            parts.append(await self._finder.find(document, replace(wanted, schema=schema), caller))
            if not pages:
                break
            after = pages[-1].index
        if schema is None:
            raise TypeError("a document without parts")
        return merged(parts, schema)


def _dumped(extraction: Extraction) -> str:
    """Blocking."""
    return orjson.dumps(extraction_to_dict(extraction)).decode()
