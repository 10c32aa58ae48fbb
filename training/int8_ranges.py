"""Calibrates a recognizer for int8: measures the ranges of the inputs of its wide convolutions.

    .venv/bin/python -m training.int8_ranges MANIFEST --recognizer small

MANIFEST (docs/guides/accuracy.md) lists documents like those that will be read. For the small recognizer, every second
image with a text is read, beginning with the first; for the tiny one, the images of the tuning half
(training/cascade.py). The others are left to measure the accuracy of int8 (benchmarks/results/2026-11.md,
2026-11-30-cascade.md). Writes `src/inkgate/runtimes/weights/NAME.int8.json`; update its checksum in NOTICE.md yourself.

Quantizes 1x1 convolutions with at least MIN_CHANNELS channels on both sides, except those of squeeze-and-excitation,
which see one number a channel. The range of an input covers all of its values in LINES_WITHIN percent of the lines;
larger values in other lines are clipped, for a finer step. (The mean over lines, as in NNCF's post-training
quantization, other percentiles and the extremes are as accurate: benchmarks/results/2026-11.md.) The same documents
give the same file with the same version of inkgate: lines are chosen with a fixed seed, but which lines there are is up
to the detector. Needs only inkgate and inkgate-bench.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import anyio
import numpy as np
from training.cascade import TUNING, pages_of_manifest

from inkgate.caller import NO_CALLER
from inkgate.documents.open import Opener
from inkgate.engines.ppocr.engine import PpOcr
from inkgate.layout.analysis import PageAnalysis
from inkgate.layout.regions.cdla import CdlaLayout
from inkgate.runtimes import models as files
from inkgate.runtimes.base import ColumnModel, Columns, FloatArray, Model
from inkgate.runtimes.openvino import OpenVinoRuntime
from inkgate.runtimes.openvino_graphs import openvino, ops
from inkgate.settings import LimitSettings, PdfSettings, PpocrSettings
from inkgate_bench.accuracy.manifest import Entry, load_manifest
from inkgate_client.types import Document, Task

SMALL, TINY = "small", "tiny"
MIN_CHANNELS = 96
LINES_A_DOCUMENT = 12
"""Maximum per document, so that a dense page does not outweigh many receipts."""
LINES = 400
LINES_WITHIN = 97
SURE: dict[str, dict[str, float]] = {SMALL: {"min_probability": 0.9, "min_logit": 16.0}, TINY: {}}
"""From which probability and logit, among the classes that are no Han characters, a result of the small model is final.
From 12 on, 55 of 1,680 short lines with Han characters were read with confidence as others, from 16 on as few as with
all classes at once. The tiny model is not faster with two heads: benchmarks/results/2026-11-30-cascade.md."""


class Watched:
    """A Runtime that records the inputs of its column models, line by line."""

    def __init__(self, runtime: OpenVinoRuntime) -> None:
        self.name = runtime.name
        self.fell_back = runtime.fell_back
        self.gpu = runtime.gpu
        self.lines: list[FloatArray] = []
        self._runtime = runtime

    def open(self, path: Path) -> Model:
        return self._runtime.open(path)

    def open_columns(self, path: Path) -> ColumnModel:
        return _WatchedColumns(self._runtime.open_columns(path), self.lines)


class _WatchedColumns:
    def __init__(self, model: ColumnModel, lines: list[FloatArray]) -> None:
        self.metadata = model.metadata
        self._model, self._lines = model, lines

    def run(self, tensor: FloatArray) -> Columns:
        self._lines.extend(row[None].copy() for row in tensor)
        return self._model.run(tensor)


def calibrating(manifest: Path, recognizer: str) -> list[Entry]:
    """The documents to calibrate with."""
    images = [each for each in load_manifest(manifest) if each.opens and each.text and each.file.suffix != ".pdf"]
    if recognizer == SMALL:
        return images[::2]
    tuning = {page.file for page in pages_of_manifest(manifest, TUNING)}
    return [each for each in images if each.file in tuning]


async def lines_of(entries: Sequence[Entry]) -> list[FloatArray]:
    """(1, 3, 48, W) each: some lines of every document, as inputs of the recognizer, in random order."""
    chance = random.Random(0)
    runtime = Watched(OpenVinoRuntime(0, "f32"))
    engine = PpOcr(PpocrSettings(), PageAnalysis(CdlaLayout(runtime)), runtime)
    await engine.start()
    chosen: list[FloatArray] = []
    async with Opener(LimitSettings(), PdfSettings()) as opener:
        for entry in entries:
            runtime.lines.clear()
            async with opener.open(Document(entry.file.read_bytes(), entry.file.name)) as opened:
                await engine.read(await opened.page(0), Task(), NO_CALLER)
            chosen += chance.sample(runtime.lines, min(LINES_A_DOCUMENT, len(runtime.lines)))
    chance.shuffle(chosen)
    return chosen


def wide(model: openvino.Model) -> Iterator[openvino.Node]:
    """The convolutions to quantize, in the model's order."""
    for node in model.get_ordered_ops():
        if node.get_type_name() == "Convolution":
            *channels, height, width = node.input_value(1).get_shape()
            one_pixel = node.get_output_partial_shape(0)[2:].is_static
            if (height, width) == (1, 1) and min(channels) >= MIN_CHANNELS and not one_pixel:
                yield node


