"""Fits the models of confidence on the tuning half of documents with ground truth, and judges them on the other half.

    python -m benchmarks.structure.fit_confidence RESULTS MANIFEST [MANIFEST ...]

The one command after a change to how pages are read. RESULTS: a folder for the documents as they are read with the
default settings, a folder for each manifest (by its number); those it has are not read again, so empty it after such a
change. MANIFESTs: as for `inkgate eval`, of sources that split.json has (halves.py adds them). Writes doubt_data.py,
then runs judge_confidence.py, which writes the tables of benchmarks/results/confidence.md and their chart.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import anyio
import numpy as np
import orjson
from numpy.typing import NDArray

from benchmarks.structure.halves import Half, half_of
from benchmarks.structure.reading import name_manifest, overlay_of, place, read_all
from inkgate.codec import parse_document
from inkgate.layout.confidence import lines_read
from inkgate.layout.doubt import Measures, bend, block_measures, order_measures, text_measures
from inkgate.types import DocumentResult, PageResult, ReviewReason
from inkgate_bench.accuracy.calibration import LEAST_WORDS_RIGHT, is_left_unread, judge_blocks, judge_page, words_f1
from inkgate_bench.accuracy.manifest import Entry, load_manifest, load_text

DATA = Path("src/inkgate/layout/doubt_data.py")
FOLDS = 10
STEPS, RATE, RIDGE = 4000, 1.0, 1.0
"""Of gradient descent on standardized measures, and the strength of its L2 penalty in parts."""
WANTED_RIGHT = 0.985
"""Share of the tuning half's pages without a flag that are right; the promise is 0.98 of others. 0.99 flagged 7 in 10
right pages: what is left is wrong for what was not read, and for codes whose words are sure."""
REPEATS = 20
"""A word counts so often at most in one document, so that names don't make pairs common."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"
OF_CONFIDENCE = frozenset(
    {ReviewReason.UNCERTAIN_TEXT, ReviewReason.UNCERTAIN_ORDER, ReviewReason.UNCERTAIN_TABLE, ReviewReason.NOT_READ}
)
"""Reasons that layout/confidence.py gives, and gives again when a kept page is judged again."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document with its truth, as it was read."""

    entry: Entry
    half: Half
    truth: str
    result: DocumentResult

    @property
    def rendered(self) -> bool:
        """Whether it was made from a PDF: the order of its truth is the file's, not the page's."""
        return self.entry.kind.startswith("rendered")

    @property
    def ordered(self) -> bool:
        return not self.entry.order_free and not self.rendered

    @property
    def pages(self) -> Iterator[tuple[str, PageResult]]:
        """Its pages with their truths; none if the truth doesn't part them."""
        parts = self.truth.rstrip("\f\n ").split("\f")
        if len(parts) == len(self.result.pages):
            yield from zip(parts, self.result.pages, strict=True)


def read_documents(
    folder: Path, manifests: Sequence[Path], parallel: int = 1, *, kept: bool = False
) -> list[ReadDocument]:
    """The documents with a text of all manifests; from `folder` where it has them. `kept`: only those it has."""
    found = []
    for number, manifest in enumerate(manifests):
        entries = [entry for entry in load_manifest(manifest, overlay_of(manifest)) if entry.text]
        results = folder / str(number)
        results.mkdir(parents=True, exist_ok=True)
        if not kept:
            name_manifest(results, manifest)
            anyio.run(read_all, entries, results, parallel)
        halves = half_of(manifest)
        for entry in entries:
            data = place(results, entry).read_bytes() if place(results, entry).exists() else b'{"refused": "unread"}'
            if "refused" not in orjson.loads(data) and entry.text is not None:
                result = parse_document(data)
                found.append(ReadDocument(entry, halves[entry.path], load_text(entry.text), result))
    return found


@dataclass(frozen=True, slots=True)
class Sample:
    """A block or page: its document, its measures, and whether it is right."""

    document: str
    measures: Measures
    right: bool


def block_samples(document: ReadDocument) -> list[Sample]:
    """The blocks of a document; right if text and order are."""
    blocks = [(page, number) for page in document.result.pages for number in range(len(page.blocks or ()))]
    # Blocks that can't be judged are left out, so each carries its number as its confidence.
    asked = [_asked(page, number, float(at)) for at, (page, number) in enumerate(blocks)]
    return [
        Sample(document.entry.path, _block(*blocks[int(part.confidence)]), part.right)
        for part in judge_blocks(document.truth, asked)
    ]


def _asked(page: PageResult, number: int, name: float) -> tuple[str, float | None]:
    block = (page.blocks or ())[number]
    return block.text, name if block.lines else None


def _block(page: PageResult, number: int) -> Measures:
    return block_measures(number, page.blocks or (), page.lines, bend(page.lines))


def flags_of_others(page: PageResult) -> tuple[ReviewReason, ...]:
    """The reasons for review that layout/confidence.py did not give."""
    noted = {note.reason for note in page.review_notes}
    return tuple(reason for reason in page.review if reason not in OF_CONFIDENCE or reason in noted)


