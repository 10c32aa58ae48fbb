"""Text and Markdown (CommonMark) of paragraphs, titles and figures, and of whole pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from inkgate.layout.text.hyphenation import HYPHENS, NO_WORDS, Vocabulary, join_lines
from inkgate.layout.text.paragraphs import Paragraph, joined_rows, row_text
from inkgate_client.escape import HARD_BREAK, at_beginning, escape
from inkgate_client.types import Block, BlockType, LeftOut, LeftOutReason

_ESCAPED = r"\\\g<0>"
_CLOSING = re.compile(r"(?:(?<=\s)|^)#+$")
_SENTENCE_ENDS = (".", "!", "?", ":", ";", "。", "！", "？", "：", "；", '"', "”", "’", ")")
_SENTENCE_WORDS = 4
"""A block of text with fewer words is not the beginning of a sentence that another block continues."""
NOTE = "[^"
"""Footnotes begin with this."""
RUNNING = frozenset({BlockType.HEADER, BlockType.FOOTER})


def plain(paragraph: Paragraph) -> str:
    """The paragraph's rows, one per line."""
    return "\n".join(text for row in paragraph.rows if (text := row_text(row)))


def prose(paragraph: Paragraph, known: Vocabulary = NO_WORDS) -> str:
    """Markdown of running text; line breaks that are not caused by the line's width (addresses, verse, receipts) are
    kept.
    """
    groups = ([row_text(row) for row in group] for group in joined_rows(paragraph))
    return HARD_BREAK.join(at_beginning(escape(join_lines(group, known))) for group in groups)


def page_markdown(blocks: Sequence[Block], left_out: Sequence[LeftOut] = ()) -> str:
    """The Markdown of a page from that of its blocks, without those left out.

    A figure's own Markdown stands, whether or not the text inside it is left out.
    """
    hidden = left_out_blocks(blocks, left_out)
    shown = [block for i, block in enumerate(blocks) if block.markdown and i not in hidden]
    known = NO_WORDS
    if any(block.markdown.endswith(HYPHENS) for block in shown):  # else there is no word to join, and this is slow
        known = Vocabulary.of(line for block in blocks for line in block.text.split("\n"))
    return document(shown, known)


def running_text(blocks: Sequence[Block], kind: BlockType) -> str | None:
    """The text of a page's headers or footers, whether or not they are left out; None if there are none."""
    return "\n".join(block.text for block in blocks if block.type is kind and block.text) or None


def left_out_blocks(blocks: Sequence[Block], left_out: Sequence[LeftOut]) -> set[int]:
    """Numbers of the blocks that are left out: by their lines, or by their text if the engine reports no lines, which
    are headers and footers only.
    """
    lines = {line for part in left_out for line in part.lines}
    texts = Counter(part.text for part in left_out if not part.lines and part.reason is not LeftOutReason.INVISIBLE)
    hidden: set[int] = set()
    for i, block in enumerate(blocks):
        if block.lines:
            if block.type is not BlockType.FIGURE and lines.issuperset(block.lines):
                hidden.add(i)
        elif block.type in RUNNING and texts[block.text]:
            texts[block.text] -= 1
            hidden.add(i)
    return hidden


def document(blocks: Sequence[Block], known: Vocabulary = NO_WORDS) -> str:
    """The Markdown of a page from that of its blocks.

    A sentence that continues in the next block of text, at the top of the next column or below a figure or footnotes,
    joins the two into one paragraph.
    """
    parts: list[str] = []
    unfinished = -1
    for block in blocks:
        is_prose = block.type is BlockType.TEXT
        if unfinished >= 0 and is_prose and block.markdown.lstrip("*[")[:1].islower():
            parts[unfinished] = join_lines([parts[unfinished], block.markdown], known)
        else:
            if block.type is not BlockType.FIGURE and not block.markdown.startswith(NOTE):
                unfinished = -1
            parts.append(block.markdown)
        if is_prose:
            at = unfinished if unfinished >= 0 else len(parts) - 1
            unfinished = at if _goes_on(block.markdown) else -1
    return "\n\n".join(parts)


def _goes_on(text: str) -> bool:
    """Whether the Markdown of running text ends within a sentence. Numbers and marks of a page's edge do not."""
    return HARD_BREAK not in text and not text.endswith(_SENTENCE_ENDS) and len(text.split()) >= _SENTENCE_WORDS


def title(text: str, level: int) -> str:
    """Markdown of a heading, `level` 1 to 6."""
    return f"{'#' * level} {_CLOSING.sub(_ESCAPED, escape(text))}"


def figure(caption: str) -> str:
    """The placeholder of a figure."""
    return f"> [Figure: {escape(caption)}]" if caption else "> [Figure]"
