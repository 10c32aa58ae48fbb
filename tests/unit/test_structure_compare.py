"""Documents before and after a change: which became worse, and by which lines."""

from __future__ import annotations

from pathlib import Path

import orjson

from benchmarks.structure.compare import by_group, changed_lines, differences
from benchmarks.structure.reading import place
from inkgate_bench.accuracy.manifest import Entry

TRUTH = "one two three four\nfive six seven eight"


def entries(folder: Path) -> list[Entry]:
    truth = folder / "truth.txt"
    truth.write_text(TRUTH)
    named = ("a/same.png", "a/worse.png", "b/better.png", "b/free.png", "b/unread.png")
    return [
        Entry(name, folder / name, name[0], "en", "page", text=truth, order_free=name == "b/free.png") for name in named
    ] + [Entry("c/unknown.pdf", folder / "unknown.pdf", "c", "en", "page")]


def keep(folder: Path, entry: Entry, text: str, review: list[str]) -> None:
    folder.mkdir(exist_ok=True)
    kept = {"pages": [{"text": text, "review": review}]} if text else {"refused": "unsupported_type"}
    place(folder, entry).write_bytes(orjson.dumps(kept))


def test_groups_and_documents_are_compared_with_their_truth(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    all_entries = entries(tmp_path)
    texts = (
        (TRUTH, TRUTH),
        (TRUTH, "one two thrce four"),
        ("one two", TRUTH),
        (TRUTH, "five six seven eight\none two three four"),
        (TRUTH, ""),
        ("text", "other text"),
    )
    for entry, (first, second) in zip(all_entries, texts, strict=True):
        keep(before, entry, first, [])
        keep(after, entry, second, ["uncertain_text"] if second != TRUTH else [])
    found = {one.entry.path: one for one in differences(all_entries, before, after)}
    assert [one.changed for one in found.values()] == [False, True, True, True, True, True]
    assert found["a/same.png"].loss == 0 == found["b/free.png"].loss == found["c/unknown.pdf"].loss
    assert found["b/better.png"].loss < 0 < found["a/worse.png"].loss < found["b/unread.png"].loss == 1
    groups = {group.name: group for group in by_group(list(found.values()))}
    assert [name for name, group in groups.items() if not group.worse] == []
    only = by_group([found["a/same.png"], found["b/better.png"], found["c/unknown.pdf"]])
    assert [group.documents for group in only if group.name == "all"] == [2]
    assert not any(group.worse for group in only)


def test_documents_that_one_side_lacks_are_not_compared(tmp_path: Path) -> None:
    all_entries = entries(tmp_path)
    keep(tmp_path / "before", all_entries[0], TRUTH, [])
    assert differences(all_entries, tmp_path / "before", tmp_path / "after") == []


def test_changed_lines_are_counted_not_placed() -> None:
    assert changed_lines("a\nb\n\nb\nc", "c\nb\nd\na") == (["b"], ["d"])
