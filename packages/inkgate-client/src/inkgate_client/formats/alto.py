"""ALTO 4.2: the XML that libraries and archives store with their page images.

Schema: https://www.loc.gov/standards/alto/v4/alto-4-2.xsd. The measurement unit is whole pixels from the page's top
left corner. Processing steps and errors of a page are `Processing` notes, which the page refers to; block types and
heading levels are `Tags`. Documents with lines from right to left say so, which makes them ALTO 4.3.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from itertools import pairwise, zip_longest

from inkgate_client import __version__
from inkgate_client.coordinates import Coordinates
from inkgate_client.formats.areas import Area, AreaPage, LineArea, PixelBox, page_in
from inkgate_client.formats.text import one_line
from inkgate_client.text_direction import runs_from_right
from inkgate_client.types import MARK_TYPES, BlockType, DocumentResult, PageResult, Quad

NAMESPACE = "http://www.loc.gov/standards/alto/ns-v4#"
SCHEMA = "http://www.loc.gov/standards/alto/v4/alto-4-2.xsd"

_ROOT = {
    "xmlns": NAMESPACE,
    "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
    "xsi:schemaLocation": f"{NAMESPACE} {SCHEMA}",
    "SCHEMAVERSION": "4.2",
}
_ROOT_WITH_DIRECTION = {
    "xsi:schemaLocation": f"{NAMESPACE} {SCHEMA.replace('4-2', '4-3')}",
    "SCHEMAVERSION": "4.3",
}
# A letter, then a hyphen or a soft hyphen, at the end of a row.
_HYPHENATED = re.compile(r"(?<=[^\W\d_])[-\u2010\u00ad]$")


def render(result: DocumentResult, coordinates: Coordinates = Coordinates.SENT) -> bytes:
    """The document as one ALTO file in UTF-8, with a `Page` for every page, including failed ones."""
    placed = [page_in(page, coordinates) for page in result.pages]
    from_right = any(runs_from_right(row.text) for page in placed for area in page.areas for row in area.rows)
    root = ET.Element("alto", _ROOT | (_ROOT_WITH_DIRECTION if from_right else {}))
    _description(root, result)
    _tags(root, [area for page in placed for area in page.areas])
    layout = ET.SubElement(root, "Layout")
    for page, found in zip(result.pages, placed, strict=True):
        _page(layout, page, found)
    ET.indent(root, " ")
    return ('<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n").encode()


def _description(root: ET.Element, result: DocumentResult) -> None:
    description = ET.SubElement(root, "Description")
    ET.SubElement(description, "MeasurementUnit").text = "pixel"
    source = ET.SubElement(description, "sourceImageInformation")
    ET.SubElement(source, "fileName").text = one_line(result.name)
    _processing(description, "inkgate", ("contentGeneration", f"status: {result.status}", result.engine))
    for page in result.pages:
        number = page.index + 1
        for kind, category, note in _notes(page):
            _processing(description, f"{kind}_{number}", (category, f"page {number}: {note}", ""))


def _notes(page: PageResult) -> list[tuple[str, str, str]]:
    """The page's notes, as (kind, ALTO's category, text)."""
    notes = []
    if page.rotation:
        notes.append(("rotation", "preOperation", f"turned {page.rotation} degrees clockwise"))
    if page.source == "text_layer":
        notes.append(("source", "contentGeneration", "taken from the text layer of the file"))
    if page.error is not None:
        notes.append(("error", "other", f"could not be read: {page.error.code}: {one_line(page.error.detail)}"))
    return notes


def _processing(description: ET.Element, identifier: str, step: tuple[str, str, str]) -> None:
    category, text, engine = step
    processing = ET.SubElement(description, "Processing", {"ID": identifier})
    ET.SubElement(processing, "processingCategory").text = category
    ET.SubElement(processing, "processingStepDescription").text = text
    if engine:
        ET.SubElement(processing, "processingStepSettings").text = f"engine: {one_line(engine)}"
    software = ET.SubElement(processing, "processingSoftware")
    ET.SubElement(software, "softwareName").text = "inkgate"
    ET.SubElement(software, "softwareVersion").text = __version__


def _tags(root: ET.Element, areas: Sequence[Area]) -> None:
    types = sorted({area.type for area in areas})
    if not types:
        return
    tags = ET.SubElement(root, "Tags")
    for kind in types:
        ET.SubElement(tags, "LayoutTag", {"ID": f"type_{kind}", "TYPE": "block type", "LABEL": kind})
    for level in sorted({area.level for area in areas if area.level is not None}):
        label = {"ID": f"level_{level}", "TYPE": "heading level", "LABEL": str(level)}
        ET.SubElement(tags, "StructureTag", label)


def _page(layout: ET.Element, page: PageResult, placed: AreaPage) -> None:
    number = page.index + 1
    attributes = {"ID": f"page_{number}", "PHYSICAL_IMG_NR": str(number)}
    references = ["inkgate", *(f"{kind}_{number}" for kind, _, _ in _notes(page))]
    attributes["PROCESSINGREFS"] = " ".join(references)
    if page.confidence is not None:
        attributes["PC"] = f"{page.confidence:.4f}"
    box = placed.box
    if box[2] and box[3]:
        attributes |= {"WIDTH": str(box[2]), "HEIGHT": str(box[3])}
    element = ET.SubElement(layout, "Page", attributes)
    space = ET.SubElement(element, "PrintSpace", _place(box))
    rows = words = 0
    for count, area in enumerate(placed.areas, 1):
        block = _block(space, area, f"{number}_{count}")
        hyphens = [_hyphen(row, following) for row, following in zip_longest(area.rows, area.rows[1:])]
        for row, hyphen, parts in zip(area.rows, hyphens, _parts(area.rows, hyphens), strict=True):
            rows += 1
            line = ET.SubElement(block, "TextLine", {"ID": f"line_{number}_{rows}", **_place(row.box)})
            from_right = runs_from_right(row.text)
            if from_right or (block.get("BASEDIRECTION") and any(map(str.isalpha, row.text))):
                line.set("BASEDIRECTION", "rtl" if from_right else "ltr")
            words = _line(line, row, hyphen, parts, (number, words))


def _block(space: ET.Element, area: Area, number: str) -> ET.Element:
    """The area as an element: a figure or a mark without text is an illustration, anything else a text block."""
    tags = [f"type_{area.type}"] + ([] if area.level is None else [f"level_{area.level}"])
    attributes = {"ID": f"block_{number}", "TAGREFS": " ".join(tags), **_place(area.box)}
    turn = _common_angle(area.rows)
    if turn:
        attributes["ROTATION"] = str(turn)
    if runs_from_right("".join(row.text for row in area.rows)):
        attributes["BASEDIRECTION"] = "rtl"
    figure = (area.type is BlockType.FIGURE or area.type in MARK_TYPES) and not area.rows
    return ET.SubElement(space, "Illustration" if figure else "TextBlock", attributes)


def _common_angle(rows: Sequence[LineArea]) -> int:
    """The rotation of all rows in degrees counter-clockwise; 0 if they differ by more than one degree."""
    angles = {round(row.angle) % 360 for row in rows}
    return angles.pop() if len(angles) == 1 else 0


def _line(
    line: ET.Element, row: LineArea, hyphen: str, parts: Mapping[int, Mapping[str, str]], numbers: tuple[int, int]
) -> int:
    """Adds the row's words. Returns the page's word count so far.

    Args:
        line: of the row.
        row: its words.
        hyphen: at the end of the last word; empty for none.
        parts: attributes of words that are parts of a hyphenated word, by index in the row.
        numbers: of the page, and of words before.
    """
    page, words = numbers
    _shape(line, row.quad, row.box)
    for count, word in enumerate(row.words, 1):
        words += 1
        content = word.text[:-1] if hyphen and count == len(row.words) else word.text
        attributes = {
            "ID": f"string_{page}_{words}",
            "CONTENT": content,
            **_place(word.box),
            **parts.get(count - 1, {}),
        }
        if word.confidence is not None:
            attributes["WC"] = f"{word.confidence:.4f}"
        _shape(ET.SubElement(line, "String", attributes), word.quad, word.box)
        if word.spaced:
            ET.SubElement(line, "SP", _gap(word.box, row.words[count].box))
    if hyphen:
        ET.SubElement(line, "HYP", {"CONTENT": hyphen})
    return words


def _hyphen(row: LineArea, following: LineArea | None) -> str:
    """The hyphen at the end of the row's last word; empty if the next row does not continue in lower case."""
    end = _HYPHENATED.search(row.words[-1].text)
    return end.group() if end and following is not None and following.text[0].islower() else ""


