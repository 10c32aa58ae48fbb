"""Images in memory are documents; other objects are refused with what a document may be."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image, ImageOps

from inkgate_client.files import File, load
from inkgate_client.loaders.sources import each_file

RNG = np.random.default_rng(1)


def pixels(*shape: int) -> np.ndarray:
    return RNG.integers(0, 256, shape, dtype=np.uint8)


def decoded(file: File) -> Image.Image:
    name, data = load(file, "")
    assert name == "image.png"
    return Image.open(io.BytesIO(data))


@pytest.mark.parametrize(
    "array",
    [
        pixels(7, 5),
        pixels(7, 5, 1)[:, :, 0],
        pixels(7, 5, 3),
        pixels(7, 5, 4),
        pixels(7, 5, 3)[:, :, ::-1],
        pixels(9, 9, 3)[::2, 3:].transpose(1, 0, 2),
        np.asfortranarray(pixels(7, 5, 3)),
    ],
    ids=["grey", "one-channel", "rgb", "rgba", "flipped", "cut", "fortran"],
)
def test_an_array_is_an_image_with_its_pixels(array: np.ndarray) -> None:
    image = decoded(array)
    assert image.mode == {2: "L", 3: "RGB"}.get(array.ndim if array.shape[-1] != 4 else 0, "RGBA")
    assert np.array_equal(np.asarray(image), array)


def test_an_array_of_bool_is_black_and_white() -> None:
    array = pixels(7, 5) > 100
    assert np.array_equal(np.asarray(decoded(array)) == 255, array)


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (pixels(7, 5, 3) / 255.0, r"pixels are float64, not uint8.*\* 255"),
        (pixels(7, 5).astype(np.float32), "pixels are float32"),
        (pixels(7, 5).astype(np.uint16), "pixels are uint16"),
        (pixels(3, 7, 5), r"shape \(3, 7, 5\) is no image: it must be \(height, width\)"),
        (pixels(2, 7, 5, 3), "is no image"),
        (pixels(0, 5), "is no image"),
        (Image.new("F", (5, 7)), "pixels are float32"),
        (Image.new("I", (5, 7), 70_000), "pixels are int32"),
    ],
)
def test_arrays_that_are_no_image_say_what_one_is(array: File, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        load(array, "")


def test_an_image_of_16_bits_keeps_them_in_either_byte_order() -> None:
    deep = np.array([[0, 1000, 65535]], ">u2")
    assert decoded(Image.fromarray(deep)).mode == "I;16"
    assert np.asarray(decoded(Image.fromarray(deep))).tolist() == deep.tolist()


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "I;16"])
def test_an_image_of_any_mode_keeps_what_it_shows(mode: str) -> None:
    image = Image.fromarray(pixels(7, 5, 3)).convert(mode)
    shown = decoded(image)
    assert (
        shown.convert("RGBA").tobytes() == (image if mode != "CMYK" else image.convert("RGB")).convert("RGBA").tobytes()
    )


def test_an_opened_image_keeps_its_name_its_resolution_and_its_right_way_up() -> None:
    out = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees
    Image.fromarray(pixels(7, 5)).resize((50, 70)).save(out, "JPEG", dpi=(300, 300), exif=exif)
    image = Image.open(out)
    image.filename = "/scans/photo.jpg"
    name, data = load(image, "")
    shown = Image.open(io.BytesIO(data))
    assert (name, shown.size) == ("photo.jpg", (70, 50))
    assert round(shown.info["dpi"][0]) == 300
    assert shown.tobytes() == ImageOps.exif_transpose(image).tobytes()
    assert load(image, "other.png")[0] == "other.png"


@pytest.mark.parametrize("several", [["a.png", "b.png"], ("a.png",), {"a.png"}, iter(["a.png"])])
def test_a_list_is_told_to_be_read_by_read_many(several: File) -> None:
    with pytest.raises(TypeError, match=r"not \w+\. For several documents, use `read_many`"):
        load(several, "")


@pytest.mark.parametrize("make", [lambda: Image.new("L", (5, 7)), lambda: pixels(7, 5)])
def test_loaders_take_one_image_for_one_document(make: Callable[[], File]) -> None:
    image = make()
    assert [each is image for each in each_file(image)] == [True]
