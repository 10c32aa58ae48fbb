"""A model that runs in worker processes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Generic, Protocol, TypeVar

from inkgate.engines.workers.pool import WorkerPool

ItemT = TypeVar("ItemT")
ItemT_contra = TypeVar("ItemT_contra", contravariant=True)
ResultT = TypeVar("ResultT")


class ItemSizes(Protocol[ItemT_contra]):
    """The sizes of a BatchModel's items, computed without the model: see there."""

    def shape_of(self, item: ItemT_contra) -> Hashable: ...

    def cost(self, item: ItemT_contra) -> int: ...

    def content(self, item: ItemT_contra) -> int: ...


class WorkerModel(Generic[ItemT, ResultT]):
    """A BatchModel that calls the model `name` in the workers: as many calls at once as there are workers."""

    def __init__(self, pool: WorkerPool, name: str, sizes: ItemSizes[ItemT]) -> None:
        """`sizes`: of the model's items, computed in this process."""
        self._pool = pool
        self._name = name
        self.shape_of = sizes.shape_of
        self.cost = sizes.cost
        self.content = sizes.content

    def predict(self, items: Sequence[ItemT]) -> list[ResultT]:
        """See BatchModel, and WorkerPool.call for what it raises."""
        return self._pool.call(self._name, items) if items else []
