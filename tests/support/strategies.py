"""Hypothesis strategies for results: everything the types allow, likely or not.

Texts contain any code point, including lone surrogates and control characters; quads have any angle and may extend past
the page; words may or may not add up to their line.
"""

from __future__ import annotations

import math

from hypothesis import settings
from hypothesis import strategies as st

from inkgate.errors import CODES
from inkgate_client.types import (
    Attempt,
    Block,
    BlockType,
    Box,
    DocumentResult,
    Line,
    PageError,
    PageResult,
    Quad,
    TextWord,
    Word,
)

examples = settings(max_examples=40, deadline=None)
"""For tests over whole documents: each example has hundreds of values, and machines differ in speed."""

any_text = st.text(st.characters(exclude_categories=()), max_size=20)
"""Any code points."""
prose = st.lists(
    st.sampled_from(["ink", "gate", "hyphen-", "Größe", "文", "字。", "א", "&<>\"'", "]]>"]), max_size=5
).map(" ".join)
"""Typical words of documents, and characters that markup must escape."""
texts = prose | any_text
confidences = st.floats(0, 1)


page_errors = st.builds(PageError, st.sampled_from(sorted(CODES)), texts, texts)
json_values: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)


@st.composite
def quads(draw: st.DrawFn, width: int = 2000, height: int = 2000) -> Quad:
    """A rectangle turned by any angle, often by a multiple of 90 degrees, around a point of the page."""
    turn = math.radians(draw(st.sampled_from([0, 0, 90, 180, 270]) | st.floats(0, 360)))
    centre_x, centre_y = draw(st.floats(0, width)), draw(st.floats(0, height))
    across, down = draw(st.floats(0, width)) / 2, draw(st.floats(0, height)) / 2
    corners = ((-across, -down), (across, -down), (across, down), (-across, down))
    a, b, c, d = (
        (centre_x + x * math.cos(turn) - y * math.sin(turn), centre_y + x * math.sin(turn) + y * math.cos(turn))
        for x, y in corners
    )
    return (a, b, c, d)


@st.composite
def boxes(draw: st.DrawFn, width: int = 2000, height: int = 2000) -> Box:
    """An upright rectangle that may extend past the page by up to 10 pixels."""
    left, right = sorted(draw(st.tuples(*[st.floats(-10, width + 10)] * 2)))
    top, bottom = sorted(draw(st.tuples(*[st.floats(-10, height + 10)] * 2)))
    return (left, top, right, bottom)


@st.composite
def lines(draw: st.DrawFn, width: int = 2000, height: int = 2000) -> Line:
    """A line; half of those with words have the words of their text."""
    contents = draw(st.lists(texts, max_size=4))
    words = tuple(Word(text, draw(quads(width, height)), draw(confidences)) for text in contents)
    joined = draw(st.sampled_from([" ", "", "\t"])).join(contents)
    return Line(draw(st.just(joined) | texts), draw(quads(width, height)), draw(confidences), words)


@st.composite
def blocks(draw: st.DrawFn, line_count: int, width: int, height: int) -> tuple[Block, ...]:
    """Blocks that contain some of the lines, in order; the first has at least one, if there are any."""
    cuts = sorted(draw(st.lists(st.integers(0, line_count), max_size=4)))
    ranges = [range(start, end) for start, end in zip([0, *cuts], [*cuts, line_count], strict=True)]
    found = []
    for indexes in draw(st.just(ranges) | st.lists(st.sampled_from(ranges), unique=True)):
        kind = draw(st.sampled_from(BlockType))
        level = draw(st.none() | st.integers(1, 6)) if kind is BlockType.TITLE else None
        found.append(
            Block(
                kind,
                draw(boxes(width, height)),
                tuple(indexes),
                draw(texts),
                draw(texts),
                level,
                draw(st.none() | confidences),
                draw(st.none() | page_errors),
            )
        )
    return tuple(found)


text_words = st.builds(TextWord, texts, st.integers(0, 5000), confidences)
attempts = st.builds(Attempt, texts, st.none() | page_errors, st.floats(0, 1e6))


@st.composite
def pages(draw: st.DrawFn, index: int | None = None) -> PageResult:
    """A page: read, blank, failed, or failed on the way."""
    number = draw(st.integers(0, 2000)) if index is None else index
    error = draw(st.none() | page_errors)
    if error is not None and draw(st.booleans()):
        return PageResult(number, error=error)
    width, height = draw(st.integers(1, 3000)), draw(st.integers(1, 3000))
    found = tuple(draw(st.lists(lines(width, height), max_size=5)))
    return PageResult(
        index=number,
        width=width,
        height=height,
        dpi=draw(st.none() | st.floats(1, 2400)),
        rotation=draw(st.sampled_from([0, 90, 180, 270])),
        source=draw(st.sampled_from(["ocr", "text_layer"])),
        lines=found,
        blocks=draw(st.none() | blocks(len(found), width, height)),
        text=draw(texts | st.just("\n".join(line.text for line in found))),
        markdown=draw(st.none() | texts),
        header=draw(st.none() | texts),
        footer=draw(st.none() | texts),
        engine=draw(st.sampled_from(["", "ppocr"])),
        timings_ms=draw(st.dictionaries(st.sampled_from(["open", "detect", "layout"]), st.floats(0, 1e6))),
        degraded=tuple(draw(st.lists(st.sampled_from(["layout", "resolution"]), unique=True))),
        error=error,
        confidence=draw(st.none() | confidences),
        words=tuple(draw(st.lists(text_words, max_size=3))),
        attempts=tuple(draw(st.lists(attempts, max_size=2))),
        fields=draw(st.none() | st.dictionaries(texts, json_values, max_size=2)),
    )


@st.composite
def documents(draw: st.DrawFn) -> DocumentResult:
    """A document of which one to three pages were requested."""
    indexes = sorted(draw(st.sets(st.integers(0, 2000), min_size=1, max_size=3)))
    return DocumentResult(
        name=draw(texts),
        mime_type=draw(st.sampled_from(["image/png", "application/pdf"])),
        byte_count=draw(st.integers(0, 10**9)),
        page_count=draw(st.integers(max(indexes) + 1, 3000)),
        engine="ppocr",
        pages=tuple(draw(pages(index)) for index in indexes),
    )
