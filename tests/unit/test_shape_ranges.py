"""The shapes that TensorRT builds models for are those that the engine feeds them."""

from __future__ import annotations

import numpy as np
import pytest

from inkgate.engines.ppocr.models import MAX_LINES, MAX_ORIENTED, MAX_WIDTH, shape_ranges
from inkgate.engines.ppocr.orientation import LineOrientation
from inkgate.engines.ppocr.recognition import TextRecognizer, call_sizes, pieces_of
from inkgate.page import RgbArray
from inkgate.runtimes import models as files
from inkgate.runtimes.base import Columns, FloatArray
from inkgate.runtimes.onnx import OnnxGraph

RECOGNITION = (files.text_recognition(), files.text_recognition_tiny())
CHARACTERS = {"character": "a\nb"}


class ShapeRecorder:
    """A model that remembers the shapes of its inputs."""

    def __init__(self) -> None:
        self.metadata = CHARACTERS
        self.shapes: list[tuple[int, ...]] = []

    def run(self, tensor: FloatArray) -> Columns:
        self.shapes.append(tensor.shape)
        empty = np.zeros((len(tensor), tensor.shape[3] // 8), np.float32)
        return Columns(empty.astype(np.int32), empty, empty)


class OrientationShapeRecorder(ShapeRecorder):
    def run(self, tensor: FloatArray) -> list[FloatArray]:  # type: ignore[override]  # another kind of model
        self.shapes.append(tensor.shape)
        return [np.zeros((len(tensor), 2), np.float32)]


def crop(width: int) -> RgbArray:
    return np.random.default_rng(width).integers(0, 255, (48, width, 3), np.uint8)


@pytest.mark.parametrize("name", sorted(shape_ranges()))
def test_the_ranges_are_of_the_models_inputs(name: str) -> None:
    found = shape_ranges()[name]
    path = next(path for path in (*RECOGNITION, files.line_orientation()) if path.name == name)
    ((input_name, shape),) = OnnxGraph(path, 1).inputs.items()
    assert input_name == found.name
    assert len(shape) == len(found.min_shape) == len(found.typical_shape) == len(found.max_shape)
    assert all(
        low <= usual <= most
        for low, usual, most in zip(found.min_shape, found.typical_shape, found.max_shape, strict=True)
    )


def test_every_call_of_the_recogniser_is_within_its_range() -> None:
    model, found = ShapeRecorder(), shape_ranges()[files.text_recognition().name]
    for width in (1, 96, 97, 320, 2000, 4096, 4097, 9000):
        TextRecognizer(model).predict([crop(width)] * 9)
    assert all(
        low <= each <= most
        for shape in model.shapes
        for low, each, most in zip(found.min_shape, shape, found.max_shape, strict=True)
    )
    assert max(shape[0] for shape in model.shapes) == MAX_LINES == call_sizes(100, 100)[0]


def test_pieces_of_long_lines_are_within_its_range_wherever_they_are_cut() -> None:
    for width in (4097, 8192, 8193, 12288):
        line = np.full((48, width, 3), 255, np.uint8)
        line[:, ::2] = 0
        line[:, width // 2 - 200 : width // 2 + 1000] = 255  # emptiest off the middle
        assert max(piece.shape[1] for piece in pieces_of(line)) <= MAX_WIDTH


def test_every_call_for_upside_down_lines_is_within_its_range() -> None:
    model, found = OrientationShapeRecorder(), shape_ranges()[files.line_orientation().name]
    LineOrientation(model).predict([crop(100)] * (MAX_ORIENTED + 1))
    assert model.shapes == [found.max_shape, found.min_shape]
