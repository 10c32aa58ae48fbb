"""Words that a PDF sets in bold or italic, and its links, in the Markdown of blocks. Pure.

Only marks are added: without them, the Markdown stays as it was. A word that it has in another form gets none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote

from inkgate.layout.text.hyphenation import HYPHENS
from inkgate.layout.text.markdown import page_markdown
from inkgate.page import TextSpan
from inkgate_client.escape import escape
from inkgate_client.types import Block, BlockType, Box, PageResult, Word, box_of_quad

_EMPHASISED: Final = frozenset({BlockType.TEXT, BlockType.LIST, BlockType.REFERENCE, BlockType.CAPTION})
_LINKED: Final = _EMPHASISED | {BlockType.TITLE, BlockType.TABLE, BlockType.HEADER, BlockType.FOOTER}
_USUAL: Final = 0.5
"""Share of a page's letters from which bold, or italic, is how its text is set, and no emphasis."""
_COVERED: Final = 0.8
"""Share of a word's width that a span covers."""
_AHEAD: Final = 40
"""Characters of marks, such as bullets, tags and line breaks, that may stand between two words of a block."""
_BAND: Final = 32.0
"""Height in pixels of the bands in which spans are looked up."""
_ADDRESS = re.compile(r"(?:https?|ftp|mailto|tel):[^\s\x00-\x1f\x7f-\x9f]+", re.IGNORECASE)
"""Not `javascript:` nor `file:`. Checked again: a hostile PDF may have taken over the worker that read it."""
_SAFE: Final = "!#$&'*+,/:=?@%-._~"
"""What an address in Markdown keeps; brackets would end it, and a semicolon makes an entity."""
_BRACKET = re.compile(r"(\\.)|([\[\]])")
"""A bracket, unless it is escaped already."""


@dataclass(frozen=True, slots=True)
class _Style:
    bold: bool = False
    italic: bool = False
    address: str = ""


_PLAIN = _Style()
_Styled = tuple[int, int, _Style]
"""Where a word begins and ends in the Markdown of its block, and how it is set."""


def with_spans(page: PageResult, spans: Sequence[TextSpan]) -> PageResult:
    """The page with emphasis and links in the Markdown of its blocks, where it is inkgate's own.

    `spans`: in pixels of the page, which was not turned.
    """
    if page.rotation or not page.blocks or page.markdown != page_markdown(page.blocks, page.left_out):
        return page
    found = _SpanIndex(spans)
    styles = [[found.style_of(word) for word in line.words] for line in page.lines]
    usual = _usual(page, styles)
    blocks = tuple(_styled(block, page, styles, usual) if block.type in _LINKED else block for block in page.blocks)
    return replace(page, blocks=blocks, markdown=page_markdown(blocks, page.left_out))


