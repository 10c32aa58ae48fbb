"""HTML as models write it, sanitized: structural tags stay, all else is dropped.

Only the tags below are kept, without attributes except `rowspan` and `colspan`. The text inside other tags, scripts
too, stays as text: a page may show it.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from html import escape, unescape

_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*)([^<>]*)>")
_BLANK_LINES = re.compile(r"\n\s*\n")  # would end the HTML block in Markdown
_CUT_TAG = re.compile(r"<[/A-Za-z][^<>]*\Z")
_SPAN = re.compile(r"""\b(rowspan|colspan)\s*=\s*["']?\s*([0-9]{1,4})""")

PARTS = frozenset({"thead", "tbody", "tfoot"})
CELLS = frozenset({"td", "th", "caption"})
INLINE = frozenset({"b", "strong", "i", "em", "u", "s", "sub", "sup"})
ALLOWED = frozenset({"table", "tr"}) | PARTS | CELLS | INLINE
"""Tags that are kept, besides `<br>`."""
MAX_OPEN = 64
"""Maximum nesting of tags; deeper ones are dropped: no table is so deep, but a model that repeats itself may be."""
MAX_SPAN = 1000


def sanitize_html(html: str) -> str:
    """Well-formed HTML of the same tables and text; tags that were left open or cut off are closed."""
    builder = _Builder()
    end = 0
    for match in _TAG.finditer(html):
        builder.text(html[end : match.start()])
        end = match.end()
        if match[1]:
            builder.close(match[2].lower())
        else:
            builder.open(match[2].lower(), match[3])
    builder.text(_CUT_TAG.sub("", html[end:]))
    return builder.finished()


def cell_rows(html: str) -> list[list[str]]:
    """The plain text of the cells of HTML tables, row by row; a caption is a row of its own."""
    head, *rows = re.sub(r"\s+", " ", sanitize_html(html)).split("<tr>")
    cells = [[plain(cell) for cell in re.split(r"<t[dh](?: [^<>]*)?>", row)[1:]] for row in rows]
    caption = plain(head)
    return [[caption], *cells] if caption else cells


def table_text(html: str) -> str:
    """The plain text of tables: one line per row, cells separated by tabs."""
    return "\n".join(row for cells in cell_rows(html) if (row := "\t".join(cells).strip()))


def plain(html: str) -> str:
    """The text of inline HTML in one line, without tags, entities resolved."""
    spaced = re.sub(r"<br ?/?>|</(?:td|th|tr|caption)>", " ", html)
    return " ".join(unescape(_TAG.sub("", spaced)).split())


class _Builder:
    """Writes tags with the nesting that HTML requires: cells in rows, rows in tables, all text of a table in cells."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.opened: list[str] = []

    def text(self, text: str) -> None:
        if text.strip() or self._at_text():
            self._ensure_cell()
            self.parts.append(escape(unescape(text), quote=False))

    def open(self, tag: str, attributes: str) -> None:
        if tag == "br":
            self._ensure_cell()
            self.parts.append("<br>")
        elif tag == "table" or tag in INLINE:
            if len(self.opened) < MAX_OPEN:
                self._ensure_cell()
                self._push(tag)
        elif "table" in self.opened and tag in ALLOWED:
            if tag in ("td", "th"):
                if "tr" not in self._inmost():
                    self.open("tr", "")
                self._close_until({"tr"})
            else:
                self._close_until(PARTS if tag == "tr" else frozenset())
            self._push(tag, attributes)

    def close(self, tag: str) -> None:
        if tag in (self.opened if tag == "table" else self._inmost()):
            while self._pop() != tag:
                pass

    def finished(self) -> str:
        """The whole HTML, every tag closed."""
        while self.opened:
            self._pop()
        return _BLANK_LINES.sub("\n", "".join(self.parts).strip())

    def _inmost(self) -> list[str]:
        """The open tags inside the innermost table; all open tags if there is no table."""
        if "table" not in self.opened:
            return self.opened
        return self.opened[len(self.opened) - self.opened[::-1].index("table") :]

    def _at_text(self) -> bool:
        return "table" not in self.opened or not CELLS.isdisjoint(self._inmost())

    def _ensure_cell(self) -> None:
        if not self._at_text():
            self.open("td", "")

    def _close_until(self, tags: AbstractSet[str]) -> None:
        """Closes the open tags inside the innermost table down to one of `tags`, or all of them."""
        while (inmost := self._inmost()) and inmost[-1] not in tags:
            self._pop()

    def _push(self, tag: str, attributes: str = "") -> None:
        spans = dict(_SPAN.findall(attributes.lower())) if tag in ("td", "th") else {}
        counts = {name: min(int(value), MAX_SPAN) for name, value in sorted(spans.items())}
        shown = "".join(f' {name}="{count}"' for name, count in counts.items() if count > 1)
        self.parts.append(f"<{tag}{shown}>")
        self.opened.append(tag)

    def _pop(self) -> str:
        tag = self.opened.pop()
        self.parts.append(f"</{tag}>")
        return tag
