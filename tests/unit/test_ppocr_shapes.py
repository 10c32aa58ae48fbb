"""What the embedded engine's models tell a batcher about their items."""

import numpy as np

from inkgate.engines.ppocr.detection import DetectionInput, DetectionOptions
from inkgate.engines.ppocr.models import PpocrModels
from inkgate.runtimes.onnx import OnnxRuntime


def test_cost_is_the_model_s_input_and_content_what_is_no_padding() -> None:
    models = PpocrModels.load(OnnxRuntime(1))
    line, page = np.zeros((24, 161, 3), np.uint8), np.zeros((400, 300, 3), np.uint8)
    recognizer, classifier = models.recognizer, models.line_orientation
    assert (recognizer.shape_of(line), recognizer.cost(line), recognizer.content(line)) == (352, 352 * 48, 322 * 48)
    short = line[:, :24]
    assert (classifier.cost(short), classifier.content(short)) == (192 * 48, 48 * 48)
    assert classifier.shape_of(short) == classifier.shape_of(line)
    orientation = models.page_orientation
    assert orientation.cost(page) == orientation.content(page) == 3 * 224 * 224
    item = DetectionInput(page, DetectionOptions(640, 64, 0.3, 0.5, 1.4))
    assert models.detector.shape_of(item) != models.detector.shape_of(DetectionInput(page[:100], item.options))
    assert models.detector.cost(item) == models.detector.content(item) == 384 * 288
