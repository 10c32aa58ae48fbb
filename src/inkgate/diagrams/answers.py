"""Diagrams in what a model writes: in fences or bare, with chatter around, thinking before, or cut off."""

from __future__ import annotations

import re
from dataclasses import dataclass

from inkgate.diagrams.flowchart import read_flowchart
from inkgate.diagrams.repairs import repaired
from inkgate_client.diagram import Diagram, DiagramCheck

MAX_DIAGRAMS = 20
"""Maximum number of diagrams in one answer; more stay text."""
_THINKING = re.compile(r"\A\s*(?:<think(?:ing)?>)?(?:(?!</think).)*?</think(?:ing)?>", re.DOTALL)
_UNENDED = re.compile(r"\A\s*<think(?:ing)?>")
_FENCE = re.compile(
    r"^[ \t]*(?P<mark>`{3,}+|~{3,}+)[ \t]*(?P<name>[^\s`]{0,40})[^\n`]*\n(?P<code>.*?)"
    r"(?:^[ \t]*(?P=mark)[`~]*[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_MERMAID = re.compile(r"\A\s*mermaid[ \t]*\n", re.IGNORECASE)
_ASIDES = re.compile(r"\A(?:\s*(?:%%[^\n]*|---[ \t]*\n(?:(?!---)[^\n]*\n){0,20}---[ \t]*)(?:\n|\Z))*")
_KINDS = {
    "flowchart": r"(?i:flowchart|graph)(?=[ \t]+(?i:TB|TD|BT|RL|LR)\b|[ \t]*[;\n]|-elk)",
    "sequence": r"sequenceDiagram\b",
    "state": r"stateDiagram(?:-v2)?\b",
    "class": r"classDiagram(?:-v2)?\b",
    "er": r"erDiagram\b",
    "mindmap": r"mindmap[ \t]*\n",
    "gantt": r"gantt[ \t]*\n",
    "pie": r"pie(?:[ \t]+(?:showData|title)\b[^\n]*)?[ \t]*\n",
    "timeline": r"timeline[ \t]*\n",
    "journey": r"journey[ \t]*\n",
    "gitgraph": r"gitGraph\b",
    "quadrant": r"quadrantChart\b",
    "xychart": r"xychart(?:-beta)?\b",
    "sankey": r"sankey(?:-beta)?\b",
    "block": r"block(?:-beta)?[ \t]*\n",
    "requirement": r"requirementDiagram\b",
}
_HEADERS = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items()))
_BARE = re.compile(rf"^[ \t]*(?={_HEADERS.pattern})", re.MULTILINE)
_ARROWS = ("-->", "==>", ".->", "--&gt;")
_TABLE = re.compile(
    r"^[ \t]*\|[^\n]*\|[ \t]*$(?:\n[ \t]*\|[^\n]*\|[ \t]*$)+|<table\b.*?(?:</table\s*>|\Z)",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """A part of an answer: a diagram with what it says, or other Markdown as it is written."""

    markdown: str
    text: str = ""
    diagram: Diagram | None = None


def parts_of_answer(output: str) -> tuple[AnswerPart, ...]:
    """The diagrams of the answer, with its tables, in order; empty if it has no diagram.

    Chatter around diagrams is dropped. Takes any text, complete or cut off.
    """
    text = _without_thinking(output)
    parts: list[AnswerPart] = []
    end = 0
    for fence in _FENCE.finditer(text):
        source = _MERMAID.sub("", fence["code"])
        if len(parts) >= MAX_DIAGRAMS or not (fence["name"].lower() == "mermaid" or _is_source(source)):
            continue
        parts += _tables(text[end : fence.start()])
        end = fence.end()
        parts += _part(source)
    if not any(part.diagram for part in parts):
        return _bare(text)
    return (*parts, *_tables(text[end:]))


def _without_thinking(output: str) -> str:
    text = _THINKING.sub("", output, count=1) if "</think" in output else output
    return "" if _UNENDED.match(text) else text


def _is_source(text: str) -> bool:
    """Whether the text is Mermaid by its first line, or the edges of a flowchart whose header is missing."""
    return bool(_kind(text)) or _are_edges(text)


def _kind(text: str) -> str:
    """The type of diagram that the first line names; empty if it names none."""
    asides = _ASIDES.match(text)
    begin = 0 if asides is None else asides.end()
    found = _HEADERS.match(text[begin:].lstrip() + "\n")
    return "" if found is None else found.lastgroup or ""


def _are_edges(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and 2 * sum(any(arrow in line for arrow in _ARROWS) for line in lines) >= len(lines)


def _bare(text: str) -> tuple[AnswerPart, ...]:
    """The diagram of an answer without a fence."""
    begin = _BARE.search(text + "\n")
    if begin is not None:
        return tuple(_part(_without_chatter(text[begin.start() :])))
    return tuple(part for part in _part(text) if part.diagram and part.diagram.kind) if _are_edges(text) else ()


def _without_chatter(text: str) -> str:
    """A flowchart up to the empty line from which on it is none."""
    if _kind(text) != "flowchart":
        return text
    problem = read_flowchart(text).problem
    if problem is None:
        return text
    lines = text.split("\n")
    empty = [i for i, line in enumerate(lines[: problem.line]) if not line.strip()]
    cut = "\n".join(lines[: empty[-1]]) if empty else ""
    return cut if cut and read_flowchart(cut).problem is None and read_flowchart(cut).nodes else text


def _part(source: str) -> list[AnswerPart]:
    """The diagram with its text; nothing for an empty source."""
    source = "\n".join(line.rstrip() for line in source.expandtabs(4).split("\n")).strip("\n")
    if not source.strip():
        return []
    diagram, text = diagram_of(source)
    return [AnswerPart(diagram.markdown, text, diagram)]


def diagram_of(source: str) -> tuple[Diagram, str]:
    """The source as a diagram, repaired if needed and possible, and the text that it shows, a label a line."""
    kind = _kind(source)
    if kind not in {"", "flowchart"}:
        return Diagram(kind, source), source
    text, repairs, found = repaired(source)
    if not kind and found.problem is not None:
        return Diagram("", source), source
    if found.problem is None and not found.nodes:
        return Diagram("flowchart", text, DiagramCheck.BROKEN, "line 1: no node", repairs), ""
    check = DiagramCheck.LIKELY if found.problem is None else DiagramCheck.BROKEN
    problem = "" if found.problem is None else str(found.problem)
    shown = "\n".join(found.texts) if found.problem is None else source
    return Diagram("flowchart", text, check, problem, repairs), shown


def _tables(text: str) -> list[AnswerPart]:
    return [AnswerPart(table[0].strip()) for table in _TABLE.finditer(text)]
