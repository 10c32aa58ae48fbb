"""Markdown as models write it: kept except for HTML, which is sanitized; and its plain text."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape

from inkgate.engines.vlm.parsers.answer import ParsedAnswer
from inkgate.engines.vlm.parsers.markup import INLINE, sanitize_html, table_text
from inkgate_client.types import Size

_FENCE = re.compile(
    r"^ {0,3}((?:(?P<ticks>`{3,})[^`\n]*|(?P<waves>~{3,})[^\n]*)$\n?(?P<code>.*?)"
    r"(?:^ {0,3}(?:(?P=ticks)`*|(?P=waves)~*)[ \t]*$|\Z))",
    re.MULTILINE | re.DOTALL,
)
_TABLE = re.compile(r"<table\b.*?(?:</table\s*>|\Z)", re.IGNORECASE | re.DOTALL)
# Bounded: with many formulas opened and none closed, each would be searched to the end.
_MATH = re.compile(r"\$\$.{1,2000}?\$\$|\$[^$\n]{1,500}\$|\\\(.{1,1000}?\\\)|\\\[.{1,1000}?\\\]", re.DOTALL)
_VERBATIM = re.compile(r"`[^`\n]{1,500}`|" + _MATH.pattern, re.DOTALL)
_OPENING = re.compile(r"<(?=[A-Za-z/!?])")
_LINE_END = re.compile(r"\r\n?|[\u2028\u2029\v\f]")
_TAG = re.compile(r"(\\?)<(?:(/?)([A-Za-z][A-Za-z0-9]*)((?:\s[^<>]*)?)/?>|(?=[A-Za-z/!?]))")
_GONE = re.compile(
    r"(?<!\\)</?(?:a|body|center|div|figure|figcaption|font|html|img|p|span|table|tbody|td|tfoot|th|thead|tr)"
    r"(?:\s[^<>=]*=[^<>]*|\s*/?)>",
    re.IGNORECASE,
)
"""Formatting tags, which are dropped. All others are escaped: they may be part of the page's text."""

# Neither searches a run of blanks from each of its blanks: time would grow with the square of its length.
_HEADING = re.compile(r"^ {0,3}#{1,6}\s+|(?<!\s)\s+#+\s*$")
_MARKER = re.compile(r"^\s*(?:>\s?)*(?:[-*+]\s+(?:\[[ xX]\]\s+)?)?")
_RULE = re.compile(r"^\s*(?:[-*_]\s*){3,}$")
_PIPE_RULE = re.compile(r"^\s*(?:\|\s*)?(?::?-+:?\s*\|\s*)+(?::?-+:?\s*)?$")
_INLINE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)"), r"\1"),
    (re.compile(r"(?<!`)`{1,3}([^`]+)`{1,3}"), r"\1"),
    (re.compile(r"(?<!\\)\*\*([^*\s][^*]*)\*\*"), r"\1"),
    (re.compile(r"(?<![\\*])\*([^*\s][^*]*)\*"), r"\1"),
    (re.compile(r"(?<![\\\w])__([^_\s][^_]*)__(?!\w)"), r"\1"),
    (re.compile(r"(?<![\\\w])_([^_\s][^_]*)_(?!\w)"), r"\1"),
    (re.compile(r"~~([^~]+)~~"), r"\1"),
    (re.compile(r"<br ?/?>"), " "),
    (re.compile(r"</?[A-Za-z][^<>]*>"), ""),
)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


def markdown(output: str, size: Size) -> ParsedAnswer:  # noqa: ARG001  # a Parser; nothing in Markdown has a place
    """The output as Markdown that is safe to render, and its plain text."""
    text = safe_markdown(output)
    return ParsedAnswer(text=plain_text(text), markdown=text)


def plain(output: str, size: Size) -> ParsedAnswer:  # noqa: ARG001  # a Parser; nothing here has a place
    """The output unchanged, with its line breaks."""
    return ParsedAnswer(text="\n".join(line.rstrip() for line in output.strip().splitlines()))


def chart_table(output: str, size: Size) -> ParsedAnswer:
    """A chart's data as a pipe table; else as Markdown. PaddleOCR-VL writes it as rows of cells between bars."""
    rows = [line.strip() for line in output.strip().splitlines() if line.strip()]
    if not rows or not all("|" in row for row in rows) or any(_PIPE_RULE.match(row) for row in rows):
        return markdown(output, size)
    return markdown(pipe_table([[cell.strip() for cell in row.strip("|").split("|")] for row in rows]), size)


