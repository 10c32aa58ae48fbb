"""`inkgate extract`, `inkgate verify` and `inkgate types`: fields of documents, found here or by a service."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from inkgate.cli.configure import ConfigOption, configured
from inkgate.cli.messages import FAILED, INTERRUPTED, check_outputs, failure, misuse, say, start_errors
from inkgate.cli.readers import ReaderOptions, reads_documents, run_with_reader

if TYPE_CHECKING:
    from inkgate.cli.extract_outputs import FieldsOutput
    from inkgate.cli.inputs import InputDocument
    from inkgate_client import Fields, ReadOptions, WantedFields
    from inkgate_client.many import Outcome
    from inkgate_client.reading import DocumentReader

NEEDS_REVIEW = 3
FORMATS = ("table", "json", "csv", "xlsx")
ROWS = ("csv", "xlsx")
"""Formats of one table: a row a document."""

PathsArgument = Annotated[
    list[str],
    typer.Argument(metavar="PATH", help="Images, PDFs, folders, globs, or `-`.", show_default=False),
]
TypeOption = Annotated[
    str,
    typer.Option("--type", metavar="NAME", help="The document type; `inkgate types` lists them.", show_default=False),
]
SchemaOption = Annotated[
    Path | None,
    typer.Option("--schema", metavar="FILE", help="A JSON Schema of the object to find.", show_default=False),
]
FieldsOption = Annotated[
    str, typer.Option("--fields", metavar="A,B", help="Names of the fields to find.", show_default=False)
]
PagesOption = Annotated[
    str | None, typer.Option(metavar="1-3,7", help="Pages to read, e.g. 1-3,7. The first page is 1. Default: all.")
]


@reads_documents()
def extract(  # noqa: PLR0913 - one parameter for each option of the command
    paths: PathsArgument,
    *,
    type: TypeOption = "",  # noqa: A002 - the option's name
    schema: SchemaOption = None,
    fields: FieldsOption = "",
    format: Annotated[  # noqa: A002 - the option's name
        str,
        typer.Option(
            "--format",
            "-f",
            metavar="|".join(FORMATS),
            help="A table to look at, a JSON object, or a row of CSV or Excel a document. Default: a table on a "
            "terminal, else JSON.",
            show_default=False,
        ),
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="PATH", help="JSON: a folder for NAME.json; else the file. Default: print."
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="With -o: replace existing results.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with status 3 if a document needs review.")] = False,
    pages: PagesOption = None,
    reader: ReaderOptions,
) -> None:
    """Find fields in documents: those of a type, a JSON Schema, or names. Without any, the type is found.

    `inkgate extract receipt.jpg --type receipt` prints the fields with their places: a table on a terminal, and in a
    pipe what POST /extract answers.
    `inkgate extract scans/ --type receipt -f csv -o receipts.csv` writes a row a document; after an interruption, the
    same command goes on where it was. With `-f xlsx`, items have a sheet of their own. A JSON object a line is printed
    for several documents. With `--server URL`, a running service finds them, with the same output.

    Exit status: 0 if all documents were read; 1 if one could not be; 2 if the arguments are wrong; 3 with --strict if
    one needs review.
    """
    if format and format not in FORMATS:
        raise misuse(f"{format!r} is not a format. Choose from {', '.join(FORMATS)}.")
    if output is not None and format == "table":
        raise misuse("A table is printed. For files, choose json, csv or xlsx.")
    if output is not None and format not in ROWS and output.is_file():
        raise misuse(f"{output} is a file. For JSON, -o names a folder.")
    if output is not None:
        check_outputs(output if format in ROWS else output / "result")
    if format == "xlsx" and output is None:
        raise misuse("Excel is not printed. Give -o FILE.xlsx.")
    from inkgate.cli.extract_outputs import FieldRows, WrittenFields, printed_fields
    from inkgate.cli.inputs import collect
    from inkgate.cli.read import say_skipped

    wanted, options = wanted_options(type, schema, fields, pages)
    inputs = collect(paths)
    to: FieldsOutput
    sources, rows = inputs.sources, None
    if format in ROWS:
        to = rows = FieldRows.into(output, repr((wanted, options)), overwrite=overwrite, excel=format == "xlsx")
        sources = rows.without_earlier(sources)
    elif output is not None:
        to = WrittenFields.into(output, inputs.sources, overwrite=overwrite)
    else:
        to = printed_fields(format, len(inputs.sources))
    outcome = _run(reader, sources, FieldsOrder(wanted, options, reader.at_once), to)
    if rows is not None:
        outcome.to_review[:0] = rows.to_review
        rows.forget_run()
    say_skipped(inputs.skipped)
    outcome.end(strict=strict)


@reads_documents("jobs")
def verify(  # noqa: PLR0913 - one parameter for each option of the command
    path: Annotated[str, typer.Argument(metavar="FILE", help="The document.", show_default=False)],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="JSON with the values.", show_default=False)],
    *,
    type: TypeOption = "",  # noqa: A002 - the option's name
    schema: SchemaOption = None,
    fields: FieldsOption = "",
    pages: PagesOption = None,
    reader: ReaderOptions,
) -> None:
    """Look up values that somebody else found: those that stand in the document are kept, others are null.

    Exit status: 0 if all is well; 1 if the document could not be read; 2 if the arguments are wrong; 3 if it needs
    review.
    """
    from inkgate.cli.extract_outputs import printed_fields
    from inkgate.cli.inputs import collect

    wanted, options = wanted_options(type, schema, fields, pages, _text(data))
    sources = collect([path]).sources
    if len(sources) != 1:
        raise misuse(f"{path} names {len(sources)} documents. Values belong to one.")
    _run(reader, sources, FieldsOrder(wanted, options), printed_fields()).end(strict=True)


def types(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Print the JSON Schema of this type.", show_default=False)
    ] = "",
    *,
    config: ConfigOption = None,
) -> None:
    """List the document types and their fields, or print the JSON Schema of one."""
    from inkgate.extraction.finder import field_finder

    with start_errors():
        known = field_finder(configured(config, {})).types
        if name:
            print(json.dumps(known.named(name).source, ensure_ascii=False, indent=2))
            return
    for each, schema in sorted(known.schemas.items()):
        print(f"{each}: {', '.join(leaf.path.removeprefix('/').replace('/-/', '[].') for leaf in schema.leaves)}")


def wanted_options(
    type_name: str, schema: Path | None, fields: str, pages: str | None, data: str | None = None
) -> tuple[WantedFields, ReadOptions]:
    """What the options ask for. Raises typer.Exit: they contradict each other, or the schema can't be read."""
    from inkgate_client import ReadOptions, WantedFields

    names = tuple(name for part in fields.split(",") if (name := part.strip()))
    if fields and not names:
        raise misuse("--fields names no field.")
    if sum([bool(type_name), schema is not None, bool(names)]) > 1:
        raise misuse("Give only one of --type, --schema and --fields.")
    wanted = WantedFields(type_name, None if schema is None else _text(schema), names, data)
    return wanted, ReadOptions(pages=pages or "")


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise misuse(f"{path}: {getattr(error, 'strerror', None) or 'not UTF-8'}.") from error


