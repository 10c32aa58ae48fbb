"""Similarity of flowcharts: F1 of their nodes and of their edges. Pure."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein

from inkgate.diagrams import Flowchart, parts_of_answer, read_flowchart

MIN_SIMILARITY = 0.8
"""Two texts are the same if their normalized edit similarity is this or more: one wrong letter is no lost node."""
MAX_NODES = 1000
"""Maximum nodes of a diagram; the others count as wrong."""


@dataclass(frozen=True, slots=True)
class DiagramSimilarity:
    """F1 in [0, 1]. A node is right if its text is; an edge if both of its nodes, its direction and its text are."""

    nodes: float
    edges: float


def diagram_similarity(truth: str, markdown: str) -> DiagramSimilarity | None:
    """The flowchart of the Markdown that is most like the true one; 0 if there is none. None if the truth is none."""
    wanted = read_flowchart(truth)
    if wanted.problem is not None or not wanted.nodes:
        return None
    found = [read_flowchart(part.diagram.mermaid) for part in parts_of_answer(markdown) if part.diagram is not None]
    scores = [_compare(wanted, each) for each in found]
    return max(scores, key=lambda score: (score.edges, score.nodes), default=DiagramSimilarity(0.0, 0.0))


def _compare(wanted: Flowchart, read: Flowchart) -> DiagramSimilarity:
    partners = _partners(wanted.nodes, read.nodes)
    left = Counter((edge.begin, edge.end, edge.directed, _folded(edge.text)) for edge in read.edges)
    right = 0
    for edge in wanted.edges:
        ends = partners.get(edge.begin), partners.get(edge.end)
        ways = [ends, ends[::-1]] if not edge.directed else [ends]
        for key in list(left):
            if key[:2] in ways and key[2] == edge.directed and left[key] and _alike(_folded(edge.text), key[3]):
                left[key] -= 1
                right += 1
                break
    return DiagramSimilarity(
        _f1(len(partners), len(wanted.nodes), len(read.nodes)), _f1(right, len(wanted.edges), len(read.edges))
    )


def _partners(wanted: Mapping[str, str], read: Mapping[str, str]) -> dict[str, str]:
    """Nodes of the one by those of the other, the most alike first; each is taken once."""
    ones = [(name, _folded(text)) for name, text in wanted.items()][:MAX_NODES]
    others = [(name, _folded(text)) for name, text in read.items()][:MAX_NODES]
    pairs = sorted(
        (
            (-Levenshtein.normalized_similarity(text, said, score_cutoff=MIN_SIMILARITY), i, j)
            for i, (_, text) in enumerate(ones)
            for j, (_, said) in enumerate(others)
            if _alike(text, said)
        ),
    )
    partners: dict[str, str] = {}
    taken: set[str] = set()
    for _, i, j in pairs:
        name, other = ones[i][0], others[j][0]
        if name not in partners and other not in taken:
            partners[name] = other
            taken.add(other)
    return partners


def _alike(text: str, said: str) -> bool:
    return Levenshtein.normalized_similarity(text, said, score_cutoff=MIN_SIMILARITY) >= MIN_SIMILARITY


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _f1(right: int, wanted: int, read: int) -> float:
    """1 if there is nothing to find and nothing was found."""
    return 2 * right / (wanted + read) if wanted + read else 1.0
