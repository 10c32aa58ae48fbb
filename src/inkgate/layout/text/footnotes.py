"""Footnotes: marks in the text and the notes at the bottom of their page or column, in GitHub's syntax. Pure.

A note is one where its mark and itself are certain: it stands at the bottom of its column in small print and begins
with a mark, and the text of its page has that mark once, set close to a word. All else stays plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from inkgate.layout.text.headings import line_size
from inkgate.layout.text.hyphenation import Vocabulary, join_lines
from inkgate.layout.text.markdown import NOTE
from inkgate_client.escape import at_beginning, escape
from inkgate_client.types import Block, BlockType, PageResult

LOWEST = 0.5
"""Notes begin below this share of the page's height."""
SMALL = 0.93
"""Notes are set in at most this share of the text's size, 8 or 9 points to 10, if the layout model doesn't tell them
from the text. Sizes from pixels are right within a tenth.
"""
_SMALL_PRINT = frozenset({BlockType.TEXT, BlockType.FOOTER})
_NOTES = _SMALL_PRINT | {BlockType.REFERENCE}
_MARKED = frozenset({BlockType.TEXT, BlockType.LIST, BlockType.TITLE, BlockType.CAPTION})
_BESIDE = frozenset({BlockType.FOOTER, BlockType.HEADER, BlockType.REFERENCE})
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_MARK = re.compile(r"([1-9]\d{0,2}|[¹²³⁴⁵⁶⁷⁸⁹][⁰¹²³⁴⁵⁶⁷⁸⁹]{0,2}|[†‡§¶∗])\s?(?=[^\W\d_]|[“\"„«‘(]\w)")
"""A footnote's mark: not `*`, which CommonMark reads as emphasis, nor `1.`, which begins an item of a list."""
# A digit after a word, or after the punctuation that ends it; not in numbers (3.2), nor after capitals (CO2, B12).
_AFTER_WORD = (
    r"(?:(?<=[^\W\d_]{{2}}[^\WA-Z\d_])|(?<=[^\W\d_][.,;:!?)\]”’»\"])|(?<=[)\]”’»\"%][.,;:!?])){}(?![^\W_]|[.,–-]\d)"
)
_AFTER_ANY = r"(?<=[^\s\\]){}(?![^\W_])"
_ADDRESS = re.compile(r"/|@|www\.|\\_")


@dataclass(frozen=True, slots=True)
class _Note:
    """`rows`: of the note without its mark; an empty mark: text before the first note."""

    mark: str
    rows: tuple[str, ...]


def with_footnotes(pages: Sequence[PageResult]) -> Sequence[PageResult]:
    """The pages with certain notes as `[^1]: ...` and their marks as `[^1]`. Labels are unique in the document."""
    labels = {label for page in pages for block in page.blocks or () for label in _labels(block)}
    changed = [_with_notes(page, labels) for page in pages]
    return pages if all(new is old for new, old in zip(changed, pages, strict=True)) else changed


def _labels(block: Block) -> list[str]:
    return re.findall(r"^\[\^([^\]\s]+)\]: ", block.markdown, re.MULTILINE) if NOTE in block.markdown else []


def _with_notes(page: PageResult, labels: set[str]) -> PageResult:
    blocks = list(page.blocks or ())
    places = [i for i, block in enumerate(blocks) if _may_be_notes(block, page)]
    if not places:
        return page
    known = Vocabulary.of(line.text for line in page.lines)
    done: dict[str, str] = {}
    for i in places:
        notes = _split(blocks[i].text)
        for note in notes:
            found = None if note.mark in done else _only_mark(note.mark, blocks, places)
            if found is not None:
                label = note.mark if note.mark not in labels else f"{note.mark}-{page.index + 1}"
                labels.add(label)
                done[note.mark] = label
                at, start, end = found
                text = blocks[at].markdown
                blocks[at] = replace(blocks[at], markdown=f"{text[:start]}[^{label}]{text[end:]}")
        if any(note.mark in done for note in notes):
            parts = [_written(note, done.get(note.mark), known) for note in notes]
            blocks[i] = replace(blocks[i], type=BlockType.REFERENCE, markdown="\n\n".join(parts))
    return replace(page, blocks=tuple(blocks)) if done else page


def _may_be_notes(block: Block, page: PageResult) -> bool:
    """Whether the block can be notes: by its beginning, its place, and its type or the size of its font."""
    if block.type not in _NOTES or not _MARK.match(block.text) or block.markdown.startswith(NOTE):
        return False
    left_out = {line for part in page.left_out for line in part.lines}
    if block.box[1] < LOWEST * page.height or not block.lines or not left_out.isdisjoint(block.lines):
        return False
    if any(_is_below(other, block) for other in page.blocks or ()):
        return False
    return block.type is BlockType.REFERENCE or _is_small(block, page)


def _is_below(other: Block, block: Block) -> bool:
    """Whether the other block, below in the same column, is text that notes don't stand above."""
    shared = min(block.box[2], other.box[2]) - max(block.box[0], other.box[0])
    if other is block or other.type in _BESIDE or shared <= 0 or other.box[1] < block.box[3]:
        return False
    return not (_MARK.match(other.text) or other.text.strip(" -–—").isdecimal())


def _is_small(block: Block, page: PageResult) -> bool:
    own = median(line_size(page, page.lines[i]) for i in block.lines)
    others = [
        line_size(page, page.lines[i])
        for other in page.blocks or ()
        if other.type is BlockType.TEXT and other is not block
        for i in other.lines
    ]
    return bool(others) and own <= SMALL * median(others)


def _split(text: str) -> list[_Note]:
    """The notes of a block, which begin at rows with marks; numbers count up by one."""
    notes: list[_Note] = []
    last = 0
    for row in text.split("\n"):
        found = _MARK.match(row)
        mark = found[1].translate(_RAISED) if found else ""
        if found and (not mark.isdecimal() or not last or int(mark) == last + 1):
            last = int(mark) if mark.isdecimal() else last
            notes.append(_Note(mark, (row[found.end() :],)))
        elif notes:
            notes[-1] = replace(notes[-1], rows=(*notes[-1].rows, row))
    return notes


def _only_mark(mark: str, blocks: Sequence[Block], notes: Sequence[int]) -> tuple[int, int, int] | None:
    """Block, start and end of the only place in the text that has this mark; None if there is none, or several."""
    found = [
        (i, start, end)
        for i, block in enumerate(blocks)
        if block.type in _MARKED and i not in notes
        for start, end in _marks(mark, block.markdown)
    ]
    return found[0] if len(found) == 1 else None


def _marks(mark: str, markdown: str) -> Iterator[tuple[int, int]]:
    patterns = [_AFTER_ANY.format(re.escape(mark))]
    if mark.isdecimal():
        raised = mark.translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
        patterns = [_AFTER_WORD.format(mark), f"(?<![⁰¹²³⁴⁵⁶⁷⁸⁹]){raised}(?![⁰¹²³⁴⁵⁶⁷⁸⁹])"]
    for pattern in patterns:
        for found in re.finditer(pattern, markdown):
            word = markdown[markdown.rfind(" ", 0, found.start()) + 1 : found.start()]
            if not _ADDRESS.search(word):
                yield found.span()


def _written(note: _Note, label: str | None, known: Vocabulary) -> str:
    if label is None:
        return at_beginning(escape(join_lines([note.mark + note.rows[0], *note.rows[1:]], known)))
    return f"[^{label}]: {at_beginning(escape(join_lines(note.rows, known)))}"
