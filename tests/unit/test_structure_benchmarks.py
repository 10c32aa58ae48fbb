"""benchmarks.structure: scores of a folder, and its pages as a dataset of Omni Parse Bench."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from benchmarks.structure.omni_parse import tests_of as make_tests
from benchmarks.structure.omni_parse import write_dataset
from benchmarks.structure.score import as_json, by_kind, documents, faults, score_documents, table

TITLE, FIRST, SECOND = "On pears and apples", "Pears grow slowly at first.", "Apples need some water."


def block(kind: str, *texts: str, **more: object) -> dict[str, Any]:
    return {"type": kind, "lines": [{"text": text, "box": [10, 10, 90, 20]} for text in texts], **more}


PAGE = {
    "width": 100,
    "height": 200,
    "blocks": [
        block("header", "Annals of Fruit"),
        block("title", TITLE, level=1),
        block("text", FIRST),
        block("text", SECOND),
        block("table", "Fruit", "Price", html="<table><tr><th>Fruit</th><th>Price</th></tr></table>"),
    ],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("book-one", "book-two", "letter-one"):
        (tmp_path / f"{name}.structure.json").write_text(json.dumps({"pages": [PAGE]}), encoding="utf-8")
        Image.new("RGB", (100, 200)).save(tmp_path / f"{name}.jpg")
    return tmp_path


def test_folder_is_scored_by_kind_with_changes_and_faults(folder: Path) -> None:
    right = f"# {TITLE}\n\n{FIRST}\n\n{SECOND}\n\n| Fruit | Price |\n|---|---|"
    swapped = f"{FIRST}\n\n{TITLE}\n\n{SECOND}"
    for name, markdown in (("book-one", right), ("book-two", swapped), ("letter-one", right)):
        (folder / f"{name}.md").write_text(markdown, encoding="utf-8")
    pages = list(score_documents(documents(folder), folder))
    sums = by_kind(pages)
    assert list(sums) == ["book", "letter", "all"]
    assert (sums["book"].pages, sums["letter"].wrong_successors, sums["all"].right_headings) == (2, 0, 2)
    (bad,) = [page for page in pages if page.badness]
    assert f"heading lost: {TITLE}" in faults(bad)
    assert f"wrong next: {TITLE!r}" in faults(bad)
    kept = as_json(pages, with_pages=False)
    assert "pages" not in kept
    kept["kinds"]["book"]["figures"]["headings"] = 0.0
    assert "+66.7" in table(sums, kept["kinds"])


def test_limit_is_of_each_kind(folder: Path) -> None:
    assert [entry.kind for entry in documents(folder, 1)] == ["book", "letter"]


def test_pages_become_tests(folder: Path, tmp_path: Path) -> None:
    tests = make_tests(PAGE, "one")
    kinds = [test["test_type"] for test in tests]
    assert kinds == ["present"] * 3 + ["order"] * 2 + ["layout_kind"] * 4 + ["table_cell"]
    assert tests[0]["args"] == {"content": {"text": TITLE, "max_diffs": 0}}
    assert tests[5]["args"]["content"]["place"] == [[0.1, 0.05, 0.9, 0.1]]
    assert tests[-1]["args"] == {"cell": {"text": "Price", "max_diffs": 0}, "left": {"text": "Fruit", "max_diffs": 0}}
    assert write_dataset(folder, tmp_path / "dataset") == 3 * len(tests)
    assert sorted(file.name for file in (tmp_path / "dataset" / "pages").iterdir()) == [
        "book-one.png",
        "book-two.png",
        "letter-one.png",
    ]
