"""Writes the fields of `inkgate extract`: printed or written document by document, or as rows of one table.

On a terminal, a document is a table of its fields, with a table of its items below.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from rich.table import Table

from inkgate.cli.inputs import InputDocument
from inkgate.cli.messages import misuse, say
from inkgate.cli.plain_tables import add_row, plain_table, terminal_text, wide_console
from inkgate.cli.result_names import result_places
from inkgate.documents.files.field_tables import FieldsRow, as_csv, as_file, flat_values, is_items, table_of_documents
from inkgate_client import Fields
from inkgate_client.fields.values import ExtractionStatus, FieldStatus, FieldValue
from inkgate_client.numbers import number_of
from inkgate_client.whole_files import write_whole

_TO_REVIEW = ExtractionStatus.NEEDS_REVIEW.value
_DOUBTS: Final = {
    FieldStatus.UNCERTAIN: "uncertain",
    FieldStatus.NOT_FOUND: "not found",
    FieldStatus.UNGROUNDED: "not on the page",
    FieldStatus.INVALID: "invalid",
    FieldStatus.CONFLICT: "in conflict",
    FieldStatus.NOT_SUPPORTED: "not supported",
}
_SURE: Final = 0.8
"""Confidence from which a field with one reading is `found`."""


class FieldsOutput(Protocol):
    """Takes the fields of documents as they are found."""

    def add(self, source: InputDocument, found: Fields[Any]) -> None:
        """Writes them, or keeps them until `end`. Raises OSError."""
        ...

    def end(self) -> None:
        """Ends the output after the last document, and when the run stops before. Raises OSError."""
        ...


@dataclass(frozen=True, slots=True)
class PrintedFields:
    """Prints a JSON object a document; one a line unless `indent` is set."""

    indent: int | None

    def add(self, source: InputDocument, found: Fields[Any]) -> None:
        print(json.dumps(_object(source, found), ensure_ascii=False, indent=self.indent), flush=True)

    def end(self) -> None:
        pass


@dataclass(slots=True)
class ShownFields:
    """Prints tables for people: field, value, how sure it is, and place; rows of items, and checks that fail, below."""

    _shown: int = 0

    def add(self, source: InputDocument, found: Fields[Any]) -> None:
        console, extraction = wide_console(), found.extraction
        review = "needs review" if found.needs_review else "complete"
        head = f"{source.name}: {extraction.document_type or 'document'}, {review}"
        console.print(*([""] if self._shown else []), terminal_text(head), "", sep="\n", soft_wrap=True)
        self._shown += 1
        flat = flat_values(extraction.data)
        items = {path: value for path, value in flat.items() if is_items(value)}
        table = plain_table("FIELD", "VALUE", "CONFIDENCE", "PLACE")
        for path, value in flat.items():
            if path not in items:
                fields = [each for each in extraction.fields.values() if f"{each.path}/".startswith(f"{path}/")]
                add_row(table, path.removeprefix("/"), _shown_value(value), _doubt(fields), _place(fields))
        if table.row_count:
            console.print(table)
        for path, rows in items.items():
            console.print("", terminal_text(f"{path.removeprefix('/')} (? = not sure)"), sep="\n", soft_wrap=True)
            console.print(_items_table(path, rows, extraction.fields))
        failed = [f"Check {check.code} fails: {check.detail}" for check in extraction.checks if not check.passed]
        pages = [f"Page {index + 1} could not be read ({code})." for index, code in found.page_errors.items()]
        notes = [f"Note: {code}" for code in extraction.notes]
        if below := [*failed, *pages, *notes]:
            console.print("", *map(terminal_text, below), sep="\n", soft_wrap=True)

    def end(self) -> None:
        pass


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

    def add(self, source: InputDocument, found: Fields[Any]) -> None:
        text = json.dumps(_object(source, found), ensure_ascii=False, indent=2)
        write_whole(self.files[source], f"{text}\n".encode(), parents=True)

    def end(self) -> None:
        say(f"{sum(path.exists() for path in self.files.values())} files are in {self.folder}.")


@dataclass(frozen=True, slots=True)
class FieldRows:
    """A table as CSV or Excel: a row a document, a column a field. See documents/files/field_tables.py.

    The columns are known when the last document was read. Until then `kept` has the rows, a JSON object a line. If the
    run is interrupted or killed, the next one takes them from there.

    Attributes:
        path: None: it is printed.
        kept: the file of the rows; None: there is none.
        of_run: what was asked for, which must be the same for the next run.
        excel: whether it is a workbook; it then has a path.
    """

    path: Path | None
    kept: Path | None = None
    of_run: str = ""
    rows: list[FieldsRow] = field(default_factory=list)
    excel: bool = False
    _earlier: dict[str, object] = field(default_factory=dict)

    @classmethod
    def into(cls, path: Path | None, of_run: str, *, overwrite: bool, excel: bool = False) -> FieldRows:
        """Writes into a table, with the rows of an earlier run that did not end, in `NAME.csv.rows`.

        Raises:
            typer.Exit: the file is there and may not be replaced, or the earlier run asked for something else.
            OSError: the rows can't be read.
        """
        # A pipe has no file beside it.
        keeps = path is not None and (path.is_file() or not path.exists())
        kept = path.with_name(f"{path.name}.rows") if path is not None and keeps else None
        found = cls(path, kept, of_run, excel=excel)
        if kept is None or overwrite or not kept.exists():
            _refuse([path] if path is not None and path.exists() else [], overwrite=overwrite)
            if kept is not None:
                kept.unlink(missing_ok=True)
            return found
        lines = _whole_lines(kept)
        if lines and lines[0] != {"of_run": of_run}:
            raise misuse(
                f"{kept} holds rows of an interrupted run with other options. Repeat that command to continue it, or "
                "give --overwrite to start again."
            )
        rows = {line["row"]["file"]: line for line in lines[1:]}  # the last one of each file
        found.rows.extend(FieldsRow(**line["row"]) for line in rows.values())
        found._earlier.update({name: line["version"] for name, line in rows.items()})
        _write_lines(kept, lines)  # without a line that was cut off
        say(f"{len(found.rows)} documents were read before; {kept} has their rows.")
        return found

    @property
    def to_review(self) -> list[str]:
        """Names of documents of the earlier run that need review."""
        return [row.file for row in self.rows if row.file in self._earlier and row.status == _TO_REVIEW]

    def without_earlier(self, sources: Sequence[InputDocument]) -> tuple[InputDocument, ...]:
        """The sources that an earlier run has not read, or that were changed since; their old rows go."""
        left = tuple(source for source in sources if not self._is_read(source))
        again = {source.name for source in left}
        self.rows[:] = [row for row in self.rows if row.file not in again]
        return left

    def _is_read(self, source: InputDocument) -> bool:
        """Whether the earlier run has read it as it is now, which can't be known of standard input."""
        return source.path is not None and self._earlier.get(source.name) == _version(source.path)

    def add(self, source: InputDocument, found: Fields[Any]) -> None:
        row = FieldsRow.of(source.name, found.extraction)
        self.rows.append(row)
        if self.kept is None:
            return
        lines: list[object] = [{"row": asdict(row), "version": source.path and _version(source.path)}]
        if not self.kept.exists():
            self.kept.parent.mkdir(parents=True, exist_ok=True)
            lines.insert(0, {"of_run": self.of_run})
        _write_lines(self.kept, lines, "a")

    def end(self) -> None:
        if self.path is None:
            sys.stdout.write(self.table())
            return
        write_whole(self.path, as_file(self.rows, excel=self.excel), parents=True)
        say(f"{len(self.rows)} rows written into {self.path}.")

    def forget_run(self) -> None:
        """Removes the rows beside the table, as the run has ended. Raises OSError."""
        if self.kept is not None:
            self.kept.unlink(missing_ok=True)

    def table(self) -> str:
        """The table as CSV."""
        return as_csv(table_of_documents(self.rows))


