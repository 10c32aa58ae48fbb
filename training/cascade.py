"""Fits how doubtful a word of the tiny recognizer is (engines/ppocr/doubt.py) to words that the small one reads
differently.

    .venv/bin/python -m training.cascade observe OBSERVED.npz --manifest MANIFEST --pages FOLDER --count 150
    PYTHON_WITH_SCIKIT_LEARN -m training.cascade fit OBSERVED.npz

`observe` reads the pages of the manifest's tuning half, and pages in Latin letters of training/layout/generate.py and
degrade.py in FOLDER, with both recognizers. `fit` writes `src/inkgate/runtimes/weights/recognition_doubt.npz`; update
its checksum in NOTICE.md yourself. The halves: `half_of`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import numpy as np
from numpy.typing import NDArray

LANGUAGES = ("de", "en", "es", "fr", "it", "nl", "pl", "pt")
TUNING, JUDGING = "tuning", "judging"
LINES_A_PAGE = 30
OUT = Path(__file__).parents[1] / "src/inkgate/runtimes/weights/recognition_doubt.npz"


def half_of(source: str) -> str:
    """The half of the documents of a source, such as `ibm-aur-nlp/PubTabNet`."""
    return JUDGING if hashlib.sha256(source.encode()).digest()[0] & 1 else TUNING


@dataclass(frozen=True, slots=True)
class TunedPage:
    """A page to read, and the words of its truth."""

    file: Path
    words: frozenset[str]


def pages_of_manifest(manifest: Path, half: str) -> list[TunedPage]:
    """The manifest's documents in that half whose text is known."""
    found = []
    for item in json.loads(manifest.read_text(encoding="utf-8")):
        text = (item.get("ground_truth") or {}).get("text")
        if text and half_of(item["source_repo"]) == half:
            words = (manifest.parent / text).read_text(encoding="utf-8").split()
            found.append(TunedPage(manifest.parent / item["path"], frozenset(words)))
    return found


def generated_pages(folder: Path, count: int) -> list[TunedPage]:
    """`count` pages of a folder, chosen with a fixed seed: scans where there are any, else PDFs."""
    names = re.compile(rf"-({'|'.join(LANGUAGES)})-")
    truths = [truth for truth in sorted(folder.glob("*.structure.json")) if names.search(truth.name)]
    chosen = random.Random(43).sample(truths, min(count, len(truths)))
    return [TunedPage(_page_file(truth), frozenset(_words_in(json.loads(truth.read_bytes())))) for truth in chosen]


def _page_file(truth: Path) -> Path:
    stem = truth.name.removesuffix(".structure.json")
    return next(file for end in (".jpg", ".png", ".pdf") if (file := truth.with_name(stem + end)).exists())


