"""`POST /v1/events` adds jobs for events, under the same rules as other requests."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from inkgate.api.http.auth import hash_key
from inkgate.api.http.context import Context
from inkgate.jobs.intake.arrivals import Intake, IntakeOutcome
from inkgate.jobs.intake.forms import MAX_EVENT_BYTES
from inkgate.jobs.job import AddedJob, NewJob
from inkgate.settings import FetchSettings, PipelineSettings
from inkgate.storage.fetch import Check, Fetcher
from support.adder import MemoryAdder
from support.api_client import Api, add_intake, running_api
from support.events import AZURE_VALIDATION, SAMPLES, SNS_CONFIRMATION, s3_records

pytestmark = pytest.mark.anyio

PATH = "/v1/events"
PIPELINES = {"scans": PipelineSettings(sources=("s3://scans/in/", "gs://scans/in/", "az://scans/in/"))}


class NotingFetcher(Fetcher):
    """Notes what is fetched after it was checked."""

    def __init__(self) -> None:
        super().__init__(FetchSettings(), 1000)
        self.fetched: list[str] = []

    async def fetch(self, url: str, check: Check | None = None, if_match: str = "") -> bytes:
        assert check is not None
        check(url)
        self.fetched.append(url)
        return b""


@asynccontextmanager
async def _running(
    adder: MemoryAdder, fetcher: Fetcher | None = None, key_hashes: tuple[str, ...] = ()
) -> AsyncIterator[Api]:
    async with running_api(fetcher=fetcher, auth={"key_hashes": key_hashes}) as api:
        add_intake(api, Intake(adder, PIPELINES))
        yield api


def _intake(api: Api) -> Intake:
    context = api.app.state.context
    assert isinstance(context, Context)
    assert context.service.intake is not None
    return context.service.intake


@pytest.fixture
def adder() -> MemoryAdder:
    return MemoryAdder()


@pytest.mark.smoke
async def test_events_of_all_senders_add_jobs(adder: MemoryAdder) -> None:
    async with _running(adder) as api:
        failures = []
        for sender, sample in SAMPLES.items():
            # SNS's Content-Type; what a sender says does not matter.
            headers = {"Content-Type": "text/plain; charset=UTF-8", **sample.headers}
            answer = await api.client.post(PATH, content=sample.body, headers=headers)
            objects = 0 if sample.object is None else 1
            got = answer.json()
            if answer.status_code != 202 or (len(got["jobs"]), got["ignored"]) != (objects, 1 - objects):
                failures.append(f"{sender}: {answer.status_code} {answer.text}")
        assert not failures
        assert {sample.object.url for sample in SAMPLES.values() if sample.object} == {
            job.source.url for job in adder.jobs.values()
        }


async def test_a_request_keeps_its_slot_until_its_events_are_taken() -> None:
    adder, in_flight = MemoryAdder(), list[int]()
    async with _running(adder) as api:
        add = adder.add

        async def look(jobs: Sequence[NewJob]) -> Sequence[AddedJob]:
            in_flight.append(api.limiter.in_flight)
            return await add(jobs)

        adder.add = look  # type: ignore[method-assign]
        assert (await api.client.post(PATH, json=s3_records("in/a.jpg"))).status_code == 202
        assert (in_flight, api.limiter.in_flight) == ([1], 0)


async def test_an_event_that_is_sent_again_adds_nothing(adder: MemoryAdder) -> None:
    async with _running(adder) as api:
        first = (await api.client.post(PATH, json=s3_records("in/a.jpg"))).json()
        again = (await api.client.post(PATH, json=s3_records("in/a.jpg"))).json()
        assert (first["added"], first["duplicates"]) == (1, 0)
        assert (again["added"], again["duplicates"]) == (0, 1)
        assert first["jobs"] == again["jobs"]
        assert _intake(api).counts["http", IntakeOutcome.DUPLICATE] == 1


async def test_objects_of_no_pipeline_are_refused(adder: MemoryAdder) -> None:
    async with _running(adder) as api:
        refused = await api.client.post(PATH, json=s3_records("secret/a.jpg"))
        assert (refused.status_code, refused.json()["code"]) == (403, "source_forbidden")
        both = {"Records": [*s3_records("in/a.jpg")["Records"], *s3_records("secret/a.jpg")["Records"]]}
        answer = await api.client.post(PATH, json=both)
        assert answer.status_code == 202
        assert [(each["url"], each["code"]) for each in answer.json()["refused"]] == [
            ("s3://scans/secret/a.jpg", "source_forbidden")
        ]
        assert len(adder.jobs) == 1


async def test_what_is_no_event_is_refused_as_a_problem(adder: MemoryAdder) -> None:
    async with _running(adder) as api:
        for body in (b"", b"{", b'{"a":1}', b'{"Records":[{"eventName":"ObjectCreated:Put"}]}'):
            answer = await api.client.post(PATH, content=body)
            assert (answer.status_code, answer.json()["code"]) == (422, "event_invalid"), body
            assert answer.headers["content-type"] == "application/problem+json"
        large = await api.client.post(PATH, content=b" " * (MAX_EVENT_BYTES + 1))
        assert (large.status_code, large.json()["code"]) == (413, "body_too_large")
        assert not adder.calls


async def test_a_full_queue_answers_503_with_retry_after(adder: MemoryAdder) -> None:
    async with _running(adder) as api:
        adder.full = 1
        answer = await api.client.post(PATH, json=s3_records("in/a.jpg"))
        assert (answer.status_code, answer.json()["code"]) == (503, "jobs_full")
        assert int(answer.headers["retry-after"]) >= 1
        assert (await api.client.post(PATH, json=s3_records("in/a.jpg"))).status_code == 202


async def test_event_grid_gets_its_code_back(adder: MemoryAdder) -> None:
    async with _running(adder) as api:
        answer = await api.client.post(
            PATH, json=AZURE_VALIDATION, headers={"aeg-event-type": "SubscriptionValidation"}
        )
        assert (answer.status_code, answer.json()) == (
            200,
            {"validationResponse": "512d38b6-c7b8-40c8-89fe-f46f9e9622b6"},
        )
        allowed = await api.client.options(PATH, headers={"WebHook-Request-Origin": "eventgrid.azure.net"})
        assert allowed.status_code == 200
        assert allowed.headers["webhook-allowed-origin"] == "eventgrid.azure.net"
        odd = await api.client.options(PATH, headers={"WebHook-Request-Origin": "a b"})
        assert "webhook-allowed-origin" not in odd.headers


async def test_a_topic_of_sns_is_subscribed_at_aws_only(adder: MemoryAdder) -> None:
    fetcher = NotingFetcher()
    async with _running(adder, fetcher) as api:
        body = json.dumps(SNS_CONFIRMATION).encode()
        headers = {"Content-Type": "text/plain; charset=UTF-8", "x-amz-sns-message-type": "SubscriptionConfirmation"}
        assert (await api.client.post(PATH, content=body, headers=headers)).status_code == 200
        assert fetcher.fetched == [SNS_CONFIRMATION["SubscribeURL"]]
        inside = await api.client.post(PATH, json=SNS_CONFIRMATION | {"SubscribeURL": "http://169.254.169.254/"})
        assert (inside.status_code, inside.json()["code"]) == (422, "event_invalid")
        assert len(fetcher.fetched) == 1


async def test_a_key_is_needed_where_other_routes_need_one(adder: MemoryAdder) -> None:
    async with _running(adder, key_hashes=(hash_key("secret"),)) as api:
        for method in ("POST", "OPTIONS"):
            answer = await api.client.request(method, PATH, json=s3_records("in/a.jpg"))
            assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
        allowed = await api.client.post(PATH, json=s3_records("in/a.jpg"), headers={"X-API-Key": "secret"})
        assert allowed.status_code == 202


async def test_without_jobs_there_is_nothing_to_add_to() -> None:
    async with running_api() as api:
        answer = await api.client.post(PATH, json=s3_records("in/a.jpg"))
        assert (answer.status_code, answer.json()["code"]) == (501, "feature_unavailable")


async def test_an_envelope_in_base64_is_opened(adder: MemoryAdder) -> None:
    async with _running(adder) as api:
        event = base64.b64encode(json.dumps(s3_records("in/a.jpg")).encode())
        assert (await api.client.post(PATH, content=event)).json()["added"] == 1
