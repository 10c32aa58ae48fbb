"""Input documents of `inkgate read`: files, folders, globs, standard input; each once, in a stable order."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from inkgate.cli.messages import misuse
from inkgate_client.codec import encodable
from inkgate_client.types import Document

STDIN = "-"
SUFFIXES = frozenset(
    {".pdf", ".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".tif", ".tiff", ".bmp", ".dib", ".gif"}
    | {".avif", ".heic", ".heif", ".hif"}
)
"""Suffixes that are read in folders. A file named as an argument is read with any suffix; its bytes tell its type."""


@dataclass(frozen=True, slots=True)
class InputDocument:
    """One document to read.

    Attributes:
        path: the file; None for standard input.
        relative: its path below the folder or glob that matched it; the file name if it was named itself.
    """

    path: Path | None
    relative: PurePath

    @property
    def name(self) -> str:
        """The name in messages."""
        return "standard input" if self.path is None else str(self.path)

    def data(self) -> bytes:
        """The document's bytes. Blocking.

        Raises:
            OSError: the file can't be read.
        """
        return sys.stdin.buffer.read() if self.path is None else self.path.read_bytes()

    def document(self) -> Document:
        """The document, with its name in messages. Blocking. Raises OSError."""
        return Document(self.data(), encodable(self.name))


@dataclass(frozen=True, slots=True)
class Inputs:
    """Inputs of one command.

    Attributes:
        skipped: files in folders that are neither images nor PDFs by their names, without hidden ones.
    """

    sources: tuple[InputDocument, ...]
    skipped: tuple[Path, ...] = ()


def collect(arguments: Sequence[str]) -> Inputs:
    """The documents of the arguments, without duplicates.

    Raises:
        typer.Exit: with status 2, if an argument matches nothing.
    """
    found: dict[Path | None, InputDocument] = {}
    others: dict[Path, None] = {}
    for argument in arguments:
        for source in _sources(argument, others):
            found.setdefault(source.path.resolve() if source.path else None, source)
    skipped = tuple(path for path in others if path.resolve() not in found)
    return Inputs(tuple(found.values()), skipped)


def _sources(argument: str, others: dict[Path, None]) -> list[InputDocument]:
    """The documents of one argument. Adds other files of folders to `others`."""
    if argument == STDIN:
        return [InputDocument(None, PurePath("stdin"))]
    path = Path(argument)
    if path.is_dir():
        sources = list(_in_folder(path, path, others))
        if not sources:
            raise misuse(f"{argument}: no images or PDFs in this folder.")
        return sources
    if path.exists():
        return [InputDocument(path, PurePath(path.name))]
    if any(character in argument for character in "*?["):
        return _matches(path, others)
    raise misuse(f"{argument}: no such file or folder.")


def _in_folder(folder: Path, root: Path, others: dict[Path, None]) -> Iterator[InputDocument]:
    for path in sorted(folder.rglob("*"), key=_natural):
        if _is_hidden(path.relative_to(folder)) or not path.is_file():
            continue
        if path.suffix.lower() in SUFFIXES:
            yield InputDocument(path, path.relative_to(root))
        else:
            others[path] = None


def _matches(pattern: Path, others: dict[Path, None]) -> list[InputDocument]:
    """The matches of a glob that the shell has not expanded; `**` matches any folders."""
    fixed = 0
    while not any(character in pattern.parts[fixed] for character in "*?["):
        fixed += 1
    root = Path(*pattern.parts[:fixed])
    sources: list[InputDocument] = []
    free = Path(*pattern.parts[fixed:])
    for path in sorted(root.glob(str(free)), key=_natural):
        if _is_hidden(path.relative_to(root)) and not _is_hidden(free):
            continue
        sources += _in_folder(path, root, others) if path.is_dir() else [InputDocument(path, path.relative_to(root))]
    if not sources:
        raise misuse(f"{pattern}: no file matches.")
    return sources


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _natural(path: Path) -> list[tuple[int, str]]:
    """Sort key that puts page2 before page10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", str(path))]
