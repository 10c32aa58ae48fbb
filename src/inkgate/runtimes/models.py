"""The model files: in the rapidocr wheel, and those that this package ships (see weights/NOTICE.md)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

_WEIGHTS = Path(__file__).parent / "weights"


def _rapidocr(name: str) -> Path:
    # find_spec does not import the package: its import would load OpenCV, OmegaConf and requests.
    spec = find_spec("rapidocr")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("The `rapidocr` package, which carries the models, is not installed.")
    return Path(spec.submodule_search_locations[0]) / "models" / name


def text_detection() -> Path:
    """PP-OCRv6 small detection: (N, 3, H, W) float32, H and W multiples of 32, to (N, 1, H, W) probabilities."""
    return _rapidocr("PP-OCRv6_det_small.onnx")


def text_detection_tiny() -> Path:
    """PP-OCRv6 tiny detection: as `text_detection`."""
    return _WEIGHTS / "PP-OCRv6_det_tiny.onnx"


def text_recognition() -> Path:
    """PP-OCRv6 small recognition: (N, 3, 48, W) float32 to (N, T, 18710) probabilities; alphabet in its metadata."""
    return _rapidocr("PP-OCRv6_rec_small.onnx")


def text_recognition_tiny() -> Path:
    """PP-OCRv6 tiny recognition: as `text_recognition`, with 6,906 classes, among them neither Kana nor half of the
    Han characters.
    """
    return _WEIGHTS / "PP-OCRv6_rec_tiny.onnx"


def recognition_doubt() -> Path:
    """Trees that tell which words the tiny recognizer misreads: see engines/ppocr/doubt.py."""
    return _WEIGHTS / "recognition_doubt.npz"


def int8_calibration(model: Path) -> Path:
    """Path of a model file's calibration for int8. Only the recognizers have one."""
    return _WEIGHTS / f"{model.stem}.int8.json"


def line_orientation() -> Path:
    """PP-OCR mobile v2.0 line classifier: (N, 3, 48, 192) float32 to (N, 2): upright, upside down."""
    return _rapidocr("ch_ppocr_mobile_v2.0_cls_mobile.onnx")


def page_orientation() -> Path:
    """PP-LCNet page orientation: (N, 3, 224, 224) float32 to (N, 4): 0, 90, 180, 270 degrees."""
    return _WEIGHTS / "page_orientation.onnx"


def page_layout() -> Path:
    """PicoDet trained on CDLA: (1, 3, 800, 608) float32 to boxes of ten classes; names in its metadata."""
    return _WEIGHTS / "layout_cdla.onnx"


def table_structure() -> Path:
    """SLANet-plus: (1, 3, 488, 488) float32 to (1, T, 8) corners of cells and (1, T, 50) probabilities of HTML tokens;
    alphabet in its metadata. OpenVINO can't read it.
    """
    return _WEIGHTS / "table_slanet_plus.onnx"


def lone_glyphs() -> Path:
    """Two layers from 402 features of a character's shape to 193 characters: see engines/ppocr/glyphs.py."""
    return _WEIGHTS / "lone_glyphs.npz"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Which convolutions of a recognizer run in int8, as determined by training/int8_ranges.py, and when the result
    among its first classes is final: see `TwoHeads`.

    Attributes:
        sha256: of the calibrated model file.
        ranges: by the name of a convolution, the minimum and maximum of its input that int8 represents.
        min_probability, min_logit: of the likeliest of the first classes; None: all classes are computed at once.
    """

    sha256: str
    ranges: Mapping[str, tuple[float, float]]
    min_probability: float | None = None
    min_logit: float | None = None

    def fits(self, model: Path) -> bool:
        """Whether it is for this very file: another version may have the same names but other ranges."""
        return hashlib.sha256(model.read_bytes()).hexdigest() == self.sha256


def calibration_of(model: Path) -> Calibration | None:
    """The calibration for a model file, by the file's name. None: the model does not use int8. It may be for another
    version of the file: see Calibration.fits.
    """
    path = int8_calibration(model)
    if not path.exists():
        return None
    stored = json.loads(path.read_text(encoding="utf-8"))
    ranges = {name: (low, high) for name, (low, high) in stored["ranges"].items()}
    return Calibration(stored["sha256"], ranges, stored.get("min_probability"), stored.get("min_logit"))
