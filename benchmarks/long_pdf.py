"""Measures a long streamed PDF: the time of the first page, and memory over all pages.

    python -m benchmarks.long_pdf FOLDER --pages 1000 --json FILE

Builds a PDF by repeating the images of a folder, starts a server, posts the PDF to /ocr with
`Accept: application/x-ndjson`, and records the resident memory of the server and its workers at every page.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter

import httpx
import pypdfium2 as pdfium
from PIL import Image

from benchmarks.figures import write_json
from benchmarks.processes import free_port, inkgate_command, resident_mb, server

IMAGE_SUFFIXES = {".png", ".jpg", ".jpeg"}


def build_pdf(folder: Path, pages: int) -> bytes:
    """A PDF of `pages` pages that repeats the folder's images, each stored once."""
    pdf = pdfium.PdfDocument.new()
    images = []
    for path in sorted(p for p in folder.iterdir() if p.suffix.lower() in IMAGE_SUFFIXES):
        rgb = Image.open(path).convert("RGB")
        buffer = io.BytesIO()
        rgb.save(buffer, "JPEG", quality=85)
        image = pdfium.PdfImage.new(pdf)
        image.load_jpeg(io.BytesIO(buffer.getvalue()), inline=True)
        images.append((image, rgb.width * 72 / 150, rgb.height * 72 / 150))
    singles: list[int] = []
    for image, width, height in images:
        page = pdf.new_page(width, height)
        image.set_matrix(pdfium.PdfMatrix().scale(width, height))
        page.insert_obj(image)
        page.gen_content()
        singles.append(len(singles))
    result = pdfium.PdfDocument.new()
    result.import_pages(pdf, [singles[number % len(singles)] for number in range(pages)])
    out = io.BytesIO()
    result.save(out)
    return out.getvalue()


async def lines(base: str, pdf: bytes) -> AsyncIterator[dict[str, object]]:
    """The NDJSON lines of the response, as they arrive."""
    timeout = httpx.Timeout(600)
    async with (
        httpx.AsyncClient(timeout=timeout, trust_env=False) as client,
        client.stream(
            "POST", f"{base}/ocr", files={"file": ("long.pdf", pdf)}, headers={"Accept": "application/x-ndjson"}
        ) as response,
    ):
        response.raise_for_status()
        async for line in response.aiter_lines():
            yield json.loads(line)


async def measure(base: str, pid: int, pdf: bytes) -> dict[str, object]:
    started = perf_counter()
    arrivals: list[float] = []
    memory: list[float] = []
    last: dict[str, object] = {}
    failed = 0
    async for last in lines(base, pdf):
        if "index" in last:
            failed += last["error"] is not None
            arrivals.append(perf_counter() - started)
            memory.append(resident_mb(pid))
    gaps = sorted(b - a for a, b in pairwise(arrivals))
    after = memory[50:] or memory
    return {
        "pages": len(arrivals),
        "status": last.get("status"),
        "pages_failed": failed,
        "first_page_s": round(arrivals[0], 2),
        "median_gap_s": round(gaps[len(gaps) // 2], 3),
        "mean_page_s": round(arrivals[-1] / len(arrivals), 3),
        "pages_per_s": round(len(arrivals) / arrivals[-1], 2),
        "rss_page_50_mb": round(after[0]),
        "rss_min_after_50_mb": round(min(after)),
        "rss_max_after_50_mb": round(max(after)),
        "rss_spread_after_50_mb": round(max(after) - min(after)),
        "rss_median_pages_50_to_150_mb": round(median(after[:100])),
        "rss_median_last_100_pages_mb": round(median(after[-100:])),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--json", type=Path)
    parser.add_argument("flags", nargs="*", help="more flags for `inkgate serve`, after --")
    arguments = parser.parse_args()
    pdf = build_pdf(arguments.folder, arguments.pages)
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    command = inkgate_command(port, *arguments.flags)
    with server(command, f"{base}/readyz", {"INKGATE_LIMITS__TIME_S": "7200"}) as process:
        single = asyncio.run(measure(base, process.pid, build_pdf(arguments.folder, 8)))
        result = asyncio.run(measure(base, process.pid, pdf))
    result |= {"pdf_mb": round(len(pdf) / 1e6, 1), "single_document_page_s": single["mean_page_s"]}
    for name, value in result.items():
        print(f"{name:28} {value}")
    write_json(arguments.json, result)


if __name__ == "__main__":
    main()
