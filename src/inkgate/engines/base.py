"""The ports of this folder: what reads a page, and what a batcher drives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from inkgate.types import Page, PageResult, Task

ItemT_contra = TypeVar("ItemT_contra", contravariant=True)
ResultT = TypeVar("ResultT")


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
        """One result for each item, in order. Called from any one thread at a time."""
        ...
