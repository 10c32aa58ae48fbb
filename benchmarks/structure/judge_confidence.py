"""Whether confidence means it, on the judging half of documents with ground truth: nothing was fitted on these.

    python -m benchmarks.structure.judge_confidence RESULTS MANIFEST [MANIFEST ...] [--published]

RESULTS and MANIFESTs as for fit_confidence.py, which runs this. Judges what was read again, with the models in use, and
writes the tables of benchmarks/results/confidence.md and docs/plots/confidence.svg. --published: prints only, of the
flags that the results came with, as from another version.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks.structure.fit_confidence import ReadDocument, flags_of_others, read_documents
from benchmarks.structure.halves import Half
from inkgate.layout.confidence import judged, lines_read, text_right
from inkgate.layout.doubt_data import REVIEW_TEXT
from inkgate.types import PageResult
from inkgate_bench.accuracy.calibration import (
    LEAST_WORDS_RIGHT,
    judge_blocks,
    judge_page,
    lacks_spaces,
    words_f1,
    words_of,
)

TABLES = Path("benchmarks/results/confidence.md")
PLOT = Path("docs/plots/confidence.svg")
BEGIN, END = "<!-- calibration -->", "<!-- end of calibration -->"
EDGES = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999, 1.0)
"""Of bins of confidence."""
WILSON = 1.96
"""Standard deviations of a 95 % interval."""

mpl.rcParams["svg.hashsalt"] = "inkgate"
mpl.rcParams["svg.fonttype"] = "none"


@dataclass(frozen=True, slots=True)
class PageVerdict:
    """A page of the judging half: the flags it has, and whether its text, and its text and order, are right.

    Attributes:
        group: the folder of the document, or how it was rendered.
        sure: the probability that its text is right; None for pages without recognised lines.
        order_right: None where the truth has no order.
    """

    name: str
    group: str
    flags: frozenset[str]
    f1: float
    sure: float | None
    confidence: float | None
    order_right: bool | None

    @property
    def right(self) -> bool:
        return self.f1 > LEAST_WORDS_RIGHT


Points = list[tuple[float, bool]]
"""Confidences, and whether what has them is right."""


def again(page: PageResult) -> PageResult:
    """The page, judged by the models in use; flags of others are kept."""
    return judged(replace(page, review=flags_of_others(page)))


def verdicts(documents: Sequence[ReadDocument], *, published: bool) -> list[PageVerdict]:
    """Of the pages whose truth is known."""
    return [
        PageVerdict(
            name=f"{document.entry.path}, page {page.index + 1}",
            group=document.entry.kind if document.rendered else document.entry.folder,
            flags=frozenset(reason.value for reason in (page if published else again(page)).review),
            f1=words_f1(truth, page.text),
            sure=text_right(page) if lines_read(page) else None,
            confidence=(page if published else again(page)).confidence,
            order_right=(part := judge_page(truth, page.text, 1.0)) is not None and part.right
            if document.ordered
            else None,
        )
        for document in documents
        for truth, page in document.pages
    ]


def wilson(hits: int, count: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson, 1927), in [0, 1]."""
    if not count:
        return 0.0, 1.0
    share, square = hits / count, WILSON**2 / count
    middle = (share + square / 2) / (1 + square)
    half = math.sqrt(share * (1 - share) * square + square**2 / 4) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)


def share(hits: int, count: int) -> str:
    """A share with its interval, in percent."""
    low, high = wilson(hits, count)
    return f"{100 * hits / count:.1f} % ({100 * low:.0f} to {100 * high:.0f})" if count else ""


def promise_table(pages: Sequence[PageVerdict]) -> str:
    """By group and for all: of the pages without a flag, how many are right; and what flags are worth."""
    groups: dict[str, list[PageVerdict]] = {}
    for page in pages:
        groups.setdefault(page.group, []).append(page)
    rows = [_promise(name, groups[name]) for name in sorted(groups)] + [_promise("all", pages)]
    head = "| Pages | Read right | Not flagged | Of these right | Wrong ones flagged | Right ones flagged |"
    return "\n".join([f"| Group {head}", "| --- | --- | --- | --- | --- | --- | --- |", *rows])


