"""Fits the models of confidence on documents with ground truth, and says how well they would do on others.

    python -m benchmarks.structure.fit_confidence MANIFEST RESULTS [--overlay benchmarks/structure/overlay.json]

MANIFEST: as for `inkgate eval`. RESULTS: a folder for the documents as they were read, as JSON; those it lacks are read
with the default settings. Writes src/inkgate/layout/doubt_data.py, and the tables in docs/guides/accuracy.md: these
judge each document by models fitted on others (ten folds by document).
"""

from __future__ import annotations

import argparse
import math
import random
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import anyio
import numpy as np
import orjson
from numpy.typing import NDArray

from inkgate.bench.accuracy.calibration import JudgedPart, calibration_curve, judge_blocks, judge_page
from inkgate.bench.accuracy.manifest import Entry, load_manifest, load_text
from inkgate.bootstrap import running
from inkgate.caller import NO_CALLER
from inkgate.codec import document_to_dict, parse_document
from inkgate.layout.confidence import REVIEW_PAGE
from inkgate.layout.doubt import Measures, bend, block_measures, page_measures
from inkgate.reader import ReadOptions
from inkgate.settings import load_settings
from inkgate.types import Document, DocumentResult, PageResult, Task, TaskKind

DATA = Path("src/inkgate/layout/doubt_data.py")
GUIDE = Path("docs/guides/accuracy.md")
BEGIN, END = "<!-- calibration -->", "<!-- end of calibration -->"
FOLDS = 10
STEPS, RATE, RIDGE = 4000, 1.0, 1.0
"""Of gradient descent on standardized measures, and the strength of its L2 penalty in parts."""
REPEATS = 20
"""A word counts so often at most in one document, so that names don't make pairs common."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sample:
    """A block or page: its document, its measures, and whether it is right."""

    document: str
    measures: Measures
    text_right: bool
    right: bool


async def read_all(entries: Sequence[Entry], folder: Path) -> dict[str, DocumentResult]:
    """The documents, by path; from `folder` where it has them."""
    places = {entry.path: folder / f"{entry.path.replace('/', '__')}.json" for entry in entries}
    missing = [entry for entry in entries if not places[entry.path].exists()]
    if missing:
        async with running(load_settings()) as service:
            for entry in missing:
                document = Document(await anyio.Path(entry.file).read_bytes(), entry.file.name)
                admission = service.gateway.admit(NO_CALLER, len(document.data), wait_s=math.inf)
                options = ReadOptions(Task(kind=TaskKind.PARSE))
                async with admission as admitted, admitted.read(document, options) as reading:
                    result = document_to_dict(await reading.all())
                places[entry.path].write_bytes(orjson.dumps(result))
    return {path: parse_document(place.read_bytes()) for path, place in places.items()}


def samples_of(entry: Entry, result: DocumentResult) -> tuple[list[Sample], list[Sample]]:
    """The blocks and pages of a document with ground truth."""
    truth = load_text(entry.text) if entry.text else ""
    blocks = [(page, number) for page in result.pages for number in range(len(page.blocks or ()))]
    # Blocks that can't be judged are left out, so each carries its number as its confidence.
    asked = [_asked(page, number, float(at)) for at, (page, number) in enumerate(blocks)]
    judged = [
        Sample(entry.path, _block(*blocks[int(part.confidence)]), part.text_right, part.right)
        for part in judge_blocks(truth, asked)
    ]
    parts = truth.rstrip("\f\n ").split("\f")
    pages = zip(parts, result.pages, strict=True) if len(parts) == len(result.pages) else ()
    return judged, [
        Sample(entry.path, page_measures(page.lines), part.text_right, part.right)
        for text, page in pages
        if page.lines and (part := judge_page(text, page.text, 1.0)) is not None
    ]


def _asked(page: PageResult, number: int, name: float) -> tuple[str, float | None]:
    block = (page.blocks or ())[number]
    return block.text, name if block.lines else None


def _block(page: PageResult, number: int) -> Measures:
    return block_measures(number, page.blocks or (), page.lines, bend(page.lines))


def fit(samples: Sequence[Sample], truths: Sequence[bool]) -> dict[str, float]:
    """Weights by measure, none above 0, and the intercept as `""`: logistic regression by projected gradients."""
    names = list(samples[0].measures)
    values = np.array([[sample.measures[name] for name in names] for sample in samples])
    wanted = np.array(truths, dtype=float)
    mean, spread = values.mean(0), values.std(0)
    spread[spread == 0] = 1.0
    scaled = (values - mean) / spread
    weights, intercept = np.zeros(len(names)), 0.0
    for _ in range(STEPS):
        miss = 1 / (1 + np.exp(-(scaled @ weights + intercept))) - wanted
        weights = np.minimum(0.0, weights - RATE * (scaled.T @ miss + RIDGE * weights) / len(wanted))
        intercept -= RATE * miss.mean()
    found = {name: round(float(weight), 4) for name, weight in zip(names, weights / spread, strict=True)}
    return {"": round(float(intercept - (weights / spread * mean).sum()), 4)} | found


def probability(model: Measures, measures: Measures) -> float:
    """As layout/confidence.py has it, without its bounds."""
    return 1 / (1 + math.exp(-model[""] - sum(model[name] * value for name, value in measures.items())))


def held_out(samples: Sequence[Sample], truths: Sequence[bool]) -> list[float]:
    """The probability of each sample by a model fitted on other documents."""
    documents = sorted({sample.document for sample in samples})
    random.Random(7).shuffle(documents)
    folds = {document: number % FOLDS for number, document in enumerate(documents)}
    found = [0.0] * len(samples)
    for fold in range(FOLDS):
        others = [i for i, sample in enumerate(samples) if folds[sample.document] != fold]
        model = fit([samples[i] for i in others], [truths[i] for i in others])
        for i, sample in enumerate(samples):
            if folds[sample.document] == fold:
                found[i] = probability(model, sample.measures)
    return found


def curve(title: str, samples: Sequence[Sample], confidences: Sequence[float]) -> str:
    """The calibration of held-out confidences as a table."""
    pairs = zip(samples, confidences, strict=True)
    found = calibration_curve([JudgedPart(confidence, one.text_right, one.right) for one, confidence in pairs])
    rows = [
        f"| {b.low:.2f} to {b.high:.2f} | {b.count} | {100 * b.confidence:.1f} % | {100 * b.text_right:.1f} % "
        f"| {100 * b.right:.1f} % |"
        for b in found.bins
    ]
    head = f"| Confidence | {title} | Mean | Text right | Text and order right |"
    error = f"Expected calibration error of {title.lower()}: {100 * (found.error or 0):.1f} points."
    return "\n".join([head, "| --- | --- | --- | --- | --- |", *rows, "", error])


def review_text(samples: Sequence[Sample], confidences: Sequence[float]) -> str:
    """How many pages below some thresholds are wrong, and how many of the wrong ones are below."""
    wrong = sum(not sample.right for sample in samples)
    rows = []
    for least in (0.5, 0.6, REVIEW_PAGE, 0.8, 0.9):
        listed = [sample for sample, confidence in zip(samples, confidences, strict=True) if confidence < least]
        hits = sum(not sample.right for sample in listed)
        precision = f"{100 * hits / len(listed):.0f} %" if listed else ""
        used = " (in use)" if least == REVIEW_PAGE else ""
        rows.append(f"| {least}{used} | {len(listed)} of {len(samples)} | {precision} | {100 * hits / wrong:.0f} % |")
    head = "| Pages below | Listed | Of these wrong | Of the wrong ones listed |\n| --- | --- | --- | --- |"
    return "\n".join([head, *rows])


def pair_levels(entries: Sequence[Entry]) -> str:
    """Surprise in bits, 0 to 9, of each letter after each letter and at both ends of words; accents don't count."""
    pairs: Counter[tuple[int, int]] = Counter()
    for entry in entries:
        words = Counter(re.findall(r"[^\W\d_]{2,}", load_text(entry.text))) if entry.text else Counter()
        for word, count in words.items():
            plain = unicodedata.normalize("NFKD", word).casefold()
            codes = [LETTERS.find(letter) for letter in plain if not unicodedata.combining(letter)]
            if -1 not in codes:
                for pair in pairwise([len(LETTERS), *codes, len(LETTERS)]):
                    pairs[pair] += min(count, REPEATS)
    size = len(LETTERS) + 1
    levels = []
    for first in range(size):
        total = sum(pairs[first, second] for second in range(size)) + 0.3 * size
        levels += [-math.log2((pairs[first, second] + 0.3) / total) for second in range(size)]
    return "".join(str(min(9, max(0, round(level)))) for level in levels)


