"""From what truth.js read in the page to the structure file: points, reading order, HTML of tables.

Reading order is the order of the HTML, with three rules. Running heads come first; footers, then page numbers last. A
float (a picture, inset or pull quote with text beside it) follows the last block of its story that stands beside it in
the same column; a picture on top of a column, inside a paragraph that runs on there, follows the paragraph. A sidebar
beside a whole story follows the story.
"""

import html
from typing import Any

Block = dict[str, Any]
POINTS_PER_PIXEL = 0.75


def _box(values: list[float]) -> list[float]:
    return [round(value * POINTS_PER_PIXEL, 2) for value in values]


def _stands_beside(floating: Block, other: Block) -> bool:
    """Whether the frame of `other`, in which its lines make room for floats, overlaps the float's box."""
    left, top, right, bottom = floating["box"]
    return any(
        min(right, frame[2]) - max(left, frame[0]) > 6 and min(bottom, frame[3]) - max(top, frame[1]) > 6
        for frame in other["frames"]
    )


def ordered(blocks: list[Block]) -> list[Block]:
    """The blocks in reading order; `order` sorts first, then floats move behind what stands beside them."""
    result = sorted(blocks, key=lambda block: block["order"])
    for moving in [block for block in result if block["floats"]]:
        at = result.index(moving)
        target = at
        for index in range(at + 1, len(result)):
            other = result[index]
            if other["flow"] != moving["flow"] or other["order"] != moving["order"]:
                break
            if not other["floats"] and _stands_beside(moving, other):
                target = index
        result.insert(target, result.pop(at))
    return _interrupted_whole(result)


def _interrupted_whole(blocks: list[Block]) -> list[Block]:
    """The blocks with each picture that interrupts a paragraph, and its caption, behind the paragraph's end."""
    result: list[Block] = []
    waiting: list[Block] = []
    for block in blocks:
        if block["interrupts"]:
            waiting.append(block)
            continue
        result.append(block)
        if waiting:
            result += waiting
            waiting = []
    return result + waiting


def table_html(cells: list[dict[str, Any]]) -> str:
    """The table as HTML with th for header cells."""
    rows: dict[int, list[str]] = {}
    for cell in cells:
        tag = "th" if cell["header"] else "td"
        spans = f' rowspan="{cell["row_span"]}"' if cell["row_span"] > 1 else ""
        spans += f' colspan="{cell["column_span"]}"' if cell["column_span"] > 1 else ""
        rows.setdefault(cell["row"], []).append(f"<{tag}{spans}>{html.escape(cell['text'], quote=False)}</{tag}>")
    return "<table>" + "".join("<tr>" + "".join(rows[row]) + "</tr>" for row in sorted(rows)) + "</table>"


def structure(blocks: list[Block], width: float, height: float) -> dict[str, Any]:
    """The structure file's page of one printed page of `width` by `height` CSS pixels."""
    made = []
    for block in ordered([block for block in blocks if block["box"]]):
        kept = {
            key: value
            for key, value in block.items()
            if key not in {"order", "floats", "interrupts", "flow", "frames", "lines", "cells"}
        }
        kept["box"] = _box(block["box"])
        kept["lines"] = [
            {
                **line,
                "box": _box(line["box"]),
                "words": [{"text": word["text"], "box": _box(word["box"])} for word in line["words"]],
            }
            for line in block["lines"]
        ]
        if "cells" in block:
            kept["cells"] = [{**cell, "box": _box(cell["box"])} for cell in block["cells"]]
            kept["html"] = table_html(block["cells"])
        made.append(kept)
    return {"width": round(width * POINTS_PER_PIXEL, 2), "height": round(height * POINTS_PER_PIXEL, 2), "blocks": made}
