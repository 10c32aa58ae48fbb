"""Reviewed jobs as a manifest for `inkgate eval`: their documents, and their fields with corrections."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path, PurePath
from typing import Any

import anyio

from inkgate.cli.messages import say
from inkgate.errors import InkgateError
from inkgate.jobs.job import Job, JobFilter, JobReview
from inkgate.jobs.reviewing import published_fields
from inkgate.jobs.service import JobService

_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,5}")
_AT_ONCE = 100


async def write_truth(service: JobService, tenant: str | None, folder: Path) -> int:
    """Writes `manifest.json`, documents and fields into `folder`. Returns how many jobs. Documents that are no longer
    there are told of and left out.

    Raises:
        OSError: the folder can't be written.
    """
    entries: list[dict[str, Any]] = []
    async for job in _reviewed(service, tenant):
        try:
            document = await service.load(job)
            stored = await service.store.fields(job.id)
        except InkgateError as error:
            say(f"{job.id}: {error.detail}")
            continue
        shown = published_fields(job, stored)
        suffix = PurePath(job.name).suffix
        name = f"documents/{job.id}{suffix if _SUFFIX.fullmatch(suffix) else ''}"
        await _write(folder / name, document.data)
        await _write(folder / f"fields/{job.id}.json", _json(_truth(shown["data"])))
        entry = {"path": name, "kind": "reviewed", "ground_truth": {"fields": f"fields/{job.id}.json"}}
        entries.append(entry | ({"document_type": found} if (found := shown["document_type"]) else {}))
    if entries:
        await _write(folder / "manifest.json", _json(entries))
    return len(entries)


async def _reviewed(service: JobService, tenant: str | None) -> AsyncIterator[Job]:
    which, after = JobFilter(reviews=[JobReview.REVIEWED], oldest_first=True), ""
    while found := await service.store.list(tenant, which, after, _AT_ONCE):
        for job in found:
            yield job
        after = found[-1].id


def _truth(data: dict[str, Any]) -> dict[str, str]:
    """Names and texts; those without a value are empty. Objects and lists are left out: they are not judged yet."""
    return {
        name: "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in data.items()
        if not isinstance(value, dict | list)
    }


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()


async def _write(file: Path, data: bytes) -> None:
    path = anyio.Path(file)
    await path.parent.mkdir(parents=True, exist_ok=True)
    await path.write_bytes(data)
