"""Assembles a page from its blocks, which were read one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from inkgate.engines.vllm.image_read import ImageRead
from inkgate.errors import EngineFailed, InkgateError
from inkgate.layout.base import Region
from inkgate.layout.blocks import levels_by_height
from inkgate.layout.markdown import document, join_lines
from inkgate.layout.order import row_height
from inkgate.layout.running import RUNNING, is_page_number
from inkgate.types import Block, BlockType, Page, PageError, PageResult, Size, Task, TaskKind, TextWord


@dataclass(frozen=True, slots=True)
class Element:
    """A region, its box in page pixels, and its reading or its error. A figure is not read and has neither."""

    region: Region
    read: ImageRead | None = None
    failure: InkgateError | None = None

    @property
    def text(self) -> str:
        return "" if self.read is None else self.read.answer.text


def assemble_page(elements: Sequence[Element], page: Page, task: Task, timings_ms: Mapping[str, float]) -> PageResult:
    """The page. `elements` are in reading order; failed ones become blocks with an error."""
    blocks = blocks_of(elements, page.size)
    text, words = _text_of(elements)
    parse = task.kind is TaskKind.PARSE
    return PageResult(
        index=page.index,
        width=page.size.width,
        height=page.size.height,
        dpi=page.dpi,
        blocks=tuple(blocks) if parse else None,
        text=text,
        markdown=_markdown_of(blocks) if parse else None,
        header=_running(blocks, BlockType.HEADER) if parse else None,
        footer=_running(blocks, BlockType.FOOTER) if parse else None,
        timings_ms=timings_ms,
        error=_error_of(elements),
        words=words,
        attempts=tuple(attempt for element in elements if element.read for attempt in element.read.attempts),
    )


def blocks_of(elements: Sequence[Element], size: Size) -> list[Block]:
    """The elements as blocks; titles get their levels."""
    heights = {
        i: (element.region.box[3] - element.region.box[1]) / (element.text.count("\n") + 1)
        for i, element in enumerate(elements)
        if element.region.type is BlockType.TITLE
    }
    levels = levels_by_height(heights, row_height([element.region for element in elements], size))
    return [_block_of(element, levels.get(i)) for i, element in enumerate(elements)]


def _block_of(element: Element, level: int | None) -> Block:
    markdown = "" if element.read is None else element.read.answer.markdown
    block = Block(
        type=element.region.type,
        box=element.region.box,
        lines=(),
        text=element.text,
        markdown=element.text if markdown is None else markdown,
        level=level,
        confidence=element.region.confidence,
        error=None if element.failure is None else element.failure.as_page_error(),
    )
    if level is not None and block.text:
        return replace(block, markdown=f"{'#' * level} {join_lines(block.markdown.lstrip('# ').splitlines())}")
    return block


def _text_of(elements: Sequence[Element]) -> tuple[str, tuple[TextWord, ...]]:
    """The page's text and its words, whose starts count from the beginning of the text."""
    text = ""
    words: list[TextWord] = []
    for element in elements:
        if element.read is None or not element.text:
            continue
        text += "\n\n" if text else ""
        words += [replace(word, start=word.start + len(text)) for word in element.read.words]
        text += element.text
    return text, tuple(words)


def _markdown_of(blocks: Sequence[Block]) -> str:
    return document(
        [
            (block.markdown, block.type is BlockType.TEXT)
            for block in blocks
            if block.markdown and not (block.type in RUNNING and is_page_number(block.text))
        ]
    )


def _running(blocks: Sequence[Block], kind: BlockType) -> str | None:
    return "\n".join(block.text for block in blocks if block.type is kind and block.text) or None


def _error_of(elements: Sequence[Element]) -> PageError | None:
    failed = [element.failure for element in elements if element.failure is not None]
    if not failed:
        return None
    asked = sum(element.read is not None or element.failure is not None for element in elements)
    detail = f"{len(failed)} of {asked} blocks of the page failed, the first with {failed[0].code}."
    return EngineFailed("elements_failed", detail).as_page_error()
