"""Diagrams as Mermaid: found in a model's answer, checked, and repaired where a few safe changes are enough."""

from __future__ import annotations

from inkgate.diagrams.answers import AnswerPart, parts_of_answer
from inkgate.diagrams.flowchart import Flowchart, FlowEdge, FlowProblem, read_flowchart

__all__ = ["AnswerPart", "FlowEdge", "FlowProblem", "Flowchart", "parts_of_answer", "read_flowchart"]
