"""Running headers and footers of a document: short blocks at the edges of its pages that stand at the same place of
other pages, too, with the same text or with a number that counts with the pages. Pure, linear in the pages.

A page alone can't tell: the layout model takes the date of a letter or the title of an invoice for a running header.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from statistics import median

from inkgate.layout.text.markdown import RUNNING
from inkgate.layout.text.running import EDGE_BAND, is_page_number
from inkgate_client.escape import of_text
from inkgate_client.types import MARK_TYPES, Block, BlockType, LeftOut, LeftOutReason, PageResult

MIN_PAGES = 3
"""Pages on which a text is repeated: with two, in a long document, it may be the same heading twice."""
SHORT_DOCUMENT, MIN_OF_SHORT = 4, 2
"""Pages of a short document, of which two pages in a row are enough for what the layout model calls a header or
footer, or what counts with the pages."""
MAX_PAGES_APART = 2
"""Pages from one occurrence to the next: left and right pages may have their own. Chapters that begin with the same
heading are further apart."""
SAME_PLACE = 0.02
"""Share of the page's height by which the same line may move from page to page: scans are not cut alike."""
MAX_ROWS, MAX_LETTERS = 2, 160
"""Longer blocks are text, not running lines."""
MIN_MISREAD_LETTERS, MIN_SIMILARITY = 8, 0.8
"""A running line on some pages with this similarity is the same line misread, if it has so many letters."""
LARGEST = 1.4
"""Running lines are set in the size of the text or smaller; a larger one is a heading, as on slides."""
MAX_NUMBERS = 6
"""Maximum numbers of a line; with more, none is taken for the page's: it is a row of a table, or an address with a
date."""
MIN_TEMPLATE, TEMPLATE = 3, 0.3
"""If so many of the short blocks in the page's middle, and this share of them, are on other pages as well, the pages
are copies of one form (or invoices of one sender), and so what is repeated at their edges is content."""
_NEVER = frozenset({BlockType.FIGURE, BlockType.CAPTION, BlockType.FORMULA}) | MARK_TYPES
"""Captions are shown with their figures."""
_NUMBER = re.compile(r"\d{1,6}|(?:^|(?<=\s))(?=[ivxlc])(?:x[lc]|l?x{0,3})(?:i[vx]|v?i{0,3})(?=\s|$)")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_MARK = "#"


@dataclass(frozen=True, slots=True)
class EdgeBlock:
    """A short block at the upper or lower edge of a page.

    Attributes:
        page: its number among the pages given; `index`: in the document.
        place: its middle, as share of the page's height.
        text: letters of the text, with a mark for each of its `numbers`.
        is_marked: the layout model calls it a header or footer.
    """

    page: int
    index: int
    block: int
    upper: bool
    place: float
    text: str
    numbers: tuple[int, ...]
    is_marked: bool


RunKey = tuple[bool, str, tuple[int, ...], int]
"""Edge, text, numbers that stay the same, and which number counts with the pages (-1: none; its difference to the
page's index is among the numbers)."""


def without_running_lines(pages: Sequence[PageResult]) -> list[PageResult]:
    """The pages; running headers and footers have these types and are left out. `blocks` of no page is None."""
    found: dict[int, set[int]] = {}
    edges = [list(_edge_blocks(i, page)) for i, page in enumerate(pages)]
    bodies = {i for i, page in enumerate(pages) if _has_body(page, edges[i])}
    evident = [(key, run) for key, run in _runs(pages, edges) if _is_evident(key, run, bodies, len(pages))]
    for key, run in evident:
        for block in (*run, *_misread(key, run, edges)):
            found.setdefault(block.page, set()).add(block.block)
    return [_with_running(page, found[i]) if i in found else page for i, page in enumerate(pages)]


