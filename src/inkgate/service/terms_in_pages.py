"""Terms wherever a page has them: lines, blocks, tables, text and Markdown. terms.py changes lines alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from inkgate.service.terms import TermChange, Terms
from inkgate_client.escape import escape
from inkgate_client.term_correction import TermCorrection
from inkgate_client.types import Block, Line, PageResult, Table

_CHINESE = re.compile("[\u4e00-\u9fff]")


def with_terms(page: PageResult, terms: Terms) -> PageResult:
    """The page with the terms wherever the changed lines stand, and `corrections`. Blocking."""
    begun = perf_counter()
    changed, changes = terms.correct(page)
    if not changes:
        return page
    edits = _Edits(page.lines, changed.lines, changes)
    return replace(
        changed,
        blocks=None if page.blocks is None else tuple(_block(block, edits) for block in page.blocks),
        text=edits.made_in(page.text),
        markdown=None if page.markdown is None else edits.made_in(page.markdown),
        header=_edited_lines(page.header, edits),
        footer=_edited_lines(page.footer, edits),
        left_out=tuple(replace(part, text=edits.made_in(part.text, part.lines)) for part in page.left_out),
        corrections=tuple(TermCorrection(each.line, each.text, each.read_as) for each in changes),
        timings_ms={**page.timings_ms, "terms": (perf_counter() - begun) * 1000},
    )


@dataclass(frozen=True, slots=True)
class _Edits:
    """Lines as they were read, the same with their terms, and the changes."""

    read: Sequence[Line]
    changed: Sequence[Line]
    changes: Sequence[TermChange]

    def made_in(self, text: str, lines: Sequence[int] | None = None) -> str:
        """The text of these lines, or of all, with the changes. Each is made in its line where that stands in the text,
        also escaped for Markdown: the same word may have been read with confidence elsewhere. Else, as in a line that
        a hyphen joins to the next, the first such word is changed.
        """
        order = list(range(len(self.read)) if lines is None else lines)
        for line in sorted({each.line for each in self.changes}.intersection(order), reverse=True):
            read, now = self.read[line].text, self.changed[line].text
            copies = sum(self.read[other].text == read for other in order[: order.index(line)])
            for before, after in ((read, now), (escape(read), escape(now))):
                if places := _places(before, text):
                    text = _replaced(text, places[copies] if copies < len(places) else places[0], before, after)
                    break
            else:
                for each in (each for each in self.changes if each.line == line):
                    places = _places(each.read_as, text)
                    text = _replaced(text, places[0], each.read_as, each.text) if places else text
        return text


def _block(block: Block, edits: _Edits) -> Block:
    if not any(each.line in block.lines for each in edits.changes):
        return block
    return replace(
        block,
        text=edits.made_in(block.text, block.lines),
        markdown=edits.made_in(block.markdown, block.lines),
        table=None if block.table is None else _table(block.table, edits),
    )


def _table(table: Table, edits: _Edits) -> Table:
    cells = (replace(cell, text=edits.made_in(cell.text, cell.lines)) for cell in table.cells)
    return replace(table, cells=tuple(cells))


def _edited_lines(text: str | None, edits: _Edits) -> str | None:
    """A header or footer with the changes of the lines that stand in it. It doesn't tell which lines it has."""
    if text is None:
        return None
    return edits.made_in(text, [index for index, line in enumerate(edits.read) if line.text and line.text in text])


def _places(part: str, text: str) -> list[int]:
    """Returns where the part begins in the text, not inside a longer word. Chinese words have no ends to be seen."""
    before, after = ("" if _CHINESE.match(edge) else r"\w" for edge in (part[:1], part[-1:]))
    pattern = (f"(?<!{before})" if before else "") + re.escape(part) + (f"(?!{after})" if after else "")
    return [found.start() for found in re.finditer(pattern, text)] if part else []


def _replaced(text: str, at: int, before: str, after: str) -> str:
    return text[:at] + after + text[at + len(before) :]