def _promise(name: str, pages: Sequence[PageVerdict]) -> str:
    right = [page for page in pages if page.right]
    quiet = [page for page in pages if not page.flags]
    good = sum(page.right for page in quiet)
    caught = len(pages) - len(right) - (len(quiet) - good)
    cells = [
        name,
        str(len(pages)),
        str(len(right)),
        str(len(quiet)),
        f"{good}: {share(good, len(quiet))}",
        f"{caught} of {len(pages) - len(right)}",
        f"{len(right) - good} of {len(right)}",
    ]
    return f"| {' | '.join(cells)} |"


def flag_table(pages: Sequence[PageVerdict]) -> str:
    """What each flag is worth: pages that have it, and how many of them are wrong in text."""
    reasons = sorted({flag for page in pages for flag in page.flags})
    rows = []
    for reason in reasons:
        having = [page for page in pages if reason in page.flags]
        wrong = sum(not page.right for page in having)
        alone = sum(page.flags == {reason} and page.right for page in having)
        rows.append(f"| `{reason}` | {len(having)} | {wrong} | {alone} |")
    return "\n".join(["| Flag | Pages | Of these wrong in text | Right pages with no other flag |",
                      "| --- | --- | --- | --- |", *rows])  # fmt: skip


def word_points(documents: Sequence[ReadDocument]) -> tuple[Points, Points]:
    """Recognised words and lines; right if the truth of their page has them, each as often as it does."""
    words: Points = []
    lines: Points = []
    for document in documents:
        for truth, page in document.pages if not lacks_spaces(document.truth) else ():
            left, left_of_lines = Counter(words_of(truth)), Counter(words_of(truth))
            for line in lines_read(page):
                words += [
                    (word.confidence, _take(word.text, left)) for word in line.words if any(map(str.isalnum, word.text))
                ]
                if any(map(str.isalnum, line.text)):
                    lines.append((line.confidence, _take(line.text, left_of_lines)))
    return words, lines


def _take(text: str, left: Counter[str]) -> bool:
    """Whether all words of `text` are left; they no longer are."""
    wanted = Counter(words_of(text))
    found = wanted <= left
    left.subtract(wanted & left)
    return found


def block_points(documents: Sequence[ReadDocument]) -> Points:
    """Blocks of documents with an order; right if text and order are."""
    found: Points = []
    for document in documents:
        if document.ordered:
            pages = [again(page) for page in document.result.pages]
            asked = [(block.text, block.confidence if block.lines else None) for p in pages for block in p.blocks or ()]
            found += [(part.confidence, part.right) for part in judge_blocks(document.truth, asked)]
    return found


@dataclass(frozen=True, slots=True)
class Bin:
    """Points of one bin of a curve."""

    low: float
    high: float
    count: int
    mean: float
    hits: int


def bins(points: Points) -> list[Bin]:
    """The points by confidence; empty bins are left out."""
    found = []
    for low, high in pairwise(EDGES):
        held = [point for point in points if low <= point[0] < high or point[0] == high == EDGES[-1]]
        if held:
            mean = sum(confidence for confidence, _ in held) / len(held)
            found.append(Bin(low, high, len(held), mean, sum(right for _, right in held)))
    return found


def curve_table(name: str, points: Points) -> str:
    """A curve as a table, and its expected calibration error."""
    found = bins(points)
    rows = [
        f"| {each.low:g} to {each.high:g} | {each.count} | {100 * each.mean:.1f} % | {share(each.hits, each.count)} |"
        for each in found
    ]
    gap = sum(abs(each.count * each.mean - each.hits) for each in found) / max(1, len(points))
    return "\n".join([f"| Confidence | {name} | Mean confidence | Right (95 % interval) |", "| --- | --- | --- | --- |",
                      *rows, "", f"Expected calibration error: {100 * gap:.1f} points."])  # fmt: skip


