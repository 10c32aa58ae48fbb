"""The halves of the documents with ground truth: by source, and both with documents of every folder."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.structure.halves import SPLIT, Half, split

KEPT: dict[str, dict[str, list[str]]] = json.loads(SPLIT.read_bytes())


def test_no_source_and_no_document_is_in_both_halves() -> None:
    tuning, judging = (KEPT[half] for half in Half)
    assert set(tuning) & set(judging) == set()
    documents = [name for half in (tuning, judging) for names in half.values() for name in names if "/" in name]
    assert [name for name, count in Counter(documents).items() if count > 1] == []


def test_both_halves_have_receipts_pages_chinese_and_pdfs() -> None:
    for half in Half:
        folders = {name.split("/")[0] for names in KEPT[half].values() for name in names if "/" in name}
        assert folders >= {"receipts", "pages", "chinese", "pdf"}, half


def item(source: str, folder: str, number: int) -> dict[str, Any]:
    return {"source_repo": source, "path": f"{folder}/{source}_{number}.png"}


def test_the_kept_split_follows_its_rule() -> None:
    items = [
        {"source_repo": source, "path": name}
        for half in Half
        for source, names in KEPT[half].items()
        for name in names
        if "/" in name
    ]
    kept = {source: half for half in Half for source in KEPT[half]}
    assert split(items, {}) == {source: kept[source] for source in split(items, {})}


@given(st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(1, 9), min_size=2, max_size=12))
def test_halves_differ_by_the_largest_source_at_most(sizes: dict[str, int]) -> None:
    items = [item(source, "pages", number) for source, size in sizes.items() for number in range(size)]
    halves = split(items, {})
    totals = {half: sum(size for source, size in sizes.items() if halves[source] is half) for half in Half}
    assert abs(totals[Half.TUNING] - totals[Half.JUDGING]) <= max(sizes.values())
    assert totals[Half.JUDGING] > 0
    assert totals[Half.TUNING] > 0


def test_a_source_stays_in_its_half_when_documents_are_added() -> None:
    first = [item("a", "pages", number) for number in range(3)] + [item("b", "pages", 0)]
    kept = split(first, {})
    more = [*first, *(item("b", "pages", number) for number in range(1, 9)), *(item("c", "pages", n) for n in range(4))]
    halves = split(more, kept)
    assert (halves["a"], halves["b"]) == (kept["a"], kept["b"])
    assert halves["c"] is kept["a"]
