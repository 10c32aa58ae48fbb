"""A request's tenant, priority and deadline reach the queues and the engine."""

from __future__ import annotations

import anyio
import pytest

from inkgate.caller import Caller, Priority
from inkgate.page import Page
from inkgate_client.types import PageResult, Task
from support.api_client import pdf, png, running_api
from support.fake_engine import FakeEngine

pytestmark = pytest.mark.anyio


class RecordingEngine(FakeEngine):
    """An engine that notes on whose behalf it reads, and until when, in seconds from now."""

    def __init__(self) -> None:
        super().__init__()
        self.callers: list[Caller] = []
        self.left_s: list[float] = []

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        self.callers.append(caller)
        self.left_s.append(caller.deadline - anyio.current_time())
        return await super().read(page, task, caller)


async def heard(
    data: bytes, headers: dict[str, str] | None = None, priorities: dict[str, str] | None = None
) -> tuple[Caller, float]:
    """On whose behalf the first page of a document is read, and how long it may take."""
    engine = RecordingEngine()
    serving: dict[str, object] = {"scheduling": {"priorities": priorities or {}}}
    async with running_api(engine, serving=serving, limits={"time_s": 100}) as api:
        answer = await api.client.post("/ocr", files={"file": ("a", data)}, headers=headers or {})
        assert answer.status_code == 200
    return engine.callers[0], engine.left_s[0]


async def test_a_small_image_is_interactive_and_a_long_document_a_batch_unless_somebody_says_otherwise() -> None:
    assert (await heard(png()))[0].priority is Priority.INTERACTIVE
    assert (await heard(pdf(5)))[0].priority is Priority.INTERACTIVE
    assert (await heard(pdf(6)))[0].priority is Priority.NORMAL
    assert (await heard(pdf(21)))[0].priority is Priority.BATCH
    assert (await heard(png(), {"X-Inkgate-Priority": "Batch"}))[0].priority is Priority.BATCH
    assert (await heard(pdf(21), {"X-Inkgate-Priority": "interactive"}))[0].priority is Priority.INTERACTIVE


async def test_who_wants_no_kept_result_says_so() -> None:
    assert not (await heard(png()))[0].anew
    assert (await heard(png(), {"Cache-Control": "no-store"}))[0].anew
    assert (await heard(png(), {"cache-control": "max-age=0, No-Cache"}))[0].anew


async def test_nobody_is_more_urgent_than_allowed() -> None:
    allowed = {"address:203.0.113.9": "normal"}
    assert (await heard(png(), {"X-Inkgate-Priority": "interactive"}, allowed))[0].priority is Priority.NORMAL
    assert (await heard(png(), {"X-Inkgate-Priority": "batch"}, allowed))[0].priority is Priority.BATCH
    assert (await heard(png(), None, allowed))[0].priority is Priority.NORMAL


async def test_the_caller_and_the_request_are_known_inside() -> None:
    caller, _ = await heard(png(), {"X-Request-ID": "abc-123"})
    assert (caller.tenant, caller.flow) == ("address:203.0.113.9", "abc-123")


async def test_a_document_has_as_long_as_its_caller_waits_but_no_longer_than_any_may() -> None:
    assert 90 < (await heard(png()))[1] <= 100
    assert 0 < (await heard(png(), {"X-Inkgate-Timeout": "30.5"}))[1] <= 30.5
    assert 90 < (await heard(png(), {"X-Inkgate-Timeout": "5000"}))[1] <= 100


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Inkgate-Priority": "urgent"},
        {"X-Inkgate-Timeout": "soon"},
        {"X-Inkgate-Timeout": "-1"},
        {"X-Inkgate-Timeout": "nan"},
    ],
)
async def test_a_header_that_says_nothing_is_refused_with_what_it_may_say(headers: dict[str, str]) -> None:
    async with running_api() as api:
        answer = await api.client.post("/ocr", files={"file": ("a", png())}, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "options_invalid")
    assert next(iter(headers)) in answer.json()["detail"]
