"""Splits documents with ground truth into a tuning and a judging half, by source: nothing is fitted on what judges it.

    python -m benchmarks.structure.halves MANIFEST ...

A source (`source_repo` of the manifest) is in one half with all of its documents, since documents of one source look
alike. Sources go one after another, those with most documents first, then by name, to the half that has fewer documents
of the same folder yet; to the judging half if both have as many. A source's folder is that of most of its documents.
Writes split.json, which is kept: a source that it has stays where it is, whatever documents are added.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

SPLIT = Path(__file__).parent / "split.json"


class Half(StrEnum):
    """What a document is for."""

    TUNING = "tuning"
    JUDGING = "judging"


def load_split() -> dict[str, Half]:
    """The half of each source."""
    kept = json.loads(SPLIT.read_bytes())
    return {source: half for half in Half for source in kept[half]}


def half_of(manifest: Path) -> dict[str, Half]:
    """The half of each document with a text, by its path. Raises KeyError: a source has none."""
    halves = load_split()
    return {item["path"]: halves[item["source_repo"]] for item in _texts(manifest)}


def split(items: Sequence[Mapping[str, Any]], kept: Mapping[str, Half]) -> dict[str, Half]:
    """The half of each source of the manifest's items; of those that `kept` has, that one."""
    folders: dict[str, Counter[str]] = {}
    for item in items:
        folders.setdefault(item["source_repo"], Counter())[str(Path(item["path"]).parent)] += 1
    stratum = {source: min(counts, key=lambda folder: (-counts[folder], folder)) for source, counts in folders.items()}
    found: dict[str, Half] = {}
    sizes: Counter[tuple[str, Half]] = Counter()
    for source in sorted(folders, key=lambda name: (name not in kept, -folders[name].total(), name)):
        sides = [(stratum[source], half) for half in (Half.JUDGING, Half.TUNING)]
        found[source] = kept[source] if source in kept else min(sides, key=lambda side: sizes[side])[1]
        sizes[stratum[source], found[source]] += folders[source].total()
    return found


def _texts(manifest: Path) -> list[dict[str, Any]]:
    return [item for item in json.loads(manifest.read_bytes()) if "text" in (item.get("ground_truth") or {})]


def write(manifests: Iterable[Path]) -> None:
    """Adds the sources of the manifests to split.json, with their documents."""
    kept = json.loads(SPLIT.read_bytes()) if SPLIT.exists() else {half.value: {} for half in Half}
    for manifest in manifests:
        items = _texts(manifest)
        halves = split(items, {source: half for half in Half for source in kept[half]})
        for source, half in sorted(halves.items()):
            own = [item for item in items if item["source_repo"] == source]
            # Rendered pages have no names of their own: their files in the source have.
            names = {item["source_path"] if item.get("rendered") else item["path"] for item in own}
            kept[half][source] = sorted(names | set(kept[half].get(source, [])))
    SPLIT.write_text(json.dumps(kept, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifests", type=Path, nargs="+")
    write(parser.parse_args().manifests)


if __name__ == "__main__":
    main()
