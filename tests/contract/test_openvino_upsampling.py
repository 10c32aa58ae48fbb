"""The last layers of detection, computed at a quarter of the resolution: the same numbers."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from inkgate.runtimes import models as files
from inkgate.runtimes.openvino import OpenVinoRuntime
from inkgate.runtimes.openvino_graphs import openvino, with_upsampling_last
from support.ppocr import drawn_line


def kinds(model: openvino.Model) -> set[str]:
    return {node.get_type_name() for node in model.get_ops()}


def test_detection_finds_what_it_found() -> None:
    line = cv2.resize(drawn_line("What is found"), (288, 32))
    picture = cv2.copyMakeBorder(line, 32, 32, 32, 32, cv2.BORDER_CONSTANT, value=(255, 255, 255))
    tensor = cv2.dnn.blobFromImage(picture, scalefactor=1 / 127.5, mean=(127.5, 127.5, 127.5))
    page = np.asarray(tensor, np.float32)
    core = openvino.Core()
    plain = core.compile_model(core.read_model(files.text_detection()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    expected = plain(page)[0]

    (found,) = OpenVinoRuntime(1, "f32").open(files.text_detection()).run(page)

    assert found.shape == expected.shape == (1, 1, 96, 352)
    assert np.ptp(expected) > 0.9
    assert found == pytest.approx(expected, abs=1e-4)


def test_detection_has_no_transposed_convolution_left() -> None:
    model = openvino.Core().read_model(files.text_detection())
    assert "ConvolutionBackpropData" in kinds(model)
    assert "ConvolutionBackpropData" not in kinds(with_upsampling_last(model))


def test_other_models_are_left_as_they_are() -> None:
    for path in (files.page_orientation(), files.line_orientation(), files.page_layout()):
        model = openvino.Core().read_model(path)
        assert with_upsampling_last(model) is model
