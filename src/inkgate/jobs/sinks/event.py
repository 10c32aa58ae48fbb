"""The message of a delivery: a CloudEvent (cloudevents.io, 1.0) in its JSON form, for webhooks and topics."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import orjson

from inkgate.jobs.job import Delivery, Job
from inkgate.jobs.published import job_to_dict, rfc3339
from inkgate_client.codec import document_to_dict
from inkgate_client.concurrency import Threads
from inkgate_client.types import DocumentResult

MEDIA_TYPE = "application/cloudevents+json; charset=utf-8"
SOURCE = "/inkgate/jobs"
MAX_DOCUMENT_BYTES = 1_000_000
_MAX_PAGES = 2_500
"""A published page has at least 400 bytes, so a longer document is not even loaded."""


def event_type(job: Job) -> str:
    """Such as `io.inkgate.job.succeeded`."""
    return f"io.inkgate.job.{job.state.value}"


async def event_body(delivery: Delivery, threads: Threads, *, with_result: bool) -> bytes:
    """The event in JSON. It is the same for all attempts of a delivery, unless somebody corrects the fields meanwhile.

    `data` is the published job; its `document` is the published document, or null if it is not wanted, has more than
    1 MB, or no page has a result. Its `extraction` has the fields, or null if there are none or they have more than
    1 MB.
    """
    document = await _document(delivery) if with_result else None
    return await threads.run(_body, delivery, document, await delivery.fields())


async def _document(delivery: Delivery) -> DocumentResult | None:
    if delivery.job.saved > _MAX_PAGES:
        return None
    try:
        return await delivery.load()
    except LookupError:
        return None


def _body(delivery: Delivery, document: DocumentResult | None, fields: Mapping[str, Any] | None) -> bytes:
    job = delivery.job
    published = None if document is None else _dumped(document)
    if published is not None and len(published) > MAX_DOCUMENT_BYTES:
        published = None
    event = {
        "specversion": "1.0",
        "id": delivery.id,
        "source": SOURCE,
        "type": event_type(job),
        "subject": job.id,
        "time": rfc3339(job.created if job.ended is None else job.ended),
        "datacontenttype": "application/json",
        "data": {
            **job_to_dict(job),
            "document": None if published is None else orjson.Fragment(published),
            "extraction": _small(fields),
        },
    }
    return orjson.dumps(event)


def _small(fields: Mapping[str, Any] | None) -> orjson.Fragment | None:
    dumped = None if fields is None else orjson.dumps(fields)
    return None if dumped is None or len(dumped) > MAX_DOCUMENT_BYTES else orjson.Fragment(dumped)


def _dumped(document: DocumentResult) -> bytes:
    published = document_to_dict(document)
    try:
        return orjson.dumps(published)
    except TypeError:  # a field has an integer of more than 64 bits
        return json.dumps(published).encode()
