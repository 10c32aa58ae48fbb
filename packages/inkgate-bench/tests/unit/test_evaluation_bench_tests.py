"""Unit tests of Markdown in the form of olmOCR-bench: their verdicts."""

from __future__ import annotations

from typing import Any

import pytest

from inkgate_bench.accuracy.bench_tests import Direction, plain, run_tests, starts, tables_of
from inkgate_bench.accuracy.manifest import ManifestInvalid

PAGE = """# The *Title*

First paragraph says “hello – world” and
goes on. **Bold** words.

| Name  | Size | Price |
|-------|-----:|-------|
| Apple | 3    | 0.50  |
| Pear  | 12   | 0.75  |

The end. \\(a^{2} + b^2 = c^2\\) and $$ e^{i\\pi}+1=0 $$
"""
HTML = """<table><thead><tr><th rowspan="2">Topic</th><th colspan="2">Agent</th></tr>
<tr><th>Left<br>one</th><th>Right</th></tr></thead>
<tbody><tr><td>Move</td><td>0.87</td><td>0.66</td></tr><tr><td>Pick</td><td>1.00</td><td>0.44</td></tr></tbody></table>
"""


def verdict(markdown: str, **test: object) -> bool | None:
    (outcome,) = run_tests([{"id": "t", **test}], markdown)
    assert outcome.id == "t"
    assert bool(outcome.reason) is not outcome.passed
    return outcome.passed


@pytest.mark.parametrize(
    ("expected", "test"),
    [
        (True, {"type": "present", "text": 'says "hello - world" and goes on'}),
        (True, {"type": "present", "text": "**Bold** words"}),
        (True, {"type": "present", "text": "The Title"}),
        (False, {"type": "present", "text": "the title"}),
        (True, {"type": "present", "text": "the title", "case_sensitive": False}),
        (False, {"type": "present", "text": "Second paragraph"}),
        (False, {"type": "present", "text": "goes up"}),
        (True, {"type": "present", "text": "goes un", "max_diffs": 2}),
        (False, {"type": "present", "text": "The end", "first_n": 30}),
        (True, {"type": "present", "text": "The Title", "first_n": 30}),
        (True, {"type": "absent", "text": "PLOS NEGLECTED"}),
        (False, {"type": "absent", "text": "The end."}),
        (True, {"type": "absent", "text": "Title", "last_n": 20}),
        (False, {"type": "absent", "text": "+1=0", "last_n": 20}),
        (True, {"type": "order", "before": "Title", "after": "Bold"}),
        (False, {"type": "order", "before": "Bold", "after": "Title"}),
        (False, {"type": "order", "before": "Title", "after": "nowhere"}),
        (True, {"type": "order", "before": "Tutle", "after": "Bold wurds", "max_diffs": 1}),
        (False, {"type": "order", "before": "Tutle", "after": "Bold wurds"}),
        (False, {"type": "order", "before": "Bold words", "after": "Bold wards", "max_diffs": 1}),
        (True, {"type": "table", "cell": "Pear"}),
        (True, {"type": "table", "cell": "12", "left": "Pear", "right": "0.75", "up": "3", "top_heading": "Size"}),
        (True, {"type": "table", "cell": "0.50", "left_heading": "Apple", "down": "0.75"}),
        (False, {"type": "table", "cell": "0.50", "left_heading": "Pear"}),
        (False, {"type": "table", "cell": "Plum"}),
        (False, {"type": "table", "cell": "Apple", "left": "anything"}),
        (True, {"type": "math", "math": "a^2+b^{2}=c^{2}"}),
        (True, {"type": "math", "math": "e^{i \\pi}+1=0"}),
        (True, {"type": "math", "math": "\\, b^{2} = \\left c"}),  # part of a formula; spacing doesn't show
        (False, {"type": "math", "math": "a^2+b^2=d^2"}),
    ],
)
def test_verdict_on_a_page(expected: bool, test: dict[str, Any]) -> None:
    assert verdict(PAGE, **test) is expected


@pytest.mark.parametrize(
    ("expected", "test"),
    [
        (True, {"cell": "0.87", "top_heading": "Agent"}),
        (True, {"cell": "0.44", "top_heading": "Agent"}),
        (True, {"cell": "0.66", "top_heading": "Right", "left": "0.87", "down": "0.44"}),
        (True, {"cell": "Agent", "down": "Left one"}),
        (True, {"cell": "Right", "left": "Left one"}),
        (True, {"cell": "Left one", "left": "Topic"}),
        (True, {"cell": "0.66", "left_heading": "Move"}),  # nothing is marked as heading there: the edge counts
        (False, {"cell": "0.66", "top_heading": "Left one"}),
        (False, {"cell": "0.66", "right": "0.44"}),
    ],
)
def test_verdict_on_an_html_table_with_spans(expected: bool, test: dict[str, str]) -> None:
    assert verdict(HTML, type="table", **test) is expected


def test_page_without_tables_or_formulas_fails_their_tests() -> None:
    assert verdict("plain", type="table", cell="x") is False
    assert verdict("plain", type="math", math="x") is False


def test_type_that_is_not_known_does_not_count() -> None:
    (outcome,) = run_tests([{"id": "f", "type": "footnote", "marker": "1"}], "")
    assert outcome.passed is None


@pytest.mark.parametrize(
    "test", [{"type": "present"}, {"type": "present", "text": " "}, {"type": "order", "before": 3}]
)
def test_broken_test_is_told_by_its_id(test: dict[str, Any]) -> None:
    with pytest.raises(ManifestInvalid, match="test broken-7"):
        run_tests([{"id": "broken-7", **test}], "page")


def test_plain_text_has_no_emphasis_and_one_form_of_signs() -> None:
    assert plain("**A** _b_<br/>c\n ’d’ — <b>e</b>") == "A b c 'd' - e"


def test_fuzzy_search_finds_the_best_start_of_each_occurrence() -> None:
    page = "xx hello world yy hxllo world zz"
    assert starts("hello world", page, 0) == [3]
    assert starts("hello world", page, 1) == [3, 18]
    assert starts("nowhere at all", page, 2) == []


def test_ragged_and_escaped_pipe_tables_are_read() -> None:
    (table,) = tables_of("a \\| b | c |\n|---|---|\n| d |\n")
    assert [[cell and cell.text for cell in row] for row in table.grid] == [["a | b", "c"], ["d"]]
    corner = table.cells[2]
    assert [cell.text for cell in table.beside(corner, Direction.UP)] == ["a | b"]
    assert table.beside(corner, Direction.RIGHT) == []


def test_a_line_with_a_pipe_is_no_table() -> None:
    assert tables_of("either | or\n\nprose") == []


def test_html_that_is_broken_off_is_read_as_far_as_it_goes() -> None:
    (table,) = tables_of("<table><tr><td rowspan=99999 colspan='x'>a<td>b<tr><td>c")
    assert [[cell.text if cell else None for cell in row] for row in table.grid] == [["a", "b"], ["a", "c"]]
