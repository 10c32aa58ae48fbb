"""The rules of ALTO 4 that apply to inkgate's output: grammar, references, and nesting of boxes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lxml import etree

ALTO = "{http://www.loc.gov/standards/alto/ns-v4#}"
_GRAMMAR = etree.RelaxNG(etree.parse(Path(__file__).parents[1] / "data" / "alto-subset.rng"))
_REFERENCES = ("TAGREFS", "PROCESSINGREFS")


def violations(data: bytes) -> list[str]:
    """The rules that the file breaks; empty if it is valid."""
    root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))
    _GRAMMAR.validate(root)
    return [str(error) for error in _GRAMMAR.error_log] + list(_violations(root))


def text(data: bytes) -> list[str]:
    """The text of each TextLine, with its spaces and hyphen in place."""
    root = etree.fromstring(data)
    return ["".join(_content(part) for part in line) for line in root.iter(f"{ALTO}TextLine")]


def _content(part: etree._Element) -> str:
    return " " if part.tag == f"{ALTO}SP" else part.get("CONTENT", "")


def _violations(root: etree._Element) -> Iterator[str]:
    identifiers = Counter(element.get("ID") for element in root.iter() if element.get("ID"))
    yield from (f"ID {name} occurs {count} times" for name, count in identifiers.items() if count > 1)
    references = {name for element in root.iter() for key in _REFERENCES for name in element.get(key, "").split()}
    yield from (f"nothing has the ID {name}" for name in references - set(identifiers))
    for element in root.iter():
        outer = element.getparent()
        if outer is None or element.get("HEIGHT") is None or outer.get("HPOS") is None:
            continue
        left, top, right, bottom = _box(element)
        outer_left, outer_top, outer_right, outer_bottom = _box(outer)
        if left < outer_left or top < outer_top or right > outer_right or bottom > outer_bottom:
            yield f"{element.get('ID')} reaches out of {outer.get('ID')}"


def _box(element: etree._Element) -> tuple[int, int, int, int]:
    left, top, width, height = (int(element.get(name, "")) for name in ("HPOS", "VPOS", "WIDTH", "HEIGHT"))
    return (left, top, left + width, top + height)
