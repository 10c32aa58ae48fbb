"""What every Layout does, asked of the real one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from inkgate.layout.evidence import Layout
from inkgate.layout.regions.cdla import CdlaLayout
from inkgate.page import RgbArray
from inkgate.runtimes.onnx import OnnxRuntime
from inkgate.runtimes.openvino import OpenVinoRuntime
from inkgate_client.types import BlockType, Box

SENTENCE = "The quick brown fox jumps over the lazy dog and runs away into the deep dark wood before the night falls. "


@pytest.fixture(scope="module", params=[OnnxRuntime, OpenVinoRuntime])
def layout(request: pytest.FixtureRequest) -> Layout:
    return CdlaLayout(request.param(threads=1))


def page(width: int = 1240, height: int = 1754) -> RgbArray:
    """A page with a title, two columns of text and a ruled table below."""
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    draw.text((width // 4, 90), "The Order of Reading", fill="black", font=ImageFont.load_default(52))
    font = ImageFont.load_default(20)
    for left in (110, 640):
        for i in range(24):
            start = (i * 17) % len(SENTENCE)
            draw.text((left, 240 + i * 30), (SENTENCE * 2)[start : start + 46], fill="black", font=font)
    for i in range(8):
        draw.line((110, 1080 + i * 50, 1130, 1080 + i * 50), fill="black", width=2)
        for j in range(4):
            if i < 7:
                draw.text((140 + j * 260, 1092 + i * 50), f"{'row' if j == 0 else 31 * j} {i}", fill="black", font=font)
    return np.asarray(image, dtype=np.uint8)


def overlap(box: Box, other: Box) -> float:
    """Intersection over union."""
    width = min(box[2], other[2]) - max(box[0], other[0])
    height = min(box[3], other[3]) - max(box[1], other[1])
    shared = max(0.0, width) * max(0.0, height)
    areas = sum((b[2] - b[0]) * (b[3] - b[1]) for b in (box, other))
    return shared / (areas - shared)


def test_regions_are_found_where_they_are(layout: Layout) -> None:
    regions = layout.find(page())
    expected = {BlockType.TABLE: (110, 1080, 1130, 1430), BlockType.TEXT: (110, 240, 600, 960)}
    for kind, box in expected.items():
        assert max(overlap(found.box, box) for found in regions if found.type is kind) > 0.6


def test_regions_come_best_first_and_lie_within_the_image(layout: Layout) -> None:
    pixels = page()
    regions = layout.find(pixels)
    confidences = [found.confidence for found in regions]
    assert confidences == sorted(confidences, reverse=True)
    for found in regions:
        left, top, right, bottom = found.box
        assert 0 <= left < right <= pixels.shape[1]
        assert 0 <= top < bottom <= pixels.shape[0]
        assert 0 < found.confidence <= 1


def test_regions_of_one_type_hardly_overlap(layout: Layout) -> None:
    regions = layout.find(page())
    pairs = [(a, b) for i, a in enumerate(regions) for b in regions[i + 1 :] if a.type is b.type]
    assert all(overlap(a.box, b.box) <= 0.5 for a, b in pairs)


def test_boxes_follow_the_size_of_the_image(layout: Layout) -> None:
    small, large = page(), np.kron(page(), np.ones((2, 2, 1), dtype=np.uint8))
    tables = [next(r for r in layout.find(pixels) if r.type is BlockType.TABLE).box for pixels in (small, large)]
    doubled = tables[0][0] * 2, tables[0][1] * 2, tables[0][2] * 2, tables[0][3] * 2
    assert overlap(doubled, tables[1]) > 0.9


def test_a_blank_page_has_no_regions(layout: Layout) -> None:
    assert layout.find(np.full((400, 300, 3), 255, dtype=np.uint8)) == []


@pytest.mark.parametrize("shape", [(1, 1, 3), (0, 10, 3), (30_000, 30, 3), (7, 5000, 3)])
def test_images_of_any_shape_are_looked_at(layout: Layout, shape: tuple[int, int, int]) -> None:
    noise = np.random.default_rng(5).integers(0, 255, shape, dtype=np.uint8)
    for found in layout.find(noise):
        assert 0 <= found.box[0] < found.box[2] <= shape[1]
        assert 0 <= found.box[1] < found.box[3] <= shape[0]


def test_many_threads_find_the_same(layout: Layout) -> None:
    pixels = page()
    alone = layout.find(pixels)
    with ThreadPoolExecutor(4) as threads:
        assert all(found == alone for found in threads.map(layout.find, [pixels] * 6))


def test_a_view_into_a_larger_image_is_read_as_it_is_seen(layout: Layout) -> None:
    pixels = page()
    framed = np.zeros((pixels.shape[0] + 20, pixels.shape[1] + 20, 3), dtype=np.uint8)
    framed[10:-10, 10:-10] = pixels
    assert layout.find(framed[10:-10, 10:-10]) == layout.find(pixels)
