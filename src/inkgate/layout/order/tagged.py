"""What the tags of a PDF tell of a page beside the network, of which this is a judge of its own: blocks, order, titles.

Programs tag what authors wrote, or what they guess from the page, and the authors misuse styles and anchor text boxes
anywhere. So tags count only if nearly all of the page's text has some. They shift the odds of what the layout network
sees, whose titles stay titles if they are tagged as paragraphs: many authors set headings as bold paragraphs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkgate.layout.order.decode import LearnedBlock, learned_blocks
from inkgate.layout.order.frame import LayoutPiece
from inkgate.layout.order.network import CLASSES, Prediction
from inkgate.layout.order.tokens import Floats, PageTokens
from inkgate.page import TagKind

MAX_UNTAGGED, MAX_ARTIFACTS, MAX_TABLE = 0.1, 0.3, 0.5
"""Maximum shares of a page's characters: without tags, as running heads and feet, and in tables that the page does not
show, such as frames of forms.
"""
UNLIKELY, MAX_SPLIT = 0.05, 0.3
"""A tagged block is none if the network finds more of its neighbours unlikely to be in one: a page in one paragraph."""
EVEN, MAX_OTHERWISE = 0.5, 0.1
"""The order of the tags does not count if the network has more of the pairs of pieces in the other order."""
SHIFT, SURE = 4.0, 8.0
"""Logarithms of the odds by which tags make types and joints likelier, and the order where it is that of the tags. By
looking at 135 tagged PDFs, most of them newsletters made with Word: 4 makes titles of headings that the network missed,
and none of addresses in heading styles; with 4 for the order, columns and text boxes were interleaved.
"""
Numbers = NDArray[np.integer[Any]]
_TYPES = (TagKind.TITLE, TagKind.CAPTION, TagKind.FOOTNOTE, TagKind.REFERENCE)


def is_tagged(pieces: Sequence[LayoutPiece], loose: Sequence[LayoutPiece]) -> bool:
    """Whether nearly all text of a page has tags. `pieces`: its lines; `loose`: those outside of tables and figures."""
    known = Counter[TagKind | None]()
    for piece in pieces:
        known[piece.tag.kind if piece.tag else None] += len(piece.text)
    total = known.total()
    cells = sum(len(piece.text) for piece in loose if piece.tag and piece.tag.kind is TagKind.TABLE)
    shares = ((known[None], MAX_UNTAGGED), (known[TagKind.ARTIFACT], MAX_ARTIFACTS), (cells, MAX_TABLE))
    return total > 0 and all(count <= share * total for count, share in shares)


def with_tags(page: PageTokens, seen: Prediction) -> Prediction:
    """What the network and the tags tell of a tagged page. The order is that of the tags if it jumps less: text boxes
    are tagged where they are anchored, which may be between the lines of another column.
    """
    kinds = [piece.tag.kind if piece.tag else None for piece in page.pieces]
    blocks = np.array([piece.tag.block if piece.tag else -1 for piece in page.pieces])
    blocks[[kind is TagKind.FOOTNOTE for kind in kinds]] = -1  # tagged where the text refers to it
    classes = seen.classes.copy()
    for at, kind in enumerate(kinds):
        if kind in _TYPES:
            classes[at, CLASSES.index(kind)] *= np.exp(SHIFT)
    told = replace(seen, classes=classes / classes.sum(axis=1, keepdims=True))
    told = replace(told, follows=_joined(told, blocks, [kind is TagKind.TITLE for kind in kinds]))
    known = (blocks[:, None] >= 0) & (blocks[None] >= 0)
    steps = np.where(known, np.sign(blocks[None] - blocks[:, None]), 0)
    if (seen.before[steps > 0] < EVEN).sum() > MAX_OTHERWISE * (steps > 0).sum():
        return told
    ordered = replace(told, before=_shifted(seen.before, SURE * steps))
    own, others = learned_blocks(page, told), learned_blocks(page, ordered)
    return ordered if own == others or _jumps(others) < _jumps(own) else told


def _joined(seen: Prediction, blocks: Numbers, tagged_titles: Sequence[bool]) -> Floats:
    """`follows` with the neighbours in a tagged block joined, and blocks apart but for those of one line: many programs
    end lines as paragraphs.
    """
    likeliest = seen.classes.argmax(axis=1)
    counts = (blocks[:, None] == blocks[None]).sum(axis=1)
    whole = (counts > 1) | (np.array(tagged_titles) & (likeliest == CLASSES.index("title")))
    apart = (blocks[:, None] >= 0) & (blocks[None] >= 0) & (blocks[:, None] != blocks[None])
    follows = _shifted(seen.follows, -SHIFT * (apart & (whole[:, None] | whole[None])))
    for block in np.unique(blocks[blocks >= 0]):
        own = np.flatnonzero(blocks == block)
        own = own[np.argsort(-seen.before[np.ix_(own, own)].sum(axis=1), kind="stable")]
        first, second = own[:-1], own[1:]
        steps = follows[first, second]
        if (steps < UNLIKELY).sum() <= MAX_SPLIT * len(steps):
            follows[first, second] = _shifted(steps, SHIFT * (likeliest[first] == likeliest[second]))
    return follows


def _jumps(blocks: Sequence[LearnedBlock]) -> int:
    """How often what is read next does not stand below."""
    return sum(
        after.middle <= piece.middle or min(piece.right, after.right) <= max(piece.left, after.left)
        for piece, after in pairwise(piece for block in blocks for piece in block.pieces)
    )


def _shifted(shares: Floats, by: Floats | float) -> Floats:
    """Probabilities whose odds are `by` higher, as logarithms."""
    odds: Floats = np.exp(by) * shares
    return odds / (odds + 1 - shares)
