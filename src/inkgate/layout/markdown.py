"""Text and Markdown (CommonMark, with pipe tables) of paragraphs, lists, titles and tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby, pairwise

from inkgate.layout.paragraphs import BULLET, NUMBER, Paragraph, is_flowing, row_text
from inkgate.layout.tables import Grid

_BREAKS = re.compile(r"[\t\n\r]+")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SPECIAL = re.compile(
    r"[\\`*]|<(?=[A-Za-z/!?])|&(?=#?\w+;)"  # code, emphasis, tags and addresses, entities
    r"|(?<![^\W_])_|_(?![^\W_])|~(?=~)|(?<=\S)~"  # emphasis and strikethrough; not snake_case, nor ~5
    r"|\](?=[(:])"  # links and their definitions
)
_LEADING = re.compile(r"^(#{1,6}(?=\s|$)|>|[-+](?=\s|$)|[-=|:](?=[-=|:\s]*$))")
_LEADING_NUMBER = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")
_ESCAPED = r"\\\g<0>"
_CLOSING = re.compile(r"(?:(?<=\s)|^)#+$")
_TASK = re.compile(r"^\[(?=[ xX]\])")
_PLAIN_NUMBER = re.compile(r"^\s*(\d{1,2})[.．]\s*")
_CJK = re.compile(r"[\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uff60]")
_SENTENCE_ENDS = (".", "!", "?", ":", ";", "。", "！", "？", "：", "；", '"', "”", "’", ")")
_HARD_BREAK = "  \n"


def join_lines(texts: Sequence[str]) -> str:
    """Lines of a paragraph as flowing text: removes a line's last hyphen; adds no space between CJK characters."""
    flow = ""
    for text in (text.strip() for text in texts):
        if not flow or not text:
            flow += text
        elif flow[-1] in "-\u00ad\u2010" and len(flow) > 1 and flow[-2].isalpha() and text[0].islower():
            flow = flow[:-1] + text
        elif _CJK.match(flow[-1]) and _CJK.match(text[0]):
            flow += text
        else:
            flow += " " + text
    return flow


def escape(text: str) -> str:
    """Text of one line escaped for a paragraph of CommonMark and of GitHub's Markdown."""
    return _SPECIAL.sub(_ESCAPED, _CONTROLS.sub("", _BREAKS.sub(" ", text)).strip())


def _opening(text: str) -> str:
    """Escaped text for the beginning of a line: it can't start a heading, quotation, list, rule or table."""
    return _LEADING_NUMBER.sub(r"\1\\\2", _LEADING.sub(r"\\\1", text))


def of_text(text: str) -> str:
    """Markdown of plain text: an empty line separates paragraphs, whose line breaks are kept."""
    lines = [_opening(escape(line.strip())) for line in text.splitlines()]
    return "\n\n".join(_HARD_BREAK.join(group) for filled, group in groupby(lines, key=bool) if filled)


def plain(paragraph: Paragraph) -> str:
    """The paragraph's rows, one per line."""
    return "\n".join(text for row in paragraph.rows if (text := row_text(row)))


def prose(paragraph: Paragraph) -> str:
    """Markdown of running text; line breaks that are not caused by the line's width (addresses, verse, receipts) are
    kept.
    """
    texts = [text for row in paragraph.rows if (text := row_text(row))]
    if is_flowing(paragraph.rows):
        return _opening(escape(join_lines(texts)))
    return _HARD_BREAK.join(_opening(escape(text)) for text in texts)


def listing(paragraph: Paragraph) -> str:
    """Markdown of a list, one item per line. Numbers that don't count up by one are kept as text in bulleted items."""
    bounds = [*paragraph.items, len(paragraph.rows)]
    items = [join_lines([row_text(row) for row in paragraph.rows[a:b]]) for a, b in pairwise(bounds)]
    numbers = [int(found[1]) for text in items if (found := _PLAIN_NUMBER.match(text)) and NUMBER.match(text)]
    counts = numbers == list(range(numbers[0], numbers[0] + len(items))) if numbers else False
    return "\n".join(_item(text, counts=counts) for text in items)


def _item(text: str, *, counts: bool) -> str:
    number = _PLAIN_NUMBER.match(text)
    if number and counts:
        return f"{number[1]}. {_content(text[number.end() :])}"
    bullet = BULLET.match(text)
    return f"- {_content(text[bullet.end() :] if bullet else text)}"


def _content(text: str) -> str:
    """An item's text, escaped so that no block or task box begins in it."""
    return _TASK.sub(r"\\[", _opening(escape(text)))


def document(blocks: Sequence[tuple[str, bool]]) -> str:
    """The Markdown of a page from that of its blocks, each with whether it is running text.

    A sentence that continues in the next block, at the top of the next column, joins the two into one paragraph.
    """
    parts: list[str] = []
    open_ended = False
    for text, is_prose in blocks:
        if open_ended and is_prose and text[:1].islower():
            parts[-1] = join_lines([parts[-1], text])
        else:
            parts.append(text)
        open_ended = is_prose and _HARD_BREAK not in text and not text.endswith(_SENTENCE_ENDS)
    return "\n\n".join(parts)


def title(text: str, level: int) -> str:
    """Markdown of a heading, `level` 1 to 6."""
    return f"{'#' * level} {_CLOSING.sub(_ESCAPED, escape(text))}"


def table(grid: Grid) -> str:
    """A pipe table; the first row is its head."""
    rows = [[_cell(row_text(cell)) for cell in row] for row in grid.cells]
    head, *body = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([head, f"|{' --- |' * len(rows[0])}", *body])


def _cell(text: str) -> str:
    return escape(text).replace("|", "\\|")
