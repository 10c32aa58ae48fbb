"""The ports of dynamic batching, and batching without batches for commands that read one document."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Generic, Protocol, TypeVar

from inkgate.caller import Priority
from inkgate.concurrency import Threads

ItemT_contra = TypeVar("ItemT_contra", contravariant=True)


ResultT = TypeVar("ResultT")


ItemT = TypeVar("ItemT")


class BatchModel(Protocol[ItemT_contra, ResultT]):
    """A blocking model whose cost per item is lower in batches."""

    def predict(self, items: Sequence[ItemT_contra]) -> list[ResultT]:
        """One result per item, in order, independent of the other items. Safe from many threads."""
        ...

    def shape_of(self, item: ItemT_contra) -> Hashable:
        """Items with equal shapes can share a call: the size they are padded to, and each option that `predict` applies
        to the whole batch. Cheap: called on the event loop.
        """
        ...

    def cost(self, item: ItemT_contra) -> int:
        """Pixels of the model's input that the item uses, including padding; at least 1."""
        ...

    def content(self, item: ItemT_contra) -> int:
        """Pixels of the item without padding."""
        ...


class Batching(Protocol[ItemT_contra, ResultT]):
    """Batches the calls of pages to a BatchModel: items requested at the same time share calls."""

    async def predict(self, items: Sequence[ItemT_contra], priority: Priority) -> list[ResultT]:
        """One result per item, in order. Items of higher priority are in earlier batches.

        Raises:
            Overloaded: "service_full": the queue is full; "draining": the service is stopping.
            EngineFailed: "engine_unavailable": the service has not started, or has stopped.
            Exception: what the model raised for one of these items.
        """
        ...


class NewBatching(Protocol):
    """Makes the Batching of a model."""

    def __call__(self, model: BatchModel[ItemT, ResultT], name: str) -> Batching[ItemT, ResultT]:
        """`name`: the model's display name."""
        ...


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
