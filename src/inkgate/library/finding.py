"""Texts on the pages of a result, with their places."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce

from inkgate.fields.folded import box_around, fold, glue
from inkgate_client.types import Box, DocumentResult, Line, PageResult, box_of_quad


@dataclass(frozen=True, slots=True)
class FoundText:
    """A place where a text was found.

    Attributes:
        page: index of the page, from 0.
        box: left, top, right, bottom in pixels of the upright page: around its words where the engine reports them,
            else around the line, or around the block where there are no lines.
        text: of these words, or of the line or block.
        confidence: the least of the words, or of the line or block; None if unknown.
    """

    page: int
    box: Box
    text: str
    confidence: float | None


def find_text(result: DocumentResult, text: str) -> list[FoundText]:
    """All places of `text` in reading order, each inside one line. Case, width, spaces and punctuation don't matter,
    unless `text` has nothing else.
    """
    key = fold if fold(text) else _visible
    wanted = key(text)
    return [found for page in result.pages for found in _on_page(page, wanted, key)] if wanted else []


def _visible(text: str) -> str:
    return "".join(text.split())


def _on_page(page: PageResult, wanted: str, key: Callable[[str], str]) -> Iterator[FoundText]:
    for line in page.lines:
        yield from _in_line(page.index, line, wanted, key)
    if not page.lines:
        for block in page.blocks or ():
            if wanted in key(block.text):
                yield FoundText(page.index, block.box, block.text, block.confidence)


def _in_line(page: int, line: Line, wanted: str, key: Callable[[str], str]) -> Iterator[FoundText]:
    text = key(line.text)
    ends: list[int] = []
    for word in line.words:
        ends.append((ends[-1] if ends else 0) + len(key(word.text)))
    whole = not ends or ends[-1] != len(text)  # words that are not those of the text have no known place in it
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if whole:
            yield FoundText(page, line.box, line.text, line.confidence)
            return
        words = [w for w, first, last in zip(line.words, (0, *ends), ends, strict=False) if first < end and last > at]
        box = box_around([box_of_quad(word.quad) for word in words])
        printed = reduce(lambda before, word: f"{before}{glue(before, word)}{word}", [word.text for word in words])
        yield FoundText(page, box, printed, min(word.confidence for word in words))
        at = text.find(wanted, end)
