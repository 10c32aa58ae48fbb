"""Keeps what the layout gets of each document of a folder: lines, size and evidence, before they are arranged.

    PYTHONPATH=src:. python training/layout/observe.py FOLDER OBSERVED [--part 0/2]

Writes OBSERVED/NAME.pickle: for each page of NAME.pdf (or an image) the arguments of `arrange`. Documents are read
with the default settings, so that training sees what the product sees. Documents that OBSERVED has are not read again.
"""

from __future__ import annotations

import argparse
import math
import pickle
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path

import anyio

import inkgate.engines.ppocr.engine as ppocr_engine
from inkgate.bootstrap import running
from inkgate.caller import NO_CALLER
from inkgate.errors import InkgateError
from inkgate.layout.arrange import Arrangement, arrange
from inkgate.layout.evidence import NO_EVIDENCE, PageEvidence
from inkgate.service import text_layer
from inkgate.service.reader import CheckedOptions
from inkgate.settings import load_settings
from inkgate_client.types import Document, Line, Size, Task, TaskKind

DOCUMENTS = (".pdf", ".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp")
_seen: list[tuple[list[Line], Size, PageEvidence]] = []


def _noted(lines: Sequence[Line], size: Size, evidence: PageEvidence = NO_EVIDENCE) -> Arrangement:
    _seen.append((list(lines), size, evidence))
    return arrange(lines, size, evidence)


async def observe(files: Sequence[Path], target: Path) -> None:
    """Reads the documents one at a time."""
    ppocr_engine.arrange = _noted  # type: ignore[attr-defined]
    text_layer.arrange = _noted  # type: ignore[attr-defined]
    async with running(load_settings()) as service:
        for file in files:
            kept = target / f"{file.stem}.pickle"
            if kept.exists() or not file.with_name(f"{file.stem}.structure.json").exists():
                continue
            _seen.clear()
            data = file.read_bytes()
            try:
                admission = service.gateway.admit(NO_CALLER, len(data), wait_s=math.inf)
                options = CheckedOptions(Task(kind=TaskKind.PARSE))
                async with admission as admitted, admitted.read(Document(data, file.name), options) as reading:
                    await reading.all()
            except InkgateError as error:
                print(file.name, error.code, file=sys.stderr)
                continue
            part_file = kept.with_suffix(".part")
            part_file.write_bytes(pickle.dumps(_seen))
            part_file.rename(kept)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("observed", type=Path)
    parser.add_argument("--part", default="0/1")
    args = parser.parse_args()
    part, parts = map(int, args.part.split("/"))
    # In any order but that of their names, so that the first ones are of all families.
    files = sorted(args.folder.rglob("*"), key=lambda file: zlib.crc32(file.name.encode()))
    args.observed.mkdir(parents=True, exist_ok=True)
    anyio.run(observe, [file for file in files if file.suffix.lower() in DOCUMENTS][part::parts], args.observed)


if __name__ == "__main__":
    main()
