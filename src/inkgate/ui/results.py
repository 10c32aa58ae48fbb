"""Results for the web page: compressed, bounded in size, and dropped after an hour; and Markdown as safe HTML."""

from __future__ import annotations

import secrets
import zlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser
from time import monotonic

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from inkgate.client import Summary
from inkgate.codec import parse_page
from inkgate.layout.whole_document import finished
from inkgate.types import DocumentResult

_TABLE_TAGS = frozenset({"table", "thead", "tbody", "tfoot", "tr", "th", "td", "caption", "br"})
_VOID = frozenset({"br"})
_SPANS = frozenset({"rowspan", "colspan"})


def to_html(text: str) -> str:
    """`text` as HTML. Raw HTML is shown as text, except for tables, which models write as HTML.

    Links become text and images their descriptions: a document must not link to other places.
    """
    return str(_PARSER.render(text))


class _Table(HTMLParser):
    """Writes table tags without attributes other than spans; everything else is text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.out: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _TABLE_TAGS:
            return
        spans = "".join(f' {name}="{value}"' for name, value in attrs if name in _SPANS and _is_count(value))
        self.out.append(f"<{tag}{spans}>")
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while (last := self._open.pop()) != tag:
                self.out.append(f"</{last}>")
            self.out.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self.out.append(escape(data))

    def finished(self) -> str:
        self.out.extend(f"</{tag}>" for tag in reversed(self._open))
        return "".join(self.out)


def _is_count(value: str | None) -> bool:
    return value is not None and value.isascii() and value.isdigit() and len(value) < 4


def _html_block(_: RendererHTML, tokens: Sequence[Token], index: int, *__: object) -> str:
    content = tokens[index].content
    if not content.lstrip().lower().startswith("<table"):
        return f"<p>{escape(content)}</p>\n"
    table = _Table()
    table.feed(content)
    table.close()
    return f'<div class="ink-scroll">{table.finished()}</div>\n'


def _html_inline(_: RendererHTML, tokens: Sequence[Token], index: int, *__: object) -> str:
    content = tokens[index].content
    return "<br>" if content.lower().replace(" ", "") in {"<br>", "<br/>"} else escape(content)


def _figure(_: RendererHTML, tokens: Sequence[Token], index: int, *__: object) -> str:
    token = tokens[index]
    described = token.content or str(token.attrs.get("src", ""))
    return f'<span class="ink-figure">{escape(described)}</span>'


def _nothing(*_: object) -> str:
    return ""


def _made() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    rules: dict[str, Callable[..., str]] = {"html_block": _html_block, "html_inline": _html_inline, "image": _figure}
    rules |= {"link_open": _nothing, "link_close": _nothing}
    for name, rule in rules.items():
        parser.add_render_rule(name, rule)
    parser.add_render_rule("table_open", lambda *_: '<div class="ink-scroll"><table>\n')
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    return parser


_PARSER = _made()


KEPT_S = 3600.0
MAX_BYTES = 64_000_000


@dataclass(slots=True)
class StoredDocument:
    """The pages of a document read so far. `pages`: compressed JSON, a tenth of the objects' size."""

    name: str
    begun_at: float
    pages: list[bytes] = field(default_factory=list)
    summary: Summary | None = None

    @property
    def size(self) -> int:
        return sum(map(len, self.pages))

    def page(self, number: int) -> bytes:
        """The page with this number, from 0, as the service published it. Raises IndexError."""
        return zlib.decompress(self.pages[number])

    def document(self) -> DocumentResult:
        """The whole document, after the steps for whole documents. Blocking."""
        pages = tuple(parse_page(self.page(number)) for number in range(len(self.pages)))
        end = self.summary or Summary("partial", self.name, "", 0, len(pages), "", len(pages), 0)
        return finished(DocumentResult(self.name, end.mime_type, end.byte_count, end.page_count, end.engine, pages))


class Results:
    """Results by an unguessable ID; whoever has the ID may see them. The least recently used are dropped first."""

    def __init__(
        self, max_bytes: int = MAX_BYTES, kept_s: float = KEPT_S, now: Callable[[], float] = monotonic
    ) -> None:
        self._kept: OrderedDict[str, StoredDocument] = OrderedDict()
        self._max_bytes = max_bytes
        self._kept_s = kept_s
        self._now = now

    @property
    def size(self) -> int:
        return sum(kept.size for kept in self._kept.values())

    def begin(self, name: str) -> str:
        """Stores a new document without pages; returns its ID."""
        identifier = secrets.token_urlsafe(18)
        self._kept[identifier] = StoredDocument(name, self._now())
        return identifier

    def add(self, identifier: str, line: bytes) -> None:
        """Stores a page as JSON, unless the document was dropped."""
        if (kept := self.get(identifier)) is None:
            return
        kept.pages.append(zlib.compress(line, 3))
        size = self.size
        while size > self._max_bytes and self._kept:
            size -= self._kept.popitem(last=False)[1].size

    def end(self, identifier: str, summary: Summary) -> None:
        if (kept := self.get(identifier)) is not None:
            kept.summary = summary

    def get(self, identifier: str) -> StoredDocument | None:
        """The document; None if it was dropped or never existed."""
        due = self._now() - self._kept_s
        for old in [name for name, kept in self._kept.items() if kept.begun_at < due]:
            del self._kept[old]
        if identifier in self._kept:
            self._kept.move_to_end(identifier)
        return self._kept.get(identifier)