def text_samples(documents: Sequence[ReadDocument]) -> list[Sample]:
    """The pages with recognised lines and without flags of others; right if their text is.

    Without those of which much was not read and the rest is right: the confidence of what was read says nothing of it,
    and other flags should.
    """
    return [
        Sample(
            document.entry.path,
            text_measures(lines_read(page)),
            words_f1(truth, page.text) > LEAST_WORDS_RIGHT,
        )
        for document in documents
        for truth, page in document.pages
        if lines_read(page) and not flags_of_others(page) and not is_left_unread(truth, page.text)
    ]


def order_samples(documents: Sequence[ReadDocument]) -> list[Sample]:
    """The pages whose text is right; right if their order is."""
    return [
        Sample(document.entry.path, order_measures(page.lines), part.right)
        for document in documents
        if document.ordered
        for truth, page in document.pages
        if page.lines and words_f1(truth, page.text) > LEAST_WORDS_RIGHT and (part := judge_page(truth, page.text, 1.0))
    ]


def fit(samples: Sequence[Sample]) -> dict[str, float]:
    """Weights by measure, none above 0, and the intercept as `""`: logistic regression by projected gradients."""
    names = list(samples[0].measures)
    values = np.array([[sample.measures[name] for name in names] for sample in samples])
    wanted = np.array([sample.right for sample in samples], dtype=float)
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


def held_out(samples: Sequence[Sample]) -> list[float]:
    """The probability of each sample by a model fitted on other documents."""
    documents = sorted({sample.document for sample in samples})
    random.Random(7).shuffle(documents)
    folds = {document: number % FOLDS for number, document in enumerate(documents)}
    found = [0.0] * len(samples)
    for fold in range(FOLDS):
        model = fit([sample for sample in samples if folds[sample.document] != fold])
        for i, sample in enumerate(samples):
            if folds[sample.document] == fold:
                found[i] = probability(model, sample.measures)
    return found


def threshold(samples: Sequence[Sample], probabilities: Sequence[float]) -> float:
    """The lowest probability, in hundredths, such that of the pages from it on WANTED_RIGHT are right.

    If there is none, the one with the largest share of right pages that leaves half of them without a flag: some pages
    are wrong by what was not read, which no threshold finds.
    """
    pages = [(found, one.right) for one, found in zip(samples, probabilities, strict=True)]
    least = sum(right for _, right in pages) / 2
    shares = []
    for hundredths in range(50, 100):
        left = [right for found, right in pages if found >= hundredths / 100]
        if sum(left) >= max(1.0, least):
            shares.append((min(sum(left) / len(left), WANTED_RIGHT), -hundredths))
    return -max(shares)[1] / 100 if shares else 0.99


def pair_levels(texts: Sequence[str]) -> str:
    """Surprise in bits, 0 to 9, of each letter after each letter and at both ends of words; accents don't count."""
    pairs: Counter[tuple[int, int]] = Counter()
    for text in texts:
        for word, count in Counter(re.findall(r"[^\W\d_]{2,}", text)).items():
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


def data_module(models: dict[str, dict[str, float]], review_text: float, pairs: str, note: str) -> str:
    """The source of doubt_data.py."""
    parts = [
        f'"""Coefficients of the models of confidence, by benchmarks/structure/fit_confidence.py.\n\n{note}\n"""',
        "from __future__ import annotations",
    ]
    for name, model in models.items():
        weights = "\n".join(f'    "{key}": {value},' for key, value in model.items())
        parts.append(f"{name} = {{\n{weights}\n}}")
    review = '"""Pages whose text is right with a lower probability are to be reviewed."""'
    parts.append(f"REVIEW_TEXT = {review_text}\n{review}")
    rows = "\n".join(f'    "{pairs[at : at + 27]}"' for at in range(0, len(pairs), 27))
    about = '"""Surprise in bits of letter pairs, a row for each first letter; the 27th is the edge of a word."""'
    parts.append(f"PAIRS = (\n{rows}\n)\n{about}")
    return "\n\n".join(parts) + "\n"


def refit(documents: Sequence[ReadDocument]) -> str:
    """The source of doubt_data.py, from documents of the tuning half."""
    blocks = [sample for document in documents if document.ordered for sample in block_samples(document)]
    texts, orders = text_samples(documents), order_samples(documents)
    models = {"BLOCK_RIGHT": fit(blocks), "PAGE_TEXT_RIGHT": fit(texts), "PAGE_ORDER_RIGHT": fit(orders)}
    counts = f"{len(blocks)} blocks; {len(texts)} pages for text, {len(orders)} for order"
    note = f"{datetime.now(UTC).date().isoformat()}: {len(documents)} documents of the tuning half. {counts}."
    print(note)
    least = threshold(texts, held_out(texts))
    return data_module(models, least, pair_levels([document.truth for document in documents]), note)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("manifests", type=Path, nargs="+")
    parser.add_argument("--parallel", type=int, default=2, help="documents that are read at a time")
    parser.add_argument("--kept", action="store_true", help="only the documents that RESULTS has")
    args = parser.parse_args()
    documents = read_documents(args.results, args.manifests, args.parallel, kept=args.kept)
    DATA.write_text(refit([document for document in documents if document.half is Half.TUNING]), "utf-8")
    # A process of its own: this one has the models that were there before.
    command = [sys.executable, "-m", "benchmarks.structure.judge_confidence", str(args.results)]
    more = ["--kept"] if args.kept else []
    subprocess.run([*command, *map(str, args.manifests), *more], check=True)


if __name__ == "__main__":
    main()
