"""Other OCR tools that read the same documents, for `inkgate eval --against` and for benchmarks.engines.

Images go to them by path, so that each loads them in its own way. inkgate renders PDFs for them, since they don't open
PDFs; that time counts as theirs.
"""

from __future__ import annotations

import csv
import importlib.metadata
import io
import multiprocessing
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing.synchronize import Barrier
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from inkgate.documents.open import Opener
from inkgate.operating_system import usable_cpus
from inkgate.page import RgbArray
from inkgate.settings import PdfText
from inkgate_bench.accuracy.candidates import Candidate, Transcript
from inkgate_bench.accuracy.manifest import Entry
from inkgate_bench.accuracy.metrics import ReadLine
from inkgate_client.concurrency import Threads
from inkgate_client.types import Document, Quad

CORES = len(usable_cpus())
TESSERACT_LANGUAGES = {
    "en": "eng",
    "zh-Hans": "chi_sim",
    "zh-Hant": "chi_tra",
    "fr": "fra",
    "es": "spa",
    "de": "deu",
    "nl": "nld",
}
"""Language tags of manifests, as Tesseract names them. Other languages are read as English."""
_OPENVINO = {f"{model}.engine_type": "openvino" for model in ("Det", "Cls", "Rec")}
_Image = str | NDArray[np.uint8]


class PeerMissing(RuntimeError):
    """A tool to compare with is not installed, or is not known. The message says what to do."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A tool and how it is set up.

    Attributes:
        params: of rapidocr; None: the tesseract command.
        processes: how many of them read at once, a document each.
    """

    name: str
    params: Mapping[str, object] | None
    processes: int = 1


def _tuned(threads: int) -> dict[str, object]:
    """Rapidocr 3.10 tuned, on OpenVINO.

    No line classifier, since all pages stand upright; a longest side of 1,600 pixels, as inkgate has, instead of a
    shortest of 736, which for a scan means all of it up to 2,000; 16 lines a call. The softmax over 18,710 classes
    remains: it is part of the model.
    """
    return {
        **_OPENVINO,
        "Global.use_cls": False,
        "Det.limit_type": "max",
        "Det.limit_side_len": 1600,
        "Rec.rec_batch_num": 16,
        "EngineConfig.openvino.performance_hint": "LATENCY",
        "EngineConfig.openvino.inference_num_threads": threads,
    }


PEERS = {
    peer.name: peer
    for peer in (
        Peer("rapidocr", {}),
        # OpenVINO chooses the precision: bf16 where the CPU has instructions for it.
        Peer("rapidocr-openvino", _OPENVINO),
        Peer("rapidocr-tuned", _tuned(CORES)),
        # One process reads one page at a time: a process for each core gives the most pages a second.
        Peer("rapidocr-tuned-processes", _tuned(1), CORES),
        Peer("tesseract", None),
    )
}


def find_peer(name: str) -> Peer:
    """The peer of that name. Raises PeerMissing where it is unknown or not installed."""
    peer = PEERS.get(name)
    if peer is None:
        raise PeerMissing(f"Unknown tool {name!r}; compare with one of {', '.join(PEERS)}.")
    if peer.params is None and shutil.which("tesseract") is None:
        raise PeerMissing("tesseract is not installed: apt-get install tesseract-ocr, and its language packs.")
    if peer.params is not None and find_spec("rapidocr") is None:
        raise PeerMissing("rapidocr is not installed: pip install rapidocr.")
    return peer


@asynccontextmanager
async def running_peer(peer: Peer, opener: Opener) -> AsyncIterator[Candidate]:
    """The tool, ready to read: its models are loaded. Raises PeerMissing where it has no English."""
    if peer.params is None:
        yield await Tesseract.started(opener)
        return
    context = multiprocessing.get_context("spawn")
    loaded = context.Barrier(peer.processes)
    pool = ProcessPoolExecutor(peer.processes, context, initializer=_load, initargs=(dict(peer.params), loaded))
    with pool:
        tool = RapidOcr(peer, pool, opener)
        async with anyio.create_task_group() as tasks:  # a process starts when there is work for it
            for _ in range(peer.processes):
                tasks.start_soon(tool.predict, None)
        yield tool


class RapidOcr:
    """The rapidocr package, in processes of its own."""

    def __init__(self, peer: Peer, pool: ProcessPoolExecutor, opener: Opener) -> None:
        self.name = peer.name
        self.version = importlib.metadata.version("rapidocr")
        self.parallel = peer.processes
        self._pool = pool
        self._opener = opener
        self._threads = Threads("rapidocr", peer.processes)

    async def read(self, entry: Entry) -> Transcript:
        """The lines as rapidocr orders them."""
        if not _is_pdf(entry):
            pages = [await self.predict(str(entry.file))]
        else:
            async with self._opener.open(await _document(entry), PdfText.NEVER) as opened:
                pages = []
                for index in range(opened.page_count):
                    pixels = await (await opened.page(index)).pixels()
                    pages.append(await self.predict(np.ascontiguousarray(pixels.rgb[..., ::-1])))
        text = "\n".join(line.text for page in pages for line in page)
        return Transcript(text, len(pages), lines=tuple(pages[0]) if pages else ())

    async def predict(self, image: _Image | None) -> list[ReadLine]:
        """The lines of an image, a path or BGR pixels; none of None, once a process has loaded its models."""
        return await self._threads.run(self._pool.submit(_predict, image).result)


