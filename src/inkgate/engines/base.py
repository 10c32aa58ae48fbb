"""The ports of this folder: engines that read pages, and models whose items are batched."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol, TypeVar

from inkgate.caller import Caller, Priority
from inkgate.types import Page, PageResult, Task

ItemT_contra = TypeVar("ItemT_contra", contravariant=True)
ResultT = TypeVar("ResultT")
ItemT = TypeVar("ItemT")


class Engine(Protocol):
    """Reads pages. Used from one event loop, by many tasks at once; bounds its own blocking work."""

    @property
    def name(self) -> str:
        """Stable and short: used in results, metrics and settings."""
        ...

    async def start(self) -> None:
        """Loads models; returns once the first page can be read. Raises EngineFailed("engine_unavailable")."""
        ...

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """The page's content.

        Raises:
            InputRejected: the page or the task is at fault.
            EngineFailed: the engine is.
        """
        ...

    async def stop(self) -> None:
        """Frees what `start` allocated. Safe to call twice."""
        ...


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
