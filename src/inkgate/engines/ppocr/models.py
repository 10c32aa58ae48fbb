"""The models of the embedded engine, opened together."""

from __future__ import annotations

from dataclasses import dataclass

from inkgate.engines.base import Batching
from inkgate.engines.ppocr.detection import TextDetector
from inkgate.engines.ppocr.line_orientation import LineOrientation
from inkgate.engines.ppocr.page_orientation import PageOrientation
from inkgate.engines.ppocr.recognition import Reading, TextRecognizer
from inkgate.runtimes import models as files
from inkgate.runtimes.base import Runtime
from inkgate.types import RgbArray


@dataclass(frozen=True, slots=True)
class PpocrModels:
    """Each is safe from many threads at once and keeps no options."""

    detector: TextDetector
    recognizer: TextRecognizer
    line_orientation: LineOrientation
    page_orientation: PageOrientation

    @classmethod
    def load(cls, runtime: Runtime) -> PpocrModels:
        """Opens the model files. Blocking."""
        return cls(
            TextDetector(runtime.open(files.text_detection())),
            TextRecognizer(runtime.open_columns(files.text_recognition())),
            LineOrientation(runtime.open(files.line_orientation())),
            PageOrientation(runtime.open(files.page_orientation())),
        )


@dataclass(frozen=True, slots=True)
class Batched:
    """The models as a page uses them: lines of all pages that are read at the same time are read together."""

    detector: TextDetector
    page_orientation: PageOrientation
    recognizer: Batching[RgbArray, Reading]
    line_orientation: Batching[RgbArray, float]
