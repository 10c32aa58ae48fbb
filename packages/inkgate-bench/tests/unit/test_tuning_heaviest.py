"""The heaviest images: as large as is let in, full of the pages' own text."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from inkgate_bench.load.pages import LoadPage
from inkgate_bench.tune.heaviest import UploadLimits, heaviest_pages
from support.ppocr import drawn

MANY = 100_000_000


def page(name: str, size: tuple[int, int] = (320, 120)) -> LoadPage:
    written = io.BytesIO()
    Image.fromarray(drawn(["Invoice 20417"], size)).save(written, "PNG")
    return LoadPage(name, written.getvalue(), "image/png", 1)


def opened(heavy: LoadPage) -> Image.Image:
    return Image.open(io.BytesIO(heavy.content))


def test_they_are_the_largest_that_may_be_sent_and_the_largest_that_the_model_gets() -> None:
    made = heaviest_pages([page("a")], UploadLimits(2_000_000, 500_000, MANY, 4))
    pixels = [image.width * image.height for image in map(opened, made)]
    assert len(pixels) == 2
    assert 0.98 * 500_000 <= pixels[0] <= 500_000
    assert 0.98 * 2_000_000 <= pixels[1] <= 2_000_000


@pytest.mark.parametrize("model_pixels", [None, 2_000_000, 9_000_000])
def test_one_is_enough_where_the_model_gets_all_that_may_be_sent(model_pixels: int | None) -> None:
    (only,) = heaviest_pages([page("a")], UploadLimits(2_000_000, model_pixels, MANY, 4))
    assert opened(only).width * opened(only).height <= 2_000_000


def test_they_are_covered_with_the_largest_page() -> None:
    (heavy,) = heaviest_pages([page("small", (60, 60)), page("large")], UploadLimits(1_000_000, None, MANY, 4))
    pixels = np.asarray(opened(heavy))
    quarters = [half for rows in np.array_split(pixels, 2) for half in np.array_split(rows, 2, axis=1)]
    assert all((quarter < 100).mean() > 0.01 for quarter in quarters)


def test_a_body_that_would_be_too_large_has_fewer_pixels() -> None:
    noise = np.random.default_rng(1).integers(0, 256, (400, 400, 3), np.uint8)
    written = io.BytesIO()
    Image.fromarray(noise).save(written, "PNG")
    pages = [LoadPage("noise", written.getvalue(), "image/png", 1)]
    (heavy,) = heaviest_pages(pages, UploadLimits(4_000_000, None, 300_000, 4))
    assert 100_000 < len(heavy.content) < 300_000


def test_without_an_image_that_opens_a_page_is_drawn() -> None:
    broken = LoadPage("broken.png", b"\x89PNG\r\n\x1a\nno", "image/png", None)
    document = LoadPage("a.pdf", b"%PDF-1.7", "application/pdf", 1)
    (heavy,) = heaviest_pages([broken, document], UploadLimits(1_000_000, None, MANY, 4))
    assert (np.asarray(opened(heavy)) < 100).mean() > 0.01
