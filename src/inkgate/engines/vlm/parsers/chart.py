"""Charts as models write them: diagrams as Mermaid, the data of other charts as tables."""

from __future__ import annotations

from inkgate.diagrams import AnswerPart, parts_of_answer
from inkgate.engines.vlm.parsers.answer import ParsedAnswer, PlacedBlock
from inkgate.engines.vlm.parsers.markdown import chart_table, plain_text, safe_markdown
from inkgate.engines.vlm.parsers.wrapped import unfenced
from inkgate_client.types import BlockType, Size


def chart(output: str, size: Size) -> ParsedAnswer:
    """Diagrams as blocks, with the tables between them; without a diagram a table, or Markdown."""
    parts = parts_of_answer(output)
    if not parts:
        return chart_table(unfenced(output), size)
    blocks = tuple(_block(part, size) for part in parts)
    return ParsedAnswer(
        text="\n\n".join(block.text for block in blocks if block.text),
        markdown="\n\n".join(block.markdown for block in blocks),
        blocks=blocks,
    )


def _block(part: AnswerPart, size: Size) -> PlacedBlock:
    """The part as a block that covers the whole image."""
    box = (0.0, 0.0, float(size.width), float(size.height))
    if part.diagram is not None:
        return PlacedBlock(BlockType.FIGURE, box, part.text, part.markdown, label="chart", diagram=part.diagram)
    table = safe_markdown(part.markdown)
    return PlacedBlock(BlockType.TABLE, box, plain_text(table), table)
