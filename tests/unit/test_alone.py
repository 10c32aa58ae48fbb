"""Batching without batches."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest

from inkgate.caller import Priority
from inkgate.serving.batching import unbatched

pytestmark = pytest.mark.anyio


class Lengths:
    """A BatchModel that records the items of each call."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def predict(self, items: Sequence[str]) -> list[int]:
        self.calls.append(list(items))
        return [len(item) for item in items]

    def shape_of(self, item: str) -> int:
        return len(item)

    def cost(self, item: str) -> int:
        return len(item)

    def content(self, item: str) -> int:
        return len(item)


async def test_each_who_asks_gets_a_call_of_its_own() -> None:
    model = Lengths()
    batching = unbatched(model, "model")
    answers: dict[str, list[int]] = {}

    async def ask(*items: str) -> None:
        answers[items[0]] = await batching.predict(items, Priority.NORMAL)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask, "a", "bb")
        tasks.start_soon(ask, "ccc")
    assert answers == {"a": [1, 2], "ccc": [3]}
    assert sorted(model.calls) == [["a", "bb"], ["ccc"]]
