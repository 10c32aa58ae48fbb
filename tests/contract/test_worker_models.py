"""The embedded engine's models in workers give bit for bit what they give in this process, in one or many threads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

from inkgate.engines.ppocr.detection import DetectionInput, DetectionOptions
from inkgate.engines.ppocr.models import PpocrModels
from inkgate.engines.ppocr.worker import models_of, worker_pool
from inkgate.runtimes.choose import open_runtime
from inkgate.serving.batching import BatchModel
from inkgate.settings import PpocrSettings, Precision, Quality, RuntimeName
from support.engine_worker import RunningPool, running
from support.ppocr import drawn, drawn_line

pytestmark = pytest.mark.anyio

OPTIONS = DetectionOptions(longest_side=640, shortest_side=320, threshold=0.3, box_threshold=0.5, unclip_ratio=1.6)
NAMES = ("detector", "recognizer", "line_orientation", "page_orientation", "quick_recognizer")


def items_of(name: str) -> list[Any]:
    pages = [drawn(["one line"], (320, 200)), drawn(["two", "lines"], (200, 320)), drawn([], (320, 200))]
    pages += [np.rot90(pages[0]), np.zeros((1, 1, 3), np.uint8)]
    if name == "detector":
        return [DetectionInput(page, OPTIONS) for page in pages]
    if name == "page_orientation":
        return pages
    if name in {"recognizer", "quick_recognizer"}:  # whose batches have one width
        crops = [drawn_line(text) for text in ("12.50", "47.20", "90.13", "12.51", "12.50")]
        return [*crops, crops[1][::-1, ::-1], crops[3].copy(order="F")]
    crops = [drawn_line(text) for text in ("Total", "A longer line of text than the others", "7", "12.50", "7")]
    return [*crops, crops[1][::-1, ::-1], np.zeros((1, 1, 3), np.uint8), crops[3].copy(order="F")]


def bits(result: Any) -> Any:  # noqa: ANN401 - of any model
    """All that is in a result, to be compared exactly."""
    if isinstance(result, int | float | str):
        return result
    fields = [getattr(result, name) for name in result.__dataclass_fields__]
    return [(one.dtype.str, one.shape, one.tobytes()) if isinstance(one, np.ndarray) else one for one in fields]


def alike(found: Sequence[Any], expected: Sequence[Any]) -> bool:
    return [bits(one) for one in found] == [bits(one) for one in expected]


@pytest.mark.parametrize("runtime", [RuntimeName.ONNXRUNTIME, RuntimeName.OPENVINO])
async def test_workers_give_bit_for_bit_what_this_process_gives(runtime: RuntimeName) -> None:
    here = PpocrModels.load(open_runtime(runtime, Precision.F32, 1), Quality.BALANCED)
    settings = PpocrSettings(quality=Quality.BALANCED, workers=2, threads=1, runtime=runtime, precision=Precision.F32)
    pool = worker_pool(settings)
    async with running(pool) as started:
        there = await started.run(models_of, pool, Quality.BALANCED)
        for name in NAMES:
            await _compare(getattr(here, name), getattr(there, name), items_of(name), started)


async def _compare(
    here: BatchModel[Any, Any], there: BatchModel[Any, Any], items: list[Any], pool: RunningPool
) -> None:
    batches = [items, items[::-1], items[1:4], *([item] for item in items)]
    expected = [here.predict(batch) for batch in batches]
    assert await pool.run(there.predict, []) == []
    found: dict[int, list[Any]] = {}

    async def ask(number: int) -> None:
        found[number] = await pool.run(there.predict, batches[number])

    async with anyio.create_task_group() as tasks:
        for number in range(len(batches)):
            tasks.start_soon(ask, number)
    assert all(alike(found[number], expected[number]) for number in range(len(batches)))
    # Otherwise answers mixed up would pass.
    assert not alike(expected[0], expected[1])
    for size in ("shape_of", "cost", "content"):
        assert [getattr(there, size)(item) for item in items] == [getattr(here, size)(item) for item in items]


async def test_workers_keep_what_they_compile_and_the_next_start_finds_it(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    settings = PpocrSettings(
        quality=Quality.BALANCED,
        workers=2,
        threads=1,
        runtime=RuntimeName.OPENVINO,
        precision=Precision.F32,
        cache=str(folder),
    )
    first = await _read_in_a_worker(settings)
    kept = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert len(kept) == len(NAMES)
    assert alike(await _read_in_a_worker(settings), first)
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == kept


async def _read_in_a_worker(settings: PpocrSettings) -> Sequence[Any]:
    pool = worker_pool(settings)
    async with running(pool) as started:
        models = await started.run(models_of, pool, Quality.BALANCED)
        return await started.run(models.recognizer.predict, [drawn_line("Total 12.50")])
