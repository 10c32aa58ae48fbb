"""The ports of this folder: what reads a page, and what a batcher drives."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol, TypeVar

from inkgate.types import Page, PageResult, Task

ItemT_contra = TypeVar("ItemT_contra", contravariant=True)
ResultT = TypeVar("ResultT")
ItemT = TypeVar("ItemT")


class Engine(Protocol):
    """Reads pages. Used from one event loop, by many tasks at once; bounds its own blocking work."""

    @property
    def name(self) -> str:
        """Stable and short: goes into results, metrics and settings."""
        ...

    async def start(self) -> None:
        """Loads models; returns when the first page can be read. Raises EngineFailed("engine_unavailable")."""
        ...

    async def read(self, page: Page, task: Task) -> PageResult:
        """What is on the page.

        Raises:
            InputRejected: the page or the task is at fault.
            EngineFailed: the engine is.
        """
        ...

    async def stop(self) -> None:
        """Frees what `start` took. Safe to call twice."""
        ...


class BatchModel(Protocol[ItemT_contra, ResultT]):
    """A blocking model that is cheaper a piece when it gets several pieces at once."""

    def predict(self, items: Sequence[ItemT_contra]) -> list[ResultT]:
        """One result for each item, in order, whichever items it is with. Safe from many threads."""
        ...

    def shape_of(self, item: ItemT_contra) -> Hashable:
        """What items must have in common to share a call: the size they are padded to, and each option that `predict`
        applies to all of them. Cheap: it is asked on the event loop.
        """
        ...

    def cost(self, item: ItemT_contra) -> int:
        """Pixels of the model's input that the item takes, padding included; at least 1."""
        ...

    def content(self, item: ItemT_contra) -> int:
        """How many of them are not padding."""
        ...


class Batching(Protocol[ItemT_contra, ResultT]):
    """A BatchModel as pages see it: what they ask for at the same time shares calls."""

    async def predict(self, items: Sequence[ItemT_contra]) -> list[ResultT]:
        """One result for each item, in order. Urgency is that of the caller on whose behalf the task runs.

        Raises:
            Overloaded: "service_full": too much waits already; "draining": the service is about to stop.
            EngineFailed: "engine_unavailable": the service has not started, or has stopped.
            Exception: whatever the model raised for one of these items alone.
        """
        ...


class NewBatching(Protocol):
    """Makes what batches a model's work."""

    def __call__(self, model: BatchModel[ItemT, ResultT], name: str) -> Batching[ItemT, ResultT]:
        """`name`: the model's, for people."""
        ...
