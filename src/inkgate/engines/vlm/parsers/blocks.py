"""Answers that give the blocks of a page with their places, in the formats of dots.ocr, DeepSeek-OCR and MinerU.

Output that was cut off gives the blocks before the cut. Blocks without a usable place are dropped, except for their
text: the page's text has it. At most MAX_BLOCKS blocks are taken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from inkgate.engines.vlm.parsers.answer import ParsedAnswer, PlacedBlock, rectangle, without_surrogates
from inkgate.engines.vlm.parsers.latex import formula
from inkgate.engines.vlm.parsers.markdown import markdown
from inkgate.engines.vlm.parsers.otsl import otsl_table
from inkgate.errors import EngineFailed
from inkgate.layout.text.markdown import RUNNING
from inkgate_client.escape import at_beginning, escape
from inkgate_client.types import BlockType, Box, Size

MAX_BLOCKS = 1000
"""No page has more; a model that repeats itself may give more."""
_MAX_FAILURES = 64
"""Braces that begin no object, after which the rest of the output is not searched."""
_HEADING = re.compile(r"\A\s*(#{1,6})[ \t]+")
_DECODER = json.JSONDecoder()

_DOTS: Mapping[str, BlockType] = {
    "title": BlockType.TITLE,
    "section-header": BlockType.TITLE,
    "text": BlockType.TEXT,
    "list-item": BlockType.LIST,
    "footnote": BlockType.TEXT,
    "caption": BlockType.CAPTION,
    "table": BlockType.TABLE,
    "formula": BlockType.FORMULA,
    "picture": BlockType.FIGURE,
    "page-header": BlockType.HEADER,
    "page-footer": BlockType.FOOTER,
}
_NAMED: Mapping[str, BlockType] = {
    "title": BlockType.TITLE,
    "doc_title": BlockType.TITLE,
    "sub_title": BlockType.TITLE,
    "paragraph_title": BlockType.TITLE,
    "table": BlockType.TABLE,
    "equation": BlockType.FORMULA,
    "formula": BlockType.FORMULA,
    "list": BlockType.LIST,
    "list_item": BlockType.LIST,
    "ref_text": BlockType.REFERENCE,
    "reference": BlockType.REFERENCE,
    "caption": BlockType.CAPTION,
    "image_caption": BlockType.CAPTION,
    "figure_title": BlockType.CAPTION,
    "table_caption": BlockType.CAPTION,
    "code_caption": BlockType.CAPTION,
    "image_footnote": BlockType.CAPTION,
    "table_footnote": BlockType.CAPTION,
    "header": BlockType.HEADER,
    "footer": BlockType.FOOTER,
    "page_number": BlockType.FOOTER,
    "image": BlockType.FIGURE,
    "figure": BlockType.FIGURE,
    "chart": BlockType.FIGURE,
    "seal": BlockType.FIGURE,
}
"""Types by the names that DeepSeek-OCR and MinerU give them; all others are text."""


def block_of(kind: BlockType, box: Box, content: str, size: Size, label: str = "") -> PlacedBlock:
    """The block with its content as text and Markdown. `content`: Markdown, HTML or OTSL of a table, LaTeX of a
    formula.
    """
    content = without_surrogates(content.strip())
    level = None
    if kind is BlockType.FIGURE:
        return PlacedBlock(kind, box, label=label)
    if kind in RUNNING:
        content = " ".join(content.split())
        return PlacedBlock(kind, box, content, at_beginning(escape(content)), label=label)
    if kind is BlockType.TABLE:
        answer = otsl_table(content, size)
    elif kind is BlockType.FORMULA:
        answer = formula(content, size)
    else:
        heading = _HEADING.match(content)
        if kind is BlockType.TITLE:
            level = len(heading[1]) if heading else 2
            content = content[heading.end() :] if heading else content
        answer = markdown(content, size)
    shown = answer.markdown or ""
    if level is not None and shown:
        shown = f"{'#' * level} {' '.join(shown.split())}"
    return PlacedBlock(kind, box, answer.text, shown, level, label)


def blocks_answer(blocks: Sequence[PlacedBlock], loose: Sequence[str], size: Size) -> ParsedAnswer:
    """The answer of these blocks. `loose`: Markdown without a place on the page of this size. It follows them, as
    blocks of the whole page.
    """
    page: Box = (0.0, 0.0, float(size.width), float(size.height))
    every = [*blocks, *(block_of(BlockType.TEXT, page, text, size) for text in loose if text.strip())]
    return ParsedAnswer(
        text="\n\n".join(block.text for block in every if block.text),
        markdown="\n\n".join(block.markdown for block in every if block.markdown),
        blocks=tuple(every if blocks else ()),
    )


def layout_json(output: str, size: Size) -> ParsedAnswer:
    """Blocks of a JSON array of `{"bbox": [left, top, right, bottom], "category": "Text", "text": "..."}`, with places
    in pixels of `size` (dots.ocr). Formulas are LaTeX, tables HTML, all else Markdown.

    Raises:
        EngineFailed: `engine_output_invalid`: there is text, and neither an array nor such an element.
    """
    blocks: list[PlacedBlock] = []
    loose: list[str] = []
    for element in _objects(output):
        category, text = element.get("category"), element.get("text", "")
        if not isinstance(category, str) or not isinstance(text, str):
            continue
        box = rectangle(element.get("bbox"), size, grid=None)
        kind = _DOTS.get(category.lower(), BlockType.TEXT)
        if box is None:
            loose.append("" if kind is BlockType.FIGURE else without_surrogates(text))
        else:
            blocks.append(block_of(kind, box, text, size, category))
        if len(blocks) + len(loose) >= MAX_BLOCKS:
            break
    if not blocks and not loose and output.strip() and "[" not in output:
        raise EngineFailed("engine_output_invalid", "the model's answer is not a JSON array")
    return blocks_answer(blocks, loose, size)


def _objects(output: str) -> Iterator[Mapping[str, object]]:
    """Complete JSON objects in the output, whatever surrounds them."""
    failures, start = 0, output.find("{")
    while start >= 0 and failures < _MAX_FAILURES:
        end = start + 1
        try:
            found, end = _DECODER.raw_decode(output, start)
        except ValueError:
            failures += 1
        except RecursionError:  # only a model that repeats itself nests so deep
            return
        else:
            if isinstance(found, Mapping):
                yield found
        start = output.find("{", end)


_REF = re.compile(r"<\|ref\|>([^<]{0,64})<\|/ref\|>\s{0,8}<\|det\|>([\[\]\d\s,.-]{0,4000})<\|/det\|>")
_REF_MARK = re.compile(r"<\|/?(?:ref|det|grounding)\|>|<｜end▁of▁sentence｜>")
_QUADRUPLE = re.compile(r"\[\s*(\d{1,5})\s*,\s*(\d{1,5})\s*,\s*(\d{1,5})\s*,\s*(\d{1,5})\s*\]")
_DEEPSEEK_GRID = 999


def grounded_markdown(output: str, size: Size) -> ParsedAnswer:
    """Blocks of `<|ref|>type<|/ref|><|det|>[[left, top, right, bottom]]<|/det|>` and the Markdown that follows each, on
    a grid of 0 to 999 (DeepSeek-OCR). Output without any is Markdown.
    """
    found = list(_REF.finditer(output))[:MAX_BLOCKS]
    if not found:
        return markdown(_REF_MARK.sub("", output), size)
    blocks: list[PlacedBlock] = []
    loose = [_REF_MARK.sub("", output[: found[0].start()])]
    for match, following in zip(found, [*found[1:], None], strict=True):
        content = _REF_MARK.sub("", output[match.end() : None if following is None else following.start()])
        label = match[1].strip().lower()
        corners = _QUADRUPLE.search(match[2])
        box = None if corners is None else rectangle([int(n) for n in corners.groups()], size, _DEEPSEEK_GRID)
        kind = _NAMED.get(label, BlockType.TEXT)
        if box is None:
            loose.append(content)
        else:
            blocks.append(block_of(kind, box, content, size, label))
    return blocks_answer(blocks, loose, size)


_LAYOUT = re.compile(
    r"<\|box_start\|>\s{0,4}(\d{1,5})\s{1,4}(\d{1,5})\s{1,4}(\d{1,5})\s{1,4}(\d{1,5})\s{0,4}<\|box_end\|>\s{0,4}"
    r"<\|ref_start\|>(\w{1,40})<\|ref_end\|>(?:\s{0,4}<\|rotate_(up|right|down|left)\|>)?"
)
_ROTATIONS = {"up": 0, "right": 270, "down": 180, "left": 90}
"""Degrees clockwise to the upright block. MinerU rotates counterclockwise by 0, 90, 180 and 270."""
_CONTAINERS = frozenset({"list", "image_block", "equation_block"})
"""MinerU's names of blocks whose parts are blocks, too."""


def mineru_layout(output: str, size: Size) -> ParsedAnswer:
    """Blocks without text of `<|box_start|>left top right bottom<|box_end|><|ref_start|>type<|ref_end|><|rotate_up|>`,
    on the grid (MinerU2.5). Formulas in lines of text, and blocks that consist of others, are left out.
    """
    blocks: list[PlacedBlock] = []
    for match in _LAYOUT.finditer(output):
        label = match[5].lower()
        numbers = [int(n) for n in match.groups()[:4]]
        box = rectangle(numbers, size) if max(numbers) <= _GRID else None
        if box is None or label in _CONTAINERS or label == "inline_formula":
            continue
        kind = BlockType.FIGURE if label == "unknown" else _NAMED.get(label, BlockType.TEXT)
        blocks.append(PlacedBlock(kind, box, label=label, rotation=_ROTATIONS[match[6] or "up"]))
        if len(blocks) >= MAX_BLOCKS:
            break
    return ParsedAnswer(text="", blocks=tuple(blocks))


_GRID = 1000
