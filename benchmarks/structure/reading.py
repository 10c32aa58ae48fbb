"""Reads the documents of a manifest once, and keeps what was read as JSON, for compare.py.

    python -m benchmarks.structure.reading MANIFEST RESULTS [--parallel 2]

RESULTS: a folder. Documents that it has are not read again, so a run that was stopped continues. With PYTHONPATH set to
another checkout's `src`, that checkout reads.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import anyio
import orjson

from inkgate.bootstrap import Service, running
from inkgate.caller import NO_CALLER
from inkgate.errors import InkgateError
from inkgate.service.reader import CheckedOptions
from inkgate.settings import PdfText, load_settings
from inkgate_bench.accuracy.manifest import Entry, load_manifest
from inkgate_client.codec import document_to_dict
from inkgate_client.types import Document, Task, TaskKind

OVERLAY = Path(__file__).parent / "overlay.json"
MANIFEST = "manifest.path"
"""The file of a folder that names its manifest."""


def place(folder: Path, entry: Entry) -> Path:
    """Where the folder has what was read of a document."""
    return folder / f"{entry.path.replace('/', '__')}.json"


def manifest_of(folder: Path) -> Path:
    """The manifest whose documents the folder has."""
    return Path((folder / MANIFEST).read_text("utf-8"))


def name_manifest(folder: Path, manifest: Path) -> None:
    """Notes in the folder that it has documents of this manifest."""
    (folder / MANIFEST).write_text(str(manifest.resolve()), "utf-8")


def overlay_of(manifest: Path) -> Path | None:
    """The overlay of this folder if it is of this manifest: if that has all of its documents."""
    known = {entry.path for entry in load_manifest(manifest)}
    return OVERLAY if set(orjson.loads(OVERLAY.read_bytes())) <= known else None


async def read_all(entries: Sequence[Entry], folder: Path, parallel: int = 1, pdf_text: PdfText | None = None) -> None:
    """Reads the documents that `folder` lacks, so many at a time, with the default settings."""
    missing = [entry for entry in entries if not place(folder, entry).exists()]
    if not missing:
        return
    slots = anyio.CapacityLimiter(parallel)
    async with running(load_settings()) as service, anyio.create_task_group() as tasks:

        async def read(number: int, entry: Entry) -> None:
            async with slots:
                # Another process may share the work.
                if not place(folder, entry).exists():
                    started = time.monotonic()
                    kept = await _read(service, entry, pdf_text)
                    place(folder, entry).write_bytes(orjson.dumps(kept))
                    taken = time.monotonic() - started
                    print(f"{number} of {len(missing)}: {entry.path}, {taken:.1f} s", file=sys.stderr)

        for number, entry in enumerate(missing, 1):
            tasks.start_soon(read, number, entry)


async def _read(service: Service, entry: Entry, pdf_text: PdfText | None) -> dict[str, object]:
    """The document as the API gives it, or `{"refused": code}`."""
    document = Document(await anyio.Path(entry.file).read_bytes(), entry.file.name)
    try:
        admission = service.gateway.admit(NO_CALLER, len(document.data), wait_s=math.inf)
        options = CheckedOptions(Task(kind=TaskKind.PARSE), pdf_text=pdf_text)
        async with admission as admitted, admitted.read(document, options) as reading:
            return document_to_dict(await reading.all())
    except InkgateError as error:
        return {"refused": error.code}


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--parallel", type=int, default=1, help="documents at a time")
    args = parser.parse_args()
    args.results.mkdir(parents=True, exist_ok=True)
    name_manifest(args.results, args.manifest)
    anyio.run(read_all, load_manifest(args.manifest), args.results, args.parallel)


if __name__ == "__main__":
    main()
