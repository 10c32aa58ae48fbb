"""`inkgate notion`: documents as rows of a Notion database."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Final

import typer

from inkgate.cli.commands import READING, Command
from inkgate.cli.extract import FieldsOption, PagesOption, PathsArgument, SchemaOption, TypeOption, wanted_options
from inkgate.cli.messages import FAILED, INTERRUPTED, failure, misuse, say, start_errors
from inkgate.cli.readers import ReaderOptions, reader_of, reads_documents

if TYPE_CHECKING:
    from inkgate.cli.inputs import InputDocument
    from inkgate_client import ReadOptions, WantedFields
    from inkgate_client.concurrency import Threads
    from inkgate_client.reading import DocumentReader
    from inkgate_client.types import Document
    from inkgate_notion.connect import NotionTarget
    from inkgate_notion.documents import NotionDocument
    from inkgate_notion.rows import NotionRows

TOKEN_VARIABLE = "NOTION_TOKEN"  # noqa: S105 - a name
URL_VARIABLE = "NOTION_API_URL"
_WRITE = "What is written"


@reads_documents()
def notion(  # noqa: PLR0913 - one parameter for each option of the command
    database: Annotated[
        str,
        typer.Argument(metavar="DATABASE", help="Address or ID of the database, or a data source.", show_default=False),
    ],
    paths: PathsArgument,
    *,
    type: TypeOption = "",  # noqa: A002 - the option's name
    schema: SchemaOption = None,
    fields: FieldsOption = "",
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="NAME=VALUE",
            help="Write only such columns, e.g. Total=fields.total. May be repeated.",
            show_default=False,
            rich_help_panel=_WRITE,
        ),
    ] = None,
    create_columns: Annotated[
        bool, typer.Option("--create-columns", help="Make columns that are missing.", rich_help_panel=_WRITE)
    ] = False,
    rate: Annotated[
        float,
        typer.Option(
            min=0.01,
            max=1000,
            metavar="REQUESTS",
            help="Requests a second. Notion allows 3, for all that use the token.",
            rich_help_panel=_WRITE,
        ),
    ] = 3.0,
    pages: PagesOption = None,
    reader: ReaderOptions,
) -> None:
    """Write a row for each document into a Notion database: its file, its fields, and its text as the page.

    `inkgate notion https://www.notion.so/acme/Receipts-1f2e... scans/ --type receipt --create-columns` reads the
    documents and prints the address of each row. The token of the connection is in NOTION_TOKEN. Fields are looked for
    as by `inkgate extract`. A document that has a row already, by its content, gets no second one: run the command
    again after an error, or when there are more documents.

    Columns: File, Document type, Pages, Confidence, Needs review, one for each field, and `inkgate`, which recognises
    documents. `--column NAME=VALUE` chooses others, with VALUE one of file, type, pages, confidence, needs_review and
    fields.NAME.

    Exit status: 0 if all rows were written; 1 if one was not; 2 if the arguments, the token or the database are wrong.
    """
    from inkgate.cli.inputs import collect
    from inkgate.cli.read import say_skipped
    from inkgate_notion.columns import NotionSchemaMismatch

    wanted, options = wanted_options(type, schema, fields, pages)
    target = _target(database, column or [], rate, create_columns=create_columns)
    try:
        target.check()
    except NotionSchemaMismatch as error:
        raise misuse(str(error)) from error
    inputs = collect(paths)
    order = _NotionOrder(target, wanted, options)
    tally = _run(reader, inputs.sources, order)
    say_skipped(inputs.skipped)
    if tally.problems:
        say(f"{len(tally.problems)} documents have no whole row:", *tally.problems)
        raise typer.Exit(FAILED)


def _target(database: str, columns: Sequence[str], rate: float, *, create_columns: bool) -> NotionTarget:
    from inkgate_notion.calls import API_URL, NotionAccess
    from inkgate_notion.connect import NotionTarget

    token = os.environ.get(TOKEN_VARIABLE, "").strip()  # noqa: TID251 - not for the command line
    if not token:
        raise misuse(f"Put the secret of your Notion connection into {TOKEN_VARIABLE} (docs/guides/notion.md).")
    chosen = dict[str, str]()
    for each in columns:
        name, equals, value = each.rpartition("=")
        if not (equals and name.strip() and value.strip()):
            raise misuse(f"--column {each}: write it as NAME=VALUE, such as Total=fields.total.")
        chosen[name.strip()] = value.strip()
    url = os.environ.get(URL_VARIABLE, "").strip() or API_URL  # noqa: TID251
    access = NotionAccess(token, url, rate)
    return NotionTarget(access, database, chosen, create_columns=create_columns)


@dataclass(frozen=True, slots=True)
class _NotionOrder:
    """What is written, what is looked for in documents, and how they are read."""

    target: NotionTarget
    wanted: WantedFields
    options: ReadOptions


@dataclass(slots=True)
class _NotionTally:
    """A line for each document that has no whole row."""

    problems: list[str] = field(default_factory=list)


def _run(reader: ReaderOptions, sources: Sequence[InputDocument], order: _NotionOrder) -> _NotionTally:
    """Raises typer.Exit: an argument, the token or the database is wrong, or Ctrl-C was pressed."""
    import anyio

    from inkgate_client import ServiceError
    from inkgate_client.concurrency import single_error
    from inkgate_notion.calls import NotionRefused, NotionUnavailable
    from inkgate_notion.columns import NotionSchemaMismatch
    from inkgate_notion.connect import notion_rows

    tally = _NotionTally()

    async def run() -> None:
        with single_error():
            async with AsyncExitStack() as stack:
                rows = await stack.enter_async_context(notion_rows(order.target))  # before the models are loaded
                opened = await stack.enter_async_context(reader_of(reader, order.wanted))
                await _write_all(opened, rows, sources, order, reader.at_once, tally)

    try:
        with start_errors():
            anyio.run(run)
    except (NotionSchemaMismatch, NotionRefused) as error:
        raise misuse(*tally.problems, str(error)) from error
    except NotionUnavailable as error:
        url = order.target.access.url
        again = "Run the same command again: rows that are written already stay as they are."
        raise failure(*tally.problems, f"{error}. The address of its API is {url}.", again) from error
    except ServiceError as error:
        raise failure(*tally.problems, str(error)) from error
    except KeyboardInterrupt as error:
        say("interrupted. Run the same command again to go on.")
        raise typer.Exit(INTERRUPTED) from error
    return tally


async def _write_all(
    reader: DocumentReader,
    rows: NotionRows,
    sources: Sequence[InputDocument],
    order: _NotionOrder,
    at_once: int,
    tally: _NotionTally,
) -> None:
    """Raises NotionSchemaMismatch and NotionRefused if no row can be written, ReadError if the reader can't be used."""
    from inkgate.cli.messages import problem_of
    from inkgate.cli.read_command import raise_if_unavailable
    from inkgate_client.codec import encodable
    from inkgate_client.concurrency import Threads
    from inkgate_client.many import read_many
    from inkgate_notion.calls import NotionRefused, NotionUnavailable

    threads = Threads("notion_files", 4)

    async def write_one(source: InputDocument) -> None:
        document = await threads.run(source.document)
        try:
            written = await rows.put(await read_row(reader, document, order.wanted, order.options, threads))
        except NotionUnavailable as error:
            raise ValueError(f"{error}. Run the same command again to go on.") from error
        except NotionRefused as error:
            if error.of_settings:
                raise
            raise ValueError(str(error)) from error
        print(encodable(f"{source.name}: {written.change.value} {written.url}"))
        for note in written.notes:
            say(f"{source.name}: {note}.")

    async with read_many(write_one, sources, at_once, in_order=False) as outcomes:
        async for outcome in outcomes:
            raise_if_unavailable(outcome.error)
            if outcome.error is not None:
                tally.problems.append(problem_of(outcome.source.name, outcome.error))


async def read_row(
    reader: DocumentReader, document: Document, wanted: WantedFields, options: ReadOptions, threads: Threads
) -> NotionDocument:
    """What goes into the row of a document. Raises ReadError."""
    from inkgate_notion.documents import notion_document

    found = await reader.extract(document, wanted, options)
    result = found.document or await reader.read(document, replace(options, task="parse"))
    return await threads.run(notion_document, document, result, found.answer)


COMMAND: Final = Command(notion, READING, explain=True)
