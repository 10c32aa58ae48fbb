"""A diagram that was read, as Mermaid. Beside types.py, whose results hold it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_BACKTICKS = re.compile("`{3,}")


class DiagramCheck(StrEnum):
    """What inkgate's own check of a diagram found. Only flowcharts are checked, by a smaller grammar than Mermaid's.

    `likely`: the whole text is a flowchart. `broken`: it is none, and Mermaid will most likely refuse it. `unknown`: of
    a type that isn't checked.
    """

    LIKELY = "likely"
    BROKEN = "broken"
    UNKNOWN = "unknown"


class DiagramRepair(StrEnum):
    """What was changed in the model's text so that it is Mermaid; docs/guides/diagrams.md describes each."""

    HEADER = "header"
    ESCAPES = "escapes"
    QUOTES = "quotes"
    RESERVED = "reserved"
    FULL_WIDTH = "full_width"
    ARROWS = "arrows"
    UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True)
class Diagram:
    """A diagram.

    Attributes:
        kind: `flowchart`, `sequence`, `state`, `class`, `er`, ...; empty if the text doesn't say.
        mermaid: its source, without a code fence.
        problem: why it is broken, with the line; empty if it is not.
        repairs: what was changed in the model's text; empty if nothing had to be.
    """

    kind: str
    mermaid: str
    check: DiagramCheck = DiagramCheck.UNKNOWN
    problem: str = ""
    repairs: tuple[DiagramRepair, ...] = ()

    @property
    def markdown(self) -> str:
        """The source in a code fence that nothing in it ends."""
        longest = max((len(run) for run in _BACKTICKS.findall(self.mermaid)), default=0)
        fence = "`" * max(3, longest + 1)
        return f"{fence}mermaid\n{self.mermaid}\n{fence}"
