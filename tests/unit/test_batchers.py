"""The batchers of a service: what they did is said when they stop."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest
from structlog.testing import capture_logs

from inkgate.caller import Priority
from inkgate.serving.batchers import Batchers
from inkgate.settings import BatchingSettings
from inkgate.telemetry.metrics import Metrics

pytestmark = pytest.mark.anyio


class Lengths:
    """A BatchModel that pads words to eight letters."""

    def predict(self, items: Sequence[str]) -> list[int]:
        return [len(item) for item in items]

    def shape_of(self, item: str) -> int:
        return 8

    def cost(self, item: str) -> int:
        return 8

    def content(self, item: str) -> int:
        return len(item)


async def test_what_each_model_did_is_logged_at_the_end() -> None:
    batchers = Batchers(BatchingSettings())
    with capture_logs() as logs:
        async with anyio.create_task_group() as background:
            background.start_soon(batchers.run)
            await anyio.wait_all_tasks_blocked()
            read = batchers(Lengths(), "recognizer")
            batchers(Lengths(), "idle")
            await anyio.wait_all_tasks_blocked()
            assert await read.predict(["four", "seven77"], Priority.NORMAL) == [4, 7]
            assert not logs
            background.cancel_scope.cancel()
    (line,) = logs
    assert line.pop("mean_wait_ms") <= line.pop("longest_wait_ms")
    assert line == {
        "event": "model_calls",
        "log_level": "info",
        "model": "recognizer",
        "calls": 1,
        "mean_batch": 2.0,
        "padding_waste": round(5 / 16, 3),
    }


async def test_models_are_not_batched_where_nothing_runs() -> None:
    with pytest.raises(RuntimeError):
        Batchers(BatchingSettings())(Lengths(), "recognizer")


async def test_whoever_measures_is_told_how_long_a_share_of_the_work_took() -> None:
    metrics = Metrics()
    batchers = Batchers(BatchingSettings(), metrics)
    async with anyio.create_task_group() as background:
        background.start_soon(batchers.run)
        await anyio.wait_all_tasks_blocked()
        read = batchers(Lengths(), "recognizer")
        await anyio.wait_all_tasks_blocked()
        assert await read.predict(["four", "seven77"], Priority.NORMAL) == [4, 7]
        assert await read.predict([], Priority.NORMAL) == []
        background.cancel_scope.cancel()
    assert metrics.work().stage_count == {"batch": 1}
