"""Measures the accuracy of the embedded engine at each degradation level.

    python benchmarks/degradation_cost.py MANIFEST --results FILE
        [--step whole image output] [--documents 118] [--turned]

Reads a seeded selection of the manifest's documents with text as ground truth, at full quality and at each level: the
same queue before the same engine as in the service, held at one level. Levels are cumulative, as in the service:
`output` includes `image`. PDFs are read from their pixels.

FILE gets a line for each result. The run stops after `--seconds`, and continues when started again. `--turned` rotates
every image by 90, 180 or 270 degrees, which `output` doesn't correct.

The embedded engine has no output limit, so the number of texts that `max_output_tokens` would cut is estimated from the
ground truth: one token for each character of a script without spaces, one for three characters of any other. No
tokenizer of a published model needs more on running text; coordinates and tables are extra.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import anyio
from PIL import Image, ImageOps

from inkgate.caller import Caller, Priority
from inkgate.documents.open import Opener
from inkgate.engines.base import Engine
from inkgate.engines.choose import embedded_engine, page_analysis, runtime_of
from inkgate.page import Page
from inkgate.service.complete import Completion
from inkgate.service.gateway import Gateway
from inkgate.service.page import EngineQueue, PageReader
from inkgate.service.reader import Reader
from inkgate.service.readiness import EngineProgress
from inkgate.serving.admission import AdmissionLimiter
from inkgate.serving.degradation import DEGRADATION_LEVELS, Degradation, DegradationLevel
from inkgate.serving.limits import FixedLimit
from inkgate.serving.queue import WorkQueue
from inkgate.serving.threads import FairThreads
from inkgate.settings import AdmissionSettings, PdfText, Settings
from inkgate.telemetry.observer import NO_OBSERVER
from inkgate.types import PageResult, Task
from inkgate_bench.accuracy.candidates import OwnReader
from inkgate_bench.accuracy.manifest import Entry, load_manifest, load_text
from inkgate_bench.accuracy.metrics import Token, token_of
from inkgate_bench.accuracy.scores import FileScore, score

STEPS = ("whole", DegradationLevel.IMAGE.value, DegradationLevel.OUTPUT.value)
FEW = 5
"""Kinds with fewer documents are grouped by folder."""


class FixedDegradation(Degradation):
    """Degradation held at one level for work of any priority."""

    def __init__(self, steps: int, settings: Settings) -> None:
        super().__init__(settings.serving.degradation, lambda: None)
        self._given_up = DEGRADATION_LEVELS[:steps]

    def levels(self, priority: Priority) -> tuple[DegradationLevel, ...]:
        return self._given_up


class PageCounter:
    """An Engine around an Engine that counts pages, and rotated ones."""

    def __init__(self, inner: Engine) -> None:
        self.name = inner.name
        self.pages = self.turned = 0
        self._inner = inner

    async def start(self) -> None:
        await self._inner.start()

    async def stop(self) -> None:
        await self._inner.stop()

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        result = await self._inner.read(page, task, caller)
        self.pages += 1
        self.turned += result.rotation != 0
        return result


def _gateway(reader: Reader, settings: Settings) -> Gateway:
    """A Gateway that admits everything."""
    pages = WorkQueue(FixedLimit(1), settings.serving.scheduling)
    return Gateway(reader, AdmissionLimiter(1_000_000, AdmissionSettings(max_bytes_mb=1e8), pages), NO_OBSERVER)


@asynccontextmanager
async def reading(step: str, settings: Settings) -> AsyncIterator[tuple[OwnReader, PageCounter]]:
    """A started candidate at the level `step`, and the counter of its pages."""
    runtime = runtime_of(settings)
    engine = embedded_engine(settings, page_analysis(settings, runtime), runtime)
    degradation = FixedDegradation(STEPS.index(step), settings)
    work_queue = WorkQueue(FixedLimit(1), settings.serving.scheduling)
    queue = EngineQueue(work_queue, degradation, settings.serving.degradation, EngineProgress())
    counting = PageCounter(PageReader(engine, Completion(FairThreads(1)), queue=queue))
    async with Opener(settings.limits, settings.pdf) as opener:
        await counting.start()
        try:
            yield (
                OwnReader(step, _gateway(Reader(opener, counting, settings.limits), settings), PdfText.NEVER, 1),
                counting,
            )
        finally:
            await counting.stop()


def selection(manifest: Path, documents: int, kind: str, seed: int) -> list[Entry]:
    """A random selection of documents with text whose folder or kind contains `kind`."""
    known = [replace(entry, lines=None, tests=None) for entry in load_manifest(manifest) if entry.text is not None]
    known = [entry for entry in known if kind in f"{entry.folder}/{entry.kind}"]
    return sorted(random.Random(seed).sample(known, min(documents, len(known))), key=lambda entry: entry.path)


def turned(entry: Entry, folder: Path, seed: int) -> Entry:
    """A rotated copy of the document in `folder`."""
    degrees = random.Random(f"{seed} {entry.path}").choice((90, 180, 270))
    copy = folder / f"{entry.path.replace('/', '_')}.png"
    with Image.open(entry.file) as image:
        ImageOps.exif_transpose(image).convert("RGB").rotate(degrees, expand=True).save(copy)
    return replace(entry, file=copy)


async def measure(args: argparse.Namespace, entries: Sequence[Entry], settings: Settings) -> None:
    """Reads documents that are not in the results yet, until the time is over."""
    ends_at = perf_counter() + args.seconds
    for step in args.step:
        left = [entry for entry in entries if (step, args.turned, entry.path) not in done(args.results)]
        if not left or perf_counter() > ends_at:
            continue
        async with reading(step, settings) as (candidate, counting):
            for entry in left:
                if perf_counter() > ends_at:
                    print(f"{step}: goes on with {entry.path}")
                    break
                before = counting.pages, counting.turned
                with tempfile.TemporaryDirectory() as folder:
                    document = turned(entry, Path(folder), args.seed) if args.turned else entry
                    scored = (await score(candidate, [document], lambda _name, _entry: None)).files[0]
                line = as_line(
                    step, scored, counting.pages - before[0], counting.turned - before[1], turned=args.turned
                )
                with args.results.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(line, ensure_ascii=False) + "\n")


def as_line(step: str, scored: FileScore, pages: int, pages_turned: int, *, turned: bool) -> dict[str, object]:
    """One result as a line of the file."""
    truth = load_text(scored.entry.text) if scored.entry.text else ""
    errors = scored.folded_errors
    return {
        "step": step,
        "turned": turned,
        "path": scored.entry.path,
        "folder": scored.entry.folder,
        "kind": scored.entry.kind,
        "pages": pages,
        "pages_turned": pages_turned,
        "tokens": tokens(truth),
        "edits": errors.edits if errors else 0,
        "characters": errors.characters if errors else 0,
        "f1": scored.f1,
        "seconds": round(scored.seconds, 3),
        "error": scored.error,
    }


def tokens(truth: str) -> int:
    """Upper estimate of the tokens of a text."""
    characters = len("".join(truth.split()))
    words = len(truth.split())
    # A space is part of the word after it; words shorter than three characters have one token each.
    return characters if token_of(truth) is Token.BIGRAMS else max(words, math.ceil((characters + words) / 3))


def done(results: Path) -> dict[tuple[str, bool, str], dict[str, object]]:
    """Results so far, by level, rotation and path."""
    if not results.exists():
        return {}
    lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    return {(line["step"], line["turned"], line["path"]): line for line in lines}


def table(lines: Sequence[dict[str, object]], most_tokens: int) -> str:
    """Case-insensitive CER (pooled) and F1 (mean) in percent, by kind, of documents that were read at every level."""
    by_path: dict[str, dict[str, dict[str, object]]] = {}
    for line in lines:
        by_path.setdefault(str(line["path"]), {})[str(line["step"])] = line
    steps = [step for step in STEPS if any(step in read for read in by_path.values())]
    complete = [read for read in by_path.values() if all(step in read for step in steps)]
    sizes: dict[str, int] = {}
    for read in complete:
        sizes[str(read[steps[0]]["kind"])] = sizes.get(str(read[steps[0]]["kind"]), 0) + 1
    groups: dict[str, list[dict[str, dict[str, object]]]] = {"**all**": complete}
    for read in complete:
        first = read[steps[0]]
        kind = str(first["kind"])
        groups.setdefault(kind if sizes[kind] >= FEW else f"others in {first['folder']}", []).append(read)
    rows = [
        f"| documents | n | {' | '.join(steps)} | seconds a page | turned | over {most_tokens} tokens |",
        f"| --- | --- | {' | '.join('---' for _ in steps)} | --- | --- | --- |",
    ]
    for name, reads in groups.items():
        cells = " | ".join(_cell([read[step] for read in reads]) for step in steps)
        seconds = ", ".join(f"{_per_page([read[step] for read in reads]):.2f}" for step in steps)
        whole = [read[steps[0]] for read in reads]
        long = sum(_number(line["tokens"]) > most_tokens * max(1, _number(line["pages"])) for line in whole)
        was_turned = sum(int(_number(line["pages_turned"])) for line in whole)
        rows.append(f"| {name} | {len(reads)} | {cells} | {seconds} | {was_turned} | {long} |")
    return "\n".join(rows)


def _cell(lines: Sequence[dict[str, object]]) -> str:
    edits, characters = (sum(_number(line[key]) for line in lines) for key in ("edits", "characters"))
    return (
        f"{100 * edits / max(characters, 1):.1f}, {100 * sum(_number(line['f1']) for line in lines) / len(lines):.1f}"
    )


def _per_page(lines: Sequence[dict[str, object]]) -> float:
    return sum(_number(line["seconds"]) for line in lines) / max(1, sum(_number(line["pages"]) for line in lines))


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--results", type=Path, required=True, metavar="FILE")
    parser.add_argument("--step", nargs="+", choices=STEPS, default=list(STEPS))
    parser.add_argument("--documents", type=int, default=120, help="maximum number, drawn by --seed")
    parser.add_argument("--kind", default="", help="only documents whose folder or kind contains this")
    parser.add_argument("--turned", action="store_true", help="only images, each rotated")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=math.inf)
    args = parser.parse_args()
    settings = Settings()
    entries = selection(args.manifest, args.documents, args.kind, args.seed)
    if args.turned:
        entries = [entry for entry in entries if entry.file.suffix.lower() != ".pdf"]
    anyio.run(measure, args, entries, settings)
    lines = [line for (_, was_turned, _), line in done(args.results).items() if was_turned == args.turned]
    print(table(lines, settings.serving.degradation.max_output_tokens))


if __name__ == "__main__":
    main()
