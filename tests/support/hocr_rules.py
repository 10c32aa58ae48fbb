"""The rules of hOCR 1.2 (https://kba.github.io/hocr-spec/1.2/) that apply to inkgate's output.

`violations` lists every broken rule. Tables of classes and properties are the specification's; where its grammar omits
a case that its own text or example shows (a falling baseline), the text is followed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from lxml import etree

XHTML = "{http://www.w3.org/1999/xhtml}"

TYPESETTING = {"ocr_page", "ocr_carea", "ocr_column", "ocr_line", "ocr_linear", "ocr_separator"}
FLOATS = {
    "ocr_chem", "ocr_display", "ocr_float", "ocr_footer", "ocr_header", "ocr_image", "ocr_linedrawing", "ocr_math",
    "ocr_pageno", "ocr_photo", "ocr_table", "ocr_textfloat", "ocr_textimage",
}  # fmt: skip
LOGICAL = {
    "ocr_abstract", "ocr_author", "ocr_blockquote", "ocr_caption", "ocr_chapter", "ocr_document", "ocr_par",
    "ocr_part", "ocr_section", "ocr_subsection", "ocr_subsubsection", "ocr_title",
}  # fmt: skip
INLINE = {
    "ocr_cinfo", "ocr_dropcap", "ocr_glyph", "ocr_glyphs", "ocr_noise", "ocr_xycut", "ocrx_block", "ocrx_line",
    "ocrx_word",
}  # fmt: skip
VOCABULARY = TYPESETTING | FLOATS | LOGICAL | INLINE
NEEDS_BBOX = FLOATS | {"ocr_page", "ocr_carea", "ocr_line", "ocr_separator"}

UINT = r"\d+"
FLOAT = r"\d*\.?\d+"
STRING = r'"[\x20-\x21\x23-\x7e]+"'
GRAMMAR = {
    "bbox": rf"{UINT} {UINT} {UINT} {UINT}",
    "textangle": FLOAT,
    "poly": rf"{UINT} {UINT}( -?{UINT} -?{UINT})+",
    "image": STRING,
    "imagemd5": r'"[0-9A-F]{32}"',
    "ppageno": UINT,
    "lpageno": rf"({STRING}|{UINT})",
    "scan_res": rf"{UINT} {UINT}",
    "x_source": rf"{STRING}( {STRING})*",
    "x_scanner": STRING,
    "baseline": rf"-?{FLOAT} -?{UINT}",
    "hardbreak": "[01]",
    "x_font": STRING,
    "x_fsize": UINT,
    "x_bboxes": rf"{UINT}( {UINT})*",
    "x_confs": rf"{FLOAT}( {FLOAT})*",
    "x_wconf": FLOAT,
}
ANYWHERE = {"bbox", "textangle", "poly"}
PAGE_ONLY = {"image", "imagemd5", "ppageno", "lpageno", "scan_res", "x_source", "x_scanner"}
LINE_OR_BELOW = {"baseline", "hardbreak", "x_font", "x_fsize", "x_bboxes", "x_confs", "x_wconf"}
INSIDE_LINES = {"ocr_line", "ocrx_line", "ocrx_word", "ocr_cinfo"}

_WORD = rf"({STRING}|[!-:<-~]+)"
_PROPERTY = re.compile(rf"([a-z][a-z0-9_]*)((?: {_WORD})+)")


def violations(data: bytes) -> list[str]:
    """The rules that the file breaks; empty if it is valid."""
    root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))
    return list(_violations(root))


def properties(element: etree._Element) -> dict[str, str]:
    """The properties in the element's title; ValueError if it has the wrong format."""
    found: dict[str, str] = {}
    title = element.get("title", "")
    position = 0
    while position < len(title):
        match = _PROPERTY.match(title, position)
        if match is None or match.group(1) in found:
            raise ValueError(f"not the properties format: {title!r}")
        found[match.group(1)] = match.group(2).strip()
        separator = re.compile(r" *; *|$").match(title, match.end())
        if separator is None:
            raise ValueError(f"not the properties format: {title!r}")
        position = separator.end()
    return found


def elements(root: etree._Element) -> list[etree._Element]:
    """All hOCR elements, in the document's order."""
    return [element for element in root.iter(f"{XHTML}*") if element.get("class", "").startswith(("ocr_", "ocrx_"))]


def bbox(element: etree._Element) -> tuple[int, ...]:
    return tuple(int(value) for value in properties(element)["bbox"].split())


