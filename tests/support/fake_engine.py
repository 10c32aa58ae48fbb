"""An Engine with fixed results: faults, slowness and hangs enter the tests here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import anyio

from inkgate.caller import Caller
from inkgate.page import Page
from inkgate_client.types import Block, BlockType, Line, PageResult, Quad, Task, TaskKind, Word


def quad(left: float, top: float, right: float, bottom: float) -> Quad:
    return ((left, top), (right, top), (right, bottom), (left, bottom))


def line(text: str, top: float, confidence: float = 0.9) -> Line:
    """A line at x 10, 20 pixels high, 10 pixels a character, with its words."""
    words = []
    start = 0
    for text_of_word in text.split():
        at = text.index(text_of_word, start)
        start = at + len(text_of_word)
        words.append(Word(text_of_word, quad(10 + 10 * at, top, 10 + 10 * start, top + 20), confidence))
    return Line(text, quad(10, top, 10 + 10 * len(text), top + 20), confidence, tuple(words))


TABLE = "| a | b |\n| --- | --- |\n| 1 | 2 |"


@dataclass
class FakeEngine:
    """Reads "Hello page N" and "Grüße 世界" on every page.

    Attributes:
        failing: the exception to raise for a page, by its index.
        gate: if set, every read waits for it.
        reading: set once a read has begun.
    """

    name: str = "fake"
    failing: Mapping[int, Exception] = field(default_factory=dict)
    gate: anyio.Event | None = None
    reading: anyio.Event = field(default_factory=anyio.Event)
    tasks: list[Task] = field(default_factory=list)
    cancelled: int = 0

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        self.tasks.append(task)
        self.reading.set()
        if self.gate is not None:
            try:
                await self.gate.wait()
            except anyio.get_cancelled_exc_class():
                self.cancelled += 1
                raise
        if page.index in self.failing:
            raise self.failing[page.index]
        await page.pixels()
        return result(page, parse=task.kind is TaskKind.PARSE)


def result(page: Page, *, parse: bool) -> PageResult:
    lines = (line(f"Hello page {page.index}", 10), line("Grüße 世界", 40, 0.5))
    text = "\n".join(found.text for found in lines)
    read = PageResult(
        page.index, page.size.width, page.size.height, page.dpi, lines=lines, text=text, engine="fake", header="Head"
    )
    if not parse:
        return read
    blocks = (
        Block(BlockType.TITLE, (10, 10, 130, 30), (0,), lines[0].text, f"# {lines[0].text}", level=1),
        Block(BlockType.TABLE, (10, 40, 90, 60), (1,), "a b 1 2", TABLE),
        Block(BlockType.FIGURE, (10, 70, 50, 100), (), "", ""),
        Block(BlockType.FOOTER, (10, 110, 50, 120), (), "Foot", "Foot"),
    )
    return PageResult(
        page.index,
        page.size.width,
        page.size.height,
        page.dpi,
        lines=lines,
        blocks=blocks,
        text=text,
        markdown=f"# {lines[0].text}\n\n{TABLE}\n\nGrüße 世界",
        header="Head",
        footer="Foot",
        engine="fake",
    )