def _with_running(page: PageResult, numbers: set[int]) -> PageResult:
    blocks = list(page.blocks or ())
    left_out = list(page.left_out)
    for i in sorted(numbers):
        upper = (blocks[i].box[1] + blocks[i].box[3]) / 2 < page.height / 2
        kind = BlockType.HEADER if upper else BlockType.FOOTER
        reason = LeftOutReason.RUNNING_HEADER if upper else LeftOutReason.RUNNING_FOOTER
        if is_page_number(blocks[i].text):
            reason = LeftOutReason.PAGE_NUMBER
        if blocks[i].type is not kind:
            blocks[i] = replace(blocks[i], type=kind, markdown=of_text(blocks[i].text), level=None, table=None)
        left_out.append(LeftOut(blocks[i].text, reason, blocks[i].lines))
    return replace(page, blocks=tuple(blocks), left_out=tuple(left_out))


def _has_body(page: PageResult, edges: Sequence[EdgeBlock]) -> bool:
    """Whether the page has text between its edges: without, what stands there is all that it says."""
    inner = set(range(len(page.blocks or ()))) - {block.block for block in edges}
    return any((block := (page.blocks or ())[i]).text and block.type not in RUNNING for i in inner)


def _is_evident(key: RunKey, run: Sequence[EdgeBlock], bodies: AbstractSet[int], pages: int) -> bool:
    """Whether the run's blocks are running lines. `bodies`: pages with text between their edges."""
    counts, marked = key[3] >= 0, all(block.is_marked for block in run)
    if not key[1].strip(_MARK) and not counts:
        return False  # the same number on every page
    count = sum(block.page in bodies for block in run)
    if count >= MIN_PAGES:
        return True
    is_bare = not key[1].strip(_MARK)
    return pages <= SHORT_DOCUMENT and count >= MIN_OF_SHORT and (marked or (counts and not is_bare))


def _misread(key: RunKey, run: Sequence[EdgeBlock], edges: Sequence[Sequence[EdgeBlock]]) -> Iterator[EdgeBlock]:
    """Blocks on pages between and beside those of the run that differ from it by a few letters."""
    if len(key[1]) < MIN_MISREAD_LETTERS:
        return
    members = {block.page: block for block in run}
    last = run[0]
    for page in range(max(run[0].page - MAX_PAGES_APART, 0), min(run[-1].page + MAX_PAGES_APART + 1, len(edges))):
        if page in members:
            last = members[page]
            continue
        for block in edges[page]:
            if block.upper == key[0] and abs(block.place - last.place) <= SAME_PLACE and _is_alike(key, block):
                yield block


def _is_alike(key: RunKey, block: EdgeBlock) -> bool:
    """Whether most letters and all numbers of the block are those of the run."""
    if not any(numbers == key[2] and counting == key[3] for _, _, numbers, counting in _keys(block)):
        return False
    matcher = SequenceMatcher(None, key[1], block.text, autojunk=False)
    return matcher.real_quick_ratio() >= MIN_SIMILARITY and matcher.ratio() >= MIN_SIMILARITY


def _runs(
    pages: Sequence[PageResult], edges: Sequence[Sequence[EdgeBlock]]
) -> Iterator[tuple[RunKey, list[EdgeBlock]]]:
    """Blocks with the same text at the same place of pages that are near to each other."""
    templates = _templates(pages)
    open_runs: dict[RunKey, list[list[EdgeBlock]]] = {}
    runs: list[tuple[RunKey, list[EdgeBlock]]] = []
    for i, blocks in enumerate(edges):
        for block in blocks:
            for key in _keys(block):
                if i in templates and key[3] < 0:
                    continue
                near = [run for run in open_runs.get(key, ()) if i - run[-1].page <= MAX_PAGES_APART]
                run = next((run for run in near if _continues(run[-1], block)), None)
                if run is None:
                    run = []
                    near.append(run)
                    runs.append((key, run))
                run.append(block)
                open_runs[key] = near
    yield from runs


def _continues(last: EdgeBlock, block: EdgeBlock) -> bool:
    return last.page < block.page and abs(last.place - block.place) <= SAME_PLACE


