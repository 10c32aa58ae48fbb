"""Figures of OmniDocBench on its annotations: text and reading order as edit distances, tables as TEDS. Pure but for
loading.

L. Ouyang et al., "OmniDocBench: Benchmarking Diverse PDF Document Parsing with Comprehensive Annotations", CVPR 2025
(https://github.com/opendatalab/OmniDocBench). Formulas are left out, since they need a rendering engine. The bench's
own matching of blocks with paragraphs is not copied: here blocks and paragraphs are matched by likeness, and joined to
their neighbours while that brings both texts closer. Expect figures near the bench's, not equal to them.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from inkgate_bench.accuracy.bench_tests import tables_of
from inkgate_bench.accuracy.candidates import Transcript
from inkgate_bench.accuracy.manifest import Entry, ManifestInvalid
from inkgate_bench.accuracy.markdown_flow import markdown_paragraphs
from inkgate_bench.accuracy.table_similarity import match_tables

_TEXT = frozenset(
    {
        *("title", "text_block", "code_txt", "code_txt_caption", "reference", "equation_caption"),
        *("figure_caption", "figure_footnote", "table_caption", "table_footnote", "page_footnote"),
    }
)
"""Categories whose text is compared."""
_LEFT_OUT = frozenset({"header", "footer", "page_number", "abandon", "equation_isolated"})
"""Categories whose text may be in the Markdown or not."""
MIN_LIKE = 0.3
"""Similarity from which a paragraph is matched with a block."""
_UNCOMPARED = re.compile(r"[\W_]+")
_CHECKED_MATH = re.compile(r"\$\$.+?\$\$|\\\[.+?\\\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class OmniPage:
    """An annotated page: texts in reading order, the HTML of its tables, and texts that don't count."""

    entry: Entry
    texts: tuple[str, ...]
    tables: tuple[str, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OmniScore:
    """Figures of a page: edits and characters compared, distance of the order, TEDS of each table."""

    edits: int
    characters: int
    order: float | None
    teds: tuple[float, ...]
    structure: tuple[float, ...]

    @property
    def text(self) -> float | None:
        """Normalized edit distance of the text, 0 is best."""
        return self.edits / self.characters if self.characters else None


@dataclass(frozen=True, slots=True)
class OmniDocBench:
    """The annotated pages."""

    pages: tuple[OmniPage, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(page.entry for page in self.pages)

    def figures(
        self, entries: Sequence[Entry], read: Sequence[Transcript | None]
    ) -> dict[str, dict[str, float | None]]:
        """Means over pages (TEDS: over tables), by source of the page and in all. Of edit distances, 0 is best."""
        pages = {page.entry.path: page for page in self.pages}
        groups: dict[str, list[OmniScore]] = {}
        for entry, one in zip(entries, read, strict=True):
            markdown = "" if one is None else one.text if one.markdown is None else one.markdown
            score = score_page(pages[entry.path], markdown)
            groups.setdefault(entry.kind, []).append(score)
        every = [score for scores in groups.values() for score in scores]
        return {kind: _means(scores) for kind, scores in [*sorted(groups.items()), ("all", every)]}


def _means(scores: Sequence[OmniScore]) -> dict[str, float | None]:
    return {
        "pages": float(len(scores)),
        "text edit": _mean([score.text for score in scores]),
        "order edit": _mean([score.order for score in scores]),
        "TEDS": _mean([teds for score in scores for teds in score.teds]),
        "TEDS structure": _mean([teds for score in scores for teds in score.structure]),
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def load_omnidocbench(path: Path) -> OmniDocBench:
    """The pages of OmniDocBench.json; their images lie in `images` beside it, or beside it.

    Raises:
        ManifestInvalid: it is not there or not of this form, or an image is missing.
    """
    try:
        listed = json.loads(path.read_bytes())
        return OmniDocBench(tuple(_page(path.parent, page) for page in listed))
    except OSError as error:
        raise ManifestInvalid(f"{path.name}: {error.strerror}.") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ManifestInvalid(f"{path.name} is not of the form of OmniDocBench: {error!r}") from error


def _page(root: Path, page: Mapping[str, Any]) -> OmniPage:
    info = page["page_info"]
    name = str(info["image_path"])
    file = next((file for file in (root / "images" / name, root / name) if file.is_file()), None)
    if file is None:
        raise ManifestInvalid(f"The image {name} is neither in {root / 'images'} nor beside it.")
    found = [element for element in page["layout_dets"] if not element.get("ignore")]
    found.sort(key=lambda element: element["order"] if element.get("order") is not None else len(found) + 1)
    attributes = info.get("page_attribute") or {}
    entry = Entry(
        path=name,
        file=file,
        folder=str(Path(name).parent),
        language=str(attributes.get("language") or "-"),
        kind=str(attributes.get("data_source") or "-"),
    )
    return OmniPage(
        entry=entry,
        texts=_joined([element for element in found if element["category_type"] in _TEXT], _truncated(page)),
        tables=tuple(str(element.get("html") or "") for element in found if element["category_type"] == "table"),
        left_out=tuple(str(element.get("text") or "") for element in found if element["category_type"] in _LEFT_OUT),
    )


def _truncated(page: Mapping[str, Any]) -> dict[int, int]:
    """For each element that continues a paragraph, the element that it continues."""
    relations = (page.get("extra") or {}).get("relation") or ()
    return {
        relation["target_anno_id"]: relation["source_anno_id"]
        for relation in relations
        if relation.get("relation_type", relation.get("relation")) == "truncated"
    }


def _joined(elements: Sequence[Mapping[str, Any]], continues: Mapping[int, int]) -> tuple[str, ...]:
    """The texts of elements, continued paragraphs as one."""
    texts: dict[int, str] = {}
    for element in elements:
        number = element["anno_id"]
        first, seen = number, {number}
        while continues.get(first) in texts and continues[first] not in seen:
            first = continues[first]
            seen.add(first)
        text = str(element.get("text") or "")
        texts[first] = f"{texts[first]} {text}" if first in texts else text
    return tuple(text for text in texts.values() if compared(text))


def compared(text: str) -> str:
    """What is compared of a text: letters, digits and marks of writing systems, without spaces and punctuation."""
    return _UNCOMPARED.sub("", unicodedata.normalize("NFKC", text))


def score_page(page: OmniPage, markdown: str) -> OmniScore:
    """The figures of a page's Markdown."""
    wanted = [compared(text) for text in page.texts]
    free = [compared(text) for text in page.left_out]
    shown = [text for part in markdown_paragraphs(_CHECKED_MATH.sub(" ", markdown)) if (text := compared(part))]
    groups = _match(wanted, [text for text in shown if not _is_free(text, free, wanted)])
    edits = sum(Levenshtein.distance(group.truth.text, group.read.text) for group in groups)
    places = [group for group in groups if group.truth.numbers]
    found = sorted((group for group in places if group.read.numbers), key=lambda group: group.read.numbers[0])
    lost = [group for group in places if not group.read.numbers]
    order = [block for group in (*found, *lost) for block in group.truth.numbers]
    truth = [table for html in page.tables for table in tables_of(html)]
    tables = match_tables(truth, tables_of(markdown))
    return OmniScore(
        edits=edits,
        characters=sum(max(len(group.truth.text), len(group.read.text)) for group in groups),
        order=Levenshtein.normalized_distance(order, sorted(order)) if order else None,
        teds=tuple(table.teds for table in tables),
        structure=tuple(table.structure for table in tables),
    )


def _is_free(text: str, free: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether a paragraph is a running head or the like, rather than text that is compared."""
    if text in wanted:
        return False
    return any(one and Levenshtein.normalized_similarity(text, one) > 1 - MIN_LIKE for one in free)


@dataclass(slots=True)
class _Side:
    """Blocks of the truth, or paragraphs that were read: their numbers, and their texts as one."""

    numbers: list[int]
    text: str


@dataclass(frozen=True, slots=True)
class _Match:
    """Blocks and the paragraphs that hold them; either may be missing."""

    truth: _Side
    read: _Side


def _match(wanted: Sequence[str], read: Sequence[str]) -> list[_Match]:
    """Blocks with paragraphs, the most alike first; then what is left joins a neighbour that it brings closer."""
    groups: list[_Match] = []
    used_blocks: set[int] = set()
    used_parts: set[int] = set()
    if wanted and read:
        scores = process.cdist(wanted, read, scorer=Levenshtein.normalized_similarity, score_cutoff=MIN_LIKE)
        rows, columns = np.nonzero(scores)
        for pair in np.argsort(-scores[rows, columns], kind="stable").tolist():
            block, part = int(rows[pair]), int(columns[pair])
            if block not in used_blocks and part not in used_parts:
                groups.append(_Match(_Side([block], wanted[block]), _Side([part], read[part])))
                used_blocks.add(block)
                used_parts.add(part)
    lost = [_Side([block], text) for block, text in enumerate(wanted) if block not in used_blocks]
    added = [_Side([part], text) for part, text in enumerate(read) if part not in used_parts]
    by_truth = [(group.truth, group.read) for group in groups]
    groups += [_Match(side, _Side([], "")) for side in lost if not _joins(side, by_truth)]
    by_read = [(group.read, group.truth) for group in groups]
    return groups + [_Match(_Side([], ""), side) for side in added if not _joins(side, by_read)]


def _joins(left: _Side, pairs: Sequence[tuple[_Side, _Side]]) -> bool:
    """Adds a block without a paragraph to a block beside it, or the reverse, if that brings the two texts closer.

    `pairs`: sides of the same kind, each with the other side of its match.
    """
    (number,) = left.numbers
    for own, other in pairs:
        before, behind = number - 1 in own.numbers, number + 1 in own.numbers
        if not other.numbers or not (before or behind):
            continue
        joined = own.text + left.text if before else left.text + own.text
        distance = Levenshtein.distance(own.text, other.text)
        if Levenshtein.distance(joined, other.text) < distance + len(left.text) / 2:
            own.text = joined
            own.numbers = [*own.numbers, number] if before else [number, *own.numbers]
            return True
    return False
