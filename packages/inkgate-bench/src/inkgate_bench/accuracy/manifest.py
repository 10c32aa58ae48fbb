"""Manifests: lists of documents with what is known of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from inkgate_client.types import Point, Quad

T = TypeVar("T")


class BenchmarkFormat(StrEnum):
    """The form of what `inkgate eval` is given."""

    MANIFEST = "manifest"
    OMNIDOCBENCH = "omnidocbench"
    OMNI_PARSE_BENCH = "omni-parse-bench"


class ManifestInvalid(ValueError):
    """The manifest, or a ground truth file it names, is not of the form of docs/guides/accuracy.md."""


@dataclass(frozen=True, slots=True)
class TruthLine:
    """One line of the ground truth; `quad` in pixels of the image as a viewer shows it: EXIF orientation applied."""

    text: str
    quad: Quad


@dataclass(frozen=True, slots=True)
class Entry:
    """One document of a manifest.

    Attributes:
        path: as the manifest has it, relative to the manifest.
        file: where the document lies.
        text, lines, tests, tables, fields, diagram, structure: where its ground truths lie; None where there is none.
        document_type: by which its fields are found; empty: by the one that has most of them, or by their names.
        order_free: the order of the truth is not the page's, such as line by line across columns: no CER, no order.
        opens: False where the manifest says that the file can't be opened: a clean refusal is then right.
    """

    path: str
    file: Path
    folder: str
    language: str
    kind: str
    text: Path | None = None
    lines: Path | None = None
    tests: Path | None = None
    tables: Path | None = None
    fields: Path | None = None
    diagram: Path | None = None
    structure: Path | None = None
    document_type: str = ""
    order_free: bool = False
    opens: bool = True

    @property
    def truths(self) -> tuple[Path | None, ...]:
        """All of its ground truths."""
        return (self.text, self.lines, self.tests, self.tables, self.fields, self.diagram, self.structure)

    @property
    def scored(self) -> bool:
        """Whether there is anything to compare the reading with."""
        return any(truth is not None for truth in self.truths)


def load_manifest(manifest: Path, overlay: Path | None = None) -> tuple[Entry, ...]:
    """The entries of a manifest, in its order. `overlay`: see docs/guides/accuracy.md.

    Raises:
        ManifestInvalid: it is not there, not JSON, or an entry lacks its path or names a file that is not there; or
            the overlay is no JSON object of objects, or has a path that the manifest lacks.
    """
    listed = _parse(manifest, manifest.name)
    if not isinstance(listed, list) or not listed:
        raise ManifestInvalid(f"{manifest.name}: a manifest is a JSON array of documents, with one at least.")
    if overlay is not None:
        listed = _overlaid(listed, overlay)
    return tuple(_entry(manifest, number, item) for number, item in enumerate(listed))


def _overlaid(listed: list[Any], overlay: Path) -> list[Any]:
    """The entries with the keys of the overlay's entries put over theirs."""
    changes = _parse(overlay, overlay.name)
    if not isinstance(changes, dict) or not all(isinstance(change, dict) for change in changes.values()):
        raise ManifestInvalid(f"{overlay.name}: an overlay is a JSON object of paths and objects.")
    known = {item.get("path") for item in listed if isinstance(item, dict)}
    unknown = sorted(set(changes) - known)
    if unknown:
        raise ManifestInvalid(f"{overlay.name}: the manifest has no {unknown[0]}.")
    return [item | changes.get(item.get("path"), {}) if isinstance(item, dict) else item for item in listed]


def select(entries: Iterable[Entry], folder: str | None = None, limit: int | None = None) -> tuple[Entry, ...]:
    """The entries of one folder (all without), the first `limit` of them."""
    kept = [entry for entry in entries if folder is None or _within(entry, folder)]
    return tuple(kept[:limit])


def _within(entry: Entry, folder: str) -> bool:
    wanted = folder.strip("/")
    return entry.folder == wanted or entry.folder.startswith(f"{wanted}/")