def extremes(model: openvino.Model, lines: Sequence[FloatArray]) -> dict[str, tuple[float, float]]:
    """By the name of a convolution: minimum and maximum of its input in most `lines`."""
    names, found = [], []
    axes = ops.constant(np.array([0, 1, 2, 3], np.int32))
    for node in wide(model):
        names.append(node.get_friendly_name())
        source = node.input_value(0)
        found += [ops.result(ops.reduce_min(source, axes)), ops.result(ops.reduce_max(source, axes))]
    watching = openvino.Core().compile_model(
        openvino.Model(found, model.get_parameters()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
    )
    of_lines = np.array([[float(number) for number in watching(line).values()] for line in lines])
    least = np.percentile(of_lines[:, 0::2], 100 - LINES_WITHIN, axis=0).tolist()
    greatest = np.percentile(of_lines[:, 1::2], LINES_WITHIN, axis=0).tolist()
    return {name: (low, high) for name, low, high in zip(names, least, greatest, strict=True)}


def with_zero(low: float, high: float) -> tuple[float, float]:
    """The range, widened so that 0 is one of its 256 steps: after GELU and padding, most values are 0 or nearly 0."""
    low, high = min(low, 0.0), max(high, 0.0)
    step = round(-low * 255 / (high - low))
    if step == 0:
        return 0.0, high
    if step == 255:
        return low, 0.0
    return min(low, high * step / (step - 255)), max(high, low * (step - 255) / step)


def written(model: Path, ranges: Mapping[str, tuple[float, float]], sure: Mapping[str, float]) -> str:
    """The file's content."""
    rows = ",\n".join(f'    "{name}": [{low:.7g}, {high:.7g}]' for name, (low, high) in ranges.items())
    checksum = hashlib.sha256(model.read_bytes()).hexdigest()
    head = {"model": model.name, "sha256": checksum, **sure}
    first = "".join(f'  "{name}": {json.dumps(value)},\n' for name, value in head.items())
    return f'{{\n{first}  "ranges": {{\n{rows}\n  }}\n}}\n'


def main() -> None:
    parser = argparse.ArgumentParser(description="Calibrates a recognizer for int8.")
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--recognizer", choices=(SMALL, TINY), default=SMALL)
    parser.add_argument("--to", type=Path, help="default: beside the model files of this package")
    asked = parser.parse_args()
    model = files.text_recognition() if asked.recognizer == SMALL else files.text_recognition_tiny()
    to = asked.to or files.int8_calibration(model)
    entries = calibrating(asked.manifest, asked.recognizer)
    lines = anyio.run(lines_of, entries)[:LINES]
    ranges = extremes(openvino.Core().read_model(model), lines)
    widened = {name: with_zero(*each) for name, each in ranges.items()}
    to.write_text(written(model, widened, SURE[asked.recognizer]))
    print(f"{to.name}: {len(ranges)} convolutions, from {len(lines)} lines of {len(entries)} documents")


if __name__ == "__main__":
    main()
