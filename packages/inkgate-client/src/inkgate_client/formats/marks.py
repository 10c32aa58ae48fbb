"""Marks doubtful words and blocks in Markdown, on request: `marks` of requests and `--marks` of commands. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from inkgate_client.block_parts import text_is_unplaced
from inkgate_client.escape import escape
from inkgate_client.types import Block, DocumentResult, Line, PageResult, TextWord, Word

DOUBTFUL_WORD = 0.9
"""Half of the words of dev below this confidence are wrong (457 of 24,187 are below)."""
DOUBTFUL_BLOCK = 0.5
"""The threshold of doubtful blocks: more blocks below this are wrong than right, as confidences of blocks are
calibrated."""
_TAG = re.compile(r"<[^<>]*>|\$\$.+?\$\$|\$[^$\n]+\$|`[^`\n]+`|!?\]\([^()\s]*\)", re.DOTALL)
"""Parts of Markdown where no mark may stand: HTML, formulas, code, addresses of links."""


def marked_document(result: DocumentResult) -> DocumentResult:
    """The document with `marked` pages."""
    return replace(result, pages=tuple(map(marked, result.pages)))


def marked(page: PageResult) -> PageResult:
    """The page with `<mark>` around doubtful words in its Markdown, and a comment before doubtful blocks.

    Without tags and comments the Markdown stays as it was. A word that the Markdown has in another form, such as one
    that was put together at the end of a line, is not marked.
    """
    if page.markdown is None:
        return page
    if text_is_unplaced(page):
        return replace(page, markdown=_with_marks(page.markdown, _doubtful(page.lines or page.words)))
    done, rest = "", page.markdown
    blocks = []
    for block in page.blocks or ():
        markdown = _with_marks(block.markdown, _doubtful([page.lines[index] for index in block.lines]))
        before, found, after = rest.partition(block.markdown) if block.markdown else (rest, "", "")
        if found:
            done, rest = done + before + _comment(block, before or done) + markdown, after
        blocks.append(replace(block, markdown=markdown))
    return replace(page, markdown=done + rest, blocks=tuple(blocks))


def _comment(block: Block, before: str) -> str:
    """The comment before a doubtful block; none inside a paragraph, where it would not be seen as one."""
    if block.confidence is None or block.confidence >= DOUBTFUL_BLOCK or (before and not before.endswith("\n\n")):
        return ""
    return f"<!-- doubtful: confidence {block.confidence:.2f} -->\n\n"


def _doubtful(parts: Sequence[Line | TextWord]) -> Iterator[str]:
    """Texts of the doubtful words, in order; a line without words is one."""
    for part in parts:
        words: Sequence[Line | Word | TextWord] = (part.words or (part,)) if isinstance(part, Line) else (part,)
        yield from (word.text.strip() for word in words if word.confidence < DOUBTFUL_WORD and word.text.strip())


def _with_marks(markdown: str, texts: Iterator[str]) -> str:
    """`markdown` with each of `texts` marked once: at the next place after the one before, else at the first."""
    taken: list[tuple[int, int]] = [match.span() for match in _TAG.finditer(markdown)]
    marks: list[tuple[int, int]] = []
    place = 0
    for text in texts:
        at = _free(markdown, text, place, taken)
        at = _free(markdown, text, 0, taken) if at is None else at
        if at is not None:
            marks.append(at)
            taken.append(at)
            place = at[1]
    for start, end in sorted(marks, reverse=True):
        markdown = f"{markdown[:start]}<mark>{markdown[start:end]}</mark>{markdown[end:]}"
    return markdown


def _free(markdown: str, text: str, start: int, taken: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Returns where the text stands from `start` on, as a whole word and outside of `taken`."""
    pattern = "|".join(re.escape(form) for form in dict.fromkeys((escape(text), text)) if form)
    if not pattern:
        return None
    # Characters of scripts without spaces are words of their own.
    edge_before, edge_after = (
        (r"(?<![^\W_])" if text[0].isascii() else ""),
        (r"(?![^\W_])" if text[-1].isascii() else ""),
    )
    for match in re.compile(f"{edge_before}(?:{pattern}){edge_after}").finditer(markdown, start):
        if all(match.end() <= begin or end <= match.start() for begin, end in taken):
            return match.span()
    return None
