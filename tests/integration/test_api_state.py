"""What the service says of itself, over HTTP."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from pydantic import TypeAdapter

from inkgate.errors import EngineFailed
from inkgate_client.telemetry.state import Batches, State
from support.api_client import running_api
from support.fake_engine import FakeEngine
from support.fake_observatory import FakeObservatory

pytestmark = pytest.mark.anyio

STATE = TypeAdapter(State)


async def test_the_state_is_what_the_observatory_says() -> None:
    async with running_api() as api:
        observatory = api.context.service.observatory
        batches = Batches("recognizer", 3, 9, 0, 0, 100, 90, 0.1, 0.2, {1: 1, 4: 2})
        assert isinstance(observatory, FakeObservatory)
        observatory.says = replace(observatory.says, batches=(batches,))
        answer = await api.client.get("/state")
        assert answer.headers["content-type"] == "application/json"
        assert STATE.validate_json(answer.content) == observatory.state()
        assert len(STATE.validate_json(answer.content).history) == 180


@pytest.mark.parametrize(
    ("query", "points"), [("", 180), ("?history=1", 180), ("?history=0", 0), ("?history=false", 0)]
)
async def test_the_history_may_be_left_out(query: str, points: int) -> None:
    async with running_api() as api:
        answer = await api.client.get(f"/state{query}")
    assert len(STATE.validate_json(answer.content).history) == points


async def test_what_history_is_must_be_said_in_words_it_knows() -> None:
    async with running_api() as api:
        answer = await api.client.get("/state?history=some")
    assert (answer.status_code, answer.json()["code"]) == (422, "options_invalid")


async def test_a_key_is_asked_for_where_there_are_some() -> None:
    auth: dict[str, object] = {"key_hashes": [hashlib.sha256(b"a key").hexdigest()]}
    async with running_api(auth=auth) as api:
        refused = await api.client.get("/state")
        let_in = await api.client.get("/state", headers={"authorization": "Bearer a key"})
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")
    assert let_in.status_code == 200


async def test_it_is_told_while_the_service_drains() -> None:
    async with running_api() as api:
        assert (await api.client.get("/readyz")).status_code == 200
        api.context.drain.begin()
        state = STATE.validate_json((await api.client.get("/state")).content)
    assert (state.ready, state.reasons) == (False, ("draining: this instance is stopping",))


async def test_how_the_last_probe_ended_is_told() -> None:
    engine = FakeEngine()
    async with running_api(engine) as api:
        engine.failing = {0: EngineFailed("engine_failed", "It broke.")}
        before = STATE.validate_json((await api.client.get("/state")).content)
        assert (await api.client.get("/readyz")).status_code == 503
        after = STATE.validate_json((await api.client.get("/state")).content)
        engine.failing = {}
        assert (await api.client.get("/readyz")).status_code == 200
        again = STATE.validate_json((await api.client.get("/state")).content)
    assert (before.ready, before.reasons) == (False, ("engine: fake has not read its first page yet",))
    assert (after.ready, after.reasons) == (False, ("engine: fake failed on a test page: engine_failed",))
    assert again.ready
