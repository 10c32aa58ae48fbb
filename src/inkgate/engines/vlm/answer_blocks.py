"""Blocks of a model's answer as blocks of a page."""

from __future__ import annotations

from collections.abc import Sequence

from inkgate.engines.vlm.parsers.answer import ParsedAnswer
from inkgate.layout.markdown import RUNNING
from inkgate.layout.running import is_page_number
from inkgate.types import Block, LeftOut, LeftOutReason


def blocks_of_answer(answer: ParsedAnswer) -> tuple[Block, ...]:
    """The blocks, in the answer's order."""
    return tuple(
        Block(each.type, each.box, (), each.text, each.markdown, level=each.level, diagram=each.diagram)
        for each in answer.blocks
    )


def page_numbers(blocks: Sequence[Block]) -> tuple[LeftOut, ...]:
    """Running lines that are page numbers: the Markdown is without them."""
    return tuple(
        LeftOut(block.text, LeftOutReason.PAGE_NUMBER, ())
        for block in blocks
        if block.type in RUNNING and is_page_number(block.text)
    )
