"""The models of the embedded engine, opened together."""

from __future__ import annotations

from dataclasses import dataclass

from inkgate.engines.ppocr.detection import TextDetector
from inkgate.engines.ppocr.line_orientation import LineOrientation
from inkgate.engines.ppocr.page_orientation import PageOrientation
from inkgate.engines.ppocr.recognition import TextRecognizer
from inkgate.runtimes import models as files
from inkgate.runtimes.base import Runtime


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
