"""Results for clients that know only lines: text without a position becomes lines too."""

from __future__ import annotations

from dataclasses import replace

from inkgate.types import Line, PageResult, Quad


def with_lines(page: PageResult) -> PageResult:
    """`page` with lines. If it has none: each line of its text, with the whole page as its quad.

    Their confidence is the mean of their words, weighted by length; 1 if the engine gave none.
    """
    if page.lines or not page.text:
        return page
    right, bottom = float(page.width), float(page.height)
    whole: Quad = ((0.0, 0.0), (right, 0.0), (right, bottom), (0.0, bottom))
    lines = []
    start = 0
    for text in page.text.split("\n"):
        end = start + len(text)
        if text.strip():
            lines.append(Line(text, whole, _confidence(page, start, end)))
        start = end + 1
    return replace(page, lines=tuple(lines))


def _confidence(page: PageResult, start: int, end: int) -> float:
    words = [word for word in page.words if start <= word.start < end]
    length = sum(len(word.text) for word in words)
    return sum(word.confidence * len(word.text) for word in words) / length if length else 1.0
