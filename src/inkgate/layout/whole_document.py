"""What only a whole document shows, such as its running headers: applied once all of its pages are read. Pure.

Pages that are sent one by one, while others are still being read, are without these steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from inkgate.layout.tables.continued import with_continued_tables
from inkgate.layout.text.footnotes import with_footnotes
from inkgate.layout.text.headings import with_levels
from inkgate.layout.text.markdown import page_markdown, running_text
from inkgate.layout.text.repeated import without_running_lines
from inkgate_client.types import BlockType, DocumentResult, PageResult

DocumentStep = Callable[[Sequence[PageResult]], Sequence[PageResult]]
"""Changes blocks and `left_out` of pages, which all have blocks; as many pages come back, in the same order."""
STEPS: tuple[DocumentStep, ...] = (without_running_lines, with_levels, with_continued_tables, with_footnotes)


def finished(result: DocumentResult) -> DocumentResult:
    """The document with `finished_pages`."""
    pages = finished_pages(result.pages)
    return result if pages is result.pages else replace(result, pages=pages)


def finished_pages(pages: Sequence[PageResult]) -> tuple[PageResult, ...]:
    """All pages of a document after the steps for whole documents. Takes time linear in them, some 0.3 ms for each.

    Pages without blocks, and pages whose Markdown is not that of their blocks, stay as they are: a model wrote it.
    Finished pages stay as they are.
    """
    places = [i for i, page in enumerate(pages) if _is_of_blocks(page)]
    before = [pages[i] for i in places]
    after: Sequence[PageResult] = before
    for step in STEPS:
        after = step(after)
    if all(new is old for new, old in zip(after, before, strict=True)):
        return tuple(pages)
    every = list(pages)
    for i, old, new in zip(places, before, after, strict=True):
        every[i] = old if new is old else _rewritten(new)
    return tuple(every)


def _is_of_blocks(page: PageResult) -> bool:
    return page.blocks is not None and page.markdown == page_markdown(page.blocks, page.left_out)


def _rewritten(page: PageResult) -> PageResult:
    """The page with what follows from its blocks and `left_out`."""
    blocks = page.blocks or ()
    return replace(
        page,
        markdown=page_markdown(blocks, page.left_out),
        header=running_text(blocks, BlockType.HEADER),
        footer=running_text(blocks, BlockType.FOOTER),
    )
