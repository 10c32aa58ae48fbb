"""Parses formulas in LaTeX."""

from __future__ import annotations

import re

from inkgate.engines.vlm.parsers.answer import ParsedAnswer
from inkgate_client.types import Size

_FENCED = re.compile(r"\A```(?:latex|tex|math)?[ \t]*\n(.*?)(?:\n```|\Z)", re.DOTALL)
_DELIMITERS = (("$$", "$$"), (r"\[", r"\]"), (r"\(", r"\)"), ("$", "$"))


def formula(output: str, size: Size) -> ParsedAnswer:  # noqa: ARG001  # a Parser; a formula has no places
    """LaTeX without delimiters as text, and between `$$` as Markdown. If there are several formulas, they keep their
    delimiters.
    """
    text = output.strip()
    if fenced := _FENCED.match(text):
        text = fenced[1].strip()
    for begin, end in _DELIMITERS:
        if text.startswith(begin):
            inner = text[len(begin) :].removesuffix(end).strip()
            if begin not in inner and end not in inner:
                text = inner
                break
    if not text:
        return ParsedAnswer(text="", markdown="")
    several = any(begin in text for begin, _ in _DELIMITERS if begin not in (r"\[", r"\("))
    return ParsedAnswer(text=text, markdown=text if several else f"$$\n{text}\n$$")
