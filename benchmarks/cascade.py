"""What `engine.ppocr.quality` costs and saves: processor time by model, and accuracy.

    python -m benchmarks.cascade MANIFEST --half judging --limits 0.02 0.04 0.08 --rounds 2

Reads the documents of one half (training/cascade.py) with `best`, `fast` and `balanced` at several limits, one after
the other on each page, one page at a time, in this process. Times are processor times, of all threads, of the round
that took least: other programs on the machine hardly change them.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import process_time

import anyio
from training.cascade import JUDGING, TUNING, pages_of_manifest

from benchmarks.engines.sample import mean_f1, pooled_cer
from benchmarks.figures import table, write_json
from inkgate.documents.open import Opener
from inkgate.engines.choose import page_analysis, runtime_of
from inkgate.engines.ppocr.cascade import Cascade, LineReader
from inkgate.engines.ppocr.doubt import WordDoubt
from inkgate.engines.ppocr.engine import PpOcrPage
from inkgate.engines.ppocr.models import BatchedModels, PpocrModels
from inkgate.layout.analysis import PageAnalysis
from inkgate.page import Page
from inkgate.runtimes.base import ColumnModel, Columns, FloatArray, Model, Runtime
from inkgate.serving.batching import Batchers
from inkgate.settings import Quality, Settings
from inkgate_bench.accuracy.manifest import Entry, load_manifest
from inkgate_bench.accuracy.metrics import character_errors
from inkgate_client.concurrency import Threads
from inkgate_client.types import Document, Task

DETECTORS = ("PP-OCRv6_det_small.onnx", "PP-OCRv6_det_tiny.onnx")
TINY, SMALL = "PP-OCRv6_rec_tiny.onnx", "PP-OCRv6_rec_small.onnx"
Seconds = defaultdict[str, float]
"""By the model's file, and "page"."""


@dataclass(frozen=True, slots=True)
class TimedRuntime:
    """A Runtime that adds up the processor time of each model, by its file's name."""

    runtime: Runtime
    seconds: Seconds = field(default_factory=lambda: defaultdict(float))
    name: str = ""
    gpu: bool = False
    fell_back: str = ""

    def open(self, path: Path) -> Model:
        return TimedModel(self.runtime.open(path), path.name, self.seconds)

    def open_columns(self, path: Path) -> ColumnModel:
        return TimedColumns(self.runtime.open_columns(path), path.name, self.seconds)


class TimedModel:
    def __init__(self, model: Model, name: str, seconds: Seconds) -> None:
        self.metadata = model.metadata
        self._model, self._name, self._seconds = model, name, seconds

    def run(self, tensor: FloatArray) -> list[FloatArray]:
        began = process_time()
        try:
            return self._model.run(tensor)
        finally:
            self._seconds[self._name] += process_time() - began


class TimedColumns:
    def __init__(self, model: ColumnModel, name: str, seconds: Seconds) -> None:
        self.metadata = model.metadata
        self._model, self._name, self._seconds = model, name, seconds

    def run(self, tensor: FloatArray) -> Columns:
        began = process_time()
        try:
            return self._model.run(tensor)
        finally:
            self._seconds[self._name] += process_time() - began


@dataclass(slots=True)
class Candidate:
    """A way to read, and what it did so far.

    Attributes:
        seconds: processor time by the model's file, and of the whole page as "page": the least of all rounds.
    """

    name: str
    quality: Quality
    models: BatchedModels
    texts: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, Seconds] = field(default_factory=dict)

    def of(self, *names: str) -> float:
        return sum(each[name] for each in self.seconds.values() for name in names)


