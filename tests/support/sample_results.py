"""A small result with everything that the formats treat differently: for tests and docs/reference/formats.md."""

from __future__ import annotations

from dataclasses import replace

from inkgate_client.types import (
    Block,
    BlockType,
    DocumentResult,
    Line,
    PageError,
    PageResult,
    Quad,
    Word,
)


def upright(left: float, top: float, right: float, bottom: float) -> Quad:
    """The quad of horizontal text."""
    return ((left, top), (right, top), (right, bottom), (left, bottom))


TITLE = Line(
    "Ink & Gate",
    upright(100, 80, 340.5, 120),
    0.9871,
    (
        Word("Ink", upright(100, 80, 172, 120), 0.9912),
        Word("&", upright(186, 80, 214, 120), 0.9721),
        Word("Gate", upright(228, 80, 340.5, 120), 0.9893),
    ),
)
BROKEN = Line("Pages are read in hyphen-", upright(100, 160, 620, 190), 0.9612)
REST = Line("ated lines.", upright(100, 196, 320, 226), 0.9534)
CHINESE = Line(
    "文字识别",
    upright(100, 300, 260, 340),
    0.9988,
    tuple(Word(sign, upright(100 + 40 * i, 300, 140 + 40 * i, 340), 0.9988) for i, sign in enumerate("文字识别")),
)
UPWARDS = Line("margin", ((700, 600), (700, 480), (730, 480), (730, 600)), 0.9)

PAGE = PageResult(
    index=0,
    width=800,
    height=1000,
    dpi=200.0,
    lines=(TITLE, BROKEN, REST, CHINESE, UPWARDS),
    text="Ink & Gate\n\nPages are read in hyphen-\nated lines.\n\n文字识别\n\nmargin",
    engine="ppocr",
    timings_ms={"detect": 12.34},
    confidence=0.9604,
)
FAILED = PageResult(
    index=1,
    error=PageError("page_broken", "its content stream ends -- early", "Repair the file."),
)
DOCUMENT = DocumentResult("sample.pdf", "application/pdf", 12_345, 2, "ppocr", (PAGE, FAILED))
"""Two pages; the second could not be read."""

SHORT = replace(
    DOCUMENT,
    pages=(
        replace(
            PAGE,
            lines=(TITLE,),
            text="Ink & Gate",
            markdown="# Ink & Gate",
            confidence=0.9871,
            blocks=(Block(BlockType.TITLE, (98.0, 78.0, 342.0, 122.0), (0,), "Ink & Gate", "# Ink & Gate", 1, 0.98),),
        ),
        FAILED,
    ),
)
"""The example of docs/reference/formats.md."""

BLOCKS = (
    Block(BlockType.TITLE, (98.0, 78.0, 342.0, 122.0), (0,), "Ink & Gate", "# Ink & Gate", 1, 0.98),
    Block(
        BlockType.TEXT,
        (98.0, 158.0, 622.0, 228.0),
        (1, 2),
        "Pages ...",
        "Pages are read in hyphenated lines.",
        None,
        0.97,
    ),
    Block(BlockType.FIGURE, (300.0, 300.0, 600.0, 450.0), (), "", "", None, 0.8),
    Block(BlockType.FOOTER, (98.0, 298.0, 262.0, 342.0), (3,), "文字识别", "文字识别", None, 0.7),
)
"""Blocks of PAGE. The last line, which runs upwards, is in no block."""