class _SpanIndex:
    """Spans by their height on the page."""

    def __init__(self, spans: Sequence[TextSpan]) -> None:
        self._bands: dict[int, list[TextSpan]] = {}
        for span in spans:
            if span.address and not _ADDRESS.fullmatch(span.address):
                continue
            first, last = int(span.box[1] // _BAND), int(span.box[3] // _BAND)
            for band in range(first, min(last, first + 1000) + 1):
                self._bands.setdefault(band, []).append(span)

    def style_of(self, word: Word) -> _Style:
        box = box_of_quad(word.quad)
        style = _PLAIN
        for span in self._bands.get(int((box[1] + box[3]) / 2 // _BAND), ()):
            if _covers(span.box, box):
                address = style.address or span.address
                style = _Style(style.bold or span.bold, style.italic or span.italic, address)
        return style


def _covers(span: Box, word: Box) -> bool:
    if not span[1] <= (word[1] + word[3]) / 2 <= span[3]:
        return False
    return min(span[2], word[2]) - max(span[0], word[0]) >= _COVERED * (word[2] - word[0])


def _usual(page: PageResult, styles: Sequence[Sequence[_Style]]) -> _Style:
    """What most of the page's letters are."""
    letters = bold = italic = 0
    for line, own in zip(page.lines, styles, strict=True):
        for word, style in zip(line.words, own, strict=True):
            letters += len(word.text)
            bold += style.bold * len(word.text)
            italic += style.italic * len(word.text)
    return _Style(bold >= _USUAL * letters, italic >= _USUAL * letters)


def _styled(block: Block, page: PageResult, styles: Sequence[Sequence[_Style]], usual: _Style) -> Block:
    if all(style == _PLAIN for line in block.lines for style in styles[line]):
        return block
    if block.type is BlockType.TABLE and not block.markdown.startswith("|"):
        return block  # HTML, in which Markdown has no meaning
    emphasised = block.type in _EMPHASISED
    words = []
    for start, end, style in _places(block, page, styles):
        bold = emphasised and style.bold and not usual.bold
        italic = emphasised and style.italic and not usual.italic
        words.append((start, end, _Style(bold, italic, style.address)))
    return replace(block, markdown=_marked(block.markdown, words))


def _places(block: Block, page: PageResult, styles: Sequence[Sequence[_Style]]) -> Iterator[_Styled]:
    """The words of the block that its Markdown has, in their order."""
    text, at = block.markdown, 0
    last = len(block.lines) - 1
    for number, index in enumerate(block.lines):
        words = page.lines[index].words
        for place, (word, style) in enumerate(zip(words, styles[index], strict=True)):
            cut = place == len(words) - 1 and word.text.endswith(HYPHENS)
            if cut and number == last:
                return  # the word goes on in another block
            forms = dict.fromkeys((escape(word.text), word.text, word.text[:-1] if cut else word.text))
            starts = ((text.find(form, at, at + len(form) + _AHEAD), form) for form in forms if form)
            found = next(((start, form) for start, form in starts if start >= 0), None)
            if found is not None:
                start, form = found
                start -= text[at:start].endswith("\\")  # it begins with an escape that a beginning of a line needs
                at = found[0] + len(form)
                yield start, at, style


def _marked(text: str, words: Sequence[_Styled]) -> str:
    """The Markdown with marks around words; those in a row that are set alike have one pair."""
    marked, done = "", 0
    for link in _together(text, words, lambda one, other: one.address == other.address):
        inside, at = "", link[0][0]
        for run in _together(text, link, lambda one, other: one == other):
            inside += text[at : run[0][0]] + _emphasised(text[run[0][0] : run[-1][1]], run[0][2])
            at = run[-1][1]
        address = link[0][2].address
        marked += text[done : link[0][0]] + (_link(inside, address) if address else inside)
        done = at
    return marked + text[done:]


def _together(text: str, words: Sequence[_Styled], alike: Callable[[_Style, _Style], bool]) -> Iterator[list[_Styled]]:
    """Words in a row that are alike, with no more than a space between them."""
    run: list[_Styled] = []
    for word in words:
        if run and not (alike(run[-1][2], word[2]) and not text[run[-1][1] : word[0]].strip(" ")):
            yield run
            run = []
        run.append(word)
    if run:
        yield run


def _emphasised(text: str, style: _Style) -> str:
    """Marks stand next to letters and digits: beside punctuation, CommonMark takes them for others."""
    marks = "*" * (2 * style.bold + style.italic)
    letters = [place for place, letter in enumerate(text) if letter.isalnum()]
    if not marks or not letters:
        return text
    first, last = letters[0], letters[-1] + 1
    return f"{text[:first]}{marks}{text[first:last]}{marks}{text[last:]}"


def _link(text: str, address: str) -> str:
    """A link around text that is Markdown already. Its brackets would end it."""
    scheme, _, rest = address.partition(":")
    return f"[{_BRACKET.sub(_escaped, text)}]({scheme.lower()}:{quote(rest, safe=_SAFE)})"


def _escaped(found: re.Match[str]) -> str:
    return found[1] or f"\\{found[2]}"
