"""Blocks in reading order from what the layout network tells of a page's pieces.

Pieces are chained to blocks, the most certain successor first. Blocks are then put in an order that contradicts as few
of the network's answers as a greedy choice finds: next is the block that the fewest of the others should precede.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inkgate.layout.order.frame import LayoutPiece
from inkgate.layout.order.network import CLASSES, Prediction
from inkgate.layout.order.tokens import Floats, PageTokens
from inkgate_client.types import BlockType

MIN_FOLLOWS = 0.5
"""Pieces are chained if the second follows the first with this probability."""
BETWEEN = 0.97
"""A piece does not follow another if a third is read between them with a higher probability."""
FOUND = 4.0
"""Logarithm of the odds by which a title is likelier than the network has it if the layout model calls it one."""


@dataclass(frozen=True, slots=True)
class LearnedBlock:
    """A block as the network sees it.

    Attributes:
        pieces: in reading order.
        type: one of the network's CLASSES.
    """

    pieces: tuple[LayoutPiece, ...]
    type: str


def learned_blocks(page: PageTokens, seen: Prediction) -> list[LearnedBlock]:
    """The pieces as blocks in reading order. Pieces in any order give the same blocks only if they are sorted."""
    pieces = page.pieces
    chains = _chains(pieces, seen)
    member = np.zeros((len(chains), len(pieces)), np.float32)
    for at, chain in enumerate(chains):
        member[at, chain] = 1 / len(chain)
    order = _ordered(member @ seen.before @ member.T)
    return [
        LearnedBlock(tuple(pieces[i] for i in chains[at]), CLASSES[_kind(chains[at], page, seen.classes)])
        for at in order
    ]


def _kind(chain: Sequence[int], page: PageTokens, classes: Floats) -> int:
    """The chain's likeliest type; a title is likelier if the layout model found one there."""
    scores = np.log(np.maximum(classes[chain], 1e-6)).mean(axis=0)
    found = [zone is not None and zone.type is BlockType.TITLE for zone in (page.zones[i] for i in chain)]
    scores[CLASSES.index("title")] += FOUND * sum(found) / len(found)
    return int(scores.argmax())


def _chains(pieces: Sequence[LayoutPiece], seen: Prediction) -> list[list[int]]:
    """Numbers of the pieces of each block."""
    follows = seen.follows.copy()
    alone = np.array([piece.zone >= 0 for piece in pieces])
    follows[alone] = 0
    follows[:, alone] = 0
    first, second = np.nonzero(follows >= MIN_FOLLOWS)
    between = np.minimum(seen.before[first], seen.before[:, second].T).max(axis=1, initial=0)
    first, second = first[between <= BETWEEN], second[between <= BETWEEN]
    after, ahead = [-1] * len(pieces), [-1] * len(pieces)
    ends = list(range(len(pieces)))  # of a chain's first piece its last, and the reverse
    for at in np.lexsort((second, first, -follows[first, second])).tolist():
        i, j = int(first[at]), int(second[at])
        if after[i] >= 0 or ahead[j] >= 0 or ends[i] == j:
            continue
        after[i], ahead[j] = j, i
        start, end = ends[i], ends[j]
        ends[start], ends[end] = end, start
    chains = []
    for start in range(len(pieces)):
        if ahead[start] >= 0:
            continue
        chain = [start]
        while after[chain[-1]] >= 0:
            chain.append(after[chain[-1]])
        chains.append(chain)
    return chains


def _ordered(before: Floats) -> list[int]:
    """Numbers of the blocks in order. `before`: the probability that the first is read before the second."""
    wrong = np.maximum(before.T - 0.5, 0)  # wrong[a, b]: how sure b is before a
    np.fill_diagonal(wrong, 0)
    cost = wrong.sum(axis=1)
    left = np.ones(len(before), dtype=np.bool_)
    order = []
    for _ in range(len(before)):
        best = int(np.where(left, cost, np.inf).argmin())
        order.append(best)
        left[best] = False
        cost = cost - wrong[:, best]
    return order
