"""Text as Markdown (CommonMark and GitHub's) that shows it unchanged."""

from __future__ import annotations

import re
from itertools import groupby

_BREAKS = re.compile(r"[\t\n\r]+")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SPECIAL = re.compile(
    r"[\\`*]|<(?=[A-Za-z/!?])|&(?=#?\w+;)"  # code, emphasis, tags and addresses, entities
    r"|(?<![^\W_])_|_(?![^\W_])|~(?=~)|(?<=\S)~"  # emphasis and strikethrough; not snake_case, nor ~5
    r"|\](?=[(:])"  # links and their definitions
)
_LEADING = re.compile(r"^(#{1,6}(?=\s|$)|>|[-+](?=\s|$)|[-=|:](?=[-=|:\s]*$))")
_LEADING_NUMBER = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")
HARD_BREAK = "  \n"
_ESCAPED = r"\\\g<0>"


def escape(text: str) -> str:
    """Text of one line escaped for a paragraph of CommonMark and of GitHub's Markdown."""
    return _SPECIAL.sub(_ESCAPED, _CONTROLS.sub("", _BREAKS.sub(" ", text)).strip())


def at_beginning(text: str) -> str:
    """Escaped text for the beginning of a line: it can't start a heading, quotation, list, rule or table."""
    return _LEADING_NUMBER.sub(r"\1\\\2", _LEADING.sub(r"\\\1", text))


def of_text(text: str) -> str:
    """Markdown of plain text: an empty line separates paragraphs, whose line breaks are kept."""
    lines = [at_beginning(escape(line.strip())) for line in text.splitlines()]
    return "\n\n".join(HARD_BREAK.join(group) for filled, group in groupby(lines, key=bool) if filled)
