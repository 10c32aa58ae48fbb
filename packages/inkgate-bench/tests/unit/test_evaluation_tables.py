"""TEDS: the similarity of a page's tables to those of the truth."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate_bench.accuracy import table_similarity as module
from inkgate_bench.accuracy.table_similarity import TableSimilarity, table_similarity

TRUTH = (
    "<table><thead><tr><td><b>Name</b></td><td>Sum</td></tr></thead>"
    "<tbody><tr><td>a</td><td>1</td></tr><tr><td>b</td><td>2</td></tr></tbody></table>"
)
PIPES = "| Name | Sum |\n| --- | --- |\n| a | 1 |\n| b | 2 |"
NODES = 12  # table, thead, tbody, 3 rows, 6 cells


def teds(markdown: str, truth: str = TRUTH) -> TableSimilarity:
    found = table_similarity(truth, markdown)
    assert found is not None
    return found


@pytest.mark.parametrize("markdown", [TRUTH, PIPES, f"Text before.\n\n{PIPES}\n\nText behind."])
def test_the_same_table_is_alike_however_it_is_written(markdown: str) -> None:
    assert teds(markdown) == TableSimilarity(1.0, 1.0)


def test_each_edit_costs_its_share_of_the_nodes() -> None:
    assert teds(PIPES.replace("b |", "c |")).teds == pytest.approx(1 - 1 / NODES)  # a cell's whole text
    assert teds(PIPES.replace("Name", "Nome")).teds == pytest.approx(1 - 0.25 / NODES)  # a quarter of it
    assert teds(PIPES.replace("Name", "Nome")).structure == 1.0
    without_row = "\n".join(PIPES.splitlines()[:-1])
    assert teds(without_row).teds == pytest.approx(1 - 3 / NODES)  # a row and its two cells
    assert teds(without_row).structure == pytest.approx(1 - 3 / NODES)


def test_a_span_is_part_of_the_structure() -> None:
    spanned = "<table><tr><td colspan=2>a</td></tr><tr><td>b</td><td>c</td></tr></table>"
    plain = "<table><tr><td>a</td></tr><tr><td>b</td><td>c</td></tr></table>"
    assert teds(plain, spanned).structure == pytest.approx(1 - 1 / 7)
    assert teds(spanned, spanned) == TableSimilarity(1.0, 1.0)


def test_a_table_that_was_not_found_is_nothing() -> None:
    assert teds("Name Sum\n\na 1") == TableSimilarity(0.0, 0.0)
    assert teds("") == TableSimilarity(0.0, 0.0)
    assert table_similarity("no table", PIPES) is None


def test_each_true_table_is_compared_with_the_most_alike_one_left() -> None:
    other = "<table><tr><td>x</td></tr></table>"
    assert teds(f"{other}\n\n{TRUTH}") == TableSimilarity(1.0, 1.0)
    both = teds(TRUTH, TRUTH + TRUTH)
    assert both == TableSimilarity(0.5, 0.5)
    assert teds(f"{TRUTH}{other}", f"{other}{TRUTH}") == TableSimilarity(1.0, 1.0)


def test_a_missed_table_does_not_take_the_place_of_the_next() -> None:
    missed = TRUTH.replace("<td>b</td>", "<td>c</td>")
    assert teds(PIPES, missed + TRUTH) == TableSimilarity(0.5, 0.5)
    assert teds(PIPES, TRUTH + missed) == TableSimilarity(0.5, 0.5)


def test_marks_escapes_and_white_space_do_not_count() -> None:
    truth = "<table><tr><td>a*b  c</td><td><i>d</i></td></tr><tr><td>1</td><td>2</td></tr></table>"
    assert teds("| a\\*b c | *d* |\n|---|---|\n| 1 | 2 |", truth.replace("<tr>", "<thead><tr>", 1).replace(
        "</tr>", "</tr></thead>", 1
    )).teds == 1.0  # fmt: skip


def test_huge_tables_are_compared_by_their_first_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "".join(f"<tr><td>{i}</td><td>x</td></tr>" for i in range(40))
    table = f"<table>{rows}</table>"
    monkeypatch.setattr(module, "MAX_STEPS", 900)
    found = teds(table, table)
    assert 0 < found.teds < 1  # what was cut off counts as wrong
    assert teds(PIPES) == TableSimilarity(1.0, 1.0)


@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(
            st.lists(st.sampled_from([0.1, 0.5, 0.6, 1.0]), min_size=width, max_size=width), max_size=4
        )
    )
)
def test_tables_are_paired_so_that_they_are_most_alike_in_total(scores: list[list[float]]) -> None:
    found = module.best_pairs(scores)
    taken = [column for column in found if column is not None]
    assert len(set(taken)) == len(taken)
    total = sum(row[column] for row, column in zip(scores, found, strict=True) if column is not None)
    width = len(scores[0]) if scores else 0
    slots = [*range(width), *[None] * len(scores)]
    best = max(
        sum(row[column] for row, column in zip(scores, order, strict=False) if column is not None)
        for order in permutations(slots, len(scores))
    )
    assert total == pytest.approx(best)


cells = st.lists(st.lists(st.sampled_from(["a", "b", "1"]), max_size=3), max_size=4)


@given(cells, cells)
def test_similarity_is_symmetric_and_within_its_range(first: list[list[str]], second: list[list[str]]) -> None:
    one, other = (
        "<table>"
        + "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
        + "<tr><td>z</td></tr></table>"
        for rows in (first, second)
    )
    found = teds(one, other)
    assert 0.0 <= found.teds <= found.structure <= 1.0
    assert teds(other, one).teds == pytest.approx(found.teds)
    assert (found.teds == 1.0) == (first == second)


def forest_distance(first: tuple[module.TableNode, ...], second: tuple[module.TableNode, ...]) -> float:
    """The definition of the distance: the last tree of either forest goes, or they become each other."""
    if not first or not second:
        return float(sum(map(size, first + second)))
    one, other = first[-1], second[-1]
    cost = 0.0 if (one.tag, one.spans, one.text) == (other.tag, other.spans, other.text) else 1.0
    return min(
        forest_distance((*first[:-1], *one.children), second) + 1,
        forest_distance(first, (*second[:-1], *other.children)) + 1,
        forest_distance(first[:-1], second[:-1]) + forest_distance(tuple(one.children), tuple(other.children)) + cost,
    )


def size(tree: module.TableNode) -> int:
    return 1 + sum(map(size, tree.children))


@given(cells.map(lambda rows: rows[:2]), cells.map(lambda rows: rows[:2]))
def test_the_distance_is_that_of_its_definition(first: list[list[str]], second: list[list[str]]) -> None:
    one, other = (
        module.TableNode(
            "table", [module.TableNode("tr", [module.TableNode("td", text=cell) for cell in row]) for row in rows]
        )
        for rows in (first, second)
    )
    expected = 1 - forest_distance((one,), (other,)) / max(size(one), size(other))
    assert module.similarity(one, other) == pytest.approx(max(0.0, expected))
