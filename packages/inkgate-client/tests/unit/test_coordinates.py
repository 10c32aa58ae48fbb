"""Coordinates in the picture as sent, for pages that were rotated for reading."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import orjson
import pytest
from hypothesis import given

from inkgate_client.coordinates import Coordinates, as_sent, before_rotation
from inkgate_client.formats import Format, render
from inkgate_client.formats.areas import page_areas, page_in
from inkgate_client.types import DocumentResult, PageResult, Quad
from support import sample_results as sample
from support import strategies

TURNS = [0, 90, 180, 270]


@pytest.mark.parametrize(
    ("rotation", "upright"),
    [
        (0, (3.0, 1.0)),
        (90, (3.0, 3.0)),  # a 10 x 4 page turned right: (x, y) goes to (4 - y, x), so (3, 1) to (3, 3)
        (180, (7.0, 3.0)),
        (270, (1.0, 7.0)),
    ],
)
def test_quads_of_a_turned_page_go_back_to_where_they_were(rotation: int, upright: tuple[float, float]) -> None:
    width, height = (10, 4) if rotation % 180 == 0 else (4, 10)
    quad: Quad = (upright, upright, upright, upright)
    assert before_rotation(quad, rotation, width, height)[0] == (3.0, 1.0)


@strategies.examples
@given(strategies.pages())
def test_a_page_turned_four_times_by_90_degrees_is_itself(page: PageResult) -> None:
    page = replace(page, rotation=90)
    turned = page
    for _ in range(4):
        turned = as_sent(turned)
    assert (turned.width, turned.height) == (page.width, page.height)
    corners = [
        (corner, back)
        for a, b in zip(page.lines, turned.lines, strict=True)
        for corner, back in zip(a.quad, b.quad, strict=True)
    ]
    assert all(back == pytest.approx(corner, abs=1e-6) for corner, back in corners)


@strategies.examples
@given(strategies.pages())
def test_turned_back_areas_stay_inside_each_other_and_keep_their_text(page: PageResult) -> None:
    upright, sent = page_areas(page), page_in(page, Coordinates.SENT)
    assert [[row.text for row in area.rows] for area in sent.areas] == [
        [row.text for row in area.rows] for area in upright
    ]
    for area in sent.areas:
        for row in area.rows:
            for outer, inner in [
                (sent.box, area.box),
                (area.box, row.box),
                *((row.box, word.box) for word in row.words),
            ]:
                assert outer[0] <= inner[0] <= inner[2] <= outer[2]
                assert outer[1] <= inner[1] <= inner[3] <= outer[3]


def document(rotation: int) -> DocumentResult:
    return replace(sample.DOCUMENT, pages=(replace(sample.PAGE, rotation=rotation),))


@pytest.mark.parametrize(
    ("rotation", "page", "box"),
    [
        (0, (800, 1000), (100, 80, 341, 120)),
        (90, (1000, 800), (80, 459, 120, 700)),
        (180, (800, 1000), (459, 880, 700, 920)),
        (270, (1000, 800), (880, 100, 920, 341)),
    ],
)
def test_hocr_and_alto_are_measured_on_the_picture_as_sent(
    rotation: int, page: tuple[int, int], box: tuple[int, int, int, int]
) -> None:
    left, top, right, bottom = box
    hocr = render(document(rotation), Format.HOCR).decode()
    assert f"bbox 0 0 {page[0]} {page[1]}; ppageno 0" in hocr
    assert f'id="line_1_1" title="bbox {left} {top} {right} {bottom}' in hocr
    alto = render(document(rotation), Format.ALTO)
    root = ET.fromstring(alto)  # noqa: S314 - our own
    line = root.find(".//{*}TextLine")
    assert line is not None
    assert [int(line.attrib[key]) for key in ("HPOS", "VPOS", "WIDTH", "HEIGHT")] == [
        left,
        top,
        right - left,
        bottom - top,
    ]


def test_each_format_has_its_default_and_takes_the_other() -> None:
    result = document(180)
    for kind, default, other in (
        (Format.HOCR, Coordinates.SENT, Coordinates.UPRIGHT),
        (Format.ALTO, Coordinates.SENT, Coordinates.UPRIGHT),
        (Format.JSON, Coordinates.UPRIGHT, Coordinates.SENT),
    ):
        assert render(result, kind) == render(result, kind, default)
        assert render(result, kind) != render(result, kind, other)
    [page] = orjson.loads(render(result, Format.JSON, Coordinates.SENT))["pages"]
    assert (page["rotation"], page["coordinates"]) == (180, "sent")
    assert page["lines"][0]["quad"][0] == [700.0, 920.0]
