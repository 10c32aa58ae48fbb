"""Batching without batches: one model call per request. For commands that read one document and exit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from inkgate.caller import Priority
from inkgate.concurrency import Threads
from inkgate.engines.base import Batching, BatchModel

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


class UnbatchedModel(Generic[ItemT, ResultT]):
    """A Batching that calls the model once per request."""

    def __init__(self, model: BatchModel[ItemT, ResultT], threads: Threads) -> None:
        self._model = model
        self._threads = threads

    async def predict(self, items: Sequence[ItemT], priority: Priority) -> list[ResultT]:  # noqa: ARG002 - nothing waits
        """See Batching."""
        return await self._threads.run(self._model.predict, items)


def unbatched(model: BatchModel[ItemT, ResultT], name: str) -> Batching[ItemT, ResultT]:
    """A NewBatching: one call at a time."""
    return UnbatchedModel(model, Threads(name, 1))
