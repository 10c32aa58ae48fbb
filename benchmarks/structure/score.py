"""Scores the structure of what inkgate reads, on pages whose true structure is known.

    python -m benchmarks.structure.score FOLDER [--read RESULTS] [--json OUT] [--before OUT] [--no-pages] [--limit N]

Reads each document of FOLDER that has NAME.structure.json beside it, with the default settings, and prints figures in
percent by kind, which is the first part of a file's name before `-`, then the worst pages with their faults.
RESULTS: a folder that keeps what was read, so that another run only scores. A folder with NAME.md in place of NAME.json
may hold what another tool read; form feeds divide its pages. docs/guides/accuracy.md explains the figures.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio

from benchmarks.structure.reading import place, read_all
from inkgate.settings import PdfText
from inkgate_bench.accuracy.manifest import Entry
from inkgate_bench.accuracy.page_structure import (
    FIGURE_TITLES,
    StructureCounts,
    StructureFaults,
    add_counts,
    score_structure,
)
from inkgate_bench.accuracy.structure_truth import load_structure

SUFFIXES = (".pdf", ".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff")
TRUTH = ".structure.json"
MAX_FAULTS = 8
"""Faults of one sort that are printed of a page."""
MIN_SHOWN = 0.05
"""Change in percent from which it is printed."""


@dataclass(frozen=True, slots=True)
class ScoredPage:
    """A document with its score."""

    name: str
    kind: str
    counts: StructureCounts
    faults: StructureFaults

    @property
    def badness(self) -> float:
        """Roughly the number of faults, to find the worst pages."""
        counts = self.counts
        return (
            counts.wrong_successors
            + 3 * (counts.titles + counts.headings - 2 * counts.right_headings)
            + (counts.borders + counts.read_borders - 2 * counts.right_borders) / 2
            + 5 * (counts.tables - counts.teds + counts.false_tables)
            + counts.lost_line_words / 5
            + counts.doubled
        )


def documents(folder: Path, limit: int | None = None) -> list[Entry]:
    """The documents of a folder whose structure is known, by name; at most `limit` of each kind."""
    taken: dict[str, int] = {}
    found = []
    for truth in sorted(folder.glob(f"*{TRUTH}")):
        name = truth.name.removesuffix(TRUTH)
        kind = name.split("-")[0]
        file = next((file for suffix in SUFFIXES if (file := folder / f"{name}{suffix}").is_file()), None)
        if file is None:
            print(f"{truth.name} has no document.", file=sys.stderr)
        elif limit is None or taken.setdefault(kind, 0) < limit:
            taken[kind] = taken.get(kind, 0) + 1
            found.append(Entry(path=file.name, file=file, folder=".", language="-", kind=kind))
    return found


def score_documents(entries: Sequence[Entry], results: Path) -> Iterator[ScoredPage]:
    """The scores of what `results` has of the documents; a document that was refused has no text."""
    for entry in entries:
        truth = load_structure(entry.file.with_name(f"{entry.file.stem}{TRUTH}"))
        score = score_structure(truth, _pages(results, entry))
        yield ScoredPage(entry.file.stem, entry.kind, score.counts, score.faults)


def _pages(results: Path, entry: Entry) -> list[str]:
    """The Markdown of each page."""
    other = results / f"{entry.file.stem}.md"
    if other.is_file():
        return other.read_text("utf-8").removesuffix("\f").split("\f")
    kept = json.loads(place(results, entry).read_bytes())
    return [page.get("markdown") or page.get("text") or "" for page in kept.get("pages", [])]


def by_kind(pages: Sequence[ScoredPage]) -> dict[str, StructureCounts]:
    """Sums of each kind, then of all."""
    sums: dict[str, StructureCounts] = {}
    for page in sorted(pages, key=lambda page: page.kind):
        sums[page.kind] = sums.get(page.kind, StructureCounts()) + page.counts
    return {**sums, "all": add_counts(page.counts for page in pages) or StructureCounts()}


def table(sums: Mapping[str, StructureCounts], before: Mapping[str, Any]) -> str:
    """The figures by kind, in percent. `before`: JSON of another run, whose changes stand in a row of their own."""
    rows = [["kind", "pages", *FIGURE_TITLES.values(), "tables", "false"]]
    for kind, counts in sums.items():
        figures = counts.figures()
        shown = [_percent(figures[name]) for name in FIGURE_TITLES]
        rows.append([kind, str(counts.pages), *shown, str(counts.tables), str(counts.false_tables)])
        earlier = before.get(kind)
        if earlier is not None:
            changes = [_change(earlier["figures"].get(name), figures[name]) for name in FIGURE_TITLES]
            false = counts.false_tables - earlier["counts"]["false_tables"]
            change = ["", "", *changes, "", f"{false:+d}" if false else ""]
            rows += [change] if any(change) else []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _change(before: float | None, after: float | None) -> str:
    if before is None or after is None or abs(after - before) * 100 < MIN_SHOWN:
        return ""
    return f"{100 * (after - before):+.1f}"


def faults(page: ScoredPage) -> str:
    """The faults of a page, for people."""
    found = page.faults
    sorts: dict[str, list[str]] = {
        "wrong next": [
            f"{first[-40:]!r} -> {read[:40]!r} instead of {second[:40]!r}" for first, second, read in found.successors
        ],
        "heading lost": found.lost_headings,
        "heading false": found.false_headings,
        "border missing": [f"{first[-40:]!r} / {second[:40]!r}" for first, second in found.missing_borders],
        "border false": [f"{first[-40:]!r} / {second[:40]!r}" for first, second in found.false_borders],
        "table": found.tables,
        "line lost": found.lost_lines,
        "line doubled": found.doubled_lines,
    }
    rows = [f"{page.name} ({page.badness:.1f})"]
    for name, listed in sorts.items():
        rows += [f"  {name}: {text}" for text in listed[:MAX_FAULTS]]
        if len(listed) > MAX_FAULTS:
            rows.append(f"  {name}: {len(listed) - MAX_FAULTS} more")
    return "\n".join(rows)


def as_json(pages: Sequence[ScoredPage], *, with_pages: bool) -> dict[str, Any]:
    """Figures and counts by kind, and if wanted by page."""
    document: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "kinds": {
            kind: {"figures": counts.figures(), "counts": asdict(counts)} for kind, counts in by_kind(pages).items()
        },
    }
    if with_pages:
        document["pages"] = {
            page.name: {"figures": page.counts.figures(), "counts": asdict(page.counts), "faults": asdict(page.faults)}
            for page in pages
        }
    return document


async def _read(entries: Sequence[Entry], results: Path, args: argparse.Namespace) -> None:
    missing = [entry for entry in entries if not (results / f"{entry.file.stem}.md").is_file()]
    pdf_text = None if args.pdf_text is None else PdfText(args.pdf_text)
    await read_all(missing, results, args.parallel, pdf_text)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--read", type=Path, metavar="RESULTS", help="keeps what was read")
    parser.add_argument("--json", type=Path, metavar="OUT")
    parser.add_argument("--before", type=Path, metavar="OUT", help="JSON of another run: print the changes")
    parser.add_argument("--no-pages", action="store_true", help="neither print nor write figures of single pages")
    parser.add_argument("--worst", type=int, default=15, help="pages that are printed")
    parser.add_argument("--limit", type=int, help="documents of each kind")
    parser.add_argument("--kind", action="append", help="only documents of this kind; may be given again")
    parser.add_argument("--parallel", type=int, default=1, help="documents at a time")
    parser.add_argument("--pdf-text", choices=[each.value for each in PdfText])
    args = parser.parse_args()
    entries = [entry for entry in documents(args.folder, args.limit) if not args.kind or entry.kind in args.kind]
    with TemporaryDirectory(prefix="inkgate-structure-") as scratch:
        results = args.read or Path(scratch)
        results.mkdir(parents=True, exist_ok=True)
        anyio.run(_read, entries, results, args)
        pages = list(score_documents(entries, results))
    before = json.loads(args.before.read_bytes())["kinds"] if args.before else {}
    print(table(by_kind(pages), before))
    if not args.no_pages:
        worst = sorted((page for page in pages if page.badness), key=lambda page: -page.badness)
        for page in worst[: args.worst]:
            print(f"\n{faults(page)}")
    if args.json:
        shown = json.dumps(as_json(pages, with_pages=not args.no_pages), ensure_ascii=False, indent=1)
        args.json.write_text(shown + "\n", "utf-8")


if __name__ == "__main__":
    main()
