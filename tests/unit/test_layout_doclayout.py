"""PP-DocLayoutV2 and V3, asked of small ONNX models of their shape, on the real ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from inkgate.errors import EngineFailed
from inkgate.layout.regions.doclayout import CLASSES, DocLayout
from inkgate.page import RgbArray
from inkgate_client.types import BlockType
from support.doclayout_models import Graph, ModelBox, write_model

LEFT, RIGHT = (0.1, 0.2, 0.45, 0.9), (0.55, 0.2, 0.9, 0.9)


def page(width: int = 600, height: int = 1000, colour: tuple[int, int, int] = (255, 255, 255)) -> RgbArray:
    return np.full((height, width, 3), colour, dtype=np.uint8)


def layout(path: Path, *found: ModelBox, graph: Graph | None = None, least: float = 0.3) -> DocLayout:
    return DocLayout(write_model(path / "model.onnx", found, graph), 1, least)


@pytest.mark.parametrize(("width", "height"), [(600, 1000), (3000, 1700), (40, 9)])
def test_boxes_are_in_pixels_of_the_page(tmp_path: Path, width: int, height: int) -> None:
    (region,) = layout(tmp_path, ModelBox("table", (0.1, 0.0, 0.9, 0.8))).find(page(width, height))

    assert region.box == pytest.approx((0.1 * width, 0, 0.9 * width, 0.8 * height), rel=1e-4)
    assert (region.type, region.label) == (BlockType.TABLE, "table")
    assert region.confidence == pytest.approx(0.9)


def test_boxes_lie_inside_the_page(tmp_path: Path) -> None:
    (region,) = layout(tmp_path, ModelBox("text", (-0.2, -0.1, 1.5, 0.5))).find(page())

    assert region.box == pytest.approx((0, 0, 600, 500), rel=1e-4)


def test_the_model_sees_red_first_and_no_more_than_one(tmp_path: Path) -> None:
    looks = layout(tmp_path, ModelBox("text", LEFT), graph=Graph(red=True))

    assert looks.find(page(colour=(255, 0, 0)))[0].confidence == pytest.approx(1.0, rel=1e-3)
    assert looks.find(page(colour=(153, 255, 255)))[0].confidence == pytest.approx(0.6, rel=1e-3)
    assert looks.find(page(colour=(0, 255, 255))) == []


def test_unlikely_boxes_are_left_out(tmp_path: Path) -> None:
    found = (ModelBox("text", LEFT, 0.31), ModelBox("text", RIGHT, 0.29))

    assert [region.confidence for region in layout(tmp_path, *found).find(page())] == [pytest.approx(0.31)]
    assert len(layout(tmp_path, *found, least=0.1).find(page())) == 2


@pytest.mark.parametrize("columns", [7, 8])
def test_no_boxes_are_no_regions(tmp_path: Path, columns: int) -> None:
    assert layout(tmp_path, graph=Graph(columns=columns)).find(page()) == []


def test_an_empty_page_has_no_regions(tmp_path: Path) -> None:
    assert layout(tmp_path, ModelBox("text", LEFT)).find(np.zeros((0, 5, 3), np.uint8)) == []


def test_rows_beyond_the_number_of_boxes_are_none(tmp_path: Path) -> None:
    found = (ModelBox("text", LEFT), ModelBox("text", RIGHT))

    assert len(layout(tmp_path, *found, graph=Graph(count=1)).find(page())) == 1


def test_rows_of_no_class_are_none(tmp_path: Path) -> None:
    assert layout(tmp_path, ModelBox(-1, LEFT), ModelBox("text", (0, 0, float("nan"), 1))).find(page()) == []


def test_regions_come_best_first_and_know_the_order_of_v3(tmp_path: Path) -> None:
    found = (
        ModelBox("text", LEFT, 0.8, (7, 0)),
        ModelBox("text", RIGHT, 0.9, (3, 0)),
        ModelBox("text", (0, 0, 1, 0.1), 0.4),
    )

    regions = layout(tmp_path, *found).find(page())
    assert [region.confidence for region in regions] == pytest.approx([0.9, 0.8, 0.4])
    assert [region.rank for region in regions] == [1, 2, 0]


def test_the_second_column_of_v2_counts_backwards(tmp_path: Path) -> None:
    found = (
        ModelBox("text", LEFT, 0.9, (5, 1)),
        ModelBox("text", RIGHT, 0.8, (5, 2)),
        ModelBox("text", (0, 0, 1, 0.1), 0.7),
    )

    regions = layout(tmp_path, *found, graph=Graph(columns=8)).find(page())
    assert [region.rank for region in regions] == [2, 1, 0]


def test_every_class_is_some_block(tmp_path: Path) -> None:
    found = [
        ModelBox(label, ((i % 5) / 5, (i // 5) / 5, (i % 5) / 5 + 0.15, (i // 5) / 5 + 0.15))
        for i, label in enumerate(CLASSES)
    ]

    regions = layout(tmp_path, *found).find(page())
    assert sorted(region.label for region in regions) == sorted(CLASSES)
    types = {region.label: region.type for region in regions}
    assert types["doc_title"] is types["paragraph_title"] is BlockType.TITLE
    assert types["display_formula"] is BlockType.FORMULA
    assert types["chart"] is types["seal"] is types["image"] is BlockType.FIGURE
    assert types["vertical_text"] is types["abstract"] is BlockType.TEXT


def test_a_page_number_is_a_header_above_and_a_footer_below(tmp_path: Path) -> None:
    found = (ModelBox("number", (0.4, 0.02, 0.6, 0.05), 0.9), ModelBox("number", (0.4, 0.95, 0.6, 0.98), 0.8))

    assert [region.type for region in layout(tmp_path, *found).find(page())] == [BlockType.HEADER, BlockType.FOOTER]


def refused(path: Path) -> str:
    with pytest.raises(EngineFailed) as caught:
        DocLayout(path, 1, 0.3)
    assert caught.value.code == "layout_model_unusable"
    assert str(path) in caught.value.detail
    return caught.value.detail


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert "there is no such file" in refused(tmp_path / "none.onnx")
    assert "there is no such file" in refused(tmp_path)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text.onnx"
    path.write_text("not a model")
    assert "not a valid ONNX model" in refused(path)


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (Graph(inputs={"image": (1, 3, 800, 800), "scale_factor": (1, 2)}), "its inputs are image, scale_factor"),
        (Graph(inputs={"image": (1, 3, 640, 640), "im_shape": (1, 2), "scale_factor": (1, 2)}), "1 x 3 x 640 x 640"),
        (Graph(columns=6), "its first output is 1 x 6"),
        (Graph(outputs=1), "it has 1 output"),
        (Graph(metadata={"character": "text\ntable"}), "it knows other classes: 2, from text to table"),
    ],
)
def test_another_model_is_refused(tmp_path: Path, graph: Graph, reason: str) -> None:
    assert reason in refused(write_model(tmp_path / "other.onnx", [ModelBox("text", LEFT)], graph))


def test_classes_that_are_not_known_are_refused(tmp_path: Path) -> None:
    assert "it gives class 25, and there are 25" in refused(write_model(tmp_path / "m.onnx", [ModelBox(25, LEFT)]))


def test_the_classes_an_export_carries_are_the_ones_known(tmp_path: Path) -> None:
    graph = Graph(metadata={"character": "\n".join(CLASSES)})
    assert len(layout(tmp_path, ModelBox("text", LEFT), graph=graph).find(page())) == 1