@dataclass(frozen=True, slots=True)
class FieldsOrder:
    """What to find in each document, how to read it, and how many at once."""

    wanted: WantedFields
    options: ReadOptions
    at_once: int = 1


@dataclass(slots=True)
class ExtractTally:
    """What became of the documents: names of those that need review, and a line for each that could not be read."""

    to_review: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def take(self, outcome: Outcome[InputDocument, Fields[Any]], to: FieldsOutput) -> None:
        """Writes the fields of a document, or notes why there are none. Raises OSError."""
        from inkgate.cli.messages import problem_of

        source = outcome.source
        if outcome.error is not None:
            self.problems.append(problem_of(source.name, outcome.error))
            return
        to.add(source, outcome.result)
        if outcome.result.needs_review:
            self.to_review.append(source.name)

    def end(self, *, strict: bool) -> None:
        """Raises typer.Exit with the status of the command."""
        for name in self.to_review:
            say(f"{name} needs review.")
        if self.problems:
            say(f"{len(self.problems)} documents could not be read:", *self.problems)
            raise typer.Exit(FAILED)
        if strict and self.to_review:
            raise typer.Exit(NEEDS_REVIEW)


def _run(reader: ReaderOptions, sources: Sequence[InputDocument], order: FieldsOrder, to: FieldsOutput) -> ExtractTally:
    """Raises typer.Exit: an argument is wrong, the engine did not start, the service is gone, or Ctrl-C was pressed."""
    tally = ExtractTally()

    async def extract_all(opened: DocumentReader) -> None:
        await extract_documents(opened, sources, order, to, tally)

    def end_early() -> list[str]:
        to.end()
        return tally.problems

    try:
        run_with_reader(reader, extract_all, order.wanted, before=end_early)
        to.end()
    except OSError as error:
        raise failure(f"{error.filename or 'The output'}: {error.strerror or error}.") from error
    except KeyboardInterrupt as error:
        to.end()
        say("interrupted. What was found until then is written.")
        raise typer.Exit(INTERRUPTED) from error
    return tally


async def extract_documents(
    reader: DocumentReader,
    sources: Sequence[InputDocument],
    order: FieldsOrder,
    to: FieldsOutput,
    tally: ExtractTally,
) -> None:
    """Finds the fields of several documents at once, and writes them in the order of `sources`.

    Raises:
        OSError: the output can't be written.
        ReadError: the reader can't be used any more.
    """
    from inkgate.cli.read_command import raise_if_unavailable
    from inkgate_client.concurrency import Threads
    from inkgate_client.many import read_many

    threads = Threads("extract_files", 4)

    async def extract_one(source: InputDocument) -> Fields[Any]:
        return await reader.extract(await threads.run(source.document), order.wanted, order.options)

    async with read_many(extract_one, sources, order.at_once) as outcomes:
        async for outcome in outcomes:
            raise_if_unavailable(outcome.error)
            tally.take(outcome, to)
