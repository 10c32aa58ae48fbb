"""Terms of the domain in everything that is read: lines, blocks, tables, text and Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from inkgate.caller import Caller
from inkgate.concurrency import Threads
from inkgate.engines.base import Engine, EngineWrapper
from inkgate.errors import InputRejected
from inkgate.fields.terms import TermChange, Terms, TermsFileInvalid
from inkgate.page import Page
from inkgate.term_correction import TermCorrection
from inkgate.types import Block, PageResult, Table, Task

_CHINESE = re.compile("[\u4e00-\u9fff]")


def load_terms(files: Sequence[str], setting: str) -> Terms | None:
    """The terms of the files that a setting names; None without files. Blocking.

    Raises:
        InputRejected: "feature_unavailable": a file can't be used.
    """
    if not files:
        return None
    try:
        return Terms.load(map(Path, files))
    except TermsFileInvalid as error:
        raise InputRejected("feature_unavailable", f"`{setting}`: {error}") from error


class TermsCorrected(EngineWrapper):
    """An Engine around an Engine in whose pages doubtful words become the terms that they resemble."""

    def __init__(self, inner: Engine, terms: Terms, threads: Threads) -> None:
        super().__init__(inner)
        self._terms = terms
        self._threads = threads

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """As Engine.read. `timings_ms` has `terms` if a word was changed."""
        result = await self._inner.read(page, task, caller)
        return await self._threads.run(with_terms, result, self._terms)


def with_terms(page: PageResult, terms: Terms) -> PageResult:
    """The page with the terms wherever the changed lines stand, and `corrections`. Blocking."""
    begun = perf_counter()
    changed, changes = terms.correct(page)
    if not changes:
        return page
    edits, lines = [], {each.line: page.lines[each.line].text for each in changes}
    for each in changes:
        edits.append(_LineEdit(each, lines[each.line]))
        lines[each.line] = lines[each.line].replace(each.read_as, each.text, 1)
    blocks = None if page.blocks is None else tuple(_block(block, edits) for block in page.blocks)
    return replace(
        changed,
        blocks=blocks,
        text=_edited(page.text, edits),
        markdown=None if page.markdown is None else _edited(page.markdown, edits),
        header=_edited_lines(page.header, edits),
        footer=_edited_lines(page.footer, edits),
        left_out=tuple(replace(part, text=_edited(part.text, _within(edits, part.lines))) for part in page.left_out),
        corrections=tuple(TermCorrection(each.line, each.text, each.read_as) for each in changes),
        timings_ms={**page.timings_ms, "terms": (perf_counter() - begun) * 1000},
    )


@dataclass(frozen=True, slots=True)
class _LineEdit:
    """A change of a line, and the whole line as it was before."""

    change: TermChange
    line: str


def _within(edits: Sequence[_LineEdit], lines: Sequence[int]) -> list[_LineEdit]:
    return [each for each in edits if each.change.line in lines]


def _block(block: Block, edits: Sequence[_LineEdit]) -> Block:
    own = _within(edits, block.lines)
    if not own:
        return block
    return replace(
        block,
        text=_edited(block.text, own),
        markdown=_edited(block.markdown, own),
        table=None if block.table is None else _table(block.table, own),
    )


def _table(table: Table, edits: Sequence[_LineEdit]) -> Table:
    cells = (replace(cell, text=_edited(cell.text, _within(edits, cell.lines))) for cell in table.cells)
    return replace(table, cells=tuple(cells))


def _edited_lines(text: str | None, edits: Sequence[_LineEdit]) -> str | None:
    """A header or footer with the changes of the lines that stand in it. It doesn't tell which lines it has."""
    return None if text is None else _edited(text, [each for each in edits if each.line in text])


def _edited(text: str, edits: Sequence[_LineEdit]) -> str:
    """The text with the changes. Each is made in its line if that stands in the text as it was read: the same word may
    have been read with confidence elsewhere. Else the first such word is changed.
    """
    for each in edits:
        word = re.compile(rf"(?<!\w){re.escape(each.change.read_as)}(?!\w)")
        line = text.find(each.line)
        found = word.search(text, max(line, 0)) or (None if line < 0 else word.search(text))
        if found is None and _CHINESE.search(each.change.read_as):  # it has no spaces
            at = text.find(each.change.read_as, max(line, 0))
            text = text if at < 0 else text[:at] + each.change.text + text[at + len(each.change.read_as) :]
        elif found is not None:
            text = text[: found.start()] + each.change.text + text[found.end() :]
    return text
