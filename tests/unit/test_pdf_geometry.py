import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.documents.pdf.geometry import MAX_PIXELS, Transform, fit_page, page_transform, shrink
from inkgate_client.types import Size

sides = st.floats(0.5, 20_000)


def test_a_letter_page_has_its_inches_times_dpi() -> None:
    scale = fit_page(612, 792, 200, 4000)
    assert scale.size == Size(1700, 2200)
    assert scale.dpi == 200


def test_the_longest_side_gives_way_to_the_limit() -> None:
    scale = fit_page(612, 7920, 200, 4000)
    assert scale.size.height == 4000
    assert scale.dpi == pytest.approx(4000 * 72 / 7920)


def test_small_pages_are_enlarged_but_not_beyond_print() -> None:
    assert max(vars_of(fit_page(200, 213, 200, 4000).size)) == 1000
    assert fit_page(20, 10, 200, 4000).dpi == 600


def test_a_scan_is_not_enlarged_beyond_its_resolution() -> None:
    assert fit_page(612, 792, 200, 4000, 150).dpi == 150
    assert fit_page(612, 792, 200, 4000, 300).dpi == 200
    assert fit_page(612, 792, 200, 4000, 0.1).dpi == 72


@given(sides, sides, st.floats(1, 2000), st.integers(1, 100_000))
def test_every_page_fits_its_limits(width: float, height: float, dpi: float, max_side: int) -> None:
    size = fit_page(width, height, dpi, max_side).size
    assert min(size.width, size.height) >= 1
    assert max(size.width, size.height) <= max(1, max_side)
    assert size.pixels <= MAX_PIXELS * 1.01 + max_side


def test_shrinking_keeps_the_proportions_and_never_enlarges() -> None:
    assert shrink(Size(2000, 1000), 500) == Size(500, 250)
    assert shrink(Size(2000, 1000), 4000) == Size(2000, 1000)
    assert shrink(Size(2000, 1000), None) == Size(2000, 1000)
    assert shrink(Size(2000, 2), 100) == Size(100, 1)


@pytest.mark.parametrize(
    ("rotation", "size", "corner"),
    [(0, Size(200, 400), (0, 400)), (90, Size(400, 200), (0, 0)), (180, Size(200, 400), (200, 0)),
     (270, Size(400, 200), (400, 200))],
)  # fmt: skip
def test_the_bottom_left_of_a_page_goes_where_its_rotation_takes_it(
    rotation: int, size: Size, corner: tuple[float, float]
) -> None:
    transform = page_transform((10, 20, 110, 220), rotation, size)
    assert transform.point(10, 20) == pytest.approx(corner)
    assert transform.box(10, 20, 110, 220) == pytest.approx((0, 0, size.width, size.height))


def test_transforms_apply_one_after_the_other() -> None:
    first, then = Transform(0, 2, -3, 0, 5, 7), Transform(1, 1, 0, 2, -1, 4)
    assert then.after(first).point(3, 4) == pytest.approx(then.point(*first.point(3, 4)))


def vars_of(size: Size) -> tuple[int, int]:
    return size.width, size.height