def _parts(rows: Sequence[LineArea], hyphens: Sequence[str]) -> list[dict[int, dict[str, str]]]:
    """Returns for each row the attributes of words that are one of two parts of a hyphenated word, by index in the row.

    Words in three parts, and rows without known words, are skipped.
    """
    parts: list[dict[int, dict[str, str]]] = [{} for _ in rows]
    for i, (row, following) in enumerate(pairwise(rows)):
        whole = row.words[-1].text[:-1] + following.words[0].text
        chained = (len(row.words) == 1 and i and hyphens[i - 1]) or (len(following.words) == 1 and hyphens[i + 1])
        if hyphens[i] and not chained and " " not in whole:
            parts[i][len(row.words) - 1] = {"SUBS_TYPE": "HypPart1", "SUBS_CONTENT": whole}
            parts[i + 1][0] = {"SUBS_TYPE": "HypPart2", "SUBS_CONTENT": whole}
    return parts


def _place(box: PixelBox) -> dict[str, str]:
    left, top, right, bottom = box
    return {"HPOS": str(left), "VPOS": str(top), "WIDTH": str(right - left), "HEIGHT": str(bottom - top)}


def _gap(before: PixelBox, after: PixelBox) -> dict[str, str]:
    """Position and width of the space between the boxes, if there is one."""
    left, top, right = before[2], max(before[1], after[1]), after[0]
    if after[2] <= before[0]:  # the words run from right to left
        left, right = after[2], before[0]
    return {"HPOS": str(left), "VPOS": str(top), "WIDTH": str(right - left)} if left < right else {}


def _shape(element: ET.Element, quad: Quad, box: PixelBox) -> None:
    """Adds the quad as a polygon if it differs from the box by more than one pixel."""
    left, top, right, bottom = box
    if all(min(abs(x - left), abs(x - right)) <= 1 and min(abs(y - top), abs(y - bottom)) <= 1 for x, y in quad):
        return
    points = " ".join(f"{round(x)},{round(y)}" for x, y in quad)
    ET.SubElement(ET.SubElement(element, "Shape"), "Polygon", {"POINTS": points})
