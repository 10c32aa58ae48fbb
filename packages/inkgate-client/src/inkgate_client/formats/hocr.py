"""hOCR 1.2: XHTML that shows the text in a browser and has boxes and confidences in `title` attributes.

Specification: https://kba.github.io/hocr-spec/1.2/. Coordinates are whole pixels from the page's top left corner.
Additions: `x_rotation` (degrees clockwise by which the page was turned for reading) and the metadata `inkgate-status`
and `inkgate-error`, which list what could not be read.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from urllib.parse import quote

from inkgate_client import __version__
from inkgate_client.codec import encodable
from inkgate_client.coordinates import Coordinates
from inkgate_client.formats.areas import Area, LineArea, PixelBox, page_areas, page_in
from inkgate_client.formats.text import one_line
from inkgate_client.text_direction import has_right_to_left, runs_from_right
from inkgate_client.types import BlockType, DocumentResult, PageResult

_CLASSES = {
    BlockType.TABLE: "ocr_table",
    BlockType.FIGURE: "ocr_image",
    BlockType.CAPTION: "ocr_caption",
    BlockType.HEADER: "ocr_header",
    BlockType.FOOTER: "ocr_footer",
}
_CAPABILITIES = ("ocr_page", "ocr_carea", "ocr_par", "ocr_line", "ocrx_word", "ocrp_wconf")
# Quoted strings are printable ASCII without quotes by the specification; most readers split properties at any `;`.
_SAFE_IN_NAMES = " !#$&'()*+,-./:<=>?@[]^_`{|}~"


def render(result: DocumentResult, coordinates: Coordinates = Coordinates.SENT) -> bytes:
    """The document as one hOCR file: well-formed XHTML in UTF-8, also fit to be parsed as HTML."""
    html = ET.Element("html", {"xmlns": "http://www.w3.org/1999/xhtml"})
    html.text = "\n"
    _head(html, result)
    body = ET.SubElement(html, "body")
    body.text = body.tail = "\n"
    for page in result.pages:
        _page(body, page, result.name, coordinates)
    declaration = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE html>\n'
    return (declaration + ET.tostring(html, encoding="unicode") + "\n").encode()


def _head(html: ET.Element, result: DocumentResult) -> None:
    head = ET.SubElement(html, "head")
    head.text = head.tail = "\n"
    title = ET.SubElement(head, "title")
    # Never empty: an empty element would be written <title/>, which HTML reads as a title without end.
    title.text = one_line(result.name) or "document"
    title.tail = "\n"
    capabilities = list(_CAPABILITIES)
    if any(page.blocks is not None for page in result.pages):
        # Declared only if layout was read, so that readers may infer that the page has no table.
        capabilities += sorted(set(_CLASSES.values()))
    if any(runs_from_right(text) for page in result.pages for text in _texts(page)):
        capabilities.append("ocrp_dir")
    fields = [
        ("ocr-system", f"inkgate {__version__} {one_line(result.engine)}".strip()),
        ("ocr-capabilities", " ".join(capabilities)),
        ("ocr-number-of-pages", str(len(result.pages))),
        ("ocr-langs", "unknown"),
        ("inkgate-status", result.status.value),
    ]
    fields += [
        ("inkgate-error", f"page {page.index + 1}: {page.error.code}: {one_line(page.error.detail)}")
        for page in result.pages
        if page.error is not None
    ]
    ET.SubElement(head, "meta", {"http-equiv": "Content-Type", "content": "text/html; charset=utf-8"}).tail = "\n"
    for name, content in fields:
        ET.SubElement(head, "meta", {"name": name, "content": content}).tail = "\n"


def _texts(page: PageResult) -> Iterator[str]:
    """The texts whose direction is said; none if all run from left to right."""
    texts = (page.text, *(line.text for line in page.lines), *(block.text for block in page.blocks or ()))
    if not any(map(has_right_to_left, texts)):
        return
    for area in page_areas(page):
        yield "".join(row.text for row in area.rows)
        yield from (row.text for row in area.rows)


def _page(body: ET.Element, page: PageResult, name: str, coordinates: Coordinates) -> None:
    placed = page_in(page, coordinates)
    properties = [f'image "{quote(encodable(name), safe=_SAFE_IN_NAMES)}"'] if name else []
    properties += [_bbox(placed.box), f"ppageno {page.index}"]
    if page.dpi is not None:
        properties.append(f"scan_res {round(page.dpi)} {round(page.dpi)}")
    if page.rotation:
        properties.append(f"x_rotation {page.rotation}")
    number = page.index + 1
    element = _element(body, "div", "ocr_page", f"page_{number}", "; ".join(properties))
    rows = words = 0
    for count, area in enumerate(placed.areas, 1):
        paragraph = _area(element, area, f"{number}_{count}")
        for row in area.rows:
            rows += 1
            words = _row(paragraph, row, (number, rows, words))


def _area(page: ET.Element, area: Area, number: str) -> ET.Element:
    """The area's paragraph, for its rows; the area itself if it has none."""
    element = _element(page, "div", _CLASSES.get(area.type, "ocr_carea"), f"block_{number}", _bbox(area.box))
    if not area.rows:
        return element
    tag = f"h{area.level or 1}" if area.type is BlockType.TITLE else "p"
    paragraph = _element(element, tag, "ocr_par", f"par_{number}", _bbox(area.box))
    if runs_from_right("".join(row.text for row in area.rows)):
        paragraph.set("dir", "rtl")
    return paragraph


def _row(paragraph: ET.Element, row: LineArea, numbers: tuple[int, int, int]) -> int:
    """Adds the row and its words. Returns the page's word count. `numbers`: of page, of row, of words before it."""
    page, number, words = numbers
    line = _element(paragraph, "span", "ocr_line", f"line_{page}_{number}", _bbox(row.box) + _direction(row))
    line.text = None
    from_right = runs_from_right(row.text)
    if from_right != (paragraph.get("dir") == "rtl") and any(map(str.isalpha, row.text)):
        line.set("dir", "rtl" if from_right else "ltr")
    for word in row.words:
        words += 1
        confidence = "" if word.confidence is None else f"; x_wconf {100 * word.confidence:.2f}"
        span = _element(line, "span", "ocrx_word", f"word_{page}_{words}", _bbox(word.box) + confidence)
        span.text = word.text
        span.tail = " " if word.spaced else None
    return words


def _direction(row: LineArea) -> str:
    """The direction of a row that is not level: `textangle` from 45 degrees on, else `baseline`.

    The lower edge of the quad serves as the baseline, in the specification's coordinates: from the bottom left corner
    of the bbox, y downwards.
    """
    if 45 <= row.angle <= 315:
        return f"; textangle {row.angle:.2f}"
    _, _, (x2, y2), (x3, y3) = row.quad
    slope = (y2 - y3) / (x2 - x3) if x2 > x3 else 0.0
    if abs(slope) < 0.0005:
        return ""
    left, _, _, bottom = row.box
    return f"; baseline {slope:.3f} {round(y3 + slope * (left - x3) - bottom)}"


def _bbox(box: PixelBox) -> str:
    return "bbox {} {} {} {}".format(*box)


def _element(parent: ET.Element, tag: str, kind: str, identifier: str, title: str) -> ET.Element:
    element = ET.SubElement(parent, tag, {"class": kind, "id": identifier, "title": title})
    # The line feed keeps an empty element from being written <div/>, which HTML misreads.
    element.text = element.tail = "\n"
    return element
