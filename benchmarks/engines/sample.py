"""The sample of documents, and the accuracy on it.

All upright images among the `pages` and `receipts` of the manifest with text as ground truth. PDFs are left out, since
no peer opens them, and so are broken files and pages with unsound ground truth. A sample of N is evenly spread over the
manifest, which is ordered by kind, and then shuffled to spread long pages; it is the same for the same N.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

from inkgate_bench.accuracy.manifest import Entry, load_manifest, load_text
from inkgate_bench.accuracy.metrics import CharacterErrors, character_errors, f1

T = TypeVar("T")
FOLDERS = ("pages", "receipts")
SEED = 5
UNSOUND = ("docbank_05", "docbank_09", "docbank_10")
"""Two-column pages whose ground truth runs across both columns, line by line."""


def documents(manifest: Path, count: int | None, folders: Sequence[str] = FOLDERS) -> tuple[Entry, ...]:
    """`count` documents of the manifest; None: all."""
    fit = [
        entry
        for entry in load_manifest(manifest)
        if entry.folder in folders
        and entry.text is not None
        and entry.file.suffix.lower() != ".pdf"
        and not entry.file.stem.startswith(UNSOUND)
    ]
    taken = spread(fit, len(fit) if count is None else count)
    random.Random(SEED).shuffle(taken)
    return tuple(taken)


def spread(items: Sequence[T], count: int) -> list[T]:
    """`count` evenly spaced items."""
    count = min(count, len(items))
    return [items[int((place + 0.5) * len(items) / count)] for place in range(count)]


@cache
def data_of(file: Path) -> bytes:
    return file.read_bytes()


@cache
def _truth(file: Path) -> str:
    return load_text(file)


def pooled_cer(documents: Sequence[Entry], texts: Mapping[str, str], *, fold_case: bool = False) -> float:
    """Character error rate of all texts together, in percent. `texts` by the documents' paths."""
    errors = [
        character_errors(_truth(entry.text), texts[entry.path], fold_case=fold_case)
        for entry in documents
        if entry.text is not None and entry.path in texts
    ]
    return 100 * CharacterErrors(sum(e.edits for e in errors), sum(e.characters for e in errors)).rate


def mean_f1(documents: Sequence[Entry], texts: Mapping[str, str]) -> float:
    """F1 of words in percent, the mean of the documents'. `texts` by the documents' paths."""
    found = [f1(_truth(entry.text), texts[entry.path]) for entry in documents if entry.text and entry.path in texts]
    return 100 * sum(found) / max(len(found), 1)
