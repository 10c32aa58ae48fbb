"""Markdown as safe HTML: the contents of a document must never run or fetch anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from html.parser import HTMLParser

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

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
