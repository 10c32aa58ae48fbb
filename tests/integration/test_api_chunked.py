"""Bodies without a Content-Length: charged to their tenant as they arrive."""

from __future__ import annotations

from dataclasses import dataclass

import anyio
import orjson
import pytest

from inkgate.serving.outcomes import WorkOutcome
from support.api_client import RawCall, png, running_api

pytestmark = pytest.mark.anyio

PIECE = 50_000
HEADERS = {"content-type": "image/png"}


@dataclass
class UnfinishedCall(RawCall):
    """A request whose body never ends."""

    ends: bool = False


async def test_a_body_without_a_length_is_charged_for_what_has_arrived() -> None:
    async with running_api() as api, anyio.create_task_group() as tasks:
        api.limiter.max_bytes = 300_000
        first = UnfinishedCall(api.app, HEADERS, [bytes(PIECE)] * 4)
        tasks.start_soon(first.run)
        await anyio.wait_all_tasks_blocked()
        assert (api.limiter.documents, api.limiter.body_bytes) == (1, 4 * PIECE)

        second = UnfinishedCall(api.app, HEADERS, [bytes(PIECE)] * 4)
        await second.run()
        assert (second.status, orjson.loads(second.body)["code"]) == (503, "service_full")
        assert (api.limiter.documents, api.limiter.body_bytes) == (1, 4 * PIECE)
        assert api.limiter.ended == {WorkOutcome.REJECTED: 1}

        small = RawCall(api.app, HEADERS, [png()])
        await small.run()
        assert small.status == 200
        first.left.set()
    assert (api.limiter.documents, api.limiter.body_bytes) == (0, 0)


async def test_many_small_bodies_without_a_length_fit_where_one_of_the_largest_size_would_not() -> None:
    async with running_api() as api, anyio.create_task_group() as tasks:
        api.limiter.max_bytes = int(api.context.settings.limits.max_body_mb * 1_000_000)
        for _ in range(20):
            tasks.start_soon(UnfinishedCall(api.app, HEADERS, [bytes(PIECE)]).run)
        await anyio.wait_all_tasks_blocked()
        assert (api.limiter.documents, api.limiter.body_bytes) == (20, 20 * PIECE)
        tasks.cancel_scope.cancel()
