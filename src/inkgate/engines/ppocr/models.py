"""The models of the embedded engine, opened together, and the ranges of their inputs: TensorRT builds an engine for a
range.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from inkgate.engines.ppocr.cascade import LineReader
from inkgate.engines.ppocr.detection import DetectionInput, TextBoxes, TextDetector
from inkgate.engines.ppocr.orientation import LineOrientation, PageOrientation, Rotation
from inkgate.engines.ppocr.recognition import RecognizedText, TextRecognizer
from inkgate.page import RgbArray
from inkgate.runtimes import models as files
from inkgate.runtimes.base import Runtime
from inkgate.runtimes.providers import ShapeRange
from inkgate.serving.batching import Batcher, BatchModel
from inkgate.settings import Quality

MAX_LINES: Final = 8
"""Maximum lines per call of the recognition model: see `call_sizes`."""
MIN_WIDTH: Final = 96
MAX_WIDTH: Final = 5120
"""Longer lines are cut into pieces of 4,096 pixels on average; a piece is at most a quarter wider."""
MAX_ORIENTED: Final = 16
"""Lines per call of the classifier of upside-down lines."""


def shape_ranges() -> dict[str, ShapeRange]:
    """Returns ranges of shapes by file name of the model. Detection has none, as pages have all shapes; page
    orientation and layout have a single shape each and take little time.
    """
    recognition = ShapeRange("x", (1, 3, 48, MIN_WIDTH), (4, 3, 48, 320), (MAX_LINES, 3, 48, MAX_WIDTH))
    orientation = ShapeRange("x", (1, 3, 48, 192), (8, 3, 48, 192), (MAX_ORIENTED, 3, 48, 192))
    return {
        files.text_recognition().name: recognition,
        files.text_recognition_tiny().name: recognition,
        files.line_orientation().name: orientation,
    }


@dataclass(frozen=True, slots=True)
class PpocrModels:
    """The opened models. Each is safe from many threads at once and keeps no options.

    Attributes:
        detector: the tiny one with `Quality.FAST`, else the small one.
        recognizer: the tiny one with `Quality.FAST`, else the small one.
        quick_recognizer: the tiny one, with `Quality.BALANCED` only.
    """

    detector: BatchModel[DetectionInput, TextBoxes]
    recognizer: BatchModel[RgbArray, RecognizedText]
    line_orientation: BatchModel[RgbArray, float]
    page_orientation: BatchModel[RgbArray, Rotation]
    quick_recognizer: BatchModel[RgbArray, RecognizedText] | None = None

    @classmethod
    def load(cls, runtime: Runtime, quality: Quality = Quality.BEST) -> PpocrModels:
        """Opens the model files that the quality needs, to run in this process. Blocking."""
        fast, quick = quality is Quality.FAST, quality is Quality.BALANCED
        detection = files.text_detection_tiny() if fast else files.text_detection()
        recognition = files.text_recognition_tiny() if fast else files.text_recognition()
        return cls(
            TextDetector(runtime.open(detection)),
            TextRecognizer(runtime.open_columns(recognition)),
            LineOrientation(runtime.open(files.line_orientation())),
            PageOrientation(runtime.open(files.page_orientation())),
            TextRecognizer(runtime.open_columns(files.text_recognition_tiny())) if quick else None,
        )


@dataclass(frozen=True, slots=True)
class BatchedModels:
    """The models for reading pages. Their lines are read in batches.

    Attributes:
        reader: reads lines at first: a Cascade with `Quality.BALANCED`, else `recognizer`.
        recognizer: reads what is doubtful again.
    """

    detector: BatchModel[DetectionInput, TextBoxes]
    page_orientation: BatchModel[RgbArray, Rotation]
    reader: LineReader
    recognizer: LineReader
    line_orientation: Batcher[RgbArray, float]