def printed_fields(format: str = "", documents: int = 1) -> FieldsOutput:  # noqa: A002 - the option's name
    """Prints `json` or a `table`; without a format, a table on a terminal and JSON elsewhere."""
    if format == "table" or (not format and sys.stdout.isatty()):
        return ShownFields()
    return PrintedFields(2 if documents == 1 else None)


def _whole_lines(path: Path) -> list[Any]:
    """The JSON values in a file, one a line; the last line may have been cut off."""
    values: list[Any] = []
    for line in path.read_text("utf-8").splitlines():
        try:
            values.append(json.loads(line))
        except ValueError:
            break
    return values


def _write_lines(path: Path, values: Sequence[object], mode: Literal["w", "a"] = "w") -> None:
    with path.open(mode, encoding="utf-8") as file:
        file.writelines(f"{json.dumps(value, ensure_ascii=False)}\n" for value in values)


def _version(path: Path) -> list[float]:
    """Returns what a file that was changed is known by: its size and time."""
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]


def _refuse(existing: Sequence[Path], *, overwrite: bool) -> None:
    if existing and not overwrite:
        raise misuse(f"{existing[0]} exists. Give --overwrite to replace results.")


def _object(source: InputDocument, found: Fields[Any]) -> dict[str, object]:
    """Returns what POST /extract answers, and the file."""
    return {"file": source.name, **found.answer}