def pipe_table(rows: list[list[str]]) -> str:
    """A pipe table; the first row is its head; all rows get the width of the widest."""
    columns = max(len(row) for row in rows)
    rows = [rows[0] + [""] * (columns - len(rows[0])), *rows[1:]]
    head, *body = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([head, f"|{' --- |' * columns}", *body])


def safe_markdown(text: str) -> str:
    """The same Markdown without active or decorative HTML: tables are sanitized, other tags dropped or escaped.

    Fenced code is kept, but separated by empty lines and not indented: otherwise an HTML block or list item before it
    could absorb it and end it early.
    """
    text = _LINE_END.sub("\n", text)
    parts: list[str] = []
    end = 0
    for fence in _FENCE.finditer(text):
        if before := _safe_prose(text[end : fence.start()]).strip("\n"):
            parts.append(before)
        parts.append(fence[1])
        end = fence.end()
    return "\n\n".join([*parts, _safe_prose(text[end:]).strip("\n")]).strip()


def plain_text(text: str) -> str:
    """The text that the Markdown shows, paragraphs separated by an empty line; formulas stay in LaTeX."""
    flat = _apart(_FENCE, text, lambda fence: fence["code"], _plain_prose)
    return re.sub(r"\n\s*\n+", "\n\n", flat).strip()


def _apart(
    pattern: re.Pattern[str], text: str, inside: Callable[[re.Match[str]], str], outside: Callable[[str], str]
) -> str:
    """The text with `inside` applied to what matches, and `outside` to everything between."""
    parts: list[str] = []
    end = 0
    for match in pattern.finditer(text):
        parts += [outside(text[end : match.start()]), inside(match)]
        end = match.end()
    return "".join([*parts, outside(text[end:])])


def _safe_prose(text: str) -> str:
    def between(rest: str) -> str:
        return _apart(_VERBATIM, rest, lambda match: _OPENING.sub("< ", match[0]), _safe_tags)

    return _apart(_TABLE, text, lambda match: sanitize_html(match[0]), between)


def _safe_tags(text: str) -> str:
    # In two steps: dropping a tag may join the text around it into another tag.
    return _TAG.sub(_safe_tag, _GONE.sub("", text))


def _safe_tag(match: re.Match[str]) -> str:
    """A kept tag without attributes; any other tag as text, escaped for Markdown and HTML blocks alike: a space after a
    backslash.
    """
    escape, slash, name, attributes = match[1], match[2], (match[3] or "").lower(), match[4] or ""
    if escape:
        return match[0].replace("<", "< ", 1)
    if name == "br":
        return "<br>"
    if name in INLINE and (not attributes.strip(" /") or "=" in attributes):
        return f"<{slash}{name}>"
    return match[0].replace("<", "&lt;", 1)


def _plain_prose(text: str) -> str:
    return _apart(_TABLE, text, lambda match: f"\n{table_text(match[0])}\n", _plain_lines)


def _plain_lines(text: str) -> str:
    lines = (_plain_line(line) for line in text.split("\n"))
    return "\n".join(line for line in lines if line is not None)


def _plain_line(line: str) -> str | None:
    """One line's text; None for a line that is only a rule."""
    if _RULE.match(line) or ("-" in line and _PIPE_RULE.match(line)):
        return None
    line = _HEADING.sub("", _MARKER.sub("", line)) if line.lstrip().startswith("#") else _MARKER.sub("", line)
    line = _apart(_MATH, line, lambda match: match[0], _plain_inline)
    row = line.strip()
    if row.startswith("|") and row.endswith("|") and len(row) > 1:
        return "\t".join(cell.strip() for cell in re.split(r"(?<!\\)\|", row[1:-1])).replace("\\|", "|").strip()
    return line.rstrip()


def _plain_inline(text: str) -> str:
    for pattern, replacement in _INLINE:
        text = pattern.sub(replacement, text)
    return unescape(_ESCAPE.sub(_unescaped, text))


def _unescaped(match: re.Match[str]) -> str:
    return match[0] if match[1] == "|" else match[1]