def draw(curves: dict[str, Points], file: Path) -> None:
    """Reliability curves, a panel each, with intervals."""
    figure = Figure(figsize=(9.0, 2.6), layout="constrained")
    panels = figure.subplots(1, len(curves), sharey=True)
    for axes, (name, points) in zip(panels, curves.items(), strict=True):
        found = bins(points)
        axes.plot([0, 1], [0, 1], color="#808080", linestyle=":", linewidth=1)
        shares = [each.hits / each.count for each in found]
        spans = [wilson(each.hits, each.count) for each in found]
        errors = [[max(0.0, a - low) for a, (low, _) in zip(shares, spans, strict=True)],
                  [max(0.0, high - a) for a, (_, high) in zip(shares, spans, strict=True)]]  # fmt: skip
        axes.errorbar([each.mean for each in found], shares, yerr=errors, fmt="o-", markersize=3, linewidth=1,
                      color="#4d7fc4", ecolor="#9db8dd")  # fmt: skip
        axes.set_title(f"{name} ({len(points):,})", fontsize=9)
        axes.set_xlabel("confidence", fontsize=8)
        axes.tick_params(labelsize=7)
    panels[0].set_ylabel("share right", fontsize=8)
    figure.savefig(file, metadata={"Date": None}, transparent=True)


def report(documents: Sequence[ReadDocument], pages: Sequence[PageVerdict], curves: dict[str, Points]) -> str:
    """The section of the guide."""
    rendered = sum(document.rendered for document in documents)
    today = datetime.now(UTC).date().isoformat()
    note = (
        f"{today}: {len(pages)} pages of {len(documents)} documents of the judging half, {rendered} of them rendered "
        f"from PDFs. Pages are flagged for their text below a probability of {REVIEW_TEXT}. "
        "`python -m benchmarks.structure.fit_confidence RESULTS MANIFEST ...` writes this."
    )
    return "\n\n".join(
        [
            note,
            promise_table(pages),
            flag_table(pages),
            "![Share right by confidence, for pages, blocks, lines and words](../../docs/plots/confidence.svg)",
            *(curve_table(name, points) for name, points in curves.items()),
        ]
    )


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("manifests", type=Path, nargs="+")
    parser.add_argument("--published", action="store_true")
    parser.add_argument("--kept", action="store_true", help="only the documents that RESULTS has")
    parser.add_argument("--wrong", action="store_true", help="name the pages that are wrong and not flagged")
    args = parser.parse_args()
    read = read_documents(args.results, args.manifests, kept=args.kept)
    documents = [one for one in read if one.half is Half.JUDGING]
    pages = verdicts(documents, published=args.published)
    if args.published:
        print(promise_table(pages), flag_table(pages), sep="\n\n")
    else:
        _write(documents, pages)
    for page in pages if args.wrong else ():
        if not page.flags and not page.right:
            print(f"{page.f1:.3f}  {page.name}  {page.sure}")


def _write(documents: Sequence[ReadDocument], pages: Sequence[PageVerdict]) -> None:
    words, lines = word_points(documents)
    curves = {
        "Pages: text": [(page.sure, page.right) for page in pages if page.sure is not None],
        "Pages: and order": [
            (page.confidence, page.right and page.order_right)
            for page in pages
            if page.confidence is not None and page.order_right is not None
        ],
        "Blocks": block_points(documents),
        "Lines": lines,
        "Words": words,
    }
    shown = report(documents, pages, curves)
    print(shown)
    draw(curves, PLOT)
    text = TABLES.read_text("utf-8")
    before, rest = text.split(BEGIN)
    TABLES.write_text(f"{before}{BEGIN}\n{shown}\n{END}{rest.split(END)[1]}", "utf-8")


if __name__ == "__main__":
    main()