def _entry(manifest: Path, number: int, item: object) -> Entry:
    where = f"{manifest.name}, entry {number}"
    if not isinstance(item, dict) or not isinstance(item.get("path"), str) or not item["path"]:
        raise ManifestInvalid(f"{where}: an entry is an object with a `path`.")
    path = item["path"]
    root = manifest.parent
    if not (root / path).is_file():
        raise ManifestInvalid(f"{where}: {path} is not there.")
    named = item.get("ground_truth") or {}
    if not isinstance(named, dict):
        raise ManifestInvalid(f"{where}: `ground_truth` is an object of kinds and paths.")

    def truth(key: str) -> Path | None:
        if key not in named:
            return None
        file = root / str(named[key])
        if not file.is_file():
            raise ManifestInvalid(f"{where}: the ground truth {named[key]!r} of {path} is not there.")
        return file

    return Entry(
        path=path,
        file=root / path,
        folder=str(Path(path).parent),
        language=str(item.get("language") or "-"),
        kind=str(item.get("kind") or "-"),
        text=truth("text"),
        lines=truth("lines"),
        tests=truth("tests.jsonl") or _beside(root / path),
        tables=truth("table.html"),
        fields=truth("fields"),
        diagram=truth("mermaid"),
        structure=truth("structure"),
        document_type=str(item.get("document_type") or ""),
        order_free=bool(item.get("order_free", False)),
        opens=all(_opens(item.get(key)) for key in ("pillow", "pdf")),
    )


def _beside(file: Path) -> Path | None:
    """The unit tests that lie beside a PDF, whether or not the manifest names them."""
    tests = file.with_suffix(".tests.jsonl")
    return tests if file.suffix.lower() == ".pdf" and tests.is_file() else None


def _opens(probe: object) -> bool:
    return not isinstance(probe, dict) or bool(probe.get("opens", True))


def load_text(path: Path) -> str:
    """A ground truth text. Raises ManifestInvalid where it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ManifestInvalid(f"{path.name} is not UTF-8.") from error


def load_lines(path: Path) -> tuple[TruthLine, ...]:
    """Ground truth lines: `[{"text": ..., "box": [[x, y] x 4]}, ...]`. Raises ManifestInvalid."""
    listed = _parse(path, path.name)
    return _checked(path, lambda: _lines(listed))


def load_fields(path: Path) -> dict[str, Any]:
    """Ground truth fields: an object of names and texts, or lists of texts of which any may be meant. Raises
    ManifestInvalid.
    """
    found = _parse(path, path.name)
    if not isinstance(found, dict):
        raise ManifestInvalid(f"{path.name} is not of the form of docs/guides/accuracy.md: fields are an object.")
    return found


def load_tests(path: Path) -> tuple[dict[str, Any], ...]:
    """Unit tests of a page, one JSON object a line. Raises ManifestInvalid."""
    rows = [line for line in load_text(path).splitlines() if line.strip()]

    def parse() -> tuple[dict[str, Any], ...]:
        parsed = [json.loads(row) for row in rows]
        if not all(isinstance(row, dict) and "type" in row for row in parsed):
            raise ValueError("a test is an object with a `type`")
        return tuple(parsed)

    return _checked(path, parse)


def _lines(listed: object) -> tuple[TruthLine, ...]:
    if not isinstance(listed, list):
        raise TypeError("lines are a JSON array")
    return tuple(TruthLine(str(line["text"]), _quad(line["box"])) for line in listed)


def _quad(box: list[list[float]]) -> Quad:
    first, second, third, fourth = (_point(corner) for corner in box)
    return (first, second, third, fourth)


def _point(corner: list[float]) -> Point:
    x, y = corner
    return (float(x), float(y))


def _checked(path: Path, parse: Callable[[], T]) -> T:
    try:
        return parse()
    except (ValueError, TypeError, KeyError) as error:
        raise ManifestInvalid(f"{path.name} is not of the form of docs/guides/accuracy.md: {error}") from error


def _parse(path: Path, name: str) -> object:
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise ManifestInvalid(f"{name}: {error.strerror}.") from error
    except ValueError as error:
        raise ManifestInvalid(f"{name} is not valid JSON: {error}") from error
