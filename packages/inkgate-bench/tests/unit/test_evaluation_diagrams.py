"""Flowcharts compared by nodes and edges."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inkgate_bench.accuracy.diagram_similarity import DiagramSimilarity, diagram_similarity
from inkgate_bench.accuracy.manifest import ManifestInvalid, load_manifest
from inkgate_bench.accuracy.scores import check_truths
from support.evaluation import draw

TRUTH = "flowchart TD\nA[Order received] --> B{In stock?}\nB -->|yes| C[Ship]\nB -->|no| D[Reorder]\nD --- B"


def similarity(read: str) -> DiagramSimilarity:
    found = diagram_similarity(TRUTH, f"Some text.\n\n```mermaid\n{read}\n```\n")
    assert found is not None
    return found


def test_names_shapes_layout_and_single_letters_do_not_count() -> None:
    read = "graph LR\nx((order  recieved)) --> y[in stock?]\ny -- No --> w(Reorder)\ny -- yes --> z(Ship)\ny --- w"
    assert similarity(read) == DiagramSimilarity(1.0, 1.0)


def test_lost_and_wrong_edges_and_nodes_count() -> None:
    assert similarity("graph TD\nA[Order received] --> B[In stock?]") == DiagramSimilarity(2 * 2 / 6, 2 * 1 / 5)
    turned = TRUTH.replace("A[Order received] --> B{In stock?}", "B{In stock?} --> A[Order received]")
    assert similarity(turned) == DiagramSimilarity(1.0, 3 / 4)
    assert similarity(TRUTH.replace("|yes|", "|maybe|")) == DiagramSimilarity(1.0, 3 / 4)
    assert similarity(f"{TRUTH}\nC --> E[Done]") == DiagramSimilarity(2 * 4 / 9, 2 * 4 / 9)
    assert diagram_similarity(TRUTH, "No diagram.") == DiagramSimilarity(0.0, 0.0)


def test_of_several_diagrams_the_most_alike_counts() -> None:
    assert similarity(f"graph TD\nX --> Y\n```\n\n```mermaid\n{TRUTH}") == DiagramSimilarity(1.0, 1.0)


def test_a_truth_that_is_no_flowchart_is_reported_before_anything_is_read(tmp_path: Path) -> None:
    draw(tmp_path / "a.png", "Start")
    (tmp_path / "a.mmd").write_text("sequenceDiagram\nA->>B: hi")
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps([{"path": "a.png", "ground_truth": {"mermaid": "a.mmd"}}]))
    (entry,) = load_manifest(manifest)
    assert entry.scored
    with pytest.raises(ManifestInvalid, match=r"a\.mmd is no flowchart"):
        check_truths([entry])
