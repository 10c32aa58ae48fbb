"""Diagrams in a model's answer: found, checked and repaired."""

from __future__ import annotations

import time

import pytest

from inkgate.diagrams import AnswerPart, FlowEdge, parts_of_answer, read_flowchart
from inkgate.engines.vlm.parsers.chart import chart
from inkgate_client.diagram import Diagram, DiagramCheck, DiagramRepair
from inkgate_client.types import BlockType, Size

SIZE = Size(600, 400)
SOURCE = "graph TD\nA[Start] --> B{ok?}\nB -->|yes| C((End))"

AROUND = (
    f"```mermaid\n{SOURCE}\n```",
    f"```\n{SOURCE}\n```",
    f"Here is the flowchart:\n\n~~~mermaid\n{SOURCE}\n~~~\n\nIt shows a `graph`.",
    f"<think>Is it graph LR? A --> Z.</think>\n\n```Mermaid\n{SOURCE}\n```",
    f"```mermaid\n{SOURCE}",
    SOURCE,
    f"mermaid\n{SOURCE}",
    f"The chart as Mermaid:\n\n{SOURCE}\n\nEach box (a step) is a node.",
    f"```mermaid\nmermaid\n{SOURCE}\n```",
)

NO_DIAGRAM = (
    "",
    "year | ink\n2020 | 7",
    "| a | b |\n| --- | --- |\n| 1 | 2 |",
    "Graph of sales\nThe graph shows 3 --> 4.",
    "graph shows the growth\nof things",
    "<think>It may be\ngraph TD\nA --> B",
    "```json\n{}\n```",
)

REPAIRED = (
    ("A[Start] --> B[End]", "flowchart TD\nA[Start] --> B[End]", "header"),
    ("Flowchart td\nA-->B", "flowchart TD\nA-->B", "header"),
    ("graph LR A-->B", "graph LR\nA-->B", "header"),
    ("graph TD\nA --&gt; B", "graph TD\nA --> B", "escapes"),
    ("graph TD\nA[f(x)] --> B", 'graph TD\nA["f(x)"] --> B', "quotes"),
    ('graph TD\nA["the "best" way"] --> B', 'graph TD\nA["the #quot;best#quot; way"] --> B', "quotes"),
    ("graph TD\nA -->|yes (a)| B", 'graph TD\nA -->|"yes (a)"| B', "quotes"),
    ("graph TD\nA[/api/x] --> B", 'graph TD\nA["/api/x"] --> B', "quotes"),
    ("graph TD\nsubgraph s [All (1)]\nA\nend", 'graph TD\nsubgraph s ["All (1)"]\nA\nend', "quotes"),
    ("graph TD\nA --> end\nend[Last]", "graph TD\nA --> end_\nend_[Last]", "reserved"),
    ("graph TD\nA（开始） --> B【处理】；", "graph TD\nA(开始) --> B[处理]", "full_width"),
    ("graph TD\nA -->｜是｜B", "graph TD\nA -->|是| B", "full_width"),
    ("graph TD\nA → B -> C", "graph TD\nA --> B --> C", "arrows"),
    ("graph TD\nsubgraph s\nA --> B\nB --> C[unfin", "graph TD\nsubgraph s\nA --> B\nend", "unfinished"),
)

BROKEN = (
    ("graph TD\nStart here --> B", "line 2"),
    ("graph TD\nA --> B\nA[a] B[b]", "line 3"),
    ("graph TD\nA -->|a|b| B", "line 2"),
    ("graph TD\nA[x]] --> B", "line 2"),
    ("graph TD\nA --> B\nsubgraph s\nB --> graph", "line 4"),
)


def test_a_diagram_is_found_in_fences_bare_after_thinking_and_among_chatter() -> None:
    wrong = []
    for output in AROUND:
        found = AnswerPart(
            f"```mermaid\n{SOURCE}\n```", "Start\nok?\nyes\nEnd", Diagram("flowchart", SOURCE, DiagramCheck.LIKELY)
        )
        if parts_of_answer(output) != (found,):
            wrong.append(output)
    assert not wrong


def test_tables_and_prose_are_no_diagrams() -> None:
    assert [output for output in NO_DIAGRAM if parts_of_answer(output)] == []


