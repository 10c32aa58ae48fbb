"""Read the documents of a folder once: `python -m training.fields.observe FOLDER RESULTS [--parallel 1]`.

FOLDER has NAME.pdf or NAME.jpg beside NAME.fields.json. RESULTS gets what inkgate read, as JSON; documents that it has
are not read again.
"""

import argparse
import json
import random
from pathlib import Path
from typing import Any

import anyio

from benchmarks.structure.reading import place, read_all
from inkgate_bench.accuracy.manifest import load_manifest
from inkgate_client.codec import parse_document
from inkgate_client.types import PageResult

SUFFIX = ".fields.json"


def write_manifest(folder: Path) -> Path:
    """Write FOLDER/manifest.json, as `inkgate eval` reads it, for the documents with known fields."""
    listed = []
    for truth in sorted(folder.glob(f"*{SUFFIX}")):
        name = truth.name.removesuffix(SUFFIX)
        file = next((file for end in ("pdf", "jpg", "png") if (file := folder / f"{name}.{end}").is_file()), None)
        if file is not None:
            listed.append({"path": file.name, "kind": name.split("-")[0], "ground_truth": {"fields": truth.name}})
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps(listed), "utf-8")
    return manifest


def observed(folder: Path, results: Path) -> list[tuple[str, dict[str, Any], tuple[PageResult, ...]]]:
    """Name, truth and pages of each document that was read."""
    found = []
    for entry in load_manifest(folder / "manifest.json"):
        file = place(results, entry)
        if file.is_file() and (pages := _pages(file)):
            name = Path(entry.path).stem
            found.append((name, json.loads((folder / f"{name}{SUFFIX}").read_text("utf-8")), pages))
    return found


def _pages(file: Path) -> tuple[PageResult, ...]:
    data = file.read_bytes()
    return () if data.startswith(b'{"refused"') else parse_document(data).pages


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument(
        "--seed", type=int, default=1, help="of the order: two processes with other seeds share the work"
    )
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    entries = list(load_manifest(write_manifest(options.folder)))
    random.Random(options.seed).shuffle(entries)  # so that a part of them is of all kinds
    anyio.run(read_all, entries, options.results, options.parallel)


if __name__ == "__main__":
    main()
