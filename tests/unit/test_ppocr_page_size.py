"""The size at which a page is given to the detector."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.engines.ppocr.detection import longest_side_of, pad_page, padded_side, working_size
from inkgate_client.types import Size

LIMITS = (2000, 736)
SIDES = st.integers(1, 40_000)


@given(width=SIDES, height=SIDES)
def test_any_page_is_looked_at_in_bounded_multiples_of_32(width: int, height: int) -> None:
    size = working_size(Size(width, height), *LIMITS)
    assert size.width % 32 == size.height % 32 == 0
    assert min(size.width, size.height) >= 32
    # The area of a 1:1 page, but for strips that are thinner than the 32 pixels they must have.
    assert size.pixels <= (2000 + 32) ** 2 * max(1, 32 * 736 / min(width, height) / 736)


@pytest.mark.parametrize(
    ("page", "looked_at"),
    [
        (Size(1240, 1754), Size(1248, 1760)),  # as it is
        (Size(2480, 3508), Size(1408, 1984)),  # shrunk
        (Size(300, 400), Size(736, 992)),  # enlarged to the shortest side
        (Size(500, 4000), Size(512, 4000)),  # a strip may be longer
    ],
)
def test_pages_are_looked_at_at_a_legible_size(page: Size, looked_at: Size) -> None:
    assert working_size(page, *LIMITS) == looked_at


@given(side=st.integers(1, 5000))
def test_few_lengths_are_shown(side: int) -> None:
    shown = padded_side(side)
    assert side <= shown < side + 64
    assert shown % (64 if shown > 768 else 32) == 0


def test_a_page_goes_on_as_it_ends() -> None:
    page = np.random.default_rng(1).integers(0, 256, (800, 780, 3), np.uint8)
    shown = pad_page(page)
    assert shown.shape == (832, 832, 3)
    assert (shown[:800, :780] == page).all()
    assert (shown[800:, :780] == page[-1]).all()
    assert (shown[:800, 780:] == page[:, -1:]).all()


def test_a_page_of_a_size_that_is_shown_is_left_alone() -> None:
    page = np.zeros((832, 736, 3), np.uint8)
    assert pad_page(page) is page


def test_an_elongated_page_has_the_area_of_a_2_to_1_page_at_most() -> None:
    assert longest_side_of(Size(1000, 1500), 2000) == 2000
    assert longest_side_of(Size(1000, 2000), 2000) == 2000
    long = longest_side_of(Size(100, 800), 2000)
    assert long == 4000
    assert long * long / 8 == 2000 * 1000
