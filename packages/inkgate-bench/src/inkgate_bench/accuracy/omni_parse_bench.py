"""Datasets of Omni Parse Bench (https://github.com/datalab-to/omni_parse_bench), scored by its own package.

A dataset is a folder: `pages/ID.pdf` or `.png`, and `gold/ID.json` with yes-or-no tests of the page. The package
`omni-parse-bench` (Apache-2.0) is imported only here, when such a dataset is loaded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from markdown_it import MarkdownIt

from inkgate_bench.accuracy.candidates import Transcript
from inkgate_bench.accuracy.manifest import Entry, ManifestInvalid
from inkgate_bench.accuracy.peers import PeerMissing
from inkgate_client.types import BlockType

LABELS: Mapping[BlockType, str] = {
    BlockType.TITLE: "heading",
    BlockType.TEXT: "text",
    BlockType.LIST: "list",
    BlockType.TABLE: "table",
    BlockType.FIGURE: "figure",
    BlockType.CAPTION: "caption",
    BlockType.HEADER: "page_furniture",
    BlockType.FOOTER: "page_furniture",
    BlockType.REFERENCE: "text",
    BlockType.FORMULA: "equation",
    BlockType.BARCODE: "figure",
    BlockType.STAMP: "figure",
    BlockType.CHECKBOX: "form",
}
"""The bench's labels of inkgate's blocks."""


class _Verdict(NamedTuple):
    """What the bench says of a test: `pass`, `fail`, `unsupported` or `error`."""

    kind: str
    result: str


@dataclass(frozen=True, slots=True)
class OmniParseDataset:
    """The pages of a dataset and their tests, as the package parses them."""

    entries: tuple[Entry, ...]
    tests: Mapping[str, Sequence[Any]]

    def figures(
        self, entries: Sequence[Entry], read: Sequence[Transcript | None]
    ) -> dict[str, dict[str, float | None]]:
        """Share of the tests passed, by type and in all; `score` of all is the bench's headline: the mean of its
        families, which are text, tables and layout.
        """
        from omni_parse_bench import score, summarize

        tests = [test for entry in entries for test in self.tests[entry.path]]
        verdicts = []
        for entry, one in zip(entries, read, strict=True):
            outputs = outputs_of(one)
            missing = [] if one is None or one.has_layout else ["blocks"]
            verdicts += score(outputs, self.tests[entry.path], missing)
        kinds = {test.id: str(test.test_type) for test in tests}
        judged = [_Verdict(kinds[verdict.id], str(verdict.result)) for verdict in verdicts]
        rows = {kind: _share([each for each in judged if each.kind == kind]) for kind in sorted(set(kinds.values()))}
        summary = summarize(verdicts, tests)["headline"]
        families = {f"family {name}": _family(figures) for name, figures in summary["families"].items()}
        return {**rows, **families, "all": {"tests": float(len(tests)), "score": summary["score"]}}


def _share(verdicts: Sequence[_Verdict]) -> dict[str, float | None]:
    counts = Counter(verdict.result for verdict in verdicts)
    scored = counts["pass"] + counts["fail"]
    return {"tests": float(scored), "score": counts["pass"] / scored if scored else None}


def _family(figures: Mapping[str, Any]) -> dict[str, float | None]:
    return {"tests": float(figures["tests"]), "score": figures["score"]}


def load_omni_parse_bench(folder: Path) -> OmniParseDataset:
    """The dataset in a folder.

    Raises:
        PeerMissing: the package is not installed.
        ManifestInvalid: there is no test, a page is missing, or the package refuses a test.
    """
    try:
        from omni_parse_bench import gold
    except ImportError as error:
        raise PeerMissing("omni-parse-bench is not installed: pip install omni-parse-bench.") from error
    entries, tests = [], {}
    for truth in sorted((folder / "gold").glob("*.json")):
        pages = [folder / "pages" / f"{truth.stem}{suffix}" for suffix in (".pdf", ".png")]
        file = next((page for page in pages if page.is_file()), None)
        if file is None:
            raise ManifestInvalid(f"{truth.name} has no page in {folder / 'pages'}.")
        entry = Entry(path=f"pages/{file.name}", file=file, folder="pages", language="-", kind="-")
        try:
            tests[entry.path] = gold.read(truth)
        except ValueError as error:  # GoldError is one
            raise ManifestInvalid(f"{truth.name}: {error}") from error
        entries.append(entry)
    if not entries:
        raise ManifestInvalid(f"{folder} has no gold/*.json.")
    return OmniParseDataset(tuple(entries), tests)


def outputs_of(read: Transcript | None) -> dict[str, Any]:
    """What the bench judges of a page: HTML with running heads and feet, and blocks; None if it was not read."""
    if read is None:
        return {"html": None, "blocks": None}
    page = read.read_pages[0] if read.read_pages else None
    text = read.text if read.markdown is None else read.markdown
    parts = [text] if page is None else [page.header, text, page.footer]
    markdown = MarkdownIt("commonmark").enable("table")
    html = "\n".join(markdown.render(part) for part in parts if part)
    blocks = [] if page is None else [_block(kind, box, text) for kind, box, text in page.layout]
    return {"html": html, "blocks": blocks}


def _block(kind: BlockType, box: Sequence[float], text: str) -> dict[str, Any]:
    return {"label": LABELS[kind], "bbox": [min(1.0, max(0.0, edge)) for edge in box], "text": text}
