"""Other tools that read the same documents, untuned, as their own documentation calls them.

Images go to them by path, so that each loads them in its own way; PDFs are rendered by inkgate's Opener, since neither
opens PDFs. The time of that counts as theirs.
"""

from __future__ import annotations

import csv
import importlib.metadata
import importlib.util
import io
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from inkgate.bench.accuracy.candidates import Candidate, Transcript
from inkgate.bench.accuracy.manifest import Entry
from inkgate.bench.accuracy.metrics import ReadLine
from inkgate.concurrency import Threads
from inkgate.documents.open import Opener
from inkgate.settings import PdfText
from inkgate.types import Document, Quad, RgbArray

PEERS = ("rapidocr", "tesseract")
TESSERACT_LANGUAGES = {
    "en": "eng",
    "zh-Hans": "chi_sim",
    "zh-Hant": "chi_tra",
    "fr": "fra",
    "es": "spa",
    "de": "deu",
    "nl": "nld",
}
"""Language tags of manifests, as Tesseract names them. It is told the language; every other is read as English."""


class PeerMissing(RuntimeError):
    """A tool to compare with is not installed, or is not known. The message says what to do."""


def peer(name: str, opener: Opener) -> Candidate:
    """The peer of a name in PEERS. Raises PeerMissing."""
    if name == "rapidocr":
        return RapidOcr(opener)
    if name == "tesseract":
        return Tesseract(opener)
    raise PeerMissing(f"Nothing is known of {name!r}; compare with {' or '.join(PEERS)}.")


class RapidOcr:
    """The rapidocr package with its defaults, in this process, one document at a time."""

    name = "rapidocr"
    parallel = 1

    def __init__(self, opener: Opener) -> None:
        if importlib.util.find_spec("rapidocr") is None:
            raise PeerMissing("rapidocr is not installed: pip install rapidocr.")
        self.version = importlib.metadata.version("rapidocr")
        self._opener = opener
        self._threads = Threads("rapidocr", 1)
        self._model: Callable[[str | NDArray[np.uint8]], Any] | None = None

    async def start(self) -> None:
        """Loads the models that the package carries."""
        self._model = await self._threads.run(self._load)

    @staticmethod
    def _load() -> Callable[[str | NDArray[np.uint8]], Any]:
        from rapidocr import RapidOCR

        model: Callable[[str | NDArray[np.uint8]], Any] = RapidOCR(params={"Global.log_level": "critical"})
        return model

    async def read(self, entry: Entry) -> Transcript:
        """The lines as rapidocr orders them."""
        if not _is_pdf(entry):
            return _joined([await self._threads.run(self._predict, str(entry.file))])
        pages = []
        async with self._opener.open(await _document(entry), PdfText.NEVER) as opened:
            for index in range(opened.page_count):
                pixels = await (await opened.page(index)).pixels()
                bgr = np.ascontiguousarray(pixels.rgb[..., ::-1])
                pages.append(await self._threads.run(self._predict, bgr))
        return _joined(pages)

    def _predict(self, image: str | NDArray[np.uint8]) -> list[ReadLine]:
        if self._model is None:
            raise RuntimeError("start() comes first")
        found = self._model(image)
        if found.txts is None:
            return []
        return [ReadLine(text, _quad(box)) for text, box in zip(found.txts, found.boxes, strict=True)]


class Tesseract:
    """The tesseract command with its defaults and the document's language, one document at a time."""

    name = "tesseract"
    parallel = 1

    def __init__(self, opener: Opener) -> None:
        command = shutil.which("tesseract")
        if command is None:
            raise PeerMissing("tesseract is not installed: apt-get install tesseract-ocr, and its language packs.")
        self._command = command
        self._opener = opener
        self._threads = Threads("tesseract_images", 1)
        self._languages: frozenset[str] = frozenset()
        self.version = "unknown"

    async def start(self) -> None:
        """Asks for its version and its languages. Raises PeerMissing where it has no English."""
        self.version = (await self._run("--version")).split()[1]
        self._languages = frozenset((await self._run("--list-langs")).split())
        if "eng" not in self._languages:
            raise PeerMissing("tesseract has no English: apt-get install tesseract-ocr-eng.")

    async def read(self, entry: Entry) -> Transcript:
        """The text as tesseract writes it, the lines from its table of boxes."""
        wanted = TESSERACT_LANGUAGES.get(entry.language, "eng")
        language = wanted if wanted in self._languages else "eng"
        with TemporaryDirectory(prefix="inkgate-eval-") as folder:
            images = await self._rendered(entry, Path(folder)) if _is_pdf(entry) else [entry.file]
            read = [await self._page(image, Path(folder) / "out", language) for image in images]
        text = "\n".join(text for text, _ in read)
        return Transcript(text, len(read), lines=tuple(read[0][1]) if read else ())

    async def _rendered(self, entry: Entry, folder: Path) -> list[Path]:
        """One uncompressed TIFF for each page, which tells its resolution."""
        images: list[Path] = []
        async with self._opener.open(await _document(entry), PdfText.NEVER) as opened:
            for index in range(opened.page_count):
                page = await opened.page(index)
                pixels = await page.pixels()
                images.append(folder / f"{index}.tif")
                await self._threads.run(_save, pixels.rgb, page.dpi or 72.0, images[-1])
        return images

    async def _page(self, image: Path, out: Path, language: str) -> tuple[str, list[ReadLine]]:
        await self._run(str(image), str(out), "-l", language, "txt", "tsv")
        text = await anyio.Path(f"{out}.txt").read_text(encoding="utf-8")
        return text, boxed_lines(await anyio.Path(f"{out}.tsv").read_text(encoding="utf-8"))

    async def _run(self, *arguments: str) -> str:
        done = await anyio.run_process([self._command, *arguments], check=False, stderr=subprocess.PIPE)
        if done.returncode:
            last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
            raise RuntimeError(f"tesseract ended with {done.returncode}: {' '.join(last)}")
        return done.stdout.decode()


def boxed_lines(table: str) -> list[ReadLine]:
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
    return [ReadLine(" ".join(words), quad) for quad, words in lines.values() if words]


def _is_pdf(entry: Entry) -> bool:
    return entry.file.suffix.lower() == ".pdf"


async def _document(entry: Entry) -> Document:
    return Document(await anyio.Path(entry.file).read_bytes(), entry.file.name)


def _save(rgb: RgbArray, dpi: float, path: Path) -> None:
    Image.fromarray(rgb).save(path, dpi=(dpi, dpi))


def _joined(pages: list[list[ReadLine]]) -> Transcript:
    text = "\n".join(line.text for page in pages for line in page)
    return Transcript(text, len(pages), lines=tuple(pages[0]) if pages else ())


def _quad(box: NDArray[np.float32]) -> Quad:
    first, second, third, fourth = ((float(x), float(y)) for x, y in box)
    return (first, second, third, fourth)
