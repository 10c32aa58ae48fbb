"""Figures of structure on small pages whose faults are known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inkgate_bench.accuracy.manifest import ManifestInvalid
from inkgate_bench.accuracy.page_structure import StructureScore, score_structure
from inkgate_bench.accuracy.structure_truth import StructureBlock, StructureLine, html_of_cells, load_structure

TITLE = "Growth of pear trees"
FIRST = ("The pear grows slowly in", "the first years after plan-", "ting, and then much faster.")
SECOND = ("Apples need less water than", "pears do in dry summers.")
THIRD = ("Cherries flower in April and", "are picked in early July.")


def block(kind: str, *lines: str, level: int = 0, goes_on: bool = False, html: str = "") -> StructureBlock:
    return StructureBlock(kind, tuple(map(StructureLine, lines)), level, goes_on, html)


PAGE = (
    block("header", "Annals of Fruit"),
    block("title", TITLE, level=1),
    block("text", *FIRST),
    block("text", *SECOND),
    block("text", *THIRD),
    block("page_number", "17"),
)
ONE, TWO, THREE = (
    "The pear grows slowly in the first years after planting, and then much faster.",
    "Apples need less water than pears do in dry summers.",
    "Cherries flower in April and are picked in early July.",
)
RIGHT = f"# {TITLE}\n\n{ONE}\n\n{TWO}\n\n{THREE}"


def score(markdown: str, page: tuple[StructureBlock, ...] = PAGE) -> StructureScore:
    return score_structure([page], [markdown])


def figures(markdown: str, page: tuple[StructureBlock, ...] = PAGE) -> dict[str, float | None]:
    return score(markdown, page).counts.figures()


def test_right_page_has_full_marks_with_and_without_its_running_heads() -> None:
    for markdown in (RIGHT, f"Annals of Fruit\n\n{RIGHT}\n\n17"):
        found = figures(markdown)
        perfect = ("order", "pages_in_order", "headings", "heading_levels", "paragraphs", "words", "placed")
        assert [found[name] for name in perfect] == [1.0] * len(perfect)
        assert [found[name] for name in ("wrong_successors", "lost", "added", "doubled", "lost_lines")] == [0.0] * 5
        assert found["teds"] is None


def test_swapped_blocks_tear_their_neighbours_apart() -> None:
    found = score(f"# {TITLE}\n\n{TWO}\n\n{ONE}\n\n{THREE}")
    assert (found.counts.successors, found.counts.wrong_successors) == (7, 3)
    assert found.counts.right_pages == 0
    assert found.faults.successors[0] == (TITLE, FIRST[0], SECOND[0])
    assert found.counts.figures()["order"] == pytest.approx(1 - 2 * 6 / 28)


def test_columns_read_across_tear_every_line_apart() -> None:
    page = (block("text", *SECOND), block("text", *THIRD))
    found = score(f"{SECOND[0]} {THIRD[0]} {SECOND[1]} {THIRD[1]}", page).counts
    assert (found.successors, found.wrong_successors) == (3, 3)


def test_line_that_was_not_read_does_not_tear_its_neighbours_apart() -> None:
    assert score(RIGHT.replace("the first years after planting", "%")).counts.wrong_successors == 0


def test_merged_paragraphs_lose_a_border() -> None:
    found = score(RIGHT.replace(f"{ONE}\n\n{TWO}", f"{ONE} {TWO}"))
    assert (found.counts.borders, found.counts.read_borders, found.counts.right_borders) == (3, 2, 2)
    assert found.faults.missing_borders == [(FIRST[2], SECOND[0])]


def test_split_paragraph_has_a_false_border_and_a_line_break_has_none() -> None:
    assert score(RIGHT.replace("slowly in the", "slowly in\nthe")).counts.read_borders == 3
    found = score(RIGHT.replace("slowly in the", "slowly in\n\nthe"))
    assert (found.counts.read_borders, found.counts.right_borders) == (4, 3)
    assert found.faults.false_borders == [(FIRST[0], FIRST[1])]


def test_list_items_need_borders() -> None:
    lines = (StructureLine("Water the trees", item=True), StructureLine("Prune them in March", item=True))
    page = (StructureBlock("list", lines),)
    assert figures("- Water the trees\n- Prune them in March", page)["paragraphs"] == 1.0
    assert figures("Water the trees\nPrune them in March", page)["paragraphs"] == 0.0


def test_paragraph_that_goes_on_needs_no_border_and_a_figure_may_stand_behind_it() -> None:
    caption = "Figure 1: a tree in flower"
    page = (
        block("text", *SECOND),
        block("figure", "axis"),
        block("caption", caption),
        block("text", *THIRD, goes_on=True),
    )
    for markdown in (f"{TWO} {THREE}\n\n{caption}", f"{TWO}\n\n{caption}\n\n{THREE}"):
        assert score(markdown, page).counts.wrong_successors == 0
    side_by_side = (block("text", *SECOND), block("text", *THIRD, goes_on=True))
    assert score(f"{TWO} {THREE}", side_by_side).counts.read_borders == 0
    assert score(f"{TWO}\n\n{THREE}", side_by_side).faults.false_borders == [(SECOND[1], THIRD[0])]


def test_lost_and_false_headings() -> None:
    found = score(f"{TITLE}\n\n## {ONE}\n\n{TWO}\n\n{THREE}")
    assert (found.counts.titles, found.counts.headings, found.counts.right_headings) == (1, 1, 0)
    assert found.faults.lost_headings == [TITLE]
    assert len(found.faults.false_headings) == 1


def test_levels_are_compared_with_each_other() -> None:
    page = (
        block("title", "Orchards", level=1),
        block("title", "Pears", level=2),
        block("title", "Cherries", level=2),
        block("title", "Plums", level=2),
    )
    shifted = score("## Orchards\n\n### Pears\n\n### Cherries\n\n### Plums", page).counts
    flat = score("## Orchards\n\n## Pears\n\n## Cherries\n\n## Plums", page).counts
    assert (shifted.right_headings, shifted.right_levels) == (4, 4)
    assert (flat.right_headings, flat.right_levels) == (4, 3)


HTML = "<table><tr><th>Fruit</th><th>Price</th></tr><tr><td>Pears</td><td>2.40</td></tr></table>"
TABLE = (block("text", *SECOND), block("table", "Fruit", "Price", "Pears", "2.40", html=HTML), block("text", *THIRD))


def test_tables_are_compared_and_false_ones_counted() -> None:
    right = f"{TWO}\n\n| Fruit | Price |\n|---|---|\n| Pears | 2.40 |\n\n{THREE}"
    found = score(right, TABLE).counts
    assert (found.tables, found.teds, found.false_tables, found.wrong_successors) == (1, 1.0, 0, 0)
    split = score(f"| Apples need less | water than |\n|---|---|\n| pears do in | dry summers. |\n\n{THREE}", TABLE)
    assert (split.counts.read_tables, split.counts.false_tables) == (1, 1)
    assert split.counts.teds == 0
    assert score(right.replace("|---|---|\n", ""), TABLE).counts.read_tables == 0


def test_text_within_a_table_is_a_wrong_successor() -> None:
    cells = ("Fruit", "Price", "Pears of autumn", "2.40")
    page = (block("text", *SECOND), block("table", *cells), block("text", *THIRD))
    markdown = f"{TWO}\n\n| Fruit | Price |\n|---|---|\n| {THREE} | |\n| Pears of autumn | 2.40 |"
    assert score(markdown, page).counts.wrong_successors == 1


def test_cells_give_a_table() -> None:
    cells = [
        {"row": 0, "column": 0, "row_span": 1, "column_span": 2, "header": True, "text": "Fruit & price"},
        {"row": 1, "column": 0, "text": "Pears"},
        {"row": 1, "column": 1, "text": "2.40"},
    ]
    html = html_of_cells(cells)
    assert html == (
        '<table><tr><th colspan="2">Fruit &amp; price</th></tr><tr><td>Pears</td><td>2.40</td></tr></table>'
    )
    assert html_of_cells([]) == ""


def test_lost_doubled_and_added_words() -> None:
    found = score(f"# {TITLE}\n\n{ONE}\n\n{ONE}\n\n{THREE} [Figure]")
    # The second `in` of the doubled sentence stands for that of the lost one.
    assert found.counts.lost_words == found.counts.lost_line_words == 9
    assert found.faults.lost_lines == list(SECOND)
    assert found.faults.doubled_lines == list(FIRST)
    assert found.counts.added_words == 14


def test_figure_in_place_of_text_loses_its_lines() -> None:
    found = score(f"# {TITLE}\n\n{ONE}\n\n> [Figure]\n\n{THREE}").counts
    assert (found.lost_line_words, found.added_words) == (10, 0)


def test_words_of_figures_count_neither_as_lost_nor_as_added() -> None:
    page = (*PAGE, block("figure", "kilograms a tree"))
    for markdown in (RIGHT, f"{RIGHT}\n\nkilograms a tree"):
        found = score(markdown, page).counts
        assert (found.lost_words, found.added_words) == (0, 0)


def test_chinese_pages_are_judged_by_letters() -> None:
    page = (block("text", "梨树在种植后的最初几年", "生长缓慢。"), block("text", "苹果需要的水较少。"))
    assert figures("梨树在种植后的最初几年生长缓慢。\n\n苹果需要的水较少。", page)["words"] == 1.0
    found = score("苹果需要的水较少。\n\n梨树在种植后的最初几年生长缓慢。", page).counts
    assert (found.successors, found.wrong_successors) == (2, 1)


def test_pages_are_judged_one_by_one_where_the_numbers_agree() -> None:
    first, second = (block("text", *SECOND),), (block("text", *THIRD),)
    assert score_structure([first, second], [TWO, THREE]).counts.pages == 2
    joined = score_structure([first, second], [f"{TWO}\n\n{THREE}"]).counts
    assert (joined.pages, joined.wrong_successors, joined.lost_words) == (1, 0, 0)


def test_page_that_was_not_read_has_lost_everything() -> None:
    found = figures("")
    assert (found["order"], found["headings"], found["lost"]) == (0.0, 0.0, 1.0)


def test_truth_is_loaded_and_invalid_truth_named(tmp_path: Path) -> None:
    file = tmp_path / "a.structure.json"
    lines = [{"text": "Water", "box": [0, 0, 9, 9], "item": True}]
    listed = {"type": "list", "box": [0, 0, 9, 9], "lines": lines}
    file.write_text(json.dumps({"pages": [{"width": 10, "height": 10, "blocks": [listed]}]}), "utf-8")
    assert load_structure(file) == ((StructureBlock("list", (StructureLine("Water", item=True),)),),)
    for wrong in ("[]", "{", json.dumps({"pages": [{"blocks": [{"type": "poem"}]}]})):
        file.write_text(wrong, "utf-8")
        with pytest.raises(ManifestInvalid, match=r"a\.structure\.json"):
            load_structure(file)