_model: Callable[[_Image], Any]


def _load(params: dict[str, object], loaded: Barrier) -> None:
    """Runs first in each process. All wait for each other, so that none takes the work of one that still loads."""
    global _model  # noqa: PLW0603  # the one thing that this process is for
    from rapidocr import EngineType, RapidOCR

    typed = {key: EngineType(value) if key.endswith("engine_type") else value for key, value in params.items()}
    _model = RapidOCR(params={"Global.log_level": "critical", **typed})
    loaded.wait()


def _predict(image: _Image | None) -> list[ReadLine]:
    found = None if image is None else _model(image)
    if found is None or found.txts is None:
        return []
    return [ReadLine(text, _quad(box)) for text, box in zip(found.txts, found.boxes, strict=True)]


def _quad(box: NDArray[np.float32]) -> Quad:
    first, second, third, fourth = ((float(x), float(y)) for x, y in box)
    return (first, second, third, fourth)


class Tesseract:
    """The tesseract command with its defaults and the document's language, one document at a time."""

    name = "tesseract"
    parallel = 1

    def __init__(self, opener: Opener, version: str, languages: frozenset[str]) -> None:
        self.version = version
        self._opener = opener
        self._languages = languages
        self._threads = Threads("tesseract_images", 1)

    @classmethod
    async def started(cls, opener: Opener) -> Tesseract:
        """Asks for its version and languages. Raises PeerMissing where it has no English."""
        version = (await _tesseract("--version")).split()[1]
        languages = frozenset((await _tesseract("--list-langs")).split())
        if "eng" not in languages:
            raise PeerMissing("tesseract has no English: apt-get install tesseract-ocr-eng.")
        return cls(opener, version, languages)

    async def read(self, entry: Entry) -> Transcript:
        """The text as tesseract writes it, the lines from its table of boxes."""
        wanted = TESSERACT_LANGUAGES.get(entry.language, "eng")
        language = wanted if wanted in self._languages else "eng"
        texts: list[str] = []
        first: tuple[ReadLine, ...] = ()
        with TemporaryDirectory(prefix="inkgate-eval-") as folder:
            out = Path(folder) / "out"
            for image in await self._rendered(entry, Path(folder)) if _is_pdf(entry) else [entry.file]:
                await _tesseract(str(image), str(out), "-l", language, "txt", "tsv")
                if not texts:
                    first = tuple(boxed_lines(await anyio.Path(f"{out}.tsv").read_text(encoding="utf-8")))
                texts.append(await anyio.Path(f"{out}.txt").read_text(encoding="utf-8"))
        return Transcript("\n".join(texts), len(texts), lines=first)

    async def _rendered(self, entry: Entry, folder: Path) -> list[Path]:
        """One uncompressed TIFF for each page, which has its resolution."""
        images: list[Path] = []
        async with self._opener.open(await _document(entry), PdfText.NEVER) as opened:
            for index in range(opened.page_count):
                page = await opened.page(index)
                pixels = await page.pixels()
                images.append(folder / f"{index}.tif")
                await self._threads.run(_save, pixels.rgb, page.dpi or 72.0, images[-1])
        return images


async def _tesseract(*arguments: str) -> str:
    done = await anyio.run_process(["tesseract", *arguments], check=False, stderr=subprocess.PIPE)
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise RuntimeError(f"tesseract ended with {done.returncode}: {' '.join(last)}")
    return done.stdout.decode()


def boxed_lines(table: str) -> Iterator[ReadLine]:
    """The lines of tesseract's TSV: words of one block, paragraph and line, with the box of the line."""
    lines: dict[tuple[str, ...], tuple[Quad, list[str]]] = {}
    for row in csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE):
        key = tuple(row[name] for name in ("page_num", "block_num", "par_num", "line_num"))
        if row["level"] == "4":
            left, top, width, height = (float(row[name]) for name in ("left", "top", "width", "height"))
            right, bottom = left + width, top + height
            lines[key] = (((left, top), (right, top), (right, bottom), (left, bottom)), [])
        elif row["level"] == "5" and row["text"].strip():
            lines[key][1].append(row["text"])
    return (ReadLine(" ".join(words), quad) for quad, words in lines.values() if words)


def _is_pdf(entry: Entry) -> bool:
    return entry.file.suffix.lower() == ".pdf"


async def _document(entry: Entry) -> Document:
    return Document(await anyio.Path(entry.file).read_bytes(), entry.file.name)


def _save(rgb: RgbArray, dpi: float, path: Path) -> None:
    Image.fromarray(rgb).save(path, dpi=(dpi, dpi))
