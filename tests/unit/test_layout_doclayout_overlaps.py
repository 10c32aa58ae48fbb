"""Which of PP-DocLayout's boxes are kept, on a page of 1000 x 1000 pixels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.layout.regions.doclayout import CLASSES, remove_duplicates
from inkgate.runtimes.base import FloatArray
from support.strategies import examples

PAGE = 1000

Named = tuple[str, float, tuple[float, float, float, float]]


def rows(*boxes: Named) -> FloatArray:
    made = [[CLASSES.index(label), score, *box, float(i)] for i, (label, score, box) in enumerate(boxes)]
    return np.array(made, dtype=np.float32).reshape(-1, 7)


def numbers(*boxes: Named, width: int = PAGE, height: int = PAGE) -> list[int]:
    """Which of the boxes are kept."""
    return sorted(int(row[6]) for row in remove_duplicates(rows(*boxes), width, height))


def test_of_two_boxes_of_one_class_the_better_stays() -> None:
    assert numbers(("text", 0.5, (0, 0, 400, 100)), ("text", 0.9, (0, 0, 400, 120))) == [1]
    assert numbers(("text", 0.5, (0, 0, 400, 100)), ("text", 0.9, (0, 95, 400, 195))) == [0, 1]


def test_of_the_same_box_of_two_classes_the_better_stays() -> None:
    assert numbers(("image", 0.5, (0, 0, 400, 100)), ("chart", 0.9, (0, 0, 400, 100))) == [1]
    assert numbers(("doc_title", 0.9, (0, 0, 400, 100)), ("paragraph_title", 0.8, (0, 0, 400, 95))) == [0]


def test_text_in_text_is_dropped_and_text_in_a_picture_stays() -> None:
    inner = (100.0, 100.0, 200.0, 150.0)
    assert numbers(("text", 0.5, (0, 0, 400, 400)), ("abstract", 0.9, inner)) == [0]
    assert numbers(("image", 0.5, (0, 0, 400, 400)), ("text", 0.9, inner)) == [0, 1]
    assert numbers(("table", 0.5, (0, 0, 400, 400)), ("text", 0.9, inner)) == [0]
    assert numbers(("table", 0.5, (0, 0, 400, 400)), ("seal", 0.9, inner)) == [0, 1]


def test_what_lies_in_a_chart_is_the_charts() -> None:
    assert numbers(("chart", 0.5, (0, 0, 400, 400)), ("image", 0.9, (100, 100, 200, 150))) == [0]


def test_a_formula_in_a_line_is_the_lines() -> None:
    line = ("text", 0.5, (0.0, 0.0, 900.0, 40.0))
    assert numbers(line, ("inline_formula", 0.9, (100, 0, 200, 60))) == [0]
    assert numbers(line, ("inline_formula", 0.9, (100, 30, 200, 80))) == [0, 1]


def test_a_list_of_references_gives_way_to_its_entries() -> None:
    whole = ("reference", 0.9, (0.0, 0.0, 900.0, 500.0))
    assert numbers(whole, ("reference_content", 0.5, (0, 0, 900, 40))) == [1]
    assert numbers(whole, ("text", 0.5, (0, 700, 900, 740))) == [0, 1]


@pytest.mark.parametrize(("width", "height", "stays"), [(1000, 999, False), (999, 1000, True)])
def test_an_image_that_is_the_page_is_none(width: int, height: int, *, stays: bool) -> None:
    whole = ("image", 0.9, (0.0, 0.0, 900.0, 990.0))
    assert (0 in numbers(whole, ("text", 0.5, (0, 0, 100, 40)), width=width, height=height)) is stays
    assert numbers(whole, width=width, height=height) == [0]


def test_specks_are_nothing() -> None:
    assert numbers(("text", 0.9, (0, 0, 400, 5)), ("text", 0.9, (0, 100, 5, 400))) == []


@given(
    st.lists(
        st.tuples(
            st.sampled_from(CLASSES),
            st.floats(0, 1, width=32),
            st.tuples(*[st.integers(0, PAGE)] * 4).map(
                lambda box: (min(box[0], box[2]), min(box[1], box[3]), max(box[0], box[2]), max(box[1], box[3]))
            ),
        ),
        max_size=12,
    )
)
@examples
def test_any_boxes_are_sorted_out(boxes: list[Named]) -> None:
    given_rows = rows(*boxes)
    found = remove_duplicates(given_rows, PAGE, PAGE)
    assert {tuple(row) for row in found} <= {tuple(row) for row in given_rows}
    assert list(found[:, 1]) == sorted(found[:, 1], reverse=True)
    assert len(remove_duplicates(found, PAGE, PAGE)) == len(found)
