"""How well Markdown keeps the structure of its page: order, headings, paragraphs, tables, words. Pure.

All is judged from the Markdown alone, so that tools can be compared. docs/guides/accuracy.md defines the figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, field
from itertools import pairwise

from rapidfuzz import fuzz, process

from inkgate_bench.accuracy.bench_tests import MarkdownTable, tables_of
from inkgate_bench.accuracy.line_accounts import reduced
from inkgate_bench.accuracy.line_places import LinePlaces, Span, place_lines
from inkgate_bench.accuracy.markdown_flow import MarkdownFlow, markdown_flow, without_stray_pipes, words_of
from inkgate_bench.accuracy.reading_order import kendall_tau
from inkgate_bench.accuracy.structure_truth import OPTIONAL_TYPES, StructureBlock
from inkgate_bench.accuracy.table_similarity import match_tables

ALIKE_HEADING = 80
"""Similarity (rapidfuzz's ratio, of 100) from which a heading of the Markdown is a true title."""
_FLOATS = frozenset({"figure", "caption", "table", "footnote"})
"""What may stand within a paragraph, between two columns for example, or behind it."""


@dataclass(frozen=True, slots=True)
class StructureCounts:
    """Counts of pages; those of several pages are added up.

    Attributes:
        tau: sum of Kendall's tau over `ordered` pages, which are those with two lines to order.
        successors, wrong_successors: pairs of true lines of which the second follows the first, and those of them that
            the Markdown tears apart.
        right_pages: pages without a wrong successor, of `ordered`.
        lines, placed, doubled: true lines outside of running heads, figures and formulas; those that have a place in
            the Markdown; those that stand there more often than in the truth.
        titles, headings, right_headings, right_levels: true titles, headings of the Markdown, those that are both, and
            of these those whose level is right beside the others.
        borders, read_borders, right_borders: borders of paragraphs in the truth, in the Markdown, and in both.
        tables, teds, teds_structure: true tables with cells, and sums of their similarity.
        read_tables, false_tables: tables of the Markdown, and those of them that hold other text.
        words, read_words, lost_words, added_words: of the truth; of the Markdown; those that only the truth has; those
            that only the Markdown has. Words of running heads, figures and formulas count as neither lost nor added.
        lost_line_words: missing words of true lines that are missing as a whole, as within a figure.
    """

    pages: int = 0
    ordered: int = 0
    tau: float = 0.0
    successors: int = 0
    wrong_successors: int = 0
    right_pages: int = 0
    lines: int = 0
    placed: int = 0
    doubled: int = 0
    titles: int = 0
    headings: int = 0
    right_headings: int = 0
    right_levels: int = 0
    borders: int = 0
    read_borders: int = 0
    right_borders: int = 0
    tables: int = 0
    teds: float = 0.0
    teds_structure: float = 0.0
    read_tables: int = 0
    false_tables: int = 0
    words: int = 0
    read_words: int = 0
    lost_words: int = 0
    added_words: int = 0
    lost_line_words: int = 0

    def __add__(self, other: StructureCounts) -> StructureCounts:
        return StructureCounts(*(one + another for one, another in zip(astuple(self), astuple(other), strict=True)))

    def figures(self) -> dict[str, float | None]:
        """The figures of docs/guides/accuracy.md, in [0, 1] (`order` from -1); None where nothing counts for one."""
        return {
            "order": _share(self.tau, self.ordered),
            "wrong_successors": _share(self.wrong_successors, self.successors),
            "pages_in_order": _share(self.right_pages, self.ordered),
            "headings": _share(2 * self.right_headings, self.titles + self.headings),
            "heading_precision": _share(self.right_headings, self.headings),
            "heading_recall": _share(self.right_headings, self.titles),
            "heading_levels": _share(2 * self.right_levels, self.titles + self.headings),
            "paragraphs": _share(2 * self.right_borders, self.borders + self.read_borders),
            "teds": _share(self.teds, self.tables),
            "teds_structure": _share(self.teds_structure, self.tables),
            "words": _share(2 * (self.words - self.lost_words), 2 * self.words - self.lost_words + self.added_words),
            "lost": _share(self.lost_words, self.words),
            "lost_lines": _share(self.lost_line_words, self.words),
            "added": _share(self.added_words, self.read_words),
            "doubled": _share(self.doubled, self.lines),
            "placed": _share(self.placed, self.lines),
        }


def add_counts(counts: Iterable[StructureCounts | None]) -> StructureCounts | None:
    """The sum of those that are known; None if none is."""
    known = [each for each in counts if each is not None]
    return sum(known[1:], known[0]) if known else None


FIGURE_TITLES = {
    "order": "order",
    "wrong_successors": "wrong next",
    "pages_in_order": "in order",
    "headings": "headings",
    "heading_levels": "levels",
    "paragraphs": "paragraphs",
    "teds": "TEDS",
    "teds_structure": "structure",
    "words": "words",
    "lost": "lost",
    "lost_lines": "lost lines",
    "added": "added",
    "doubled": "doubled",
    "placed": "placed",
}
"""Figures that tables show, with their titles."""


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


@dataclass(slots=True)
class StructureFaults:
    """What is wrong on a page, in the words of the truth and the Markdown, for people who look for the reason.

    `successors`: a line, the line that should follow, and the one that does. Borders: the lines on both sides.
    """

    successors: list[tuple[str, str, str]] = field(default_factory=list)
    lost_headings: list[str] = field(default_factory=list)
    false_headings: list[str] = field(default_factory=list)
    missing_borders: list[tuple[str, str]] = field(default_factory=list)
    false_borders: list[tuple[str, str]] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    lost_lines: list[str] = field(default_factory=list)
    doubled_lines: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StructureScore:
    """The counts of a page or document and its faults."""

    counts: StructureCounts
    faults: StructureFaults


def score_structure(truth: Sequence[Sequence[StructureBlock]], pages: Sequence[str]) -> StructureScore:
    """The score of a document from the Markdown of its pages: page by page if there are as many as in the truth, else
    as one page.
    """
    if len(truth) != len(pages):
        truth, pages = [[block for page in truth for block in page]], ["\n\n".join(pages)]
    counts, faults = StructureCounts(), StructureFaults()
    for blocks, markdown in zip(truth, pages, strict=True):
        counts += _PageScorer(blocks, markdown, faults).score()
    return StructureScore(counts, faults)


@dataclass(frozen=True, slots=True)
class _FlowLine:
    """A true line. `block`: its number; `begins`: a paragraph or list item begins here."""

    text: str
    letters: str
    block: int
    begins: bool


@dataclass(frozen=True, slots=True)
class _Node:
    """What has a place in the order: a line, or a table as a whole. `aside`: number of the paragraph within which its
    block stands; 0 if in none.
    """

    text: str
    span: Span
    line: int
    block: int
    aside: int


class _PageScorer:
    """Scores one page; adds its faults to `faults`."""

    def __init__(self, blocks: Sequence[StructureBlock], markdown: str, faults: StructureFaults) -> None:
        self._blocks = blocks
        self._markdown = without_stray_pipes(markdown)
        self._faults = faults
        self._flow: MarkdownFlow = markdown_flow(markdown)
        self._lines = [line for number, block in enumerate(blocks) for line in _lines(number, block)]
        self._places: LinePlaces = place_lines([line.letters for line in self._lines], self._flow)
        self._asides = _asides(blocks)

    def score(self) -> StructureCounts:
        counted = [number for number, line in enumerate(self._lines) if self._is_counted(line)]
        doubled = [number for number in self._places.doubled if self._is_counted(self._lines[number])]
        self._faults.doubled_lines += [self._lines[number].text for number in doubled]
        lines = StructureCounts(
            pages=1,
            lines=len(counted),
            placed=sum(self._places.spans[number] is not None for number in counted),
            doubled=len(doubled),
        )
        return lines + self._order() + self._headings() + self._paragraphs() + self._tables() + self._words()

    def _is_counted(self, line: _FlowLine) -> bool:
        return self._blocks[line.block].type not in OPTIONAL_TYPES

    def _nodes(self) -> list[_Node]:
        """Lines and tables with a place, in the order of the truth."""
        nodes = []
        tables: set[int] = set()
        for number, line in enumerate(self._lines):
            span = self._places.spans[number]
            if span is None or not self._is_counted(line):
                continue
            if self._blocks[line.block].type == "table":
                if line.block in tables:
                    continue
                tables.add(line.block)
                span = self._span_of_table(line.block)
            nodes.append(_Node(line.text, span, number, line.block, self._asides[line.block]))
        return nodes

    def _span_of_table(self, block: int) -> Span:
        """From the first to the last line of a table."""
        spans = [
            span
            for line, span in zip(self._lines, self._places.spans, strict=True)
            if line.block == block and span is not None
        ]
        return min(start for start, _ in spans), max(end for _, end in spans)

    def _order(self) -> StructureCounts:
        nodes = self._nodes()
        if sum(self._is_counted(line) for line in self._lines) < 2:
            return StructureCounts()
        read = sorted(nodes, key=lambda node: node.span)
        rank = {node.line: number for number, node in enumerate(read)}
        count, wrong = 0, 0
        for first, second in _pairs(nodes):
            count += 1
            between = read[rank[first.line] + 1 : rank[second.line]]
            # What stands within a paragraph may also stand behind it.
            follows = rank[first.line] < rank[second.line] and all(
                node.aside and node.aside not in {first.aside, second.aside} for node in between
            )
            if not follows or second.span[0] < first.span[1] - 1 - len(first.text) // 4:
                wrong += 1
                found = read[rank[first.line] + 1].text if rank[first.line] + 1 < len(read) else "(the end)"
                self._faults.successors.append((first.text, second.text, found))
        return StructureCounts(
            ordered=1,
            tau=kendall_tau([node.span[0] for node in nodes]) or 0.0,
            successors=count,
            wrong_successors=wrong,
            right_pages=int(not wrong and len(nodes) > 1),
        )

    def _headings(self) -> StructureCounts:
        titles = [block for block in self._blocks if block.type == "title" and reduced(block.text)]
        headings = [heading for heading in self._flow.headings if heading.letters]
        found = _alike([reduced(title.text) for title in titles], [heading.letters for heading in headings])
        levels = [(titles[title].level, headings[heading].level) for title, heading in found.items()]
        self._faults.lost_headings += [" ".join(t.text.split()) for i, t in enumerate(titles) if i not in found]
        taken = set(found.values())
        self._faults.false_headings += [heading.letters for i, heading in enumerate(headings) if i not in taken]
        return StructureCounts(
            titles=len(titles),
            headings=len(headings),
            right_headings=len(found),
            right_levels=_right_levels(levels),
        )

    def _paragraphs(self) -> StructureCounts:
        """Borders between lines with places that follow each other in the truth; those beside tables don't count."""
        borders, read_borders, right = 0, 0, 0
        for first, second in pairwise(self._nodes()):
            apart = self._blocks[second.block].goes_on and second.block - first.block > 1
            if apart or any(block.type == "table" for block in self._blocks[first.block : second.block + 1]):
                continue
            wanted = any(line.begins for line in self._lines[first.line + 1 : second.line + 1])
            before, after = sorted((first, second), key=lambda node: node.span)
            got = self._flow.has_border(
                before.span[1] - (before.span[1] - before.span[0]) // 4,
                after.span[0] + (after.span[1] - after.span[0]) // 4,
            )
            borders += wanted
            read_borders += got
            right += wanted and got
            if wanted != got:
                faults = self._faults.missing_borders if wanted else self._faults.false_borders
                faults.append((first.text, second.text))
        return StructureCounts(borders=borders, read_borders=read_borders, right_borders=right)

    def _tables(self) -> StructureCounts:
        wanted = [block for block in self._blocks if block.type == "table" and block.html]
        read = tables_of(self._markdown)
        true_words = words_of("\n".join(block.text for block in self._blocks if block.type == "table"))
        true_words |= words_of("\n".join(_words_of_html(block.html) for block in wanted))
        false = [table for table in read if _is_false(table, true_words)]
        true_tables = [table for block in wanted for table in tables_of(block.html)]
        found = match_tables(true_tables, [table for table in read if table not in false])
        for block, one in zip(wanted, found, strict=False):
            if one.teds < 1:
                self._faults.tables.append(f"TEDS {one.teds:.2f}, structure {one.structure:.2f}: {block.text[:60]!r}")
        self._faults.tables += [f"no table: {_text_of(table)[:60]!r}" for table in false]
        return StructureCounts(
            tables=len(found),
            teds=sum(one.teds for one in found),
            teds_structure=sum(one.structure for one in found),
            read_tables=len(read),
            false_tables=len(false),
        )

    def _words(self) -> StructureCounts:
        counted = [block for block in self._blocks if block.type not in OPTIONAL_TYPES]
        words = words_of("\n".join(block.text for block in counted))
        optional = words_of("\n".join(block.text for block in self._blocks if block.type in OPTIONAL_TYPES))
        lost = words - self._flow.words
        added = self._flow.words - words
        free = added & optional
        added = added - free
        return StructureCounts(
            words=words.total(),
            read_words=self._flow.words.total() - free.total(),
            lost_words=lost.total(),
            added_words=added.total(),
            lost_line_words=self._lost_line_words(lost),
        )

    def _lost_line_words(self, lost: Counter[str]) -> int:
        left, count = lost.copy(), 0
        for line, span in zip(self._lines, self._places.spans, strict=True):
            if span is not None or not self._is_counted(line):
                continue
            words = words_of(line.text)
            missing = words & left
            if missing and 2 * missing.total() >= words.total():
                count += missing.total()
                left -= missing
                self._faults.lost_lines.append(line.text)
        return count


def _lines(number: int, block: StructureBlock) -> Iterable[_FlowLine]:
    for at, line in enumerate(block.lines):
        begins = line.item or (at == 0 and not block.goes_on)
        yield _FlowLine(line.text, reduced(line.text), number, begins)


def _asides(blocks: Sequence[StructureBlock]) -> list[int]:
    """For each block the number of the block that goes on with a paragraph behind it; 0 if it stands in none."""
    asides = [0] * len(blocks)
    for number, block in enumerate(blocks):
        if not block.goes_on:
            continue
        before = number - 1
        while before >= 0 and blocks[before].type in OPTIONAL_TYPES | _FLOATS:
            before -= 1
        if before >= 0:
            asides[before + 1 : number] = [number] * (number - before - 1)
    return asides


def _pairs(nodes: Sequence[_Node]) -> Iterable[tuple[_Node, _Node]]:
    """Nodes and their successors: of those within a paragraph, and of those of the paragraph around them."""
    last: dict[int, _Node] = {}
    for node in nodes:
        if node.aside in last:
            yield last[node.aside], node
        last[node.aside] = node


def _alike(titles: Sequence[str], headings: Sequence[str]) -> dict[int, int]:
    """Numbers of titles and of the headings that are like them, the most alike first, each once; in order of titles."""
    if not titles or not headings:
        return {}
    scores = process.cdist(titles, headings, scorer=fuzz.ratio, score_cutoff=ALIKE_HEADING)
    pairs = [
        (-scores[i][j], abs(i - j), i, j) for i in range(len(titles)) for j in range(len(headings)) if scores[i][j]
    ]
    found: dict[int, int] = {}
    taken: set[int] = set()
    for _, _, title, heading in sorted(pairs):
        if title not in found and heading not in taken:
            found[title] = heading
            taken.add(heading)
    return dict(sorted(found.items()))


def _right_levels(levels: Sequence[tuple[int, int]]) -> int:
    """Headings of (true, read) levels that are above, below or level with more than half of the others as in truth."""
    right = 0
    for number, (true, read) in enumerate(levels):
        others = [other for at, other in enumerate(levels) if at != number]
        agreeing = sum(_sign(true - level) == _sign(read - found) for level, found in others)
        right += not others or 2 * agreeing > len(others)
    return right


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


def _text_of(table: MarkdownTable) -> str:
    return "\n".join(cell.text for cell in table.cells)


def _words_of_html(html: str) -> str:
    return "\n".join(_text_of(table) for table in tables_of(html))


def _is_false(table: MarkdownTable, words: Counter[str]) -> bool:
    """Whether most of a table's words are not in a true table."""
    own = words_of(_text_of(table))
    return 2 * (own & words).total() < own.total()
