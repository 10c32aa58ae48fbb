"""Finds the fields of a job's document once its pages are saved: a part at a time, whose extractions are merged, so
that a document of 10,000 pages needs the memory of a hundred.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

import orjson

from inkgate.caller import Caller
from inkgate.errors import EngineFailed, InkgateError
from inkgate.extraction.finder import FieldFinder
from inkgate.extraction.wanted import CheckedFields
from inkgate.fields.checks import known_checks, run_checks
from inkgate.fields.invoice_checks import REQUIRED_MISSING, required_missing
from inkgate.fields.items import MAX_ITEMS, array_of
from inkgate.fields.lists import MAX_VALUES, is_list
from inkgate.fields.result import data_of, is_doubtful, item_path, status_of
from inkgate.fields.schema import FieldSchema, Leaf
from inkgate.jobs.job import Job, JobFields
from inkgate.jobs.store import FoundFields, JobStore
from inkgate.layout.whole_document import finished_pages
from inkgate.service.reader import CheckedOptions
from inkgate_client.fields.as_json import extraction_to_dict
from inkgate_client.fields.asked import WantedFields
from inkgate_client.fields.values import Check, Extraction, ExtractionStatus, FieldStatus, FieldValue
from inkgate_client.types import DocumentResult, JsonValue

PART_PAGES: Final = 100
_BETTER: Final = (FieldStatus.FOUND, FieldStatus.UNCERTAIN, FieldStatus.CONFLICT, FieldStatus.INVALID)
"""Statuses with a value, the best first. Others have none."""
_MAX_ALTERNATIVES: Final = 20


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


def merged(parts: Sequence[Extraction], schema: FieldSchema) -> Extraction:
    """The extraction of the whole document. `parts`: of its pages in their order, one at least, all by `schema`.

    Of each field, the best part's value is kept, and others are its alternatives. Items follow each other. Sums are
    checked again over the whole.
    """
    if len(parts) == 1:
        return parts[0]
    fields: dict[str, FieldValue] = {}
    counts: dict[str, int] = {}
    for leaf in schema.leaves:
        if not leaf.in_array:
            fields[leaf.path] = _best([part.fields[leaf.path] for part in parts if leaf.path in part.fields])
        elif is_list(leaf):
            _add_values(fields, leaf, parts)
        elif array := array_of(leaf):
            counts[array] = _add_items(fields, leaf, parts)
    checks = _checks(parts, fields, schema)
    lost = any(part.status is ExtractionStatus.NEEDS_REVIEW and _is_silent(part) for part in parts)
    return Extraction(
        document_type=schema.name,
        data=data_of(schema, fields, counts),
        fields=fields,
        checks=checks,
        status=status_of(fields, checks, lost=lost),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )


def _best(found: Sequence[FieldValue]) -> FieldValue:
    best = min(found, key=lambda field: (_rank(field.status), -(field.confidence or 0.0)))
    others = [text for field in found if field is not best for text in (field.text, *field.alternatives) if text]
    texts = dict.fromkeys(text for text in (*best.alternatives, *others) if text != best.text)
    return replace(best, alternatives=tuple(texts)[:_MAX_ALTERNATIVES])


def _rank(status: FieldStatus) -> int:
    return _BETTER.index(status) if status in _BETTER else len(_BETTER)


def _add_items(fields: dict[str, FieldValue], leaf: Leaf, parts: Sequence[Extraction]) -> int:
    """Adds a property's values of all items. Returns the number of items."""
    count = 0
    for part in parts:
        rows = len(cast("list[object]", _at(part.data, leaf.names) or []))
        for number in range(min(rows, MAX_ITEMS - count)):
            if (field := part.fields.get(item_path(leaf, number))) is not None:
                path = item_path(leaf, count + number)
                fields[path] = replace(field, path=path)
        count = min(count + rows, MAX_ITEMS)
    return count


def _add_values(fields: dict[str, FieldValue], leaf: Leaf, parts: Sequence[Extraction]) -> None:
    """Adds the values of a list, each once."""
    prefix = leaf.path.removesuffix("-")
    added: dict[JsonValue, None] = {}
    for part in parts:
        found = (part.fields.get(f"{prefix}{number}") for number in range(MAX_VALUES))
        for field in found:
            if field is not None and field.value not in added and len(added) < MAX_VALUES:
                path = f"{prefix}{len(added)}"
                fields[path] = replace(field, path=path)
                added[field.value] = None


def _at(data: object, names: Sequence[str]) -> object:
    for name in names:
        data = data.get(name) if isinstance(data, Mapping) else None
    return data


def _checks(parts: Sequence[Extraction], fields: Mapping[str, FieldValue], schema: FieldSchema) -> tuple[Check, ...]:
    """Those over fields alone are made again over the whole; others, which looked at the parts' pages, are kept."""
    own = run_checks(fields, schema.checks)
    if REQUIRED_MISSING in schema.checks and (missing := required_missing(fields, schema.required)):
        own = (*own, missing)
    again = {REQUIRED_MISSING, *known_checks()}
    of_parts = (check for part in parts for check in part.checks if check.code not in again)
    return (*own, *dict.fromkeys(of_parts))


def _is_silent(part: Extraction) -> bool:
    """Whether the part needs review for another reason than its fields: one of its pages could not be read."""
    doubtful = any(is_doubtful(field) for field in part.fields.values())
    found = any(field.value is not None for field in part.fields.values())
    return found and not doubtful and all(check.passed for check in part.checks)
