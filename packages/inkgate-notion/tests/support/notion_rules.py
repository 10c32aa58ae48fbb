"""What Notion refuses: its limits, unknown columns, and values of other types."""

from __future__ import annotations

import re
from typing import Any

Json = dict[str, Any]
_LONGEST = 2000
_MOST = 100
_MAX_BLOCKS = 1000
_DEEPEST = 2
_WITH_TEXT = {"paragraph", "heading_1", "heading_2", "heading_3", "bulleted_list_item", "quote", "to_do", "toggle"}
_COLUMNS = {"rich_text", "number", "date", "select", "multi_select", "checkbox", "files", "url", "email"}


class Refused(Exception):
    """An error of the API."""

    def __init__(self, message: str, status: int = 400, code: str = "validation_error") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def check_schema(properties: Json) -> Json:
    for name, schema in properties.items():
        if len(schema) != 1 or next(iter(schema)) not in _COLUMNS:
            raise Refused(f"body.properties.{name} is no property schema.")
    return properties


def check_blocks(blocks: list[Json], depth: int = 0, count: list[int] | None = None) -> None:
    count = [0] if count is None else count
    count[0] += len(blocks)
    if len(blocks) > _MOST:
        raise Refused(f"body.children.length should be ≤ `100`, instead was `{len(blocks)}`.")
    if count[0] > _MAX_BLOCKS:
        raise Refused("body failed validation: more than 1000 blocks.")
    if depth > _DEEPEST:
        raise Refused("body.children: blocks are nested too deeply.")
    for block in blocks:
        inside = block[block["type"]]
        if block["type"] == "table":
            rows = [row["table_row"]["cells"] for row in inside["children"]]
            if not rows or {len(cells) for cells in rows} != {inside["table_width"]}:
                raise Refused("Content creation failed: a table's rows must have as many cells as it is wide.")
        elif block["type"] == "table_row":
            for each in inside["cells"]:
                check_text(each)
        elif block["type"] == "equation":
            if _units(inside["expression"]) > 1000:
                raise Refused("body: an equation's length should be ≤ `1000`.")
        elif block["type"] in _WITH_TEXT:
            check_text(inside["rich_text"])
        else:
            raise Refused(f"body.children: there is no block {block['type']}.")
        check_blocks(inside.get("children", []), depth + 1, count)


def check_text(pieces: list[Json]) -> None:
    if len(pieces) > _MOST:
        raise Refused("body: rich_text.length should be ≤ `100`.")
    for piece in pieces:
        # As JavaScript counts.
        length = _units(piece["text"]["content"])
        if length > _LONGEST:
            raise Refused(f"body: text.content.length should be ≤ `2000`, instead was `{length}`.")


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def checked_properties(properties: Json, columns: Json, uploads: dict[str, Json]) -> Json:
    """As a page has them."""
    found = {}
    for name, value in properties.items():
        if name not in columns:
            raise Refused(f"{name} is not a property that exists.")
        kind = columns[name]["type"]
        if set(value) - {"type"} != {kind}:
            raise Refused(f"{name} is expected to be {kind}.")
        found[name] = {"id": columns[name]["id"], "type": kind, kind: _checked(name, kind, value[kind], uploads)}
    return found


def _checked(name: str, kind: str, value: Any, uploads: dict[str, Json]) -> Any:  # noqa: ANN401 - JSON
    match kind:
        case "title" | "rich_text":
            check_text(value)
            return [{**piece, "plain_text": piece["text"]["content"]} for piece in value]
        case "number":
            fits = value is None or (isinstance(value, int | float) and not isinstance(value, bool))
        case "date":
            fits = value is None or re.fullmatch(r"\d{4}-\d\d-\d\d(T\d\d:\d\d.*)?", value["start"]) is not None
        case "select":
            fits = value is None or (0 < _units(value["name"]) <= 100 and "," not in value["name"])
        case "checkbox":
            fits = isinstance(value, bool)
        case "files":
            fits = all(uploads.get(each["file_upload"]["id"], {}).get("status") == "uploaded" for each in value)
            fits = fits and all(_units(each["name"]) <= 100 for each in value)
        case _:
            fits = False
    if not fits:
        raise Refused(f"body failed validation: body.properties.{name}.{kind} should be valid, instead was `{value}`.")
    return value
