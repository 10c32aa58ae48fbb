"""Markdown of lists: nested by indent and by the kind of their marks, numbered where the numbers count up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from inkgate.layout.text.hyphenation import NO_WORDS, Vocabulary, join_lines
from inkgate.layout.text.paragraphs import BULLET, MARGIN, Paragraph, mark_kind, row_text
from inkgate_client.escape import at_beginning, escape

_TASK = re.compile(r"^\[(?=[ xX]\])")
_PLAIN_NUMBER = re.compile(r"^\s*(\d{1,2})[.．]\s*")
_INDENT = 2 * MARGIN
"""Marks further right than this, in line heights, are of a deeper level: the marks of one level stand below each
other, except for the difference in width between `9.` and `10.`, which is half a line height.
"""


@dataclass(slots=True)
class _Item:
    """An item with those nested in it. `kind`: of its mark; `left`: of its first row."""

    text: str
    kind: str
    left: float
    items: list[_Item] = field(default_factory=list)


def listing(paragraph: Paragraph, known: Vocabulary = NO_WORDS) -> str:
    """Markdown of a list, one item per line. Numbers that don't count up by one are kept as text in bulleted items."""
    return "\n".join(_written(_nested(paragraph, known), "", inner=False))


def _nested(paragraph: Paragraph, known: Vocabulary) -> list[_Item]:
    top: list[_Item] = []
    path: list[_Item] = []
    for a, b in pairwise([*paragraph.items, len(paragraph.rows)]):
        rows = paragraph.rows[a:b]
        text = join_lines([row_text(row) for row in rows], known)
        item = _Item(text, mark_kind(text), rows[0][0].left)
        path = _parents(path, item, _INDENT * max(piece.height for piece in rows[0]))
        (path[-1].items if path else top).append(item)
        path.append(item)
    return top


def _parents(path: Sequence[_Item], item: _Item, indent: float) -> list[_Item]:
    """The part of `path`, which leads to the item before, that `item` is nested in."""
    for depth in range(len(path) - 1, -1, -1):
        if path[depth].kind == item.kind and abs(path[depth].left - item.left) <= indent:
            return list(path[:depth])
    for depth in range(len(path) - 1, -1, -1):
        beside = abs(path[depth].left - item.left) <= indent
        if item.left > path[depth].left + indent or (beside and "bullet" not in (item.kind, path[depth].kind)):
            return list(path[: depth + 1])
        if beside:
            return list(path[:depth])
    return []


def _written(items: Sequence[_Item], indent: str, *, inner: bool) -> list[str]:
    """The lines of a list. `inner`: it is nested, where CommonMark allows numbers only from 1 on."""
    numbers = [int(found[1]) if (found := _PLAIN_NUMBER.match(item.text)) else -1 for item in items]
    counts = numbers[0] >= 0 and numbers == list(range(numbers[0], numbers[0] + len(items)))
    counts = counts and (not inner or numbers[0] == 1)
    lines: list[str] = []
    for item in items:
        mark, content = _marked(item.text, counts=counts)
        lines.append(f"{indent}{mark}{content}")
        if item.items:
            lines += _written(item.items, indent + " " * len(mark), inner=True)
    return lines


def _marked(text: str, *, counts: bool) -> tuple[str, str]:
    """The Markdown mark of an item and its text."""
    number = _PLAIN_NUMBER.match(text)
    if number and counts:
        return f"{number[1]}. ", _content(text[number.end() :])
    if _TASK.match(text):
        return "- ", text[: len("[x] ")] + _content(text[len("[x] ") :].lstrip())
    bullet = BULLET.match(text)
    return "- ", _content(text[bullet.end() :] if bullet else text)


def _content(text: str) -> str:
    """An item's text, escaped so that no block or task box begins in it."""
    return _TASK.sub(r"\\[", at_beginning(escape(text)))