def _words_in(structure: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    """All words of a structure file."""
    if isinstance(structure, dict):
        if isinstance(structure.get("text"), str):
            yield from structure["text"].split()
        structure = list(structure.values())
    if isinstance(structure, list):
        for each in structure:
            yield from _words_in(each)


@dataclass(frozen=True, slots=True)
class ReadLines:
    """Lines of a page, and what the tiny and the small recognizer read in them."""

    page: TunedPage
    crops: list[Any]
    quick: list[Any]
    careful: list[Any]

    def rows(self) -> tuple[list[Any], list[bool]]:
        """Of each word in a script with spaces: its measures, and whether it is misread."""
        from inkgate.engines.ppocr.doubt import measured
        from inkgate.engines.ppocr.recognition import unspaced

        words, measures = measured(self.quick, self.crops)
        rows, labels = [], []
        for at, line in enumerate(words.lines.tolist()):
            if not any(map(unspaced, self.quick[line].text)):
                span = int(words.starts[at]), int(words.ends[at])
                rows.append(measures[at])
                labels.append(is_misread(self.quick[line].text, self.careful[line].text, span, self.page.words))
        return rows, labels


async def observe(pages: Sequence[TunedPage], out: Path) -> None:
    """Writes the words of the pages: measures (N, M), whether they are misread (N,), and their page (N,)."""
    rows: list[Any] = []
    labels: list[bool] = []
    numbers: list[int] = []
    async for read in readings_of(pages):
        found = read.rows()
        rows += found[0]
        labels += found[1]
        numbers += [numbers[-1] + 1 if numbers else 0] * len(found[0])
        print(f"{read.page.file.name}: {len(rows)} words, {sum(labels)} misread", flush=True)
    np.savez_compressed(
        out, rows=np.array(rows, np.float32), labels=np.array(labels, np.int8), pages=np.array(numbers, np.int32)
    )


async def readings_of(pages: Sequence[TunedPage]) -> AsyncIterator[ReadLines]:
    """Some lines of each page."""
    from inkgate.documents.open import Opener
    from inkgate.engines.ppocr.detection import DetectionInput, DetectionOptions, longest_side_of
    from inkgate.engines.ppocr.lines import crops_of
    from inkgate.engines.ppocr.models import PpocrModels
    from inkgate.runtimes.choose import open_runtime
    from inkgate.settings import LimitSettings, PdfSettings, PpocrSettings, Quality
    from inkgate_client.types import Document

    settings = PpocrSettings(quality=Quality.BALANCED)
    models = PpocrModels.load(open_runtime(settings.runtime, settings.precision, settings.threads), settings.quality)
    if models.quick_recognizer is None:
        raise SystemExit("The tiny recognizer was not opened.")
    options = DetectionOptions(
        settings.longest_side,
        settings.shortest_side,
        settings.threshold,
        settings.box_threshold,
        settings.unclip_ratio,
    )
    async with Opener(LimitSettings(), PdfSettings()) as opener:
        for tuned in pages:
            async with opener.open(Document(tuned.file.read_bytes(), tuned.file.name)) as opened:
                page = await opened.page(0)
                pixels = await page.pixels(longest_side_of(page.size, settings.reading_longest_side))
            (boxes,) = models.detector.predict([DetectionInput(pixels.rgb, options)])
            crops = [each.pixels for each in crops_of(pixels.rgb, boxes.quads)]
            crops = random.Random(43).sample(crops, min(len(crops), LINES_A_PAGE))
            quick = [models.quick_recognizer.predict([crop])[0] for crop in crops]
            yield ReadLines(tuned, crops, quick, [models.recognizer.predict([crop])[0] for crop in crops])


def is_misread(quick: str, careful: str, span: tuple[int, int], truth: frozenset[str]) -> bool:
    """Whether the careful reading of a line differs in a word of the quick one and is not itself what is wrong."""
    from rapidfuzz.distance import Levenshtein

    start, end = span
    first, last = start, end
    differs = False
    for step in Levenshtein.opcodes(quick, careful):
        same = step.tag == "equal"
        if step.src_start <= start <= step.src_end and same:
            first = step.dest_start + start - step.src_start
        if step.src_start <= end <= step.src_end and same:
            last = step.dest_start + end - step.src_start
        differs = differs or (not same and step.src_start <= end and step.src_end >= start)
    if not differs:
        return False
    known = set(careful[first:last].split()) & truth
    return quick[start:end] not in truth or bool(known)


def fit(rows: NDArray[np.float32], labels: NDArray[np.int8], pages: NDArray[np.int32]) -> dict[str, Any]:
    """The trees by the names of BoostedTrees, fitted to all pages. Prints what they save on pages left out."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from training.trees import exported

    def trees() -> HistGradientBoostingClassifier:
        return HistGradientBoostingClassifier(
            max_iter=TREES, max_leaf_nodes=LEAVES, learning_rate=0.12, min_samples_leaf=30, l2_regularization=2.0,
            random_state=43,
        )  # fmt: skip

    left_out = np.zeros(len(labels))
    for part in range(FOLDS):
        out = pages % FOLDS == part
        left_out[out] = trees().fit(rows[~out], labels[~out]).predict_proba(rows[out])[:, 1]
    for limit in (0.9, 0.8, 0.7, 0.6):
        again = rows[:, 0] < limit
        print(f"least confidence < {limit}: {again.mean():.1%} of words again, {_missed(labels, again)} missed")
    for limit in (0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2):
        again = left_out >= limit
        print(f"doubt >= {limit}: {again.mean():.1%} of words again, {_missed(labels, again)} missed")
    return exported(trees().fit(rows, labels))


TREES, LEAVES, FOLDS = 60, 8, 5


def _missed(labels: NDArray[np.int8], again: NDArray[np.bool_]) -> str:
    missed = int(labels[~again].sum())
    return f"{missed} of {int(labels.sum())} misread words ({missed / len(labels):.3%} of all)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    observing = commands.add_parser("observe")
    observing.add_argument("out", type=Path)
    observing.add_argument("--manifest", type=Path, required=True)
    observing.add_argument("--pages", type=Path, nargs="*", default=[])
    observing.add_argument("--count", type=int, default=100)
    fitting = commands.add_parser("fit")
    fitting.add_argument("observed", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "observe":
        pages = pages_of_manifest(arguments.manifest, TUNING)
        for folder in arguments.pages:
            pages += generated_pages(folder, arguments.count)
        anyio.run(observe, pages, arguments.out)
        return
    with np.load(arguments.observed) as observed:
        trees = fit(observed["rows"], observed["labels"], observed["pages"])
    small = {"features": np.uint8, "limits": np.float32, "left": np.uint16, "right": np.uint16, "values": np.float32}
    arrays: dict[str, Any] = {name: np.asarray(value, small.get(name)) for name, value in trees.items()}
    np.savez_compressed(OUT, **arrays)
    print(f"{OUT.name}: {OUT.stat().st_size} bytes, sha256 {hashlib.sha256(OUT.read_bytes()).hexdigest()}")


if __name__ == "__main__":
    main()
