"""The message of a delivery."""

import json
from dataclasses import replace

import pytest

from inkgate.jobs.job import JobState
from inkgate.jobs.published import job_to_dict
from inkgate.jobs.sinks.event import MAX_DOCUMENT_BYTES, event_body
from inkgate_client.concurrency import Threads
from inkgate_client.types import PageResult
from support.jobs import delivery, document, job

pytestmark = pytest.mark.anyio

PAGE = PageResult(0, 10, 10, text="Total 3.50", fields={"total": "3.50"}, engine="ppocr")


async def test_event_is_a_cloud_event() -> None:
    event = json.loads(await event_body(delivery(document(PAGE)), Threads("x", 1), with_result=False))
    data = event.pop("data")
    assert event == {
        "specversion": "1.0",
        "id": "dlv_01",
        "source": "/inkgate/jobs",
        "type": "io.inkgate.job.succeeded",
        "subject": "job_01",
        "time": "2027-01-15T08:00:03.250Z",
        "datacontenttype": "application/json",
    }
    assert data == {**job_to_dict(job()), "document": None, "extraction": None}


@pytest.mark.parametrize("state", [state for state in JobState if state.ended])
async def test_type_says_how_the_job_ended(state: JobState) -> None:
    event = json.loads(await event_body(delivery(state=state), Threads("x", 1), with_result=False))
    assert event["type"] == f"io.inkgate.job.{state}"


async def test_event_has_the_document_if_wanted() -> None:
    event = json.loads(await event_body(delivery(document(PAGE)), Threads("x", 1), with_result=True))
    assert event["data"]["document"]["pages"][0]["fields"] == {"total": "3.50"}


async def test_a_delivery_has_the_same_body_at_each_attempt() -> None:
    bodies = [await event_body(delivery(document(PAGE), attempt=n), Threads("x", 1), with_result=True) for n in (1, 7)]
    assert bodies[0] == bodies[1]


async def test_no_document_is_sent_if_it_is_too_large_or_missing() -> None:
    large = document(replace(PAGE, text="x" * MAX_DOCUMENT_BYTES))
    for made in (delivery(large), delivery(None), delivery(document(PAGE), saved=10_000)):
        event = json.loads(await event_body(made, Threads("x", 1), with_result=True))
        assert event["data"]["document"] is None


async def test_strange_values_are_sent_as_json() -> None:
    strange = replace(PAGE, text="\ud800", fields={"number": 10**30, "rate": 0.5, "none": None})
    event = json.loads(await event_body(delivery(document(strange), name="\udfff"), Threads("x", 1), with_result=True))
    assert event["data"]["name"] == "\ufffd"
    assert event["data"]["document"]["pages"][0]["fields"]["number"] == 10**30