def test_usual_slips_are_repaired_and_named() -> None:
    wrong = []
    for source, expected, name in REPAIRED:
        (part,) = parts_of_answer(f"```mermaid\n{source}\n```")
        assert part.diagram is not None
        if (part.diagram.mermaid, part.diagram.repairs) != (expected, (DiagramRepair(name),)):
            wrong.append((source, part.diagram))
    assert not wrong
    assert {name for *_, name in REPAIRED} == {repair.value for repair in DiagramRepair}


def test_what_no_repair_helps_stays_as_it_is_and_says_where_it_breaks() -> None:
    for source, place in BROKEN:
        (part,) = parts_of_answer(source)
        assert part.diagram is not None
        assert (part.diagram.mermaid, part.diagram.check) == (source, DiagramCheck.BROKEN)
        assert part.diagram.problem.startswith(f"{place}: ")
        assert part.diagram.repairs == ()
        assert part.text == source


def test_other_types_are_not_checked() -> None:
    (part, table) = parts_of_answer("```mermaid\nsequenceDiagram\nA->>B: hi\n```\n\nAnd\n\n| a | b |\n|---|---|\n|1|2|")
    assert part.diagram is not None
    assert (part.diagram.kind, part.diagram.check) == ("sequence", DiagramCheck.UNKNOWN)
    assert table.markdown.startswith("| a | b |")


def test_nodes_edges_and_texts_are_read() -> None:
    found = read_flowchart(
        "---\ntitle: x\n---\nflowchart LR\n%% note\nA --> B & C\nsubgraph s [Part]\n"
        "B[b<br/>c]:::x -. why .-> D(#quot;d#quot;)\nend\nC --- D; style A fill:#fff"
    )
    assert found.problem is None
    assert found.nodes == {"A": "A", "B": "b c", "C": "C", "D": '"d"'}
    assert found.edges == [
        FlowEdge("A", "B"),
        FlowEdge("A", "C"),
        FlowEdge("B", "D", "why"),
        FlowEdge("C", "D", directed=False),
    ]
    assert found.texts == ["A", "C", "Part", "b c", "why", '"d"']


def test_a_chart_becomes_blocks_that_cover_the_image_or_a_table() -> None:
    answer = chart(f"```mermaid\n{SOURCE}\n```\n\n<table><tr><td onclick='x'>1</td></tr></table>", SIZE)
    assert [block.type for block in answer.blocks] == [BlockType.FIGURE, BlockType.TABLE]
    assert {block.box for block in answer.blocks} == {(0.0, 0.0, 600.0, 400.0)}
    assert answer.diagram is answer.blocks[0].diagram is not None
    assert "onclick" not in answer.blocks[1].markdown
    assert answer.text == "Start\nok?\nyes\nEnd\n\n1"
    table = chart("```markdown\n| a | b |\n| --- | --- |\n| 1 | 2 |\n```", SIZE)
    assert (table.blocks, table.markdown) == ((), "| a | b |\n| --- | --- |\n| 1 | 2 |")


def test_a_fence_inside_the_source_does_not_end_it() -> None:
    (part,) = parts_of_answer("````mermaid\ngraph TD\nA[x] --> B\n```\n````")
    assert part.markdown.startswith("````mermaid\n")
    assert part.markdown.endswith("\n````")
    assert Diagram("", "`" * 300_000).markdown.startswith("`" * 300_001 + "mermaid\n")


@pytest.mark.parametrize(
    "output",
    [
        "graph TD\nsubgraph" + " " * 60_000 + "[",
        "graph TD\nA -->|" + " " * 60_000 + "(",
        "```" * 30_000,
        "-" * 60_000,
        "graph TD\n" + ("A[(" * 160 + "\n") * 190,
        "graph TD\n" + ("A（" * 240 + "\n") * 190,
        "graph TD\n" + ("A[]-- x " * 60 + "\n") * 190,
    ],
)
def test_hostile_answers_take_time_linear_in_their_length(output: str) -> None:
    begin = time.process_time()
    parts_of_answer(output)
    assert time.process_time() - begin < 5  # quadratic ones take minutes