def _keys(block: EdgeBlock) -> Iterator[RunKey]:
    """What blocks of other pages have to share.

    The text and all numbers; or all but one number that counts with the pages; or only such a number, first or last:
    the text beside it is another in each chapter.
    """
    yield (block.upper, block.text, block.numbers, -1)
    if block.numbers and block.text.startswith(_MARK):
        yield (block.upper, _MARK, (block.numbers[0] - block.index,), 0)
    if block.numbers and block.text.endswith(_MARK):
        yield (block.upper, _MARK, (block.numbers[-1] - block.index,), MAX_NUMBERS)
    for i, number in enumerate(block.numbers if len(block.numbers) <= MAX_NUMBERS else ()):
        counting = (*block.numbers[:i], number - block.index, *block.numbers[i + 1 :])
        yield (block.upper, block.text, counting, i)


def _edge_blocks(number: int, page: PageResult) -> Iterator[EdgeBlock]:
    """Short blocks at the page's edges with no other text between them and the edge."""
    blocks = page.blocks or ()
    hidden = {line for part in page.left_out for line in part.lines}
    texts = {part.text for part in page.left_out if not part.lines and part.reason is not LeftOutReason.INVISIBLE}
    shown = [
        i
        for i, block in enumerate(blocks)
        if block.text
        and block.type not in _NEVER
        and not (block.lines and hidden.issuperset(block.lines))
        and not (block.type in RUNNING and not block.lines and block.text in texts)
    ]
    heights = [line.box[3] - line.box[1] for line in page.lines]
    largest = LARGEST * median(heights) if heights else float("inf")
    for upper in (True, False):
        for i in sorted(shown, key=lambda i: blocks[i].box[1] if upper else -blocks[i].box[3]):
            block = blocks[i]
            inner = block.box[3] if upper else page.height - block.box[1]
            if inner > EDGE_BAND * page.height or not _is_short(block):
                break
            if not (block.type in RUNNING or is_page_number(block.text)) and _line_height(page, block) > largest:
                break
            text, numbers = _masked(block.text)
            place = (block.box[1] + block.box[3]) / 2 / max(page.height, 1)
            yield EdgeBlock(number, page.index, i, upper, place, text, numbers, block.type in RUNNING)


def _is_short(block: Block) -> bool:
    return block.text.count("\n") < MAX_ROWS and len(block.text) <= MAX_LETTERS


def _line_height(page: PageResult, block: Block) -> float:
    boxes = [page.lines[line].box for line in block.lines]
    return median(box[3] - box[1] for box in boxes) if boxes else 0.0


def _masked(text: str) -> tuple[str, tuple[int, ...]]:
    """The letters of a text, with a mark for each number, and these numbers."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace(_MARK, " ")
    numbers = tuple(_value(found[0]) for found in _NUMBER.finditer(folded))
    masked = _NUMBER.sub(_MARK, folded)
    return "".join(char for char in masked if char == _MARK or char.isalnum()), numbers


def _value(number: str) -> int:
    """The value of digits, or of a Roman number."""
    if number[0].isdecimal():
        return int(number)
    values = [_ROMAN[char] for char in number]
    signs = [-1 if value < max(values[i:]) else 1 for i, value in enumerate(values)]
    return sum(sign * value for sign, value in zip(signs, values, strict=True))


def _templates(pages: Sequence[PageResult]) -> set[int]:
    """Numbers of the pages whose middle is mostly on other pages as well."""
    keys = [set(_middle_keys(page)) for page in pages]
    counts = Counter(key for page in keys for key in page)
    least = min(MIN_PAGES, len(pages))
    found: set[int] = set()
    for i, page in enumerate(keys):
        repeated = sum(counts[key] >= least for key in page)
        if repeated >= MIN_TEMPLATE and repeated >= TEMPLATE * len(page):
            found.add(i)
    return found


def _middle_keys(page: PageResult) -> Iterator[tuple[str, int]]:
    """Text and rough place of the short blocks outside the page's edges."""
    for block in page.blocks or ():
        middle = (block.box[1] + block.box[3]) / 2 / max(page.height, 1)
        if block.text and EDGE_BAND < middle < 1 - EDGE_BAND and _is_short(block):
            yield _masked(block.text)[0], round(middle / (2 * SAME_PLACE))
