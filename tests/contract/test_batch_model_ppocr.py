"""What every BatchModel does, asked of the embedded engine's: order is kept, and company makes no difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from inkgate.engines.ppocr.detection import DetectionInput, DetectionOptions, TextBoxes, TextDetector
from inkgate.engines.ppocr.models import PpocrModels
from inkgate.engines.ppocr.orientation import Rotation
from inkgate.engines.ppocr.recognition import RecognizedText
from inkgate.runtimes import models as files
from inkgate.runtimes.choose import open_runtime
from inkgate.serving.batching import BatchModel
from inkgate.settings import Precision, Quality, RuntimeName
from support.ppocr import drawn, drawn_line

OPTIONS = DetectionOptions(longest_side=640, shortest_side=320, threshold=0.3, box_threshold=0.5, unclip_ratio=1.6)
TOLERANCE = 1e-4
"""Of probabilities: the runtime may sum in another order for another batch."""


@dataclass(frozen=True)
class Case:
    """A model, different items for it, and how near two of its results are."""

    model: BatchModel[Any, Any]
    items: Sequence[Any]
    same: Any


def same_boxes(one: TextBoxes, other: TextBoxes) -> bool:
    return np.allclose(one.quads, other.quads, atol=0.5) and np.allclose(one.scores, other.scores, atol=TOLERANCE)


def same_readings(one: RecognizedText, other: RecognizedText) -> bool:
    return (
        one.text == other.text
        and np.allclose(one.confidences, other.confidences, atol=TOLERANCE)
        and np.array_equal(one.positions, other.positions)
    )


def same_rotations(one: Rotation, other: Rotation) -> bool:
    return one.degrees == other.degrees and abs(one.confidence - other.confidence) <= TOLERANCE


def same_numbers(one: float, other: float) -> bool:
    return abs(one - other) <= TOLERANCE


def by_shape(model: BatchModel[Any, Any], items: Sequence[Any]) -> list[Any]:
    """The results in calls of as many items of one shape as there are."""
    results: dict[int, Any] = {}
    for shape in {model.shape_of(item) for item in items}:
        indices = [index for index, item in enumerate(items) if model.shape_of(item) == shape]
        results.update(zip(indices, model.predict([items[index] for index in indices]), strict=True))
    return [results[index] for index in range(len(items))]


@pytest.fixture(scope="module", params=["onnxruntime f32", "openvino f32", "openvino bf16", "openvino int8"])
def models(request: pytest.FixtureRequest) -> PpocrModels:
    name, precision = request.param.split()
    return PpocrModels.load(open_runtime(RuntimeName(name), Precision(precision), threads=0), Quality.BALANCED)


@pytest.fixture(params=["detector", "recognizer", "quick_recognizer", "line_orientation", "page_orientation"])
def case(request: pytest.FixtureRequest, models: PpocrModels) -> Case:
    pages = [drawn(["one line"], (320, 200)), drawn(["two", "lines"], (200, 320)), drawn([], (320, 200))]
    crops = [drawn_line(text) for text in ("Total", "A much longer line of text than all the others", "7", "12.50")]
    crops += [drawn_line(text) for text in ("Tota1", "8", "9")]
    crops.append(np.ascontiguousarray(crops[1][::-1, ::-1]))
    assert models.quick_recognizer is not None
    cases = {
        "detector": Case(models.detector, [DetectionInput(page, OPTIONS) for page in pages], same_boxes),
        "recognizer": Case(models.recognizer, crops, same_readings),
        "quick_recognizer": Case(models.quick_recognizer, crops, same_readings),
        "line_orientation": Case(models.line_orientation, crops, same_numbers),
        "page_orientation": Case(models.page_orientation, [*pages, np.rot90(pages[0])], same_rotations),
    }
    return cases[request.param]


def test_no_items_give_no_results(case: Case) -> None:
    assert case.model.predict([]) == []


def test_items_together_give_what_they_give_alone_in_their_order(case: Case) -> None:
    alone = [case.model.predict([item])[0] for item in case.items]
    together = by_shape(case.model, case.items)
    backwards = by_shape(case.model, case.items[::-1])[::-1]

    assert len(together) == len(case.items)
    assert all(case.same(one, other) for one, other in zip(alone, together, strict=True))
    assert all(case.same(one, other) for one, other in zip(alone, backwards, strict=True))
    # Otherwise an order mixed up would pass.
    assert not all(case.same(alone[0], other) for other in alone[1:])


def test_the_smallest_item_is_answered(models: PpocrModels) -> None:
    dot = np.zeros((1, 1, 3), np.uint8)
    assert len(models.detector.predict([DetectionInput(dot, OPTIONS)])[0].quads) == 0
    assert len(models.recognizer.predict([dot])) == 1
    assert len(models.line_orientation.predict([dot])) == 1
    assert len(models.page_orientation.predict([dot])) == 1


@pytest.mark.parametrize("name", [RuntimeName.ONNXRUNTIME, RuntimeName.OPENVINO])
def test_the_tiny_detector_finds_the_lines_of_the_small_one(name: RuntimeName) -> None:
    runtime = open_runtime(name, Precision.AUTO, threads=0)
    page = DetectionInput(drawn(["Invoice 4711", "Two lines below", "Total 12.50"]), OPTIONS)
    small, tiny = (
        np.sort(TextDetector(runtime.open(path)).predict([page])[0].quads.mean(axis=1)[:, 1])
        for path in (files.text_detection(), files.text_detection_tiny())
    )
    assert len(small) == 3
    assert tiny == pytest.approx(small, abs=3)


def test_an_upside_down_line_is_told_from_an_upright_one(models: PpocrModels) -> None:
    line = drawn_line("Keep this side up")
    upright, upside_down = models.line_orientation.predict([line, np.ascontiguousarray(line[::-1, ::-1])])
    assert upright < 0.1
    assert upside_down > 0.9


def test_a_line_longer_than_one_call_takes_is_read_to_its_end(models: PpocrModels) -> None:
    text = " ".join(f"word {number}" for number in range(90))
    (reading,) = models.recognizer.predict([drawn_line(text, font_px=20)])
    assert reading.text == text
    assert np.all(np.diff(reading.positions) > 0)
