"""What became of a document's structure: the order of its lines, its tables, and every line in the Markdown. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from inkgate_bench.accuracy.calibration import JudgedPart, judge_blocks, judge_page
from inkgate_bench.accuracy.candidates import Transcript, TranscriptPage
from inkgate_bench.accuracy.diagram_similarity import DiagramSimilarity, diagram_similarity
from inkgate_bench.accuracy.line_accounts import LineTotals, account_lines
from inkgate_bench.accuracy.metrics import ReadLine
from inkgate_bench.accuracy.page_structure import StructureCounts, score_structure
from inkgate_bench.accuracy.reading_order import OrderScore, column_order_tau, order_score
from inkgate_bench.accuracy.structure_truth import StructureBlock
from inkgate_bench.accuracy.table_similarity import TableSimilarity, table_similarity
from inkgate_client.types import box_of_quad

_PAGE_BREAK = "\f"


def page_orders(truth: str, read: Transcript | None) -> OrderScore | None:
    """The order of the document's lines: mean tau of its pages if the truth is divided into as many, else of all.

    Lines stand in the order of the Markdown; without Markdown, in the order that they were read in. None where no
    page of the truth has two lines to order.
    """
    pages = [_lines_in_order(page) for page in read.read_pages] if read else []
    if not pages:
        pages = [(read.text if read else "").splitlines()]
    parts = truth.rstrip("\f\n ").split(_PAGE_BREAK)
    if len(parts) != len(pages):
        parts, pages = [truth], [[line for page in pages for line in page]]
    pairs = zip(parts, pages, strict=True)
    scores = [found for part, lines in pairs if (found := order_score(part.splitlines(), lines)) is not None]
    if not scores:
        return None
    return OrderScore(
        sum(score.tau for score in scores) / len(scores),
        sum(score.matched for score in scores),
        sum(score.lines for score in scores),
    )


def score_columns(read: Transcript) -> float | None:
    """Tau of the first page's lines with the order of its two columns; None where it has no two."""
    if read.read_pages:
        return column_order_tau([box_of_quad(line.quad) for line in _in_order(read.read_pages[0])])
    return column_order_tau([box_of_quad(line.quad) for line in read.lines])


def score_tables(truth: str, read: Transcript | None) -> TableSimilarity | None:
    """TEDS of the document's tables; 0 where it was not read, None where the candidate has no Markdown."""
    if read is None or (read.markdown is None and read.failures):
        return TableSimilarity(0.0, 0.0)
    return None if read.markdown is None else table_similarity(truth, read.markdown)


def score_pages(truth: Sequence[Sequence[StructureBlock]], read: Transcript | None) -> StructureCounts:
    """The structure of the document's Markdown, page by page; without Markdown, of its text."""
    if read is None:
        return score_structure(truth, [""] * len(truth)).counts
    pages = [page.text if page.markdown is None else page.markdown for page in read.read_pages]
    return score_structure(truth, pages or [read.text if read.markdown is None else read.markdown]).counts


def score_diagram(truth: str, read: Transcript | None) -> DiagramSimilarity | None:
    """F1 of nodes and edges; 0 where the document was not read, None where the candidate has no Markdown."""
    if read is None or (read.markdown is None and read.failures):
        return DiagramSimilarity(0.0, 0.0)
    return None if read.markdown is None else diagram_similarity(truth, read.markdown)


def account_pages(read: Transcript) -> LineTotals | None:
    """The lines of all pages with Markdown; None if there is no such page."""
    pages = [page for page in read.read_pages if page.markdown is not None]
    if not pages:
        return None
    counted, lost, doubled = 0, [], []
    for page in pages:
        kept = [line.text for line in _kept(page)]
        account = account_lines(kept, page.markdown or "")
        counted += account.counted
        lost += [kept[i] for i in account.lost]
        doubled += [kept[i] for i in account.doubled]
    return LineTotals(counted, tuple(lost), tuple(doubled))


def judge_parts(truth: str, read: Transcript) -> tuple[tuple[JudgedPart, ...], tuple[JudgedPart, ...]]:
    """Pages and blocks with whether they are right. Pages only where the truth is divided into as many."""
    parts = truth.rstrip("\f\n ").split(_PAGE_BREAK)
    blocks = judge_blocks(truth, [block for page in read.read_pages for block in page.blocks])
    if len(parts) != len(read.read_pages):
        return (), blocks
    pairs = zip(parts, read.read_pages, strict=True)
    judged = [judge_page(part, page.text, page.confidence) for part, page in pairs]
    return tuple(each for each in judged if each is not None), blocks


def _lines_in_order(page: TranscriptPage) -> list[str]:
    """Texts of the lines in the order of the Markdown; of an engine that gives no lines, those of the text."""
    if not page.lines:
        return (page.text if page.markdown is None else page.markdown).splitlines()
    return [line.text for line in _in_order(page)]


def _in_order(page: TranscriptPage) -> Sequence[ReadLine]:
    """The lines that stand in the Markdown, in its order; without Markdown, all lines as they were read."""
    if page.markdown is None:
        return page.lines
    kept = _kept(page)
    places = account_lines([line.text for line in kept], page.markdown).places
    placed = [(place, line) for place, line in zip(places, kept, strict=True) if place is not None]
    return [line for _, line in sorted(placed, key=lambda pair: pair[0])]


def _kept(page: TranscriptPage) -> list[ReadLine]:
    """The lines that have to stand in the Markdown."""
    left_out = set(page.left_out)
    return [line for i, line in enumerate(page.lines) if i not in left_out]
