"""The recognition model in int8: reads the same as in float32, and accepts only the calibrated file."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from structlog.testing import capture_logs

from inkgate.caller import NO_CALLER
from inkgate.engines.ppocr.engine import PpOcr
from inkgate.engines.ppocr.recognition import TextRecognizer
from inkgate.layout.analysis import PageAnalysis
from inkgate.layout.regions.cdla import CdlaLayout
from inkgate.runtimes import models as files
from inkgate.runtimes.choose import is_calibrated, open_runtime
from inkgate.runtimes.cpu import cpu_flags, int8_pays
from inkgate.settings import PpocrSettings, Precision, RuntimeName
from inkgate_bench.accuracy.metrics import character_errors
from inkgate_client.types import Task
from support.ppocr import ArrayPage, drawn_line

SAMPLE = Path(__file__).parents[2] / "examples" / "report.png"
LINES = ["Invoice 2041-07, due 12/31", "The quick brown fox jumps over 1234 lazy dogs", "Total", "USD 1,204.50"]


@pytest.fixture
def another_version(tmp_path: Path) -> Path:
    """A model that is called like the recogniser, and is another."""
    path = tmp_path / files.text_recognition().name
    shutil.copyfile(files.line_orientation(), path)
    return path


def test_lines_read_the_same_as_in_float32() -> None:
    crops = [drawn_line(text) for text in LINES]
    for precision in (Precision.F32, Precision.INT8):
        runtime = open_runtime(RuntimeName.OPENVINO, precision, 1)
        recognizer = TextRecognizer(runtime.open_columns(files.text_recognition()))
        assert [recognizer.predict([crop])[0].text for crop in crops] == LINES


@pytest.mark.anyio
async def test_a_page_reads_nearly_the_same_as_in_float32() -> None:
    page = ArrayPage(np.asarray(Image.open(SAMPLE).convert("RGB"))[:700])
    texts = []
    for precision in (Precision.F32, Precision.INT8):
        runtime = open_runtime(RuntimeName.OPENVINO, precision, 0)
        engine = PpOcr(PpocrSettings(), PageAnalysis(CdlaLayout(runtime)), runtime)
        await engine.start()
        texts.append((await engine.read(page, Task(), NO_CALLER)).text)
        await engine.stop()
    in_floats, in_integers = texts
    errors = character_errors(in_floats, in_integers)
    assert errors.characters > 300
    assert errors.edits <= errors.characters * 0.005


def test_it_is_what_auto_takes_where_it_pays() -> None:
    runtime = open_runtime(RuntimeName.OPENVINO, Precision.AUTO, 1)
    assert ("int8" in runtime.name) == int8_pays(cpu_flags())


def test_another_version_of_the_recogniser_is_refused(another_version: Path) -> None:
    runtime = open_runtime(RuntimeName.OPENVINO, Precision.INT8, 1)
    with pytest.raises(RuntimeError, match=r"PP-OCRv6_rec_small\.onnx is not the version calibrated for int8"):
        runtime.open_columns(another_version)


def test_auto_goes_on_without_int8_where_the_recogniser_is_another(another_version: Path) -> None:
    with capture_logs() as logs:
        assert not is_calibrated(another_version)
    assert [(log["event"], log["model"]) for log in logs] == [("int8_not_used", another_version.name)]
    assert is_calibrated(files.text_recognition())


def test_a_recogniser_that_is_missing_is_no_error_yet(tmp_path: Path) -> None:
    assert not is_calibrated(tmp_path / files.text_recognition().name)


def test_onnx_runtime_computes_in_float32_all_the_same() -> None:
    assert open_runtime(RuntimeName.ONNXRUNTIME, Precision.INT8, 1).name == "onnxruntime f32"
