"""Where the fields of `inkgate extract` go: printed or written document by document, or as rows of one table."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from inkgate.cli.inputs import InputDocument
from inkgate.cli.messages import misuse, say
from inkgate.cli.result_names import result_places
from inkgate.fields.values import Extraction
from inkgate.whole_files import write_whole

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Spreadsheets run cells that begin with these."""


@dataclass(frozen=True, slots=True)
class FieldsFound:
    """The fields of a document. `answer`: with its pages, as POST /extract answers."""

    extraction: Extraction
    answer: Mapping[str, object]


class FieldsOutput(Protocol):
    """Takes the fields of documents as they are found."""

    def add(self, source: InputDocument, found: FieldsFound) -> None:
        """Writes them, or keeps them until `end`. Raises OSError."""
        ...

    def end(self) -> None:
        """After the last document, and after Ctrl-C. Raises OSError."""
        ...


@dataclass(frozen=True, slots=True)
class PrintedFields:
    """Prints a JSON object a document; one a line unless `indent` is set."""

    indent: int | None

    def add(self, source: InputDocument, found: FieldsFound) -> None:
        """See FieldsOutput."""
        print(json.dumps(_object(source, found), ensure_ascii=False, indent=self.indent), flush=True)

    def end(self) -> None:
        """See FieldsOutput."""


@dataclass(frozen=True, slots=True)
class WrittenFields:
    """Writes NAME.json for each document, below the folder as the documents lie below theirs."""

    files: Mapping[InputDocument, Path]
    folder: Path

    @classmethod
    def into(cls, folder: Path, sources: Sequence[InputDocument], *, overwrite: bool) -> WrittenFields:
        """Raises typer.Exit: two documents would be written to one file, or one is there and may not be replaced."""
        places = result_places(folder, sources, ".json")
        files = {source: place.with_name(f"{place.name}.json") for source, place in places.items()}
        _refuse([path for path in files.values() if path.exists()], overwrite=overwrite)
        return cls(files, folder)

    def add(self, source: InputDocument, found: FieldsFound) -> None:
        """See FieldsOutput."""
        text = json.dumps(_object(source, found), ensure_ascii=False, indent=2)
        write_whole(self.files[source], f"{text}\n".encode(), parents=True)

    def end(self) -> None:
        """See FieldsOutput."""
        say(f"{sum(path.exists() for path in self.files.values())} files are in {self.folder}.")


@dataclass(frozen=True, slots=True)
class FieldRows:
    """A CSV table: a row a document, a column a field; arrays as JSON. What a spreadsheet would run is quoted.

    `path`: None: it is printed.
    """

    path: Path | None
    rows: list[dict[str, object]] = field(default_factory=list)

    @classmethod
    def into(cls, path: Path | None, *, overwrite: bool) -> FieldRows:
        """Raises typer.Exit if the file is there and may not be replaced."""
        _refuse([path] if path is not None and path.exists() else [], overwrite=overwrite)
        return cls(path)

    def add(self, source: InputDocument, found: FieldsFound) -> None:
        """See FieldsOutput."""
        about = {"file": source.name, "document_type": found.extraction.document_type}
        self.rows.append({**about, "status": found.extraction.status.value, **_flat(found.extraction.data)})

    def end(self) -> None:
        """See FieldsOutput."""
        if self.path is None:
            sys.stdout.write(self.table())
            return
        # With a byte order mark, without which spreadsheets take UTF-8 for another encoding.
        write_whole(self.path, self.table().encode("utf-8-sig"), parents=True)
        say(f"{len(self.rows)} rows written into {self.path}.")

    def table(self) -> str:
        """The table. Paths of fields lose their first slash."""
        columns = list(dict.fromkeys(["file", "document_type", "status", *(name for row in self.rows for name in row)]))
        table = io.StringIO()
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow([_cell(name.removeprefix("/")) for name in columns])
        for row in self.rows:
            writer.writerow([_cell(row.get(name)) for name in columns])
        return table.getvalue()


def _refuse(existing: Sequence[Path], *, overwrite: bool) -> None:
    if existing and not overwrite:
        raise misuse(f"{existing[0]} exists. Give --overwrite to replace results.")


def _object(source: InputDocument, found: FieldsFound) -> dict[str, object]:
    """As POST /extract answers, and the file."""
    return {"file": source.name, **found.answer}


def _flat(data: Mapping[str, object], above: str = "") -> dict[str, object]:
    """Values by path; arrays are values."""
    flat: dict[str, object] = {}
    for name, value in data.items():
        path = f"{above}/{name}"
        flat |= _flat(value, path) if isinstance(value, dict) else {path: value}
    return flat


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        is_number = value.lstrip("+-").replace(".", "", 1).replace(",", "").isdigit()
        return f"'{value}" if value.startswith(_FORMULA) and not is_number else value
    return json.dumps(value, ensure_ascii=False)
