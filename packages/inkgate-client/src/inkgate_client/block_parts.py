"""What output formats ask of blocks: whether they have the text, items of lists, and captions with what they describe.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inkgate_client.types import MARK_TYPES, Block, BlockType, Box, PageResult

_ITEM = re.compile(r"(?P<indent>\s*)(?P<mark>[-*+\u2022\u00b7]|\d{1,9}[.)])\s+(?P<text>.*)", re.DOTALL)
_INDENT = 2


@dataclass(frozen=True, slots=True)
class ListItem:
    """An item of a list. `depth`: from 0; `mark`: such as `-` or `2.`, empty if it has none; `lines`: its text."""

    depth: int
    mark: str
    lines: tuple[str, ...]

    @property
    def numbered(self) -> bool:
        return self.mark[:1].isdigit()


def text_is_unplaced(page: PageResult) -> bool:
    """Whether no block has the page's text: a model that gives no places read it, and marks may stand beside it."""
    return all(block.type in MARK_TYPES for block in page.blocks or ())


def list_items(text: str) -> list[ListItem]:
    """The items of a list in plain text or Markdown. A line without a mark goes on with the item before it."""
    items: list[ListItem] = []
    for line in text.split("\n"):
        found = _ITEM.fullmatch(line)
        if found is not None:
            items.append(ListItem(len(found["indent"]) // _INDENT, found["mark"], (found["text"],)))
        elif line.strip() and items:
            before = items.pop()
            items.append(ListItem(before.depth, before.mark, (*before.lines, line.strip())))
        elif line.strip():
            items.append(ListItem(0, "", (line.strip(),)))
    return items


def is_list(text: str) -> bool:
    """Whether the text begins with an item of a list."""
    return _ITEM.match(text) is not None


def captions_of(blocks: Sequence[Block]) -> Mapping[int, int]:
    """The index of the caption by the index of the figure, or the table with cells, that it describes: the nearer of
    its neighbours in the order of reading. Captions beside neither describe nothing.
    """
    found: dict[int, int] = {}
    for caption, block in enumerate(blocks):
        if block.type is BlockType.CAPTION:
            beside = [
                index
                for index in (caption - 1, caption + 1)
                if 0 <= index < len(blocks) and _is_described(blocks[index]) and index not in found
            ]
            if beside:
                found[min(beside, key=lambda index: _gap(block.box, blocks[index].box))] = caption
    return found


def _is_described(block: Block) -> bool:
    return block.type is BlockType.FIGURE or block.table is not None


def _gap(one: Box, other: Box) -> float:
    """Pixels between two boxes from top to bottom; 0 if they overlap."""
    return max(one[1] - other[3], other[1] - one[3], 0.0)
