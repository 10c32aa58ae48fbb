"""Waits and tokens of model servers' calls, and waits of pages, as they are counted."""

from __future__ import annotations

import anyio
import numpy as np
import pytest

from inkgate.caller import NO_CALLER
from inkgate.model_servers.server import ModelServer
from inkgate.model_servers.servers import ScheduledCalls
from inkgate.model_servers.upstream import ModelCall
from inkgate.serving.estimates import OutputEstimates
from inkgate.serving.limits import FixedLimit
from inkgate.serving.queue import WorkQueue
from inkgate.settings import SchedulingSettings
from inkgate.telemetry.metrics import Metrics
from inkgate_client.types import Task
from support.fake_engine import FakeEngine
from support.page_readers import engine_queue, page_reader
from support.ppocr import ArrayPage
from support.stub_upstream import Reply, error_reply, running_stub

pytestmark = pytest.mark.anyio

CALL = ModelCall(
    b'{"model": "stub-model", "messages": [], "stream": true, "stream_options": {"include_usage": true}}',
    prompt_tokens=100,
    answer_tokens=400,
)


def work_queue(at_once: int) -> WorkQueue:
    return WorkQueue(FixedLimit(at_once), SchedulingSettings())


async def test_a_calls_wait_and_tokens_are_counted() -> None:
    metrics = Metrics()
    with running_stub(Reply(["a "] * 30)) as stub:
        server = ModelServer(stub.url, 5.0, "")
        calls = ScheduledCalls(server, work_queue(1), OutputEstimates(), lambda: None, metrics)

        async def call() -> None:
            async with calls.send(CALL) as answer:
                async for _ in answer.chunks:
                    pass

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(call)
        await calls.close()
    work = metrics.work()
    assert (work.tokens_in, work.tokens_out) == (21, 90)
    assert work.stage_count == {"wait": 3}


async def test_a_call_that_is_refused_takes_no_tokens() -> None:
    metrics = Metrics()
    with running_stub(error_reply(400, "no")) as stub:
        calls = ScheduledCalls(ModelServer(stub.url, 5.0, ""), work_queue(1), OutputEstimates(), lambda: None, metrics)
        async with calls.send(CALL) as answer:
            assert answer.status == 400
        await calls.close()
    assert (metrics.work().tokens_in, metrics.work().tokens_out) == (0, 0)


async def test_a_pages_wait_and_its_time_at_the_engine_are_counted() -> None:
    metrics = Metrics()
    pages = page_reader(FakeEngine(), queue=engine_queue(work_queue(1), observer=metrics))
    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(pages.read, ArrayPage(np.zeros((20, 20, 3), np.uint8)), Task(), NO_CALLER)
    assert metrics.work().stage_count == {"wait": 2, "engine": 2}
