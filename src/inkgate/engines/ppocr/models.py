"""The models of the embedded engine, opened together."""

from __future__ import annotations

from dataclasses import dataclass

from inkgate.engines.ppocr.detection import TextDetector
from inkgate.engines.ppocr.line_orientation import LineOrientation
from inkgate.engines.ppocr.page_orientation import PageOrientation
from inkgate.engines.ppocr.recognition import TextRecognizer
from inkgate.runtimes import models as files
from inkgate.runtimes.onnx import OnnxModel


@dataclass(frozen=True, slots=True)
class PpocrModels:
    """Each is safe from many threads at once and keeps no options."""

    detector: TextDetector
    recognizer: TextRecognizer
    line_orientation: LineOrientation
    page_orientation: PageOrientation

    @classmethod
    def load(cls, threads: int) -> PpocrModels:
        """Opens the model files. `threads`: for one call of a model; 0: one for each core. Blocking."""
        return cls(
            TextDetector(OnnxModel(files.text_detection(), threads)),
            TextRecognizer(OnnxModel(files.text_recognition(), threads)),
            LineOrientation(OnnxModel(files.line_orientation(), threads)),
            PageOrientation(OnnxModel(files.page_orientation(), threads)),
        )