def data_module(models: dict[str, dict[str, float]], pairs: str, note: str) -> str:
    """The source of doubt_data.py."""
    parts = [
        f'"""Coefficients of the models of confidence, by benchmarks/structure/fit_confidence.py.\n\n{note}\n"""',
        "from __future__ import annotations",
    ]
    for name, model in models.items():
        weights = "\n".join(f'    "{key}": {value},' for key, value in model.items())
        parts.append(f"{name} = {{\n{weights}\n}}")
    rows = "\n".join(f'    "{pairs[at : at + 27]}"' for at in range(0, len(pairs), 27))
    about = '"""Surprise in bits of letter pairs, a row for each first letter; the 27th is the edge of a word."""'
    parts.append(f"PAIRS = (\n{rows}\n)\n{about}")
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--overlay", type=Path, default=Path(__file__).parent / "overlay.json")
    args = parser.parse_args()
    entries = [entry for entry in load_manifest(args.manifest, args.overlay) if entry.text]
    ordered = [entry for entry in entries if not entry.order_free]
    args.results.mkdir(parents=True, exist_ok=True)
    results = anyio.run(read_all, ordered, args.results)
    blocks: list[Sample] = []
    pages: list[Sample] = []
    for entry in ordered:
        of_blocks, of_pages = samples_of(entry, results[entry.path])
        blocks += of_blocks
        pages += of_pages
    right = {name: [one.right for one in samples] for name, samples in (("blocks", blocks), ("pages", pages))}
    models = {
        "BLOCK_RIGHT": fit(blocks, right["blocks"]),
        "PAGE_RIGHT": fit(pages, right["pages"]),
        "PAGE_TEXT_RIGHT": fit(
            [replace(one, measures={k: v for k, v in one.measures.items() if k != "rows"}) for one in pages],
            [one.text_right for one in pages],
        ),
    }
    today = datetime.now(UTC).date().isoformat()
    note = f"{today}: {len(blocks)} blocks and {len(pages)} pages of {len(ordered)} documents of dev."
    DATA.write_text(data_module(models, pair_levels(entries), note), "utf-8")
    held_pages = held_out(pages, right["pages"])
    how = "`python -m benchmarks.structure.fit_confidence MANIFEST RESULTS` fits them and writes these tables."
    shown = "\n\n".join(
        [
            f"{note} Each document is judged by models that were fitted on the others; {how}",
            curve("Blocks", blocks, held_out(blocks, right["blocks"])),
            curve("Pages", pages, held_pages),
            review_text(pages, held_pages),
        ]
    )
    print(shown)
    guide = GUIDE.read_text("utf-8")
    if BEGIN in guide:
        before, rest = guide.split(BEGIN)
        GUIDE.write_text(f"{before}{BEGIN}\n{shown}\n{END}{rest.split(END)[1]}", "utf-8")


if __name__ == "__main__":
    main()