def _items_table(path: str, rows: Sequence[dict[str, object]], fields: Mapping[str, FieldValue]) -> Table:
    """A row an item, without columns that are empty in all. A value that isn't sure has a `?`."""
    flat = [flat_values(row) for row in rows]
    names = [name for name in dict.fromkeys(name for row in flat for name in row) if any(row.get(name) for row in flat)]
    table = plain_table("", *(name.removeprefix("/").upper() for name in names))
    for index, row in enumerate(flat):
        cells = []
        for name in names:
            field = fields.get(f"{path}/{index}{name}")
            doubtful = row.get(name) is not None and field is not None and field.status is not FieldStatus.FOUND
            cells.append(_shown_value(row.get(name)) + ("?" if doubtful else ""))
        add_row(table, str(index + 1), *cells)
    for column, name in zip(table.columns[1:], names, strict=True):
        if all(number_of(str(row.get(name) or 0), ".") for row in flat):
            column.justify = "right"
    return table


def _shown_value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(_shown_value(each) for each in value)
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _doubt(fields: Sequence[FieldValue]) -> str:
    """The confidence of a value, or why it is doubtful. `fields`: one, or those of a list."""
    if not fields:
        return _DOUBTS[FieldStatus.NOT_FOUND]
    worst = min(fields, key=lambda field: (field.status is FieldStatus.FOUND, field.confidence or 0.0))
    sure = None if worst.confidence is None else f"{worst.confidence:.0%}"
    if worst.status is FieldStatus.FOUND:
        return sure or ""
    low = [sure] if sure and worst.status is FieldStatus.UNCERTAIN and (worst.confidence or 0.0) < _SURE else []
    other = [f"or {' or '.join(worst.alternatives)}"] if worst.alternatives else []
    checks = [f"see {', '.join(worst.checks)}"] if worst.status is FieldStatus.INVALID and worst.checks else []
    return ": ".join([_DOUBTS[worst.status], *([", ".join([*low, *other, *checks])] if low or other or checks else [])])


def _place(fields: Sequence[FieldValue]) -> str:
    """Where a value stands, and as what it is printed if that differs."""
    source = next((source for field in fields for source in field.sources), None)
    if source is None:
        return ""
    line = f", line {source.lines[0] + 1}" if source.lines else ""
    printed = f": {source.text}" if len(fields) == 1 and source.text != _shown_value(fields[0].value) else ""
    return f"page {source.page + 1}{line}{printed}"
