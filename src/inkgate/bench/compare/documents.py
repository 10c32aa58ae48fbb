"""The pages that all contenders get, and what is known of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from inkgate.bench.accuracy.manifest import Entry, load_manifest
from inkgate.bench.load.impossible import LoadImpossible
from inkgate.bench.load.pages import LoadPage, load_pages


def documents(source: Path) -> tuple[Entry, ...]:
    """The documents of a manifest (docs/guides/accuracy.md) that open, or the images and PDFs of a folder, or one file.

    In a folder `scan.txt` beside `scan.png` is taken for its text.

    Raises:
        LoadImpossible: there is no image and no PDF.
        ManifestInvalid: of a manifest.
    """
    if source.suffix.lower() == ".json":
        entries = tuple(entry for entry in load_manifest(source) if entry.opens)
        if not entries:
            raise LoadImpossible(f"{source} lists no document that opens.")
        return entries
    folder = source.parent if source.is_file() else source
    return tuple(_entry(folder, page.name) for page in load_pages(source))


def _entry(folder: Path, name: str) -> Entry:
    file = folder / name
    text = file.with_suffix(".txt")
    return Entry(name, file, str(Path(name).parent), "-", "-", text if text.is_file() else None)


def load_of(entries: Sequence[Entry]) -> tuple[LoadPage, ...]:
    """The same documents, as they are sent. Raises LoadImpossible where one is no image and no PDF."""
    return tuple(page for entry in entries for page in load_pages(entry.file))
