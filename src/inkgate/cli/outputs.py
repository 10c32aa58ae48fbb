"""Writes the results of `inkgate read`: complete files, or standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import orjson

from inkgate.cli.inputs import InputDocument
from inkgate.cli.messages import misuse
from inkgate.cli.result_names import result_places
from inkgate.documents.files import AnyFormat, FileFormat
from inkgate_client.coordinates import Coordinates
from inkgate_client.formats import Format, render
from inkgate_client.formats.chunks import ChunkOptions
from inkgate_client.formats.marks import marked_document
from inkgate_client.image_links import images_of, with_all_images_embedded, with_image_folder
from inkgate_client.types import DocumentResult
from inkgate_client.whole_files import write_whole

FileContents = Mapping[FileFormat, bytes]
"""The binary files of one document, made before it is written."""


@dataclass(frozen=True, slots=True)
class ToFolder:
    """Writes each document to one file per format, at its planned path.

    Attributes:
        folder: contains all files.
        keep: existing files are kept.
    """

    folder: Path
    formats: tuple[AnyFormat, ...]
    places: dict[InputDocument, Path]
    keep: bool = False
    coordinates: Coordinates | None = None
    marks: bool = False
    chunks: ChunkOptions | None = None

    def write(self, source: InputDocument, result: DocumentResult, files: FileContents | None = None) -> None:
        """Writes the files of one document. Replaces existing ones unless `keep` is set.

        Raises:
            OSError: a file can't be written.
        """
        result = marked_document(result) if self.marks else result
        for format, path in zip(self.formats, self.files(source), strict=True):  # noqa: A001 - the glossary's word
            if not (self.keep and path.exists()):
                shown = result
                if format is Format.MARKDOWN and (images := images_of(result)):
                    folder = self.image_folder(source)
                    for image in images:
                        write_whole(folder / image.name, image.data, parents=True)
                    shown = with_image_folder(result, folder.name)
                write_whole(path, _content(shown, format, files or {}, self), parents=True)

    def files(self, source: InputDocument) -> list[Path]:
        """The files of one document, one per format."""
        place = self.places[source]
        return [place.with_name(place.name + kind.suffix) for kind in self.formats]

    def image_folder(self, source: InputDocument) -> Path:
        """Returns the folder of the images that a document's Markdown shows."""
        place = self.places[source]
        return place.with_name(f"{place.name}.images")


@dataclass(frozen=True, slots=True)
class ToStdout:
    """Prints documents one after another. `several`: print separators."""

    format: AnyFormat
    several: bool
    coordinates: Coordinates | None = None
    marks: bool = False
    chunks: ChunkOptions | None = None

    def write(self, source: InputDocument, result: DocumentResult, files: FileContents | None = None) -> None:
        """Prints one document: several texts each below a line with its name, several JSON documents one per line.
        Chunks have the name of their document.
        """
        result = marked_document(result) if self.marks else result
        if self.format is Format.MARKDOWN:
            result = with_all_images_embedded(result)
        data = _content(result, self.format, files or {}, self)
        if isinstance(self.format, FileFormat):
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
            return
        if self.several and self.format is Format.JSON:
            data = orjson.dumps(orjson.loads(data))
        elif self.several and self.format is not Format.CHUNKS:
            data = b"==> " + os.fsencode(source.name) + b" <==\n" + data
        if data and not data.endswith(b"\n"):
            data += b"\n"
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def _content(result: DocumentResult, wanted: AnyFormat, files: FileContents, to: ToFolder | ToStdout) -> bytes:
    if isinstance(wanted, FileFormat):
        return files[wanted]
    return render(result, wanted, to.coordinates, to.chunks)


Output = ToFolder | ToStdout


class ExistingResults(StrEnum):
    """How to treat existing results."""

    REFUSE = "refuse"
    KEEP = "keep"
    REPLACE = "replace"


def to_folder(
    folder: Path,
    formats: tuple[AnyFormat, ...],
    sources: Sequence[InputDocument],
    existing: ExistingResults = ExistingResults.REFUSE,
    *,
    images: bool = False,
) -> ToFolder:
    """Plans the files of each document: its name without suffix, or with it if two documents would collide. `images`:
    whether Markdown comes with images.

    Raises:
        typer.Exit: with status 2: two documents would be written to one file, `folder` is a file, or a result exists
            and may be neither kept nor replaced.
    """
    if folder.exists() and not folder.is_dir():
        raise misuse(f"{folder} is a file. -o needs a folder.")
    places = result_places(folder, sources, formats[0].suffix)
    planned = ToFolder(folder, formats, places, keep=existing is ExistingResults.KEEP)
    read = {source.path.resolve() for source in sources if source.path is not None}
    for path in (path for source in sources for path in planned.files(source)):
        if path.resolve() in read:
            raise misuse(f"{path} would be replaced by its own result. Write to another folder.")
    if existing is ExistingResults.REFUSE:
        folders = [planned.image_folder(source) for source in sources if images and Format.MARKDOWN in formats]
        results = [path for source in sources for path in planned.files(source)]
        _refuse_existing([path for path in (*results, *folders) if path.exists()])
    return planned


def _refuse_existing(paths: Sequence[Path]) -> None:
    if paths:
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        raise misuse(
            f"{paths[0]}{more} would be overwritten; nothing was read.",
            "--overwrite replaces results that exist, --skip-existing keeps them and reads the other documents.",
        )


def to_stdout(formats: tuple[AnyFormat, ...], documents: int) -> ToStdout:
    """Standard output for one format.

    Raises:
        typer.Exit: with status 2, for several documents or formats that can't be separated there.
    """
    if len(formats) > 1:
        raise misuse("Several formats need files: add -o DIR.")
    if isinstance(formats[0], FileFormat) and sys.stdout.isatty():
        raise misuse(f"{formats[0]} is a binary file, which a terminal can't show: add -o DIR, or redirect it.")
    if documents > 1 and (isinstance(formats[0], FileFormat) or formats[0] in {Format.HOCR, Format.ALTO, Format.CSV}):
        raise misuse(f"Several documents as {formats[0]} need files: add -o DIR.")
    return ToStdout(formats[0], several=documents > 1)
