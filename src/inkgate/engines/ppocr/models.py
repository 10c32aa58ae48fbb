"""The models of the embedded engine, opened together."""

from __future__ import annotations

from dataclasses import dataclass

from inkgate.engines.ppocr.detection import DetectionInput, TextBoxes, TextDetector
from inkgate.engines.ppocr.line_orientation import LineOrientation
from inkgate.engines.ppocr.page_orientation import PageOrientation, Rotation
from inkgate.engines.ppocr.recognition import RecognizedText, TextRecognizer
from inkgate.runtimes import models as files
from inkgate.runtimes.base import Runtime
from inkgate.serving.batching import Batching, BatchModel
from inkgate.types import RgbArray


@dataclass(frozen=True, slots=True)
class PpocrModels:
    """The opened models. Each is safe from many threads at once and keeps no options."""

    detector: BatchModel[DetectionInput, TextBoxes]
    recognizer: BatchModel[RgbArray, RecognizedText]
    line_orientation: BatchModel[RgbArray, float]
    page_orientation: BatchModel[RgbArray, Rotation]

    @classmethod
    def load(cls, runtime: Runtime) -> PpocrModels:
        """Opens the model files to run in this process. Blocking."""
        return cls(
            TextDetector(runtime.open(files.text_detection())),
            TextRecognizer(runtime.open_columns(files.text_recognition())),
            LineOrientation(runtime.open(files.line_orientation())),
            PageOrientation(runtime.open(files.page_orientation())),
        )


@dataclass(frozen=True, slots=True)
class BatchedModels:
    """The models for reading pages: lines of all pages that are read at the same time share batches."""

    detector: BatchModel[DetectionInput, TextBoxes]
    page_orientation: BatchModel[RgbArray, Rotation]
    recognizer: Batching[RgbArray, RecognizedText]
    line_orientation: Batching[RgbArray, float]