def _violations(root: etree._Element) -> Iterator[str]:
    if root.tag != f"{XHTML}html":
        yield "the root is not XHTML's html"
    found = elements(root)
    pages = [element for element in found if element.get("class") == "ocr_page"]
    identifiers = Counter(element.get("id") for element in found)
    yield from (f"id {name} occurs {count} times" for name, count in identifiers.items() if name is None or count > 1)
    numbers = Counter(properties(page).get("ppageno") for page in pages)
    yield from (f"ppageno {number} occurs {count} times" for number, count in numbers.items() if number and count > 1)
    yield from _metadata(root, found, len(pages))
    for element in found:
        kind = element.get("class", "")
        if kind not in VOCABULARY:
            yield f"{kind} is not a class of the specification"
        yield from (f"{kind} {element.get('id')}: {rule}" for rule in _properties(element, kind))
        yield from (f"{kind} {element.get('id')}: {rule}" for rule in _nesting(element, kind))
    yield from _stray_text(root)


def _metadata(root: etree._Element, found: list[etree._Element], page_count: int) -> Iterator[str]:
    fields = [(meta.get("name"), meta.get("content", "")) for meta in root.iter(f"{XHTML}meta")]
    for name in ("ocr-system", "ocr-capabilities"):
        if sum(name == other for other, _ in fields) != 1:
            yield f"not exactly one {name}"
    values = dict(fields)
    if values.get("ocr-number-of-pages", str(page_count)) != str(page_count):
        yield "ocr-number-of-pages is not the number of pages"
    declared = set(values.get("ocr-capabilities", "").split())
    yield from (f"{name} is no capability" for name in declared if name not in VOCABULARY and name[:5] != "ocrp_")
    used = {element.get("class", "") for element in found}
    names = {name for element in found for name in properties(element)}
    used |= {f"ocrp_{name.removeprefix('x_')}" for name in names & {"x_wconf", "poly"}}
    used |= {f"ocrp_{name}" for name in ("lang", "dir") if root.xpath(f"//*[@{name}]")}
    yield from (f"{name} is used and not declared" for name in used - declared)


def _properties(element: etree._Element, kind: str) -> Iterator[str]:
    try:
        found = properties(element)
    except ValueError as error:
        yield str(error)
        return
    if kind in NEEDS_BBOX and "bbox" not in found:
        yield "no bbox"
    for name, value in found.items():
        if name not in GRAMMAR:
            if not name.startswith("x_"):
                yield f"{name} is not a property of the specification"
        elif not re.fullmatch(GRAMMAR[name], value):
            yield f"{name} {value!r} does not follow its grammar"
        if (name in PAGE_ONLY and kind != "ocr_page") or (name in LINE_OR_BELOW and kind not in INSIDE_LINES):
            yield f"{name} is not allowed here"
    if not 0 <= float(found.get("x_wconf", 0)) <= 100:
        yield "x_wconf is not a percentage"
    if not 0 <= float(found.get("textangle", 0)) < 360:
        yield "textangle is not an angle"


def _nesting(element: etree._Element, kind: str) -> Iterator[str]:
    above = [parent for parent in element.iterancestors() if parent.get("class", "").startswith("ocr")]
    kinds = [parent.get("class", "") for parent in above]
    if kind == "ocr_page":
        if kinds:
            yield "a page inside something"
    elif "ocr_page" not in kinds:
        yield "not on a page"
    if kind in FLOATS and set(kinds) & FLOATS:
        yield "a float inside a float"
    if kind in kinds:
        yield "inside another one"
    if kind == "ocrx_word" and not set(kinds) & {"ocr_line", "ocrx_line"}:
        yield "a word outside a line"
    if kind not in INSIDE_LINES | INLINE and set(kinds) & {"ocr_line", "ocrx_line"}:
        yield "inside a line"
    left, top, right, bottom = bbox(element)
    if left > right or top > bottom:
        yield "its bbox is turned inside out"
    if above:
        outer = bbox(above[0])
        if left < outer[0] or top < outer[1] or right > outer[2] or bottom > outer[3]:
            yield f"its bbox {bbox(element)} reaches out of {outer}"


def _stray_text(root: etree._Element) -> Iterator[str]:
    body = root.find(f"{XHTML}body")
    if body is None:
        yield "no body"
        return
    for text in body.xpath(".//text()"):
        owner = text.getparent()
        around = owner.iterancestors() if text.is_tail else [owner, *owner.iterancestors()]
        if text.strip() and not any(parent.get("class") == "ocr_line" for parent in around):
            yield f"text outside a line: {text!r}"
