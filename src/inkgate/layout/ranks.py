"""Orders a page by the layout model's ranks, and inserts what the model missed by geometry."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import TypeVar

Item = TypeVar("Item")
_BEGINNING = -1


def by_rank(items: Iterable[Item], rank_of: Callable[[Item], int | None]) -> list[Item]:
    """The items in the order of their ranks. Input: in geometric order.

    Items without a rank follow the ranked one before them; items of equal rank keep their order.
    """
    return [item for group in ranked_groups([items], rank_of) for item in group]


def ranked_groups(flows: Iterable[Iterable[Item]], rank_of: Callable[[Item], int | None]) -> list[list[Item]]:
    """As `by_rank`, for flows: all items of one rank form a group, and so do those of a flow that follow it."""
    keyed: list[tuple[tuple[int, bool, int], Item]] = []
    last = _BEGINNING
    for number, flow in enumerate(flows):
        for item in flow:
            rank = rank_of(item)
            if rank is None:
                keyed.append(((last, True, number), item))
            else:
                last = rank
                keyed.append(((last, False, 0), item))
    keyed.sort(key=lambda pair: pair[0])
    return [[item for _, item in group] for _, group in groupby(keyed, key=lambda pair: pair[0])]