@dataclass(frozen=True, slots=True)
class Reading:
    """Reads pages one at a time, and measures."""

    settings: Settings
    runtime: TimedRuntime
    analysis: PageAnalysis
    threads: Threads

    def candidates(self, limits: Sequence[float]) -> list[Candidate]:
        batchers, doubts = Batchers(self.settings.engine.ppocr.batching), WordDoubt.load().of
        best = PpocrModels.load(self.runtime, Quality.BALANCED)
        assert best.quick_recognizer is not None
        small, tiny = batchers(best.recognizer, "small"), batchers(best.quick_recognizer, "tiny")
        orientation = batchers(best.line_orientation, "orientation")
        quick_detector = PpocrModels.load(self.runtime, Quality.FAST).detector

        def models(reader: LineReader, recognizer: LineReader) -> BatchedModels:
            return BatchedModels(best.detector, best.page_orientation, reader, recognizer, orientation)

        return [
            Candidate("best", Quality.BEST, models(small, small)),
            Candidate("fast", Quality.FAST, replace(models(tiny, tiny), detector=quick_detector)),
            *(
                Candidate(
                    f"balanced {limit}",
                    Quality.BALANCED,
                    models(Cascade(tiny, small, doubts, self.threads, limit), small),
                )
                for limit in limits
            ),
        ]

    async def read(self, page: Page, name: str, candidate: Candidate) -> None:
        settings = self.settings.engine.ppocr.model_copy(update={"quality": candidate.quality})
        self.runtime.seconds.clear()
        began = process_time()
        reading = PpOcrPage(candidate.models, self.analysis, self.threads, self.threads, settings, Task())
        result = await reading.read(page)
        spent = self.runtime.seconds.copy()
        spent["page"] = process_time() - began
        before = candidate.seconds.get(name)
        if before is None or spent["page"] < before["page"]:
            candidate.seconds[name] = spent
        candidate.texts[name] = "\n".join(line.text for line in result.lines)


async def measure(entries: Sequence[Entry], limits: Sequence[float], rounds: int) -> list[Candidate]:
    settings = Settings()
    runtime = TimedRuntime(runtime_of(settings))
    reading = Reading(settings, runtime, page_analysis(settings, runtime), Threads("reading", 2))
    candidates = reading.candidates(limits)
    async with Opener(settings.limits, settings.pdf) as opener:
        for entry in entries:
            async with opener.open(Document(entry.file.read_bytes(), entry.file.name)) as opened:
                page = await opened.page(0)
                for _ in range(rounds):
                    for candidate in candidates:
                        await reading.read(page, entry.path, candidate)
    return candidates


def rows_of(candidates: Sequence[Candidate], entries: Sequence[Entry]) -> list[list[str]]:
    best = candidates[0]
    rows = []
    for each in candidates:
        other = [character_errors(text, each.texts[path]) for path, text in best.texts.items() if text]
        small, tiny, detection, page = each.of(SMALL), each.of(TINY), each.of(*DETECTORS), each.of("page")
        rows.append(
            [
                each.name,
                f"{(small + tiny) / best.of(SMALL):.3f}",
                f"{page / best.of('page'):.3f}",
                *(f"{1000 * seconds / len(entries):.0f}" for seconds in (detection, tiny, small)),
                f"{1000 * (page - small - tiny - detection) / len(entries):.0f}",
                f"{pooled_cer(entries, each.texts):.2f}",
                f"{mean_f1(entries, each.texts):.2f}",
                f"{100 * sum(one.edits for one in other) / sum(one.characters for one in other):.3f}",
            ]
        )
    return rows


HEAD = (
    *("quality", "recognition, of best's", "page, of best's", "detection ms", "tiny ms", "small ms", "rest ms"),
    *("CER %", "mean F1 %", "characters unlike best's, %"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--half", choices=(TUNING, JUDGING), default=JUDGING)
    parser.add_argument("--every", type=int, default=1, help="read each page of this count only")
    parser.add_argument("--limits", type=float, nargs="*", default=[0.02, 0.04, 0.08])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    chosen = {tuned.file for tuned in pages_of_manifest(arguments.manifest, arguments.half)}
    entries = [entry for entry in load_manifest(arguments.manifest) if entry.file in chosen][:: arguments.every]
    candidates = anyio.run(measure, entries, arguments.limits, arguments.rounds)
    characters = sum(map(len, candidates[0].texts.values()))
    print(f"{arguments.half} half: {len(entries)} pages, {characters} characters")
    rows = rows_of(candidates, entries)
    print(table(HEAD, rows))
    write_json(arguments.json, {"half": arguments.half, "pages": len(entries), "head": HEAD, "rows": rows})


if __name__ == "__main__":
    main()
